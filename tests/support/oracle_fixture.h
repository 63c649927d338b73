#pragma once
// The reference trios: one lies in this repository, the larger one beside the checkout where it is.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>

namespace test {

// The folder of a reference trio; empty where it is not.
inline std::filesystem::path oracleFolder(const std::string& name) {
    for (const std::filesystem::path& parent : {std::filesystem::path(GLINT_FIXTURES) / "oracle",
                                                std::filesystem::path(GLINT_SHARED_FIXTURES)}) {
        if (std::filesystem::exists(parent / name / "cases.json")) return parent / name;
    }
    return {};
}

// Tests that run on both trios: TEST_P(OracleTest, ...) with folder and cases at hand.
class OracleTest : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        folder = oracleFolder(GetParam());
        if (folder.empty()) GTEST_SKIP() << "skipped: fixture not here";
        std::ifstream file(folder / "cases.json");
        cases = nlohmann::json::parse(file);
    }
    std::filesystem::path folder;
    nlohmann::json cases;
};

inline std::string oracleTestName(const testing::TestParamInfo<std::string>& info) {
    return info.param == "tiny-f32" ? "TinyF32" : "TinyShape";
}

} // namespace test

// Instantiates the tests of a suite for both trios.
#define GLINT_BOTH_ORACLES(suite)                                                                  \
    INSTANTIATE_TEST_SUITE_P(Oracle, suite, testing::Values("tiny-f32", "tiny-shape"),             \
                             test::oracleTestName)
