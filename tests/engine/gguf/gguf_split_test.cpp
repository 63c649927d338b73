#include "engine/gguf/gguf_file.h"

#include "tests/support/gguf_builder.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace engine {
namespace {

using test::GgufBuilder;

GgufBuilder part(int no, int count, int tensors) {
    GgufBuilder builder;
    if (no == 0) builder.text("general.architecture", "arch").text("general.name", "split model");
    const char small[3] = {static_cast<char>(no), 0, 0};
    const char total[3] = {static_cast<char>(count), 0, 0};
    builder.raw("split.no", 2, std::string_view(small, 2)); // U16, as the usual tool writes it
    builder.raw("split.count", 2, std::string_view(total, 2));
    builder.i32("split.tensors.count", tensors);
    return builder;
}

void writeThree(const std::filesystem::path& dir) {
    part(0, 3, 3).write(dir / "m-00001-of-00003.gguf");
    part(1, 3, 3)
        .f32Tensor("a", {1}, {1})
        .f32Tensor("b", {1}, {2})
        .write(dir / "m-00002-of-00003.gguf");
    part(2, 3, 3).f32Tensor("c", {1}, {3}).write(dir / "m-00003-of-00003.gguf");
}

float onlyValue(const GgufTensor* tensor) {
    float value = 0;
    tensor->format->decode(tensor->bytes.data(), 1, &value);
    return value;
}

TEST(GgufSplit, AnyPartLeadsToTheSet) {
    const test::TempDir dir;
    writeThree(dir.path());
    for (const char* name :
         {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
        const auto file = GgufFile::open(dir / name);
        ASSERT_TRUE(file) << name << ": " << file.error().message;
        EXPECT_EQ(file->parts(), 3);
        EXPECT_EQ(*file->text("general.name"), "split model");
        ASSERT_EQ(file->tensors().size(), 3u);
        EXPECT_EQ(onlyValue(file->tensor("b")), 2.0f);
        EXPECT_EQ(onlyValue(file->tensor("c")), 3.0f);
        EXPECT_EQ(file->path(), dir / name);
        for (const GgufTensor& tensor : file->tensors()) file->release(tensor);
    }
}

TEST(GgufSplit, NamesTheMissingParts) {
    const test::TempDir dir;
    writeThree(dir.path());
    std::filesystem::remove(dir / "m-00001-of-00003.gguf");
    std::filesystem::remove(dir / "m-00003-of-00003.gguf");
    const auto file = GgufFile::open(dir / "m-00002-of-00003.gguf");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::Unfinished);
    EXPECT_EQ(file.error().message, "the model is split into 3 files; missing beside this one: "
                                    "m-00001-of-00003.gguf, m-00003-of-00003.gguf");
    const auto header = GgufFile::openHeader(dir / "m-00002-of-00003.gguf");
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_FALSE(header->complete());
    EXPECT_EQ(header->missingParts().size(), 2u);
}

TEST(GgufSplit, RefusesPartsOfAnotherSet) {
    const test::TempDir dir;
    writeThree(dir.path());
    part(1, 3, 3).write(dir / "m-00003-of-00003.gguf");
    EXPECT_EQ(GgufFile::open(dir / "m-00001-of-00003.gguf").error().message,
              "m-00003-of-00003.gguf is not part 3 of 3 of this model");
    part(2, 3, 3).write(dir / "m-00003-of-00003.gguf");
    EXPECT_EQ(GgufFile::open(dir / "m-00001-of-00003.gguf").error().message,
              "the parts hold 2 tensors, expected 3");
    part(2, 3, 3).f32Tensor("a", {1}, {3}).write(dir / "m-00003-of-00003.gguf");
    EXPECT_EQ(GgufFile::open(dir / "m-00001-of-00003.gguf").error().message,
              "tensor 'a' appears twice");
}

TEST(GgufSplit, SaysWhenTheNameHidesTheOthers) {
    const test::TempDir dir;
    writeThree(dir.path());
    std::filesystem::rename(dir / "m-00002-of-00003.gguf", dir / "renamed.gguf");
    const auto file = GgufFile::open(dir / "renamed.gguf");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().message,
              "it is part 2 of 3 of a split model, and its name does not end in "
              "-00002-of-00003.gguf, so the other parts cannot be found");
    EXPECT_TRUE(GgufFile::openHeader(dir / "renamed.gguf"));
}

TEST(GgufSplit, FollowsLinks) {
    const test::TempDir dir;
    std::filesystem::create_directory(dir / "blobs");
    std::filesystem::create_directory(dir / "snapshot");
    std::filesystem::create_directory(dir / "parts");
    writeThree(dir / "parts");
    // As download caches do it: links with the right names, targets named by hash.
    for (int i = 1; i <= 3; ++i) {
        const std::string name = "m-0000" + std::to_string(i) + "-of-00003.gguf";
        const auto blob = dir / "blobs" / ("hash" + std::to_string(i));
        std::filesystem::copy_file(dir / "parts" / name, blob);
        std::filesystem::create_symlink(blob, dir / "snapshot" / name);
    }
    const auto cached = GgufFile::open(dir / "snapshot" / "m-00002-of-00003.gguf");
    ASSERT_TRUE(cached) << cached.error().message;
    EXPECT_EQ(cached->tensors().size(), 3u);
    // One link elsewhere, to a part that lies among the others.
    for (const char* link : {"link.gguf", "x-00003-of-00003.gguf"}) {
        std::filesystem::create_symlink(dir / "parts" / "m-00003-of-00003.gguf", dir / link);
        const auto linked = GgufFile::open(dir / link);
        ASSERT_TRUE(linked) << link << ": " << linked.error().message;
        EXPECT_EQ(linked->tensors().size(), 3u);
    }
}

TEST(GgufSplit, RefusesSenselessNumbers) {
    const test::TempDir dir;
    const auto message = [&](const GgufBuilder& builder) {
        builder.write(dir / "a-00001-of-00002.gguf");
        const auto file = GgufFile::open(dir / "a-00001-of-00002.gguf");
        return file ? std::string("accepted") : file.error().message;
    };
    EXPECT_EQ(message(GgufBuilder("arch").u32("split.count", 4'000'000'000)),
              "key 'split.count' is not a sensible number");
    EXPECT_EQ(message(GgufBuilder("arch").i32("split.count", -2)),
              "key 'split.count' is not a sensible number");
    EXPECT_EQ(message(GgufBuilder("arch").u32("split.count", 2)),
              "it is part of a split model and does not say which");
    EXPECT_EQ(message(GgufBuilder("arch").u32("split.count", 2).u32("split.no", 2)),
              "key 'split.no' is not a sensible number");
    EXPECT_EQ(message(GgufBuilder("arch").u32("split.count", 1)), "accepted");
}

} // namespace
} // namespace engine
