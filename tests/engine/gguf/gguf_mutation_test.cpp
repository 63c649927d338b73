// Random changes to a sound file: whatever comes out, reading it neither crashes nor reads outside.
// The sanitizer build (preset dev) makes this strict.
#include "tests/fuzz/gguf_probe.h"
#include "tests/support/gguf_builder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

namespace engine {
namespace {

std::uint64_t chosenSeed() {
    if (const char* const given = std::getenv("GLINT_SEED"))
        return std::strtoull(given, nullptr, 10);
    return std::random_device{}();
}

void mutate(std::string& bytes, std::mt19937_64& random) {
    constexpr std::uint64_t kNasty[] = {0,
                                        1,
                                        0x7F,
                                        0x80,
                                        0xFF,
                                        0x7FFFFFFF,
                                        0x80000000,
                                        0xFFFFFFFF,
                                        std::uint64_t{1} << 62,
                                        std::uint64_t{1} << 63,
                                        ~std::uint64_t{0}};
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t i = 0; i < changes && !bytes.empty(); ++i) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 5) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8); break;
        case 2: {
            const std::uint64_t value = kNasty[random() % std::size(kNasty)];
            const std::size_t width = std::size_t{1} << random() % 4;
            for (std::size_t b = 0; b < width && at + b < bytes.size(); ++b) {
                bytes[at + b] = static_cast<char>(value >> (8 * b) & 0xFF);
            }
            break;
        }
        case 3: bytes.resize(at); break;
        default: bytes.insert(at, random() % 16, static_cast<char>(random())); break;
        }
    }
}

TEST(GgufMutation, AnswersWhateverItIsGiven) {
    const std::uint64_t seed = chosenSeed();
    RecordProperty("seed", std::to_string(seed));
    std::printf("seed %llu (repeat with GLINT_SEED)\n", static_cast<unsigned long long>(seed));
    std::mt19937_64 random(seed);
    const std::string sound = test::GgufBuilder("arch")
                                  .u32("n", 7)
                                  .f32("x", 0.5f)
                                  .boolean("yes", true)
                                  .u32("general.alignment", 32)
                                  .texts("tokens", {"a", "bc", "", "def"})
                                  .i32s("list", {1, 2, 3})
                                  .booleans("pattern", {true, false, true})
                                  .f32Tensor("a", {3}, {1, 2, 3})
                                  .tensor("b", {256, 2}, 14)
                                  .tensor("c", {32}, 8)
                                  .build();
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    std::uint64_t sum = 0;
    int files = 0;
    while (std::chrono::steady_clock::now() < end) {
        for (int i = 0; i < 100; ++i, ++files) {
            std::string bytes = sound;
            mutate(bytes, random);
            // A vector of the exact size lets the sanitizer see the first byte too many.
            const std::vector<char> exact(bytes.begin(), bytes.end());
            sum += test::probeGguf(std::as_bytes(std::span(exact)));
        }
    }
    EXPECT_GT(sum, 0u);
    EXPECT_GT(files, 1000);
}

} // namespace
} // namespace engine
