// Runs the tests of the graphics card where there is one. 77 says "skipped" to CTest.

#include "cuda/card_probe.h"
#include "cuda/context.h"

#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
    const cuda::CardState card = cuda::probeCard();
    if (!card.present) {
        std::printf("skipped: no GPU (%s)\n", card.reason.c_str());
        return 77;
    }
    std::printf("card: %s\n", card.name.c_str());
    // Held, so that each test's backend does not open the card anew.
    const auto context = cuda::Context::make(0, nullptr);
    if (!context) {
        std::printf("%s\n", context.error().message.c_str());
        return 1;
    }
    return RUN_ALL_TESTS();
}
