#include "engine/model/spec.h"

#include "engine/gguf/gguf_file.h"
#include "tests/support/gguf_builder.h"

#include <gtest/gtest.h>

#include <functional>

using namespace engine;
using test::GgufBuilder;

namespace {

std::vector<std::string> vocabulary(std::size_t size) {
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < size; ++i) tokens.push_back("t" + std::to_string(i));
    return tokens;
}

// The numbers of a small decoder, each of which a test may replace.
struct DecoderKeys {
    std::string architecture = "muse-glimmer";
    std::uint32_t layers = 8, width = 64, ffn = 96, heads = 4, kvHeads = 2, keySize = 16,
                  valueSize = 16;
    std::uint32_t window = 32;
    float eps = 1e-5f, theta = 500000, scale = 0.19611613f, cap = 20;
    std::size_t tokens = 50;
    std::function<void(GgufBuilder&)> more;

    GgufBuilder builder() const {
        GgufBuilder file(architecture);
        const std::string a = architecture + ".";
        file.u32(a + "block_count", layers).u32(a + "context_length", 4096);
        file.u32(a + "embedding_length", width).u32(a + "feed_forward_length", ffn);
        file.u32(a + "attention.head_count", heads).u32(a + "attention.head_count_kv", kvHeads);
        file.u32(a + "attention.key_length", keySize).u32(a + "attention.value_length", valueSize);
        file.u32(a + "attention.sliding_window", window);
        file.f32(a + "attention.layer_norm_rms_epsilon", eps).f32(a + "rope.freq_base", theta);
        file.f32(a + "logit_scale", scale).f32(a + "final_logit_softcapping", cap);
        file.texts("tokenizer.ggml.tokens", vocabulary(tokens));
        if (more) more(file);
        return file;
    }
};

template<class Spec, class... Rest>
Result<Spec> readSpec(const GgufBuilder& builder, const Rest&... rest) {
    const std::vector<std::byte> bytes = builder.bytes();
    auto file = GgufFile::fromBytes(bytes, "test.gguf");
    EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
    return Spec::read(*file, rest...);
}

Result<TextSpec> readText(const DecoderKeys& keys) {
    return readSpec<TextSpec>(keys.builder());
}

std::string pattern(const std::vector<bool>& sliding) {
    std::string text;
    for (const bool s : sliding) text += s ? 's' : 'F';
    return text;
}

std::string patternWith(std::function<void(GgufBuilder&)> more, std::uint32_t layers = 8) {
    DecoderKeys keys;
    keys.layers = layers;
    keys.more = std::move(more);
    const auto spec = readText(keys);
    return spec ? pattern(spec->sliding) : spec.error().message;
}

constexpr std::string_view kPattern = "muse-glimmer.attention.sliding_window_pattern";

void expectRefused(const DecoderKeys& keys, std::string_view part) {
    const auto spec = readText(keys);
    ASSERT_FALSE(spec.ok()) << part;
    EXPECT_NE(spec.error().message.find(part), std::string::npos) << spec.error().message;
}

} // namespace

TEST(TextSpec, ReadsTheNumbersOfTheFile) {
    const auto spec = readText({});
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(spec->layers, 8);
    EXPECT_EQ(spec->width, 64);
    EXPECT_EQ(spec->ffnWidth, 96);
    EXPECT_EQ(spec->heads, 4);
    EXPECT_EQ(spec->kvHeads, 2);
    EXPECT_EQ(spec->headSize, 16);
    EXPECT_EQ(spec->vocabulary, 50); // of the token list
    EXPECT_EQ(spec->contextLimit, 4096);
    EXPECT_EQ(spec->slidingWindow, 32);
    EXPECT_FLOAT_EQ(spec->eps, 1e-5f);
    EXPECT_FLOAT_EQ(spec->postNormEps, 1e-8f); // not in the file
    EXPECT_FLOAT_EQ(spec->logitScale, 0.19611613f);
    EXPECT_FLOAT_EQ(spec->logitCap, 20);
    EXPECT_EQ(spec->ropeTheta, 500000);
}

