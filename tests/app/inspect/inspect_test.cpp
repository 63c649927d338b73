#include "app/cli/commands.h"

#include "tests/support/gguf_builder.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace app {
namespace {

const std::string kTrio = GLINT_FIXTURES "/oracle/tiny-f32/";

struct Outcome {
    std::string printed;
    engine::Result<int> code;
};

Outcome inspect(const std::vector<std::string>& arguments) {
    const auto options = Options::parse(arguments, kInspect.options);
    EXPECT_TRUE(options) << options.error().message;
    testing::internal::CaptureStdout();
    auto code = kInspect.run(*options);
    return {testing::internal::GetCapturedStdout(), std::move(code)};
}

TEST(Inspect, DescribesTheTrioAsJson) {
    const Outcome out =
        inspect({"--json", kTrio + "target.gguf", kTrio + "mmproj.gguf", kTrio + "dflash.gguf"});
    ASSERT_TRUE(out.code) << out.code.error().message;
    EXPECT_EQ(*out.code, 0);
    const auto files = nlohmann::json::parse(out.printed)["files"];
    ASSERT_EQ(files.size(), 3u);
    const char* roles[] = {"target", "projector", "drafter"};
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(files[i]["role"], roles[i]);
        EXPECT_EQ(files[i]["state"], "whole");
        EXPECT_EQ(files[i]["usable"], true);
        EXPECT_EQ(files[i]["problem"], nullptr);
        EXPECT_EQ(files[i]["test_model"], true);
        EXPECT_EQ(files[i]["present_bytes"], files[i]["expected_bytes"]);
    }
    EXPECT_EQ(files[0]["hyper_parameters"]["muse-glimmer.embedding_length"], 128);
    EXPECT_EQ(files[0]["hyper_parameters"]["tokenizer.ggml.tokens"]["count"], 2048);
    EXPECT_EQ(files[2]["hyper_parameters"]["dflash.target_layers"], (std::vector<int>{2, 5, 7}));
    EXPECT_EQ(files[0]["types"][0],
              (nlohmann::json{
                  {"type", "F32"}, {"tensors", 115}, {"bytes", 8147456}, {"readable", true}}));
}

TEST(Inspect, AnswersBadFilesWithOneSentenceAndStillDescribesTheOthers) {
    const test::TempDir dir;
    const std::string letter = dir.write("letter.gguf", "Dear reader").string();
    const Outcome out = inspect({"--json", letter, kTrio + "target.gguf"});
    ASSERT_FALSE(out.code);
    EXPECT_EQ(out.code.error().code, engine::ErrorCode::InvalidFile);
    EXPECT_EQ(out.code.error().message, letter + ": This is a text file, not a model.");
    const auto files = nlohmann::json::parse(out.printed)["files"];
    EXPECT_EQ(files[0]["state"], "not_gguf");
    EXPECT_EQ(files[0]["usable"], false);
    EXPECT_EQ(files[1]["state"], "whole");
}

TEST(Inspect, RefusesATargetWhoseNumbersMakeNoSense) {
    const test::TempDir dir;
    std::string bytes = test::readWholeFile(kTrio + "target.gguf");
    const std::string key = "muse-glimmer.attention.head_count";
    const std::size_t at = bytes.find(key) + key.size() + 4; // behind the value's type
    bytes.replace(at, 4, std::string(4, '\0'));
    const std::string path = dir.write("zero heads.gguf", bytes).string();
    const Outcome out = inspect({path});
    ASSERT_FALSE(out.code);
    EXPECT_NE(out.code.error().message.find(key), std::string::npos) << out.code.error().message;
    EXPECT_NE(out.printed.find("muse-glimmer.attention.head_count = 0"), std::string::npos);
}

TEST(Inspect, RefusesADrafterOfAnotherWidth) {
    const test::TempDir dir;
    std::string bytes = test::readWholeFile(kTrio + "dflash.gguf");
    const std::string key = "dflash.embedding_length";
    bytes[bytes.find(key) + key.size() + 4] = 64;
    const std::string path = dir.write("narrow.gguf", bytes).string();
    const Outcome out = inspect({kTrio + "target.gguf", path});
    ASSERT_FALSE(out.code);
    EXPECT_EQ(
        out.code.error().message,
        path + ": this draft part belongs to another model: its width is 64, the model's is 128");
}

TEST(Inspect, ShowsForeignTextSafely) {
    const test::TempDir dir;
    test::GgufBuilder("other")
        .text("general.name", "\xFF\x1B[2J")
        .texts("other.list", {"\xC3", "fine"})
        .write(dir / "a.gguf");
    const Outcome out = inspect({"--json", (dir / "a.gguf").string()});
    ASSERT_TRUE(out.code) << out.code.error().message;
    const auto file = nlohmann::json::parse(out.printed)["files"][0];
    EXPECT_EQ(file["name"], "\uFFFD\uFFFD[2J");
    EXPECT_EQ(file["hyper_parameters"]["other.list"][0], "\uFFFD");
    EXPECT_EQ(file["role"], "other_model");
    EXPECT_EQ(file["usable"], false);
}

TEST(Inspect, AsksForFiles) {
    const Outcome out = inspect({});
    ASSERT_FALSE(out.code);
    EXPECT_EQ(out.code.error().message, "say which files to inspect");
}

} // namespace
} // namespace app
