#include "tests/engine/model/oracle_run.h"

using namespace engine;
using test::expectParts;

TEST(Oracle, SmallTrioMeetsTheExactBounds) {
    expectParts("tiny-f32", CpuMath::Float, KvType::F32, 1, 147);
}
TEST(Oracle, SmallTrioKeepsItsDistributionWithShortKeys) {
    expectParts("tiny-f32", CpuMath::Int8, KvType::F16, 1, 100);
}
