// The larger trio has the release's shapes and quantised weights. It lies beside the checkout, if anywhere.

#include "tests/engine/model/oracle_run.h"

using namespace engine;
using test::expectOracle;

TEST(Oracle, QuantisedTrioMeetsTheExactBoundsInFloat) {
    expectOracle("tiny-shape", CpuMath::Float, KvType::F32, 2, 130);
}
TEST(Oracle, QuantisedTrioKeepsItsDistributionInIntegers) {
    expectOracle("tiny-shape", CpuMath::Int8, KvType::F16, 2, 80);
}
TEST(Oracle, QuantisedTrioKeepsItsDistributionWithEightBitKeys) {
    expectOracle("tiny-shape", CpuMath::Int8, KvType::Q8_0, 2, 75);
}
TEST(Oracle, SmallTrioKeepsItsDistributionWithEightBitKeys) {
    expectOracle("tiny-f32", CpuMath::Float, KvType::Q8_0, 2, 95);
}
