#include "engine/model/weights.h"

#include "engine/gguf/gguf_file.h"
#include "tests/engine/model/model_fixture.h"
#include "tests/support/gguf_builder.h"

using namespace engine;
using namespace test;

namespace {

TextSpec tinySpec() {
    TextSpec spec;
    spec.layers = 2;
    spec.width = 64;
    spec.ffnWidth = 96;
    spec.heads = 4;
    spec.kvHeads = 2;
    spec.headSize = 16;
    spec.vocabulary = 50;
    spec.sliding = {true, false};
    return spec;
}

using Names = std::vector<std::pair<std::string, std::vector<std::uint64_t>>>;

Names tinyTensors() {
    Names tensors = {
        {"token_embd.weight", {64, 50}}, {"output.weight", {64, 50}}, {"output_norm.weight", {64}}};
    for (const std::string block : {"blk.0.", "blk.1."}) {
        for (const char* norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"})
            tensors.push_back({block + norm + ".weight", {64}});
        for (const char* norm : {"attn_q_norm", "attn_k_norm"})
            tensors.push_back({block + norm + ".weight", {16}});
        for (const char* wide : {"attn_q", "attn_gate"})
            tensors.push_back({block + wide + ".weight", {64, 64}});
        for (const char* narrow : {"attn_k", "attn_v"})
            tensors.push_back({block + narrow + ".weight", {64, 32}});
        tensors.push_back({block + "attn_output.weight", {64, 64}});
        for (const char* up : {"ffn_gate", "ffn_up"})
            tensors.push_back({block + up + ".weight", {64, 96}});
        tensors.push_back({block + "ffn_down.weight", {96, 64}});
    }
    return tensors;
}

std::vector<std::byte> fileOf(const Names& tensors) {
    GgufBuilder builder("muse-glimmer");
    for (const auto& [name, ne] : tensors) builder.tensor(name, ne);
    return builder.bytes();
}

Result<std::shared_ptr<const TextWeights>>
load(const Names& tensors, const LoadedBytes& progress = {}, std::stop_token stop = {}) {
    static const auto backend = processor();
    const std::vector<std::byte> bytes = fileOf(tensors);
    const auto file = GgufFile::fromBytes(bytes, "test.gguf");
    EXPECT_TRUE(file.ok());
    return TextWeights::load(*backend, *file, tinySpec(), progress, std::move(stop));
}

std::string refusal(const Names& tensors) {
    const auto weights = load(tensors);
    return weights ? "loaded" : weights.error().message;
}

Names without(std::string_view name) {
    Names tensors = tinyTensors();
    std::erase_if(tensors, [&](const auto& tensor) { return tensor.first == name; });
    return tensors;
}

Names withShape(std::string_view name, std::vector<std::uint64_t> ne) {
    Names tensors = tinyTensors();
    for (auto& tensor : tensors)
        if (tensor.first == name) tensor.second = std::move(ne);
    return tensors;
}

} // namespace

TEST(TextWeights, LoadsEveryTensorOnceAndSaysHowFarItIs) {
    std::vector<std::int64_t> reports;
    const auto weights = load(tinyTensors(), [&](std::int64_t done) { reports.push_back(done); });
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    ASSERT_EQ(reports.size(), tinyTensors().size());
    std::int64_t bytes = 0;
    for (const auto& tensor : tinyTensors()) {
        std::int64_t count = 1;
        for (const std::uint64_t n : tensor.second) count *= std::int64_t(n);
        bytes += count * 4;
    }
    EXPECT_EQ(reports.back(), bytes);
    EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
    EXPECT_EQ((*weights)->layers.size(), 2u);
    EXPECT_EQ((*weights)->layers[1].ffnDown->columns, 96);
    EXPECT_EQ((*weights)->layers[1].ffnDown->rows, 64);
}

TEST(TextWeights, NamesWhatIsMissing) {
    EXPECT_NE(refusal(without("blk.1.ffn_up.weight")).find("blk.1.ffn_up.weight is missing"),
              std::string::npos);
    EXPECT_NE(refusal(without("output.weight")).find("output.weight is missing"),
              std::string::npos);
}

TEST(TextWeights, RefusesConversionsThatLostTheHeadNorms) {
    EXPECT_EQ(refusal(without("blk.1.attn_q_norm.weight")),
              "blk.1.attn_q_norm.weight is missing: this conversion lost it");
    EXPECT_EQ(refusal(without("blk.0.attn_k_norm.weight")),
              "blk.0.attn_k_norm.weight is missing: this conversion lost it");
}

TEST(TextWeights, NamesTheWrongShape) {
    EXPECT_EQ(refusal(withShape("blk.0.attn_k.weight", {64, 64})),
              "blk.0.attn_k.weight is [64, 64] instead of [64, 32]");
    EXPECT_EQ(refusal(withShape("output_norm.weight", {32})),
              "output_norm.weight is [32] instead of [64]");
    EXPECT_EQ(refusal(withShape("token_embd.weight", {64, 49})),
              "token_embd.weight is [64, 49] instead of [64, 50]");
}

TEST(TextWeights, TellsOfAllFaultsInOneSentence) {
    Names tensors = without("output.weight");
    std::erase_if(tensors,
                  [](const auto& tensor) { return tensor.first == "blk.0.attn_v.weight"; });
    const std::string message = refusal(tensors);
    EXPECT_NE(message.find("output.weight"), std::string::npos) << message;
    EXPECT_NE(message.find("blk.0.attn_v.weight"), std::string::npos) << message;
    const std::string many = refusal({});
    EXPECT_NE(many.find("and 19 more"), std::string::npos)
        << many; // 31 in all, the first 12 by name
}

TEST(TextWeights, StopsBetweenTensors) {
    std::stop_source stop;
    int tensors = 0;
    const auto weights = load(
        tinyTensors(),
        [&](std::int64_t) {
            if (++tensors == 5) stop.request_stop();
        },
        stop.get_token());
    ASSERT_FALSE(weights.ok());
    EXPECT_EQ(weights.error().code, ErrorCode::Cancelled);
    EXPECT_EQ(tensors, 5);
}

TEST(VisionWeights, ReadsThePatchKernelAsRowsOfPixels) {
    const auto backend = processor();
    const auto file = GgufFile::open(oracleFolder("tiny-f32") / "mmproj.gguf");
    ASSERT_TRUE(file.ok());
    const auto spec = VisionSpec::read(*file);
    ASSERT_TRUE(spec.ok());
    const auto weights = VisionWeights::load(*backend, *file, *spec, {}, {});
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    EXPECT_EQ((*weights)->patchEmbedding->columns, 3 * 14 * 14);
    EXPECT_EQ((*weights)->patchEmbedding->rows, spec->width);
    EXPECT_EQ((*weights)->project0->columns, 4 * spec->width);
    EXPECT_EQ((*weights)->positionTable.size(), std::size_t(64 * spec->width));
}

TEST(DraftWeights, RefusesADrafterWithOtherTaps) {
    const auto backend = processor();
    const auto folder = oracleFolder("tiny-f32");
    const auto target = GgufFile::open(folder / "target.gguf");
    const auto file = GgufFile::open(folder / "dflash.gguf");
    ASSERT_TRUE(target.ok() && file.ok());
    auto spec = DraftSpec::read(*file, *TextSpec::read(*target));
    ASSERT_TRUE(spec.ok());
    EXPECT_TRUE(DraftWeights::load(*backend, *file, *spec, {}, {}).ok());
    spec->taps.pop_back();
    const auto weights = DraftWeights::load(*backend, *file, *spec, {}, {});
    ASSERT_FALSE(weights.ok());
    EXPECT_NE(weights.error().message.find("fc.weight"), std::string::npos);
}
