// Files that lie, contradict themselves or end early: each is answered in words, and memory stays
// small.
#include "engine/gguf/gguf_file.h"

#include "tests/engine/gguf/allocation_counter.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/temp_dir.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace engine {
namespace {

using test::allocatedBytes;
using test::GgufBuilder;

Error refusal(std::string_view bytes) {
    const auto file = GgufFile::fromBytes(std::as_bytes(std::span(bytes)), "x");
    if (file) return {ErrorCode::Internal, "it was accepted"};
    return file.error();
}

void expectDamaged(const GgufBuilder& builder, std::string_view message) {
    const std::string bytes = builder.build();
    allocatedBytes = 0;
    const Error error = refusal(bytes);
    EXPECT_LT(allocatedBytes, std::size_t{1} << 20) << message;
    EXPECT_EQ(error.code, ErrorCode::InvalidFile) << error.message;
    EXPECT_EQ(error.message, message);
}

void expectUnsupported(const GgufBuilder& builder, std::string_view message) {
    const Error error = refusal(builder.build());
    EXPECT_EQ(error.code, ErrorCode::Unsupported) << error.message;
    EXPECT_EQ(error.message, message);
}

std::string u64(std::uint64_t value) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
    return out;
}

constexpr std::uint64_t kHuge = std::uint64_t{1} << 63;

TEST(GgufDamage, RefusesWhatIsNotGguf) {
    EXPECT_EQ(refusal("").message, "the file is empty");
    EXPECT_EQ(refusal("hello").message, "it is not a GGUF file");
    EXPECT_EQ(refusal("x").message, "it is not a GGUF file");
    expectDamaged(GgufBuilder("arch").magic("GGUG"), "it is not a GGUF file");
}

TEST(GgufDamage, RefusesOtherVersionsByName) {
    expectUnsupported(GgufBuilder("arch").version(1),
                      "it is GGUF version 1, an early form that is no longer in use");
    expectUnsupported(GgufBuilder("arch").version(0x03000000),
                      "it is written for big-endian computers");
    expectUnsupported(GgufBuilder("arch").version(0x02000000),
                      "it is written for big-endian computers");
    expectUnsupported(GgufBuilder("arch").version(4), "it is GGUF version 4; Glint reads 2 and 3");
    expectUnsupported(GgufBuilder("arch").version(0), "it is GGUF version 0; Glint reads 2 and 3");
}

TEST(GgufDamage, EveryCutIsAnUnfinishedFile) {
    const std::string whole = GgufBuilder("arch")
                                  .u32("n", 7)
                                  .texts("tokens", std::vector<std::string>(40, "token"))
                                  .booleans("pattern", std::vector<bool>(60, true))
                                  .f32Tensor("a", {300}, std::vector<float>(300, 1.0f))
                                  .f32Tensor("b", {8}, std::vector<float>(8, 2.0f))
                                  .build();
    ASSERT_TRUE(GgufFile::fromBytes(std::as_bytes(std::span(whole)), "x"));
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        const Error error = refusal(whole.substr(0, cut));
        ASSERT_EQ(error.code, ErrorCode::Unfinished) << cut << ": " << error.message;
    }
    EXPECT_EQ(refusal(whole.substr(0, 100)).message,
              "the file is not complete: it ends inside its header");
    EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)).message,
              "the file is not complete: 2047 of 2048 bytes are here");
}

TEST(GgufDamage, TheFixtureCutAtEverySixtyFourthByteIsUnfinished) {
    const std::string whole = test::readWholeFile(GLINT_FIXTURES "/oracle/tiny-f32/dflash.gguf");
    const auto opened = GgufFile::fromBytes(std::as_bytes(std::span(whole)), "x");
    ASSERT_TRUE(opened) << opened.error().message;
    const auto headerBytes = static_cast<std::size_t>(opened->dataOffset());
    for (std::size_t cut = 64; cut <= headerBytes; cut += 64) {
        const Error error = refusal(std::string_view(whole).substr(0, cut));
        ASSERT_EQ(error.code, ErrorCode::Unfinished) << cut << ": " << error.message;
    }
}

