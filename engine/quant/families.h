#pragma once
// The reference decoders, one per type, for the rows of quant_table.cpp. Layouts: ggml's.

#include <cstddef>
#include <cstdint>

namespace engine {

void decodeF32(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeF16(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeBF16(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ4_0(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ4_1(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ5_0(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ5_1(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ8_0(const std::byte* blocks, std::int64_t blockCount, float* out);

void decodeQ2_K(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ3_K(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ4_K(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ5_K(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeQ6_K(const std::byte* blocks, std::int64_t blockCount, float* out);

void decodeIQ4_NL(const std::byte* blocks, std::int64_t blockCount, float* out);
void decodeIQ4_XS(const std::byte* blocks, std::int64_t blockCount, float* out);

} // namespace engine
