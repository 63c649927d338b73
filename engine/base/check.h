#pragma once
// CHECK(condition): a broken promise of our own stops the program. Never for files, images,
// databases or drivers: what comes from outside is answered with a Result.

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) [[unlikely]] {                                                           \
            std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition);     \
            std::abort();                                                                          \
        }                                                                                          \
    } while (false)
