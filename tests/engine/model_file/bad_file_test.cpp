// Files that are no model, or not yet: each gets its sentence.
#include "engine/gguf/gguf_file.h"
#include "engine/model/model_file.h"
#include "tests/engine/model_file/trio_files.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace engine {
namespace {

using namespace std::string_literals;

class BadFile : public testing::Test {
protected:
    // The name says GGUF throughout: it must not count.
    ModelFileInfo inspect(std::string_view bytes) {
        return inspectModelFile(m_dir.write("model.gguf", bytes));
    }
    void expect(std::string_view bytes, FileState state, std::string_view sentence) {
        const ModelFileInfo info = inspect(bytes);
        EXPECT_EQ(info.state, state) << sentence;
        EXPECT_EQ(info.sentence, sentence);
        EXPECT_FALSE(info.usable());
    }
    test::TempDir m_dir;
};

TEST_F(BadFile, IsNamedByItsContents) {
    constexpr FileState kNot = FileState::NotGguf;
    expect("", kNot, "The file is empty.");
    expect("Dear reader,\nthis is a letter – not a model.\n", kNot,
           "This is a text file, not a model.");
    expect("PK\x03\x04 and so on", kNot,
           "This is an archive (ZIP, or weights saved by PyTorch); Glint reads GGUF files.");
    expect("\x40\0\0\0\0\0\0\0{\"__metadata__\":{}}"s, kNot,
           "This is a safetensors file; Glint reads GGUF files, which the same model is also "
           "published as.");
    expect("<!DOCTYPE html><title>404</title>", kNot,
           "This is a web page, not a model: the download brought the wrong thing.");
    expect("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", kNot,
           "This is only a pointer that Git LFS left in place of the file; the file itself has to "
           "be downloaded.");
    expect("tjgg\1\0\0\0"s, kNot,
           "This is a model in an old form from before GGUF, which Glint does not read.");
    expect("\x7F\x45LF\2\1\1\0"s, kNot, "This is not a GGUF file.");
    expect("GGUG\3\0\0\0"s, kNot, "This is not a GGUF file.");
    expect(std::string(100'000, '\0'), FileState::Unfinished,
           "The file holds only zeros so far: is it still being downloaded?");
}

TEST_F(BadFile, IsUnreadableWhenMissingOrAFolder) {
    const ModelFileInfo missing = inspectModelFile(m_dir / "nothing.gguf");
    EXPECT_EQ(missing.state, FileState::Unreadable);
    EXPECT_EQ(missing.sentence, "The file cannot be read: there is no such file.");
    EXPECT_EQ(inspectModelFile(m_dir.path()).sentence, "The file cannot be read: it is a folder.");
}

TEST_F(BadFile, SaysHowMuchOfADownloadIsHere) {
    const std::string whole = test::readWholeFile(GLINT_FIXTURES "/oracle/tiny-f32/dflash.gguf");
    const ModelFileInfo half = inspect(std::string_view(whole).substr(0, 925'000));
    EXPECT_EQ(half.state, FileState::Unfinished);
    EXPECT_EQ(half.role, FileRole::Drafter);
    EXPECT_EQ(half.presentBytes, 925'000);
    EXPECT_EQ(half.expectedBytes, static_cast<std::int64_t>(whole.size()));
    EXPECT_EQ(half.sentence, "This is the draft part of a test model, and it is not complete: 0.93 "
                             "of 1.85 MB are here; is it still being downloaded?");
    EXPECT_FALSE(half.usable());
    const ModelFileInfo start = inspect(std::string_view(whole).substr(0, 30'000));
    EXPECT_EQ(start.state, FileState::Unfinished);
    EXPECT_EQ(start.role, FileRole::Unknown);
    EXPECT_EQ(start.expectedBytes, 0);
    EXPECT_EQ(start.sentence, "The file is not complete: only 30.0 kB are here, less than its "
                              "header; is it still being downloaded?");
}

TEST_F(BadFile, EveryCutOfAHeaderIsUnfinished) {
    const std::string whole = test::targetFile().build();
    const std::size_t header = test::targetFile().headerBytes();
    for (std::size_t cut = 64; cut < header; cut += 64) {
        const ModelFileInfo info = inspect(std::string_view(whole).substr(0, cut));
        ASSERT_EQ(info.state, FileState::Unfinished) << cut << ": " << info.sentence;
    }
}

TEST_F(BadFile, IsDamagedWhenItContradictsItself) {
    expect(test::targetFile().keyCount(std::uint64_t{1} << 63).build(), FileState::Damaged,
           "The file is damaged: it is said to have 9,223,372,036,854,775,808 keys.");
    expect(test::targetFile().offsetOf("output.weight", 0).build(), FileState::Damaged,
           "The file is damaged: tensors 'token_embd.weight' and 'output.weight' overlap.");
}

TEST_F(BadFile, OtherFormsOfGgufAreNamed) {
    expect(
        test::targetFile().version(1).build(), FileState::Unsupported,
        "Glint does not read this file: it is GGUF version 1, an early form that is no longer in "
        "use.");
    expect(test::targetFile().version(0x03000000).build(), FileState::Unsupported,
           "Glint does not read this file: it is written for big-endian computers.");
}

TEST_F(BadFile, MissingPartsOfASplitModelAreNamed) {
    test::GgufBuilder part;
    part.text("general.architecture", "muse-glimmer")
        .u32("split.no", 0)
        .u32("split.count", 2)
        .write(m_dir / "m-00001-of-00002.gguf");
    const ModelFileInfo info = inspectModelFile(m_dir / "m-00001-of-00002.gguf");
    EXPECT_EQ(info.state, FileState::Unfinished);
    EXPECT_EQ(info.role, FileRole::Target);
    EXPECT_TRUE(info.missingTensors.empty()); // nobody knows yet
    EXPECT_EQ(info.sentence,
              "This is the model, split into 2 files of which these are missing beside "
              "it: m-00002-of-00002.gguf.");
}

TEST_F(BadFile, AHugeFileOfOneHeaderIsDescribedAtOnce) {
    // Nine gigabytes that take no room on disk: only the header may be looked at.
    const auto path = m_dir / "sparse.gguf";
    const std::uint64_t weights = 9'000'000'000 / 4;
    test::GgufBuilder builder("llama");
    builder.tensor("a", {weights}, 0, "").write(path);
    std::filesystem::resize_file(path, builder.headerBytes() + 9'000'000'000);
    const ModelFileInfo info = inspectModelFile(path);
    EXPECT_EQ(info.state, FileState::Whole);
    EXPECT_EQ(info.presentBytes, info.expectedBytes);
    EXPECT_EQ(info.parameters, 2'250'000'000);
}

} // namespace
} // namespace engine
