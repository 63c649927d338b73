#pragma once
// For bench programs: the value of a result, or its error in words and the end of the program.

#include "engine/base/result.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

template<class T> T must(engine::Result<T> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.error().message.c_str());
        std::exit(1);
    }
    return std::move(*result);
}

inline void must(const engine::Result<void>& result) {
    if (result.ok()) return;
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
}
