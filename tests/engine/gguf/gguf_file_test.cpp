#include "engine/gguf/gguf_file.h"

#include "tests/support/gguf_builder.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace engine {
namespace {

using test::GgufBuilder;

// A file in memory and its reading; the bytes outlive the reading.
struct Opened {
    explicit Opened(const GgufBuilder& builder)
        : bytes(builder.bytes()), file(GgufFile::fromBytes(bytes, "test.gguf")) {}
    std::vector<std::byte> bytes;
    Result<GgufFile> file;
};

TEST(GgufFile, ReadsEveryKindOfValue) {
    const Opened opened(GgufBuilder("arch")
                            .u8("u8", 200)
                            .raw("i8", 1, "\xFE")
                            .raw("u16", 2, "\xFF\xFF")
                            .raw("i16", 3, "\xFE\xFF")
                            .u32("u32", 4'000'000'000)
                            .i32("i32", -5)
                            .u64("u64", 1ull << 40)
                            .raw("i64", 11, std::string_view("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8))
                            .f32("f32", 0.5f)
                            .f64("f64", -0.25)
                            .boolean("yes", true)
                            .text("text", "grüße")
                            .text("empty", "")
                            .i32s("i32s", {1, -2, 3})
                            .f32s("f32s", {0.5f, 2.0f})
                            .booleans("booleans", {true, false})
                            .texts("texts", {"a", "", "ccc"}));
    ASSERT_TRUE(opened.file) << opened.file.error().message;
    const GgufFile& file = *opened.file;
    constexpr std::int64_t kLow = -1000;
    EXPECT_EQ(*file.integer("u8"), 200);
    EXPECT_EQ(*file.integer("i8", kLow), -2);
    EXPECT_EQ(*file.integer("u16"), 65535);
    EXPECT_EQ(*file.integer("i16", kLow), -2);
    EXPECT_EQ(*file.integer("u32"), 4'000'000'000);
    EXPECT_EQ(*file.integer("i32", kLow), -5);
    EXPECT_EQ(*file.integer("u64"), std::int64_t(1) << 40);
    EXPECT_EQ(*file.integer("i64", kLow), -1);
    EXPECT_EQ(*file.number("f32"), 0.5);
    EXPECT_EQ(*file.number("f64"), -0.25);
    EXPECT_EQ(*file.number("u8"), 200.0);
    EXPECT_EQ(*file.boolean("yes"), true);
    EXPECT_EQ(*file.text("text"), "grüße");
    EXPECT_EQ(*file.text("empty"), "");
    EXPECT_EQ(*file.integers("i32s"), (std::vector<std::int64_t>{1, -2, 3}));
    EXPECT_EQ(*file.integers("booleans"), (std::vector<std::int64_t>{1, 0}));
    EXPECT_EQ(*file.numbers("f32s"), (std::vector<double>{0.5, 2.0}));
    const auto texts = file.texts("texts");
    ASSERT_TRUE(texts);
    EXPECT_EQ(texts->size(), 3);
    EXPECT_EQ(std::vector<std::string_view>(texts->begin(), texts->end()),
              (std::vector<std::string_view>{"a", "", "ccc"}));
    EXPECT_EQ(file.keys().front().name, "general.architecture");
    EXPECT_EQ(file.keys().size(), 18u);
}

TEST(GgufFile, NamesTheKeyThatIsMissingOrWrong) {
    const Opened opened(GgufBuilder("arch")
                            .u32("n", 7)
                            .u64("huge", std::numeric_limits<std::uint64_t>::max())
                            .f32("nan", std::nanf(""))
                            .text("text", "seven")
                            .u8("two", 2)
                            .f32s("inf", {std::numeric_limits<float>::infinity()})
                            .i32s("many", std::vector<std::int32_t>(100)));
    ASSERT_TRUE(opened.file);
    const GgufFile& file = *opened.file;
    EXPECT_EQ(file.integer("absent").error().message, "key 'absent' is missing");
    EXPECT_EQ(file.integer("n", 8, 9).error().message, "key 'n' is 7, expected 8 to 9");
    EXPECT_EQ(file.integer("text").error().message, "key 'text' is not a whole number");
    EXPECT_EQ(file.integer("nan").error().message, "key 'nan' is not a whole number");
    EXPECT_FALSE(file.integer("many"));
    EXPECT_FALSE(file.integer("huge", 0, 1'000'000));
    EXPECT_FALSE(file.number("nan"));
    EXPECT_FALSE(file.number("n", 0, 6.5));
    EXPECT_FALSE(file.boolean("two"));
    EXPECT_FALSE(file.text("n"));
    EXPECT_FALSE(file.texts("text"));
    EXPECT_FALSE(file.numbers("inf"));
    EXPECT_FALSE(file.integers("many", 99));
    EXPECT_TRUE(file.integers("many", 100));
    EXPECT_EQ(file.integers("n").error().message, "key 'n' is not a list of whole numbers");
}

TEST(GgufFile, FallbackServesOnlyAbsentKeys) {
    const Opened opened(GgufBuilder("arch").text("n", "seven").u32("m", 3));
    ASSERT_TRUE(opened.file);
    EXPECT_EQ(*opened.file->integerOr("absent", 5), 5);
    EXPECT_EQ(*opened.file->integerOr("m", 5), 3);
    EXPECT_FALSE(opened.file->integerOr("n", 5));
    EXPECT_EQ(*opened.file->numberOr("absent", 0.5), 0.5);
    EXPECT_EQ(*opened.file->booleanOr("absent", true), true);
    EXPECT_EQ(*opened.file->textOr("absent", "x"), "x");
    EXPECT_FALSE(opened.file->textOr("m", "x"));
}

TEST(GgufFile, GivesTensorsWithShapeAndBytes) {
    const Opened opened(GgufBuilder("arch")
                            .f32Tensor("a", {3}, {1, 2, 3})
                            .tensor("b", {256, 4, 2}, 12)
                            .f32Tensor("c", {1}, {9}));
    ASSERT_TRUE(opened.file) << opened.file.error().message;
    const GgufFile& file = *opened.file;
    ASSERT_EQ(file.tensors().size(), 3u);
    EXPECT_EQ(file.tensors()[1].name, "b");
    const GgufTensor* const b = file.tensor("b");
    ASSERT_TRUE(b);
    EXPECT_EQ(b->type(), QuantType::Q4_K);
    EXPECT_TRUE(b->hasShape(256, 4, 2));
    EXPECT_EQ(b->rows(), 8);
    EXPECT_EQ(b->sizeBytes, 8 * 144);
    EXPECT_EQ(b->bytes.size(), 8u * 144);
    const GgufTensor* const c = file.tensor("c");
    ASSERT_TRUE(c);
    float value = 0;
    quantFormat(c->type()).decode(c->bytes.data(), 1, &value);
    EXPECT_EQ(value, 9.0f);
    EXPECT_EQ(file.tensor("d"), nullptr);
    EXPECT_TRUE(file.complete());
    EXPECT_EQ(file.presentBytes(), static_cast<std::int64_t>(opened.bytes.size()));
    file.adviseSequential(*b); // no mapping: nothing happens
    file.release(*b);
}

TEST(GgufFile, TensorsMayLieInAnyOrder) {
    GgufBuilder builder("arch");
    builder.f32Tensor("second", {8}, {1, 1, 1, 1, 1, 1, 1, 1})
        .f32Tensor("first", {8}, {2, 2, 2, 2, 2, 2, 2, 2});
    builder.offsetOf("second", 32).offsetOf("first", 0);
    const Opened opened(builder);
    ASSERT_TRUE(opened.file) << opened.file.error().message;
    EXPECT_LT(opened.file->tensor("first")->bytes.data(),
              opened.file->tensor("second")->bytes.data());
}

TEST(GgufFile, ReadsVersionTwoAndOtherAlignments) {
    const Opened two(GgufBuilder("arch").version(2).f32Tensor("a", {1}, {4}));
    ASSERT_TRUE(two.file) << two.file.error().message;
    EXPECT_EQ(two.file->version(), 2);
    const Opened wide(GgufBuilder("arch")
                          .u32("general.alignment", 256)
                          .alignment(256)
                          .f32Tensor("a", {1}, {4})
                          .f32Tensor("b", {1}, {5}));
    ASSERT_TRUE(wide.file) << wide.file.error().message;
    EXPECT_EQ(wide.file->tensor("b")->bytes.data() - wide.file->tensor("a")->bytes.data(), 256);
    EXPECT_EQ(wide.file->dataOffset() % 256, 0);
}

TEST(GgufFile, DoesNotNeedThePaddingAfterTheLastTensor) {
    std::string text = GgufBuilder("arch").f32Tensor("a", {1}, {4}).build();
    text.resize(text.size() - 28);
    const auto bytes = std::as_bytes(std::span(text));
    EXPECT_TRUE(GgufFile::fromBytes(bytes, "x"));
    EXPECT_FALSE(GgufFile::fromBytes(bytes.first(bytes.size() - 1), "x"));
}

TEST(GgufFile, OpensFromDiskAndStaysValidWhenMoved) {
    const test::TempDir dir;
    GgufBuilder("arch").text("k", "value").f32Tensor("a", {1}, {4}).write(dir / "a.gguf");
    auto opened = GgufFile::open(dir / "a.gguf");
    ASSERT_TRUE(opened) << opened.error().message;
    const std::string_view value = *opened->text("k");
    const GgufFile moved = std::move(opened).value();
    EXPECT_EQ(value, "value");
    EXPECT_EQ(*moved.text("k"), "value");
    moved.release(*moved.tensor("a"));
    EXPECT_EQ(moved.path(), dir / "a.gguf");
    EXPECT_EQ(GgufFile::open(dir / "b.gguf").error().message, "there is no such file");
}

TEST(GgufFile, ReadsTheReferenceFixture) {
    const auto file = GgufFile::open(GLINT_FIXTURES "/oracle/tiny-f32/target.gguf");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(*file->text("general.architecture"), "muse-glimmer");
    EXPECT_EQ(file->tensors().size(), 3u + 8 * 14);
    EXPECT_TRUE(file->tensor("blk.7.ffn_down.weight")->hasShape(192, 128));
    EXPECT_EQ(file->texts("tokenizer.ggml.tokens")->size(), 2048);
    EXPECT_EQ(*file->texts("tokenizer.ggml.tokens")->begin(), "!");
    EXPECT_EQ(file->presentBytes() - file->expectedBytes(), 0);
}

} // namespace
} // namespace engine
