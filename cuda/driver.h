#pragma once
// The graphics driver, opened at run time: nothing of CUDA is linked. One table of functions with
// the names and types of cuda.h, whose macros give each name the version that was compiled for, so
// that a call through the table is the call that the header means.
//
// cuCtxCreate is not in the table on purpose: newer headers turn it into a version that older
// drivers lack. The primary context serves.
//
// Immutable after opening: any thread.

#include "engine/base/result.h"

#include <cuda.h>

#include <memory>
#include <string>
#include <string_view>

namespace cuda {

// Oldest card with the instructions that the kernels need (Turing), and the name of the numbers in
// words.
inline constexpr int kOldestCapability = 75;

class Driver {
public:
    // Opens the driver once per program. Unsupported, in words, when there is none, when it is
    // older than this build needs or lacks a function; Device when it does not start.
    static engine::Result<const Driver*> open();
    // After a failed open: there is no driver, or no card that it serves. Otherwise both are there
    // and something else is wrong with them.
    static bool nothingThere();

#define GLINT_DRIVER(function) decltype(&::function) function = nullptr;
#define GLINT_DRIVER_OPTIONAL(function) GLINT_DRIVER(function)
#include "cuda/driver_functions.inc"
#undef GLINT_DRIVER
#undef GLINT_DRIVER_OPTIONAL

    int version() const {
        return m_version;
    } // 13000 for CUDA 13.0

    // "starting gemm_rows_q4_k: an illegal memory access was encountered". Code Device, or
    // OutOfMemory where the driver says that.
    engine::Error error(CUresult result, std::string_view doing) const;

    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

private:
    Driver() = default;
    static Driver& instance();
    engine::Result<void> load();
    bool m_nothingThere = false;
    int m_version = 0;
};

} // namespace cuda