TEST(GgufDamage, RefusesCountsThatCannotBe) {
    expectDamaged(GgufBuilder("arch").keyCount(kHuge),
                  "it is said to have 9,223,372,036,854,775,808 keys");
    expectDamaged(GgufBuilder("arch").tensorCount(kHuge),
                  "it is said to have 9,223,372,036,854,775,808 tensors");
    expectDamaged(GgufBuilder("arch").raw("k", 8, u64(kHuge)),
                  "a text of key 'k' is said to be 9,223,372,036,854,775,808 bytes long");
    for (const char element : {0, 4, 7, 8, 12}) {
        expectDamaged(GgufBuilder("arch").raw("k", 9, std::string{element, 0, 0, 0} + u64(kHuge)),
                      "key 'k' is said to have 9,223,372,036,854,775,808 elements");
    }
    // 2^61 elements of 8 bytes: the product would wrap to zero.
    expectDamaged(
        GgufBuilder("arch").raw("k", 9, std::string("\x0A\0\0\0", 4) + u64(std::uint64_t{1} << 61)),
        "key 'k' is said to have 2,305,843,009,213,693,952 elements");
}

TEST(GgufDamage, CountsBeyondTheFileTakeNoMemory) {
    for (const GgufBuilder& builder :
         {GgufBuilder("arch").keyCount(65'000), GgufBuilder("arch").tensorCount(65'000),
          GgufBuilder("arch").raw("k", 8, u64(200'000'000)),
          GgufBuilder("arch").raw("k", 9, std::string("\x0A\0\0\0", 4) + u64(200'000'000)),
          GgufBuilder("arch").raw("k", 9, std::string("\x08\0\0\0", 4) + u64(200'000'000))}) {
        const std::string bytes = builder.build();
        allocatedBytes = 0;
        const Error error = refusal(bytes);
        EXPECT_LT(allocatedBytes, std::size_t{1} << 20);
        EXPECT_NE(error.code, ErrorCode::Internal) << error.message;
    }
}

