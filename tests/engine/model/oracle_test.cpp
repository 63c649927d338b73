#include "tests/engine/model/oracle_run.h"

using namespace engine;
using test::expectOracle;

TEST(Oracle, SmallTrioMeetsTheExactBounds) { expectOracle("tiny-f32", CpuMath::Float, KvType::F32, 1, 147); }
// Its weights are floats, so the integer arithmetic must meet the same bounds.
TEST(Oracle, SmallTrioMeetsThemInTheIntegerArithmetic) {
    expectOracle("tiny-f32", CpuMath::Int8, KvType::F32, 1, 147);
}
TEST(Oracle, SmallTrioKeepsItsDistributionWithShortKeys) {
    expectOracle("tiny-f32", CpuMath::Int8, KvType::F16, 1, 100);
}
