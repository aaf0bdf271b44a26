// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace mxgemm::internal {
namespace {

TEST(ParallelFor, WithoutThreadsRunsInOrder) {
  const ParallelFor parallel_for;
  for (const int64_t count : {0, 1, 5}) {
    std::vector<int64_t> seen;
    auto body = [&](int64_t index) { seen.push_back(index); };
    parallel_for(count, body);
    ASSERT_EQ(static_cast<int64_t>(seen.size()), count);
    for (int64_t index = 0; index < count; ++index) {
      EXPECT_EQ(seen[static_cast<size_t>(index)], index);
    }
  }
}

TEST(ParallelFor, HandsWorkToItsFunctionUnlessItIsOnePiece) {
  std::vector<int64_t> counts;
  ParallelFor parallel_for;
  parallel_for.num_threads = 4;
  parallel_for.context = &counts;
  parallel_for.call = [](void* context, int64_t count, ParallelFor::Body body, void* argument) {
    static_cast<std::vector<int64_t>*>(context)->push_back(count);
    for (int64_t index = count - 1; index >= 0; --index) {
      body(argument, index);
    }
  };
  std::vector<int64_t> seen;
  auto body = [&](int64_t index) { seen.push_back(index); };
  parallel_for(3, body);
  parallel_for(1, body);
  EXPECT_EQ(seen, (std::vector<int64_t>{2, 1, 0, 0}));
  EXPECT_EQ(counts, std::vector<int64_t>{3});
}

}  // namespace
}  // namespace mxgemm::internal