TEST(GgufDamage, RefusesBrokenKeys) {
    expectDamaged(GgufBuilder("arch").raw("", 0, "x"), "a key has no name");
    expectDamaged(GgufBuilder("arch").u32("k", 1).u32("k", 1), "key 'k' appears twice");
    expectDamaged(GgufBuilder("arch").raw("k", 13, "x"), "key 'k' has the unknown type 13");
    expectDamaged(GgufBuilder("arch").raw("k", 7, "\x02"), "key 'k' is neither true nor false");
    expectDamaged(GgufBuilder("arch").raw("k", 9, std::string("\7\0\0\0", 4) + u64(3) + "\1\1\xFF"),
                  "key 'k' is neither true nor false");
    expectDamaged(GgufBuilder("arch").raw("k", 9, std::string("\x63\0\0\0", 4) + u64(0)),
                  "key 'k' has the unknown type 99");
    expectUnsupported(GgufBuilder("arch").raw("k", 9, std::string("\x09\0\0\0", 4) + u64(1)),
                      "key 'k' holds an array of arrays");
    expectDamaged(GgufBuilder("arch").u32(std::string(70'000, 'k'), 1),
                  "the name of a key is said to be 70,000 bytes long");
    for (const std::uint32_t alignment : {0u, 1u, 4u, 24u, 33u, 0x80000000u}) {
        expectDamaged(GgufBuilder("arch").u32("general.alignment", alignment),
                      "'general.alignment' is " + std::to_string(alignment) +
                          ", not a power of two from 8 on");
    }
    expectDamaged(GgufBuilder("arch").text("general.alignment", "32"),
                  "'general.alignment' is not a number");
}

TEST(GgufDamage, RefusesBrokenTensors) {
    const std::optional<std::string> none = "";
    expectDamaged(GgufBuilder("arch").tensor("", {1}), "a tensor has no name");
    expectDamaged(GgufBuilder("arch").tensor("a", {1}).tensor("a", {1}),
                  "tensor 'a' appears twice");
    expectDamaged(GgufBuilder("arch").tensor("a", {1, 1, 1, 1, 1}), "tensor 'a' has 5 dimensions");
    expectDamaged(GgufBuilder("arch").tensor("a", {}, 0, none), "tensor 'a' has 0 dimensions");
    expectDamaged(GgufBuilder("arch").tensor("a", {0}, 0, none),
                  "tensor 'a' has the impossible length 0");
    expectDamaged(GgufBuilder("arch").tensor("a", {kHuge}, 0, none),
                  "tensor 'a' has the impossible length 9,223,372,036,854,775,808");
    // 2^32 * 2^32 weights: the product would wrap to zero.
    expectDamaged(
        GgufBuilder("arch").tensor("a", {std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0, none),
        "tensor 'a' has the impossible length 4,294,967,296");
    expectDamaged(GgufBuilder("arch").tensor("a", {100}, 12, none),
                  "tensor 'a': rows of 100 weights are not whole blocks of Q4_K");
    expectUnsupported(GgufBuilder("arch").tensor("a", {256}, 77, none),
                      "tensor 'a' has the unknown type 77");
    expectDamaged(GgufBuilder("arch").tensor(std::string(2'000, 'a'), {1}),
                  "the name of a tensor is said to be 2,000 bytes long");
    // What cannot be shown is not shown.
    expectDamaged(GgufBuilder("arch").tensor("\xFF\n", {1}).tensor("\xFF\n", {1}),
                  "tensor '\uFFFD\uFFFD' appears twice");
}

TEST(GgufDamage, RefusesOffsetsThatOverlapOrLieOutside) {
    const auto two = [] {
        return GgufBuilder("arch").tensor("a", {16}).tensor("b", {16}); // 64 bytes each
    };
    ASSERT_EQ(refusal(two().build()).message, "it was accepted");
    expectDamaged(two().offsetOf("b", 32), "tensors 'a' and 'b' overlap");
    expectDamaged(two().offsetOf("b", 0), "tensors 'a' and 'b' overlap");
    expectDamaged(two().offsetOf("a", 32), "tensors 'a' and 'b' overlap");
    expectDamaged(two().offsetOf("b", 65), "tensor 'b' is not aligned");
    expectDamaged(two().offsetOf("b", 96), "there are gaps between the tensors");
    expectDamaged(two().offsetOf("b", 160), "tensor 'b' lies outside the file's data");
    expectDamaged(two().offsetOf("a", 0xFFFFFFFFFFFFFFE0),
                  "tensor 'a' lies outside the file's data");
    expectDamaged(two().offsetOf("b", kHuge), "tensor 'b' lies outside the file's data");
}

TEST(GgufDamage, HeaderOfAnUnfinishedFileCanBeRead) {
    const test::TempDir dir;
    const std::string whole = GgufBuilder("arch").tensor("a", {1000}).tensor("b", {1000}).build();
    const auto path =
        dir.write("half.gguf", std::string_view(whole).substr(0, whole.size() - 2000));
    const auto refused = GgufFile::open(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Unfinished);
    const auto header = GgufFile::openHeader(path);
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_FALSE(header->complete());
    EXPECT_EQ(header->expectedBytes(), static_cast<std::int64_t>(whole.size()));
    EXPECT_EQ(header->presentBytes(), static_cast<std::int64_t>(whole.size()) - 2000);
    EXPECT_EQ(header->tensor("a")->bytes.size(), 4000u);
    EXPECT_TRUE(header->tensor("b")->bytes.empty());
    header->release(*header->tensor("b"));
}

} // namespace
} // namespace engine
