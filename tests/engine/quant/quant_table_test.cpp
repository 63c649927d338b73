#include "engine/quant/quant_table.h"

#include "engine/gguf/gguf_file.h"
#include "engine/quant/half.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace engine {
namespace {

std::vector<float> decode(QuantType type, const std::vector<std::uint8_t>& block) {
    const QuantFormat& format = quantFormat(type);
    EXPECT_EQ(static_cast<int>(block.size()), format.blockBytes);
    std::vector<float> out(static_cast<std::size_t>(format.blockWeights));
    dequantizeRow(type, reinterpret_cast<const std::byte*>(block.data()), format.blockWeights,
                  out.data());
    return out;
}

void putHalf(std::vector<std::uint8_t>& block, std::size_t at, float value) {
    const std::uint16_t half = floatToHalf(value);
    block[at] = static_cast<std::uint8_t>(half);
    block[at + 1] = static_cast<std::uint8_t>(half >> 8);
}

TEST(QuantTable, DecodesRandomBlocksAsTheReferenceDoes) {
    const auto golden = GgufFile::open(GLINT_FIXTURES "/quant/golden.gguf");
    ASSERT_TRUE(golden) << golden.error().message;
    int types = 0;
    for (const GgufTensor& blocks : golden->tensors()) {
        const GgufTensor* const values = golden->tensor(std::string(blocks.name) + ".values");
        if (!values) continue;
        ++types;
        ASSERT_EQ(blocks.name, blocks.format->name);
        std::vector<float> out(static_cast<std::size_t>(blocks.columns()));
        dequantizeRow(blocks.type(), blocks.bytes.data(), blocks.columns(), out.data());
        // Same operations in the same order: equal to the last bit.
        std::vector<float> expected(out.size());
        ASSERT_EQ(values->bytes.size(), expected.size() * 4);
        std::memcpy(expected.data(), values->bytes.data(), values->bytes.size());
        for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i], expected[i]) << blocks.name << " weight " << i;
        }
    }
    EXPECT_EQ(types, 10);
}

// The types that the reference script lacks, computed by hand from the block layout.

TEST(QuantTable, DecodesQ4_1) {
    std::vector<std::uint8_t> block(20);
    putHalf(block, 0, 0.5f);
    putHalf(block, 2, -1.0f);
    block[4] = 0xF3;  // weights 0 and 16
    block[19] = 0x2A; // weights 15 and 31
    const auto out = decode(QuantType::Q4_1, block);
    EXPECT_EQ(out[0], 0.5f * 3 - 1);
    EXPECT_EQ(out[16], 0.5f * 15 - 1);
    EXPECT_EQ(out[15], 0.5f * 10 - 1);
    EXPECT_EQ(out[31], 0.5f * 2 - 1);
    EXPECT_EQ(out[7], -1.0f);
}

TEST(QuantTable, DecodesQ5_1) {
    std::vector<std::uint8_t> block(24);
    putHalf(block, 0, 0.25f);
    putHalf(block, 2, 2.0f);
    block[4] = 0x01; // fifth bit of weight 0
    block[7] = 0x80; // fifth bit of weight 31
    block[8] = 0x43;
    block[23] = 0x21;
    const auto out = decode(QuantType::Q5_1, block);
    EXPECT_EQ(out[0], 0.25f * (3 + 16) + 2);
    EXPECT_EQ(out[16], 0.25f * 4 + 2);
    EXPECT_EQ(out[15], 0.25f * 1 + 2);
    EXPECT_EQ(out[31], 0.25f * (2 + 16) + 2);
}

TEST(QuantTable, DecodesQ2_K) {
    std::vector<std::uint8_t> block(84);
    putHalf(block, 80, 0.5f);  // d
    putHalf(block, 82, 0.25f); // dmin
    for (std::size_t j = 0; j < 16; ++j) block[j] = static_cast<std::uint8_t>(j | (15 - j) << 4);
    block[16] = 0b11'10'01'00;      // first half: weights 0, 32, 64, 96 are 0, 1, 2, 3
    block[16 + 63] = 0b00'01'10'11; // second half: weights 159, 191, 223, 255 are 3, 2, 1, 0
    const auto out = decode(QuantType::Q2_K, block);
    const auto expected = [](int weight, int q) {
        const int j = weight / 16;
        return 0.5f * static_cast<float>(j * q) - 0.25f * static_cast<float>(15 - j);
    };
    EXPECT_EQ(out[0], expected(0, 0));
    EXPECT_EQ(out[32], expected(32, 1));
    EXPECT_EQ(out[64], expected(64, 2));
    EXPECT_EQ(out[96], expected(96, 3));
    EXPECT_EQ(out[159], expected(159, 3));
    EXPECT_EQ(out[191], expected(191, 2));
    EXPECT_EQ(out[223], expected(223, 1));
    EXPECT_EQ(out[255], expected(255, 0));
    EXPECT_EQ(out[100], expected(100, 0));
}

TEST(QuantTable, DecodesIQ4_NL) {
    std::vector<std::uint8_t> block(18);
    putHalf(block, 0, -2.0f);
    block[2] = 0xF0;
    block[17] = 0x87;
    const auto out = decode(QuantType::IQ4_NL, block);
    EXPECT_EQ(out[0], 254.0f);
    EXPECT_EQ(out[16], -226.0f);
    EXPECT_EQ(out[15], 20.0f);
    EXPECT_EQ(out[31], -2.0f);
}

TEST(QuantTable, DecodesFromAnyAddress) {
    std::vector<std::uint8_t> bytes(1 + 210, 0x5A);
    putHalf(bytes, 1 + 208, 0.125f);
    std::vector<float> shifted(256), plain(256);
    dequantizeRow(QuantType::Q6_K, reinterpret_cast<const std::byte*>(bytes.data() + 1), 256,
                  shifted.data());
    const std::vector<std::uint8_t> aligned(bytes.begin() + 1, bytes.end());
    dequantizeRow(QuantType::Q6_K, reinterpret_cast<const std::byte*>(aligned.data()), 256,
                  plain.data());
    EXPECT_EQ(shifted, plain);
    EXPECT_NE(shifted[0], 0.0f);
}

TEST(QuantTable, HasOneRowPerNumberAndName) {
    for (const QuantFormat& a : quantTable()) {
        EXPECT_EQ(findQuantFormat(static_cast<std::uint32_t>(a.type)), &a) << a.name;
        for (const QuantFormat& b : quantTable())
            EXPECT_TRUE(&a == &b || a.name != b.name) << a.name;
    }
    EXPECT_EQ(findQuantFormat(4), nullptr); // withdrawn long ago
    EXPECT_EQ(findQuantFormat(0xFFFFFFFF), nullptr);
    EXPECT_FALSE(findQuantFormat(18)->readable());
    EXPECT_EQ(quantFormat(QuantType::Q4_K).rowBytes(6656), 6656 / 256 * 144);
}

} // namespace
} // namespace engine
