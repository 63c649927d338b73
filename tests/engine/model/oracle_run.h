#pragma once
// All comparisons with one oracle folder as a test: the same that `glint-cli fixture` makes.

#include "app/cli/fixture/checks.h"
#include "tests/engine/model/model_fixture.h"

namespace test {

inline void expectAllPassed(const app::fixture::Report& report, std::size_t leastChecks) {
    for (const app::fixture::Check& check : report.checks())
        EXPECT_TRUE(check.passed) << app::fixture::line(check);
    EXPECT_GE(report.checks().size(), leastChecks); // that nothing was left out
}

inline void expectParts(const std::string& name, engine::CpuMath math, engine::KvType kvType,
                        int threads, std::size_t leastChecks) {
    const auto folder = oracleFolder(name);
    if (folder.empty()) GTEST_SKIP() << "skipped: fixture not here";
    const auto backend = processor(math, threads);
    ASSERT_NE(backend, nullptr);
    app::fixture::Report report;
    app::fixture::compareParts(folder, *backend, {math == engine::CpuMath::Int8, kvType}, report);
    expectAllPassed(report, leastChecks);
}

inline void expectSession(const std::string& name, engine::CpuMath math, engine::KvType kvType,
                          int threads, std::size_t leastChecks) {
    const auto folder = oracleFolder(name);
    if (folder.empty()) GTEST_SKIP() << "skipped: fixture not here";
    auto backend = processor(math, threads);
    ASSERT_NE(backend, nullptr);
    app::fixture::Report report;
    app::fixture::compareSession(folder, std::move(backend),
                                 {math == engine::CpuMath::Int8, kvType}, report);
    expectAllPassed(report, leastChecks);
}

} // namespace test
