#pragma once
// The small reference trio on a processor backend, and rows compared bit for bit.

#include "app/cli/model_run.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "tests/support/oracle_fixture.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace test {

inline std::unique_ptr<engine::CpuBackend>
processor(engine::CpuMath math = engine::CpuMath::Float, int threads = 1,
          engine::CpuInstructions instructions = engine::CpuInstructions::Automatic) {
    auto backend = engine::CpuBackend::make({math, threads, instructions});
    EXPECT_TRUE(backend.ok()) << (backend.ok() ? "" : backend.error().message);
    return backend ? std::move(*backend) : nullptr;
}

inline constexpr engine::CpuInstructions kAllInstructions[] = {
    engine::CpuInstructions::Automatic, engine::CpuInstructions::Reference,
    engine::CpuInstructions::Avx2,      engine::CpuInstructions::AvxVnni,
    engine::CpuInstructions::Avx512,    engine::CpuInstructions::Amx};

inline std::unique_ptr<app::TextRun> openTrio(engine::Backend& backend, int chunk = 64,
                                              engine::KvType kvType = engine::KvType::F16,
                                              const std::string& name = "tiny-f32") {
    const auto folder = oracleFolder(name);
    auto run = app::TextRun::open(
        backend, {folder / "target.gguf", folder / "dflash.gguf", 600, kvType, chunk});
    EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
    return run ? std::move(*run) : nullptr;
}

// A text of ordinary tokens; the vocabulary of the reference trios has 2,048.
inline std::vector<std::int32_t> someIds(std::size_t count) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < count; ++i)
        ids.push_back(static_cast<std::int32_t>((i * 7919 + 13) % 2000));
    return ids;
}

// Bits, not values: two zeros of different sign or two NaN must not pass for each other by
// accident.
inline void expectSameBits(const std::vector<float>& a, const std::vector<float>& b,
                           const char* what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    ASSERT_FALSE(a.empty()) << what;
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
}

} // namespace test
