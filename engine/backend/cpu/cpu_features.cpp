#include "engine/backend/cpu/cpu_features.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#if defined(GLINT_X86)
#    if defined(_MSC_VER)
#        include <intrin.h>
#    else
#        include <cpuid.h>
#    endif
#endif

#if defined(_WIN32)
#    include <windows.h>

#    include <memory>
#elif defined(__linux__)
#    include <fstream>
#    include <sched.h>
#    include <set>
#    include <string>
#    include <sys/syscall.h>
#    include <unistd.h>
#    include <utility>
#endif

namespace engine {
namespace {

#if defined(GLINT_X86)
struct Leaf {
    std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
    Leaf r;
#    if defined(_MSC_VER)
    int v[4];
    __cpuidex(v, static_cast<int>(leaf), static_cast<int>(subleaf));
    r = {static_cast<std::uint32_t>(v[0]), static_cast<std::uint32_t>(v[1]),
         static_cast<std::uint32_t>(v[2]), static_cast<std::uint32_t>(v[3])};
#    else
    __cpuid_count(leaf, subleaf, r.a, r.b, r.c, r.d);
#    endif
    return r;
}

// Register states that the system saves; only to be called where OSXSAVE is set.
std::uint64_t savedStates() {
#    if defined(_MSC_VER)
    return _xgetbv(0);
#    else
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t(high) << 32 | low;
#    endif
}

// Linux gives the tile registers to a process that asks for them, before its threads start.
bool tilesGranted() {
#    if defined(__linux__) && defined(SYS_arch_prctl)
    constexpr long kRequestState = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
#    else
    return false;
#    endif
}

void detectInstructions(CpuFeatures& f) {
    const auto bit = [](std::uint32_t word, int n) { return (word >> n & 1u) != 0; };
    if (cpuid(0, 0).a < 7) return;
    const Leaf one = cpuid(1, 0), seven = cpuid(7, 0);
    const bool osSaves = bit(one.c, 27);
    if (!osSaves) return;
    const std::uint64_t states = savedStates();
    const bool ymm = (states & 0x6) == 0x6, zmm = (states & 0xe6) == 0xe6;
    f.avx2 = ymm && bit(one.c, 28) && bit(one.c, 12) && bit(one.c, 29) && bit(seven.b, 5);
    f.avx512 = f.avx2 && zmm && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 30) &&
               bit(seven.b, 31) && bit(seven.c, 11);
    f.avxVnni = f.avx2 && seven.a >= 1 && bit(cpuid(7, 1).a, 4);
    const bool tiles = (states & 0x60000) == 0x60000;
    f.amx = f.avx512 && tiles && bit(seven.d, 24) && bit(seven.d, 25) && tilesGranted();
}
#endif

#if defined(_WIN32)
int countCores() {
    DWORD bytes = 0;
    GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
    if (bytes == 0) return 0;
    const auto buffer = std::make_unique<char[]>(bytes);
    auto* first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(buffer.get());
    if (!GetLogicalProcessorInformationEx(RelationProcessorCore, first, &bytes)) return 0;
    int cores = 0;
    for (DWORD at = 0; at < bytes; ++cores)
        at += reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(buffer.get() + at)->Size;
    return cores;
}
#elif defined(__linux__)
// Distinct cores among the processors that this program may use.
int countCores() {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    std::set<std::pair<int, int>> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        const std::string folder =
            "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        int package = 0, core = 0;
        if (!(std::ifstream(folder + "physical_package_id") >> package) ||
            !(std::ifstream(folder + "core_id") >> core))
            return CPU_COUNT(&allowed);
        cores.emplace(package, core);
    }
    return static_cast<int>(cores.size());
}
#else
int countCores() {
    return 0;
}
#endif

CpuFeatures detect() {
    CpuFeatures f;
#if defined(GLINT_X86)
    detectInstructions(f);
#endif
    f.physicalCores = countCores();
    if (f.physicalCores <= 0)
        f.physicalCores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return f;
}

} // namespace

const CpuFeatures& cpuFeatures() {
    static const CpuFeatures features = detect();
    return features;
}

} // namespace engine
