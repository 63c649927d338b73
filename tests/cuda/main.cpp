// Runs the tests of the graphics card where there is one. 77 says "skipped" to CTest.

#include "cuda/card_probe.h"

#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    const cuda::CardState card = cuda::probeCard();
    if (!card.present) {
        std::printf("skipped: no GPU (%s)\n", card.reason.c_str());
        return 77;
    }
    std::printf("card: %s\n", card.name.c_str());
    return RUN_ALL_TESTS();
}
