#pragma once
// Which kernels this processor can run: asked of the processor itself, and of the system, which must save
// the wide registers. Any thread.

namespace engine {

struct CpuFeatures {
    bool avx2 = false;   // AVX2, FMA, F16C
    bool avx512 = false; // AVX-512 F, BW, DQ, VL, VNNI, and the above
    int physicalCores = 1;
};

const CpuFeatures& cpuFeatures();

} // namespace engine
