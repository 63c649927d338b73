#pragma once
// Which kernels this processor can run: asked of the processor itself, and of the system, which
// must save the wide registers. Any thread.

namespace engine {

struct CpuFeatures {
    bool avx2 = false;    // AVX2, FMA, F16C
    bool avx512 = false;  // AVX-512 F, BW, DQ, VL, VNNI, and the above
    bool avxVnni = false; // AVX-VNNI and AVX2
    bool amx = false; // AMX-INT8 and AVX-512; asking the system for its use is part of finding out
    int physicalCores = 1;
};

const CpuFeatures& cpuFeatures();

} // namespace engine
