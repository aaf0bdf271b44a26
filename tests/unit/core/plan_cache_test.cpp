// SPDX-License-Identifier: Apache-2.0
// The cache of the one-shot call: bounded, keyed by the problem and the ISA limit.
#include "core/plan_cache.hpp"

#include <gtest/gtest.h>

namespace mxgemm::internal {
namespace {

mxgemm_gemm_desc problem(int64_t m) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.m = m;
  desc.n = 4;
  desc.k = 32;
  desc.format_a = desc.format_b = MXGEMM_MXF4;
  desc.format_d = MXGEMM_F32;
  return desc;
}

const Plan* get(PlanCache* cache, const mxgemm_gemm_desc& desc) {
  std::shared_ptr<const Plan> plan;
  EXPECT_TRUE(cache->get(desc, &plan).ok());
  return plan.get();
}

TEST(PlanCache, KeepsOnePlanPerProblem) {
  PlanCache cache(10);
  const Plan* first = get(&cache, problem(1));
  EXPECT_EQ(get(&cache, problem(1)), first);
  EXPECT_NE(get(&cache, problem(2)), first);
  mxgemm_gemm_desc silu = problem(1);
  silu.activation = MXGEMM_ACT_SILU;
  EXPECT_NE(get(&cache, silu), first);
  EXPECT_EQ(cache.size(), 3u);
}

TEST(PlanCache, DropsTheLeastRecentlyUsed) {
  PlanCache cache(3);
  const Plan* one = get(&cache, problem(1));
  get(&cache, problem(2));
  get(&cache, problem(3));
  EXPECT_EQ(get(&cache, problem(1)), one);  // 2 is the oldest now
  get(&cache, problem(4));
  EXPECT_EQ(cache.size(), 3u);
  EXPECT_EQ(get(&cache, problem(1)), one) << "still there";
  for (int64_t m = 0; m < 1000; ++m) {
    get(&cache, problem(m));
    ASSERT_LE(cache.size(), 3u);
  }
}

TEST(PlanCache, APlanInUseOutlivesItsPlaceInTheCache) {
  PlanCache cache(1);
  std::shared_ptr<const Plan> plan;
  ASSERT_TRUE(cache.get(problem(7), &plan).ok());
  get(&cache, problem(8));
  EXPECT_EQ(plan->desc.m, 7);
}

TEST(PlanCache, TheIsaLimitIsPartOfTheKey) {
  PlanCache cache(10);
  get(&cache, problem(1));
  ASSERT_TRUE(set_max_isa(MXGEMM_ISA_SCALAR).ok());
  EXPECT_EQ(get(&cache, problem(1))->entry->kernel->isa, MXGEMM_ISA_SCALAR);
  ASSERT_TRUE(set_max_isa(-1).ok());
  IsaLimit limit;
  ASSERT_TRUE(isa_limit(&limit).ok());
  EXPECT_EQ(cache.size(), limit.isa == MXGEMM_ISA_SCALAR ? 1u : 2u);
}

}  // namespace
}  // namespace mxgemm::internal
