#include "engine/model/model_file.h"

#include "engine/gguf/gguf_file.h"
#include "tests/engine/model_file/trio_files.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

namespace engine {
namespace {

using test::GgufBuilder;

ModelFileInfo describe(const GgufBuilder& builder) {
    const auto bytes = builder.bytes();
    const auto file = GgufFile::fromBytes(bytes, "x.gguf");
    EXPECT_TRUE(file) << file.error().message;
    return file ? describeModelFile(*file) : ModelFileInfo{};
}

TEST(ModelFile, KnowsTheReferenceTrio) {
    const auto at = [](const char* name) {
        return inspectModelFile(std::string(GLINT_FIXTURES "/oracle/tiny-f32/") + name);
    };
    const ModelFileInfo target = at("target.gguf");
    EXPECT_EQ(target.state, FileState::Whole);
    EXPECT_EQ(target.role, FileRole::Target);
    EXPECT_TRUE(target.usable());
    EXPECT_TRUE(target.testModel);
    EXPECT_EQ(target.sentence,
              "This is a test model with random weights; what it answers is nonsense.");
    EXPECT_EQ(target.width, 128);
    EXPECT_EQ(target.vocabulary, 2048);
    EXPECT_EQ(target.layers, 8);
    ASSERT_EQ(target.types.size(), 1u);
    EXPECT_EQ(target.types[0].name, "F32");
    EXPECT_EQ(target.types[0].tensors, 115);
    EXPECT_EQ(target.types[0].bytes, target.parameters * 4);
    EXPECT_EQ(target.presentBytes, 8229888);

    const ModelFileInfo projector = at("mmproj.gguf");
    EXPECT_EQ(projector.role, FileRole::Projector);
    EXPECT_TRUE(projector.usable());
    EXPECT_EQ(projector.width, 128);

    const ModelFileInfo drafter = at("dflash.gguf");
    EXPECT_EQ(drafter.role, FileRole::Drafter);
    EXPECT_TRUE(drafter.usable());
    EXPECT_EQ(drafter.lastTap, 7);
    EXPECT_EQ(drafter.vocabulary, 2048);

    const ModelFileInfo golden = at("golden.gguf");
    EXPECT_EQ(golden.role, FileRole::OtherModel);
    EXPECT_EQ(golden.sentence, "This is another model (golden), not Muse Glimmer.");
    EXPECT_FALSE(golden.usable());
}

TEST(ModelFile, ARealModelIsNotATestModel) {
    const ModelFileInfo info = describe(test::targetFile());
    EXPECT_TRUE(info.usable());
    EXPECT_FALSE(info.testModel);
    EXPECT_EQ(info.sentence, "This is the model.");
    EXPECT_EQ(describe(test::projectorFile()).sentence, "This is the vision part.");
    EXPECT_EQ(describe(test::drafterFile()).sentence, "This is the draft part.");
}

TEST(ModelFile, NamesTheLookAlikesOfTheDrafter) {
    const auto role = [](const GgufBuilder& builder) {
        const ModelFileInfo info = describe(builder);
        EXPECT_FALSE(info.usable());
        EXPECT_EQ(info.sentence.find("This is a draft part"), 0u) << info.sentence;
        return info.role;
    };
    EXPECT_EQ(role(test::drafterFile().tensor("markov_w1.weight", {4})), FileRole::DsparkDrafter);
    EXPECT_EQ(role(test::drafterFile().tensor("markov_w2.weight", {4})), FileRole::DsparkDrafter);
    EXPECT_EQ(role(test::drafterFile().tensor("selector_hidden.weight", {4})),
              FileRole::Dflash2Drafter);
    for (const char* key :
         {"conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k"}) {
        EXPECT_EQ(role(test::drafterFile().u32(std::string("dflash.") + key, 4)),
                  FileRole::Dflash2Drafter);
    }
    EXPECT_EQ(role(test::drafterFile().tensor("d2t", {4})), FileRole::ReducedVocabularyDrafter);
    EXPECT_EQ(role(test::drafterFile().tensor("token_embd.weight", {4})), FileRole::OwnHeadDrafter);
    EXPECT_EQ(role(test::drafterFile().tensor("output.weight", {4})), FileRole::OwnHeadDrafter);
}

TEST(ModelFile, NamesStrangers) {
    EXPECT_EQ(describe(GgufBuilder("llama")).sentence,
              "This is another model (llama), not Muse Glimmer.");
    EXPECT_EQ(describe(GgufBuilder("clip").text("clip.projector_type", "qwen2vl")).role,
              FileRole::OtherProjector);
    EXPECT_EQ(describe(GgufBuilder("clip")).role, FileRole::OtherProjector);
    EXPECT_EQ(describe(GgufBuilder()).sentence,
              "This is a GGUF file that does not say which model it holds.");
    EXPECT_EQ(describe(GgufBuilder("evil\n\x1B[31m")).sentence,
              "This is another model (evil\uFFFD\uFFFD[31m), not Muse Glimmer.");
}

TEST(ModelFile, NamesWhatAConversionLost) {
    const ModelFileInfo one = describe(test::targetFile({}, "blk.1.attn_q_norm"));
    EXPECT_EQ(one.role, FileRole::Target);
    EXPECT_FALSE(one.usable());
    EXPECT_EQ(one.sentence,
              "This is the model, but 1 tensor is missing: blk.1.attn_q_norm.weight.");
    const ModelFileInfo many = describe(test::targetFile({}, "blk.1."));
    EXPECT_EQ(many.missingTensors.size(), 14u);
    EXPECT_EQ(many.sentence,
              "This is the model, but 14 tensors are missing, such as blk.1.attn_norm.weight.");
}

TEST(ModelFile, NamesTypesThatGlintDoesNotComputeWith) {
    const ModelFileInfo info =
        describe(test::targetFile().tensor("extra", {256}, 18).tensor("more", {256}, 21));
    EXPECT_EQ(info.role, FileRole::Target);
    EXPECT_FALSE(info.usable());
    EXPECT_EQ(info.sentence, "This is the model, in number formats that Glint does not read: "
                             "IQ3_S, IQ3_XXS.");
}

TEST(ModelFile, AHostileLayerCountStaysSmall) {
    const ModelFileInfo info = describe(
        GgufBuilder("muse-glimmer").u64("muse-glimmer.block_count", std::uint64_t{1} << 63));
    EXPECT_EQ(info.role, FileRole::Target);
    EXPECT_LE(info.missingTensors.size(), 1024u * 14 + 3);
}

} // namespace
} // namespace engine