TEST(TextSpec, ReadsEveryFormOfTheLayerPattern) {
    EXPECT_EQ(patternWith({}), "sssFsssF"); // absent: a period of four
    EXPECT_EQ(patternWith([](GgufBuilder& f) {
                  f.booleans(kPattern, {true, false, true, true, true, true, false, true});
              }),
              "sFssssFs");
    EXPECT_EQ(patternWith([](GgufBuilder& f) {
                  f.i32s(kPattern, {1, 1, 0, 0, 1, 1, 1, 0});
              }),
              "ssFFsssF");
    EXPECT_EQ(patternWith([](GgufBuilder& f) {
                  f.booleans(kPattern, {true, true, false});
              }),
              "ssFssFss");
    EXPECT_EQ(patternWith([](GgufBuilder& f) { f.u32(kPattern, 4); }, 10), "sssFsssFss");
    EXPECT_EQ(patternWith([](GgufBuilder& f) { f.u32(kPattern, 2); }), "sFsFsFsF");
    EXPECT_EQ(patternWith([](GgufBuilder& f) { f.u32(kPattern, 1); }), "FFFFFFFF");
}

TEST(TextSpec, RefusesPatternsThatSayNothing) {
    EXPECT_NE(patternWith([](GgufBuilder& f) { f.booleans(kPattern, {}); }).find("empty"),
              std::string::npos);
    EXPECT_NE(patternWith([](GgufBuilder& f) { f.u32(kPattern, 0); }).find(kPattern),
              std::string::npos);
    EXPECT_NE(patternWith([](GgufBuilder& f) { f.text(kPattern, "sssF"); }).find(kPattern),
              std::string::npos);
}

TEST(TextSpec, TakesTheRotaryWidthFromTheHeadUnlessTheFileSaysOtherwise) {
    DecoderKeys keys;
    keys.more = [](GgufBuilder& f) { f.u32("muse-glimmer.rope.dimension_count", 16); };
    EXPECT_TRUE(readText(keys).ok());
    keys.more = [](GgufBuilder& f) { f.u32("muse-glimmer.rope.dimension_count", 8); };
    expectRefused(keys, "8 of the 16");
}

TEST(TextSpec, RefusesStretchedPositions) {
    DecoderKeys keys;
    keys.more = [](GgufBuilder& f) { f.text("muse-glimmer.rope.scaling.type", "yarn"); };
    expectRefused(keys, "yarn");
    keys.more = [](GgufBuilder& f) { f.text("muse-glimmer.rope.scaling.type", "none"); };
    EXPECT_TRUE(readText(keys).ok());
}

