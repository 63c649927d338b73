#include "engine/model/model_file.h"

#include "tests/engine/model_file/trio_files.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace engine {
namespace {

class ModelSlotsTest : public testing::Test {
protected:
    ModelSlotsTest() {
        // Names that mislead on purpose.
        test::targetFile().write(m_dir / "mmproj.gguf");
        test::projectorFile().write(m_dir / "dflash.gguf");
        test::drafterFile().write(m_dir / "model.gguf");
    }
    test::TempDir m_dir;
};

TEST_F(ModelSlotsTest, ThreeFilesInAnyOrderFindTheirPlaces) {
    std::vector<std::filesystem::path> files = {m_dir / "dflash.gguf", m_dir / "mmproj.gguf",
                                                m_dir / "model.gguf"};
    std::sort(files.begin(), files.end());
    int orders = 0;
    do {
        ++orders;
        const ModelSlots slots = sortIntoSlots(files);
        ASSERT_TRUE(slots.target && slots.projector && slots.drafter);
        EXPECT_EQ(slots.target->path, m_dir / "mmproj.gguf");
        EXPECT_EQ(slots.projector->path, m_dir / "dflash.gguf");
        EXPECT_EQ(slots.drafter->path, m_dir / "model.gguf");
        EXPECT_TRUE(slots.refused.empty());
    } while (std::next_permutation(files.begin(), files.end()));
    EXPECT_EQ(orders, 6);
}

TEST_F(ModelSlotsTest, NewFilesReplaceThoseOfTheirRole) {
    const std::filesystem::path first[] = {m_dir / "mmproj.gguf", m_dir / "model.gguf"};
    test::drafterFile().u32("other", 1).write(m_dir / "second drafter.gguf");
    const std::filesystem::path then[] = {m_dir / "second drafter.gguf"};
    const ModelSlots slots = sortIntoSlots(then, sortIntoSlots(first));
    EXPECT_EQ(slots.target->path, m_dir / "mmproj.gguf");
    EXPECT_EQ(slots.drafter->path, m_dir / "second drafter.gguf");
    EXPECT_FALSE(slots.projector);
}

TEST_F(ModelSlotsTest, RefusesWhatHasNoPlace) {
    const std::filesystem::path files[] = {
        m_dir / "mmproj.gguf", m_dir.write("letter.gguf", "Dear all"), m_dir / "nothing"};
    const ModelSlots slots = sortIntoSlots(files);
    EXPECT_TRUE(slots.target);
    ASSERT_EQ(slots.refused.size(), 2u);
    EXPECT_EQ(slots.refused[0].sentence, "This is a text file, not a model.");
    EXPECT_EQ(slots.refused[1].state, FileState::Unreadable);
}

TEST_F(ModelSlotsTest, TwoFilesOfOneRoleKeepTheFirst) {
    test::targetFile({.width = 96}).write(m_dir / "another.gguf");
    const std::filesystem::path files[] = {m_dir / "mmproj.gguf", m_dir / "another.gguf"};
    const ModelSlots slots = sortIntoSlots(files);
    EXPECT_EQ(slots.target->path, m_dir / "mmproj.gguf");
    ASSERT_EQ(slots.refused.size(), 1u);
    EXPECT_EQ(slots.refused[0].sentence,
              "Only one file can take this place, and mmproj.gguf came first.");
}

TEST_F(ModelSlotsTest, RefusesPartsOfAnotherModel) {
    const auto refusal = [&](const test::GgufBuilder& builder) {
        builder.write(m_dir / "other.gguf");
        const std::filesystem::path files[] = {m_dir / "other.gguf", m_dir / "mmproj.gguf"};
        const ModelSlots slots = sortIntoSlots(files);
        EXPECT_TRUE(slots.target);
        EXPECT_FALSE(slots.projector || slots.drafter);
        return slots.refused.size() == 1 ? slots.refused[0].sentence : std::string();
    };
    EXPECT_EQ(
        refusal(test::projectorFile({.width = 96})),
        "This vision part belongs to another model: its output width is 96, the model's is 64.");
    EXPECT_EQ(refusal(test::drafterFile({.width = 96})),
              "This draft part belongs to another model: its width is 96, the model's is 64.");
    EXPECT_EQ(refusal(test::drafterFile({.vocabulary = 11})),
              "This draft part belongs to another model: its vocabulary is 11, the model's is 12.");
    EXPECT_EQ(refusal(test::drafterFile({.layers = 9})),
              "This draft part belongs to another model: it reads layer 9 of 2.");
}

TEST_F(ModelSlotsTest, MatchComparesOnlyPartsWithTheModel) {
    const ModelFileInfo target = inspectModelFile(m_dir / "mmproj.gguf");
    const ModelFileInfo drafter = inspectModelFile(m_dir / "model.gguf");
    EXPECT_TRUE(checkMatch(target, drafter));
    EXPECT_FALSE(checkMatch(drafter, target));
    EXPECT_FALSE(checkMatch(target, target));
}

} // namespace
} // namespace engine
