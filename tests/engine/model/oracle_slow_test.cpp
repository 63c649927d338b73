// The larger trio has the release's shapes and quantised weights; it lies beside the checkout, if
// anywhere. Sessions of both.

#include "tests/engine/model/oracle_run.h"

using namespace engine;
using test::expectParts;
using test::expectSession;

TEST(Oracle, QuantisedTrioMeetsTheExactBoundsInFloat) {
    expectParts("tiny-shape", CpuMath::Float, KvType::F32, 2, 130);
}
TEST(Oracle, QuantisedTrioKeepsItsDistributionInIntegers) {
    expectParts("tiny-shape", CpuMath::Int8, KvType::F16, 2, 75);
}
TEST(Oracle, QuantisedTrioKeepsItsDistributionWithEightBitKeys) {
    expectParts("tiny-shape", CpuMath::Int8, KvType::Q8_0, 2, 70);
}
// Its weights are floats, so the integer arithmetic must meet the exact bounds too.
TEST(Oracle, SmallTrioMeetsTheExactBoundsInTheIntegerArithmetic) {
    expectParts("tiny-f32", CpuMath::Int8, KvType::F32, 2, 147);
}
TEST(Oracle, SmallTrioKeepsItsDistributionWithEightBitKeys) {
    expectParts("tiny-f32", CpuMath::Float, KvType::Q8_0, 2, 95);
}

TEST(OracleSession, SmallTrioWritesTheReferencesText) {
    expectSession("tiny-f32", CpuMath::Float, KvType::F32, 1, 36);
}
TEST(OracleSession, QuantisedTrioWritesTheSameTextAtEveryDraftLength) {
    expectSession("tiny-shape", CpuMath::Int8, KvType::F16, 2, 18);
}
