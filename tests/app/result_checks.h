#pragma once
// For Qt Test: the value of a Result, or the test ends with the error's words.

#include "engine/base/result.h"

#include <QtTest>

#define REQUIRE_OK(expression)                                                                     \
    do {                                                                                           \
        const auto& result_ = (expression);                                                        \
        if (!result_.ok()) QFAIL(result_.error().message.c_str());                                 \
    } while (false)

// For helpers that return a value: stops the program, which the test runner reports.
template<class T> T valueOf(engine::Result<T> result) {
    if (!result.ok()) qFatal("%s", result.error().message.c_str());
    return std::move(result.value());
}