TEST(TextSpec, RefusesHostileNumbersInWords) {
    const std::function<void(DecoderKeys&)> damages[] = {
        [](DecoderKeys& k) { k.layers = 0; },
        [](DecoderKeys& k) { k.layers = 4'000'000'000; },
        [](DecoderKeys& k) { k.width = 0; },
        [](DecoderKeys& k) { k.width = 4'000'000'000; },
        [](DecoderKeys& k) { k.ffn = 0; },
        [](DecoderKeys& k) { k.heads = 0; },
        [](DecoderKeys& k) { k.heads = 5; }, // not shared evenly among 2 key heads
        [](DecoderKeys& k) { k.kvHeads = 0; },
        [](DecoderKeys& k) { k.kvHeads = 3; },
        [](DecoderKeys& k) { k.keySize = 0; },
        [](DecoderKeys& k) { k.keySize = k.valueSize = 17; }, // no pairs
        [](DecoderKeys& k) { k.valueSize = 8; },
        [](DecoderKeys& k) {
            k.heads = 4096;
            k.keySize = k.valueSize = 4096;
        },
        [](DecoderKeys& k) { k.window = 0; },
        [](DecoderKeys& k) { k.eps = -1; },
        [](DecoderKeys& k) { k.eps = std::numeric_limits<float>::quiet_NaN(); },
        [](DecoderKeys& k) { k.theta = 0; },
        [](DecoderKeys& k) { k.scale = std::numeric_limits<float>::infinity(); },
        [](DecoderKeys& k) { k.cap = -1; },
        [](DecoderKeys& k) { k.tokens = 0; },
    };
    for (std::size_t i = 0; i < std::size(damages); ++i) {
        DecoderKeys keys;
        damages[i](keys);
        const auto spec = readText(keys);
        ASSERT_FALSE(spec.ok()) << "damage " << i;
        EXPECT_FALSE(spec.error().message.empty()) << "damage " << i;
    }
}

TEST(TextSpec, RefusesFilesOfAnotherRole) {
    DecoderKeys keys;
    keys.architecture = "llama";
    expectRefused(keys, "llama");
    keys.architecture = "dflash";
    expectRefused(keys, "needed here is the model itself");
}

namespace {

struct DraftKeys : DecoderKeys {
    std::vector<std::int32_t> taps = {2, 4, 8};
    std::uint32_t block = 16;
    std::uint32_t mask = 49;
    DraftKeys() {
        architecture = "dflash";
        layers = 2;
    }
    GgufBuilder builder() const {
        GgufBuilder file = DecoderKeys::builder();
        file.u32("dflash.block_size", block).i32s("dflash.target_layers", taps);
        file.u32("tokenizer.ggml.mask_token_id", mask);
        return file;
    }
};

Result<DraftSpec> readDraft(const DraftKeys& keys) {
    const auto target = readText({});
    return readSpec<DraftSpec>(keys.builder(), *target);
}

void expectRefused(const DraftKeys& keys, std::string_view part) {
    const auto spec = readDraft(keys);
    ASSERT_FALSE(spec.ok()) << part;
    EXPECT_NE(spec.error().message.find(part), std::string::npos) << spec.error().message;
}

} // namespace

TEST(DraftSpec, ReadsTheNumbersOfTheFile) {
    DraftKeys keys;
    keys.more = [](GgufBuilder& f) {
        f.booleans("dflash.attention.sliding_window_pattern", {true, true});
    };
    const auto spec = readDraft(keys);
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(spec->blockSize, 16);
    EXPECT_EQ(spec->taps, (std::vector<int>{2, 4, 8}));
    EXPECT_EQ(spec->maskToken, 49);
    EXPECT_EQ(pattern(spec->sliding), "ss");
}

// Files shrunk to few layers for speed tests do that.
TEST(DraftSpec, MayReadALayerTwice) {
    DraftKeys keys;
    keys.taps = {4, 4};
    EXPECT_TRUE(readDraft(keys).ok());
}

TEST(DraftSpec, RefusesADrafterOfAnotherModel) {
    DraftKeys keys;
    keys.width = 128;
    expectRefused(keys, "128 wide, the model 64");
    keys = {};
    keys.tokens = 60;
    expectRefused(keys, "60 tokens, the model 50");
    keys = {};
    keys.taps = {2, 9};
    expectRefused(keys, "layer 9 of 8");
}

TEST(DraftSpec, RefusesHostileNumbersInWords) {
    DraftKeys keys;
    keys.taps = {};
    expectRefused(keys, "names no layers");
    keys = {};
    keys.taps = {4, 2};
    expectRefused(keys, "ascending");
    keys = {};
    keys.taps = {0, 2}; // nothing enters before the first layer but the embedding
    expectRefused(keys, "ascending");
    keys = {};
    keys.mask = 50;
    expectRefused(keys, "outside the vocabulary");
    keys = {};
    keys.block = 1;
    expectRefused(keys, "block_size");
    keys = {};
    keys.block = 1000;
    expectRefused(keys, "block_size");
}

TEST(DraftSpec, RefusesLookAlikesByName) {
    const auto withTensor = [](const char* name) {
        DraftKeys keys;
        keys.more = [name](GgufBuilder& f) { f.tensor(name, {64, 50}); };
        return keys;
    };
    expectRefused(withTensor("markov_w1.weight"), "DSpark");
    expectRefused(withTensor("selector_hidden.weight"), "DFlash 2");
    expectRefused(withTensor("output.weight"), "output layer of its own");
    DraftKeys reduced;
    reduced.more = [](GgufBuilder& f) { f.tensor("d2t", {50}, 26); };
    expectRefused(reduced, "some of the model's vocabulary");
}

namespace {

struct VisionKeys {
    std::uint32_t width = 64, heads = 4, layers = 5, patch = 14, merge = 2, projection = 64;
    std::vector<float> mean = {0.5f, 0.5f, 0.5f}, stddev = {0.5f, 0.5f, 0.5f};
    std::uint64_t tableRows = 81;
    std::string projector = "muse-glimmer";
    std::optional<std::uint32_t> maxPixels;

    GgufBuilder builder() const {
        GgufBuilder file("clip");
        if (maxPixels) file.u32("clip.vision.image_max_pixels", *maxPixels);
        file.boolean("clip.has_vision_encoder", true).text("clip.projector_type", projector);
        const std::string v = "clip.vision.";
        file.u32(v + "projection_dim", projection)
            .u32(v + "image_size", 896)
            .u32(v + "patch_size", patch);
        file.u32(v + "embedding_length", width).u32(v + "feed_forward_length", 96);
        file.u32(v + "block_count", layers).u32(v + "attention.head_count", heads);
        file.f32(v + "attention.layer_norm_epsilon", 1e-5f).u32(v + "spatial_merge_size", merge);
        file.f32s(v + "image_mean", mean).f32s(v + "image_std", stddev);
        file.tensor("v.position_embd.weight", {width, tableRows});
        return file;
    }
};

void expectRefused(const VisionKeys& keys, std::string_view part) {
    const auto spec = readSpec<VisionSpec>(keys.builder());
    ASSERT_FALSE(spec.ok()) << part;
    EXPECT_NE(spec.error().message.find(part), std::string::npos) << spec.error().message;
}

} // namespace

TEST(VisionSpec, TakesTheWindowFromThePositionTable) {
    const auto spec = readSpec<VisionSpec>(VisionKeys().builder());
    ASSERT_TRUE(spec.ok()) << spec.error().message;
    EXPECT_EQ(spec->gridSide, 9);
    EXPECT_EQ(spec->headSize, 16);
    EXPECT_EQ(spec->cellPixels(), 28);
    EXPECT_EQ(spec->maxCells, 4096);
    EXPECT_FALSE(spec->fullAttention(0));
    EXPECT_TRUE(spec->fullAttention(3));
    EXPECT_TRUE(spec->fullAttention(4)); // the last
}

TEST(VisionSpec, AFileMayBoundThePixelsOfAPicture) {
    const auto maxCells = [](std::uint32_t pixels) {
        VisionKeys keys;
        keys.maxPixels = pixels;
        const auto spec = readSpec<VisionSpec>(keys.builder());
        return spec.ok() ? spec->maxCells : -1;
    };
    EXPECT_EQ(maxCells(45 * 28 * 28), 45);
    EXPECT_EQ(maxCells(46 * 28 * 28 - 1), 45); // whole cells
    EXPECT_EQ(maxCells(28 * 28), 1);
    EXPECT_EQ(maxCells(UINT32_MAX), 4096); // never more than the architecture's own bound
}

TEST(VisionSpec, RefusesHostileNumbersInWords) {
    VisionKeys keys;
    keys.maxPixels = 28 * 28 - 1;
    expectRefused(keys, "image_max_pixels");
    keys = {};
    keys.tableRows = 80;
    expectRefused(keys, "not a square");
    keys = {};
    keys.heads = 3;
    expectRefused(keys, "cannot be divided");
    keys = {};
    keys.heads = 32; // heads of 2: no room for rows and columns
    expectRefused(keys, "multiple of 4");
    keys = {};
    keys.stddev = {0.5f, 0, 0.5f};
    expectRefused(keys, "out of range");
    keys = {};
    keys.mean = {0.5f};
    expectRefused(keys, "three numbers");
    keys = {};
    keys.patch = 0;
    expectRefused(keys, "patch_size");
    keys = {};
    keys.layers = 0;
    expectRefused(keys, "block_count");
    keys = {};
    keys.projector = "llava";
    expectRefused(keys, "another model");
}
