// SPDX-License-Identifier: Apache-2.0
// D depends neither on the number of threads nor on who runs them in which order; a small workspace
// means fewer threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/test_size.hpp"
#include "unit/cpu/gemm_case.hpp"

namespace mxgemm::cpu {
namespace {

class GemmThreads : public testing::Test {
 protected:
  ~GemmThreads() override {
    set_parallel_for(nullptr, nullptr);
    EXPECT_TRUE(set_num_threads(0).ok());
  }
};

GemmOptions problem(Format a) {
  GemmOptions options;
  options.a = a;
  options.m = 67;
  options.n = 530;
  options.k = test::test_size<int64_t>(608, 96);
  options.data = Data::kNormal;
  options.bias = Format::kF32;
  return options;
}

TEST_F(GemmThreads, AnyNumberGivesTheSameBits) {
  for (const Format a : {Format::kMxf4, Format::kBf16, Format::kNvf4}) {
    GemmCase gemm(problem(a));
    for (const mxgemm_kernel* kernel : kernels_for(problem(a))) {
      EXPECT_EQ(gemm.run(*kernel), "");
      const std::vector<uint8_t> right = gemm.d_bytes();
      for (const int32_t threads : {1, 2, 3, 7}) {
        ASSERT_TRUE(set_num_threads(threads).ok());
        EXPECT_EQ(gemm.multiply(*kernel), MXGEMM_OK);
        EXPECT_EQ(gemm.d_bytes(), right) << kernel->name << " on " << threads;
      }
    }
  }
}

// Plans keep the workspace size of the time when they were made; the number of threads may have
// grown since.
TEST_F(GemmThreads, WorkspaceOfFewerThreadsIsEnough) {
  const GemmOptions options = problem(Format::kMxf4);
  GemmCase gemm(options);
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    ASSERT_TRUE(set_num_threads(1).ok());
    const uint64_t one = kernel->workspace_size(&gemm.desc());
    EXPECT_EQ(gemm.multiply(*kernel), MXGEMM_OK);
    const std::vector<uint8_t> right = gemm.d_bytes();
    ASSERT_TRUE(set_num_threads(3).ok());
    EXPECT_EQ(kernel->workspace_size(&gemm.desc()), 3 * one);
    for (const uint64_t bytes : {one, one + 1, 2 * one, 3 * one, 5 * one}) {
      EXPECT_EQ(gemm.multiply(*kernel, bytes), MXGEMM_OK);
      EXPECT_EQ(gemm.d_bytes(), right) << kernel->name << " with " << bytes;
    }
    EXPECT_EQ(gemm.multiply(*kernel, one - 1), MXGEMM_WORKSPACE_TOO_SMALL);
  }
}

// No more slots than work tiles: a small problem does not ask for memory that no thread would use.
TEST_F(GemmThreads, SmallProblemNeedsOneSlot) {
  GemmOptions options;
  GemmCase gemm(options);
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    ASSERT_TRUE(set_num_threads(1).ok());
    const uint64_t one = kernel->workspace_size(&gemm.desc());
    ASSERT_TRUE(set_num_threads(64).ok());
    EXPECT_EQ(kernel->workspace_size(&gemm.desc()), one);
  }
}

// A slot follows from the register tile and the caches, not from the problem: below 1 MiB whatever
// the extents, the largest that the core lets through included.
TEST_F(GemmThreads, SlotStaysSmallForAnyShape) {
  ASSERT_TRUE(set_num_threads(1).ok());
  constexpr int64_t kExtents[] = {1, 31, 257, int64_t{1} << 31, int64_t{1} << 61};
  constexpr int64_t kDepths[] = {0, 32, 4096, int64_t{1} << 40, INT64_MAX - 31};
  for (const mxgemm_kernel& kernel : kernels()) {
    for (const int64_t m : kExtents) {
      for (const int64_t n : kExtents) {
        for (const int64_t k : kDepths) {
          mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
          desc.m = m;
          desc.n = m == 1 || n == 1 ? n : std::min<int64_t>(n, (int64_t{1} << 61) / m);
          desc.k = k;
          desc.format_a = (kernel.formats_a >> MXGEMM_MXF4 & 1) != 0 ? MXGEMM_MXF4 : MXGEMM_BF16;
          desc.format_b = MXGEMM_MXF4;
          desc.format_d = MXGEMM_F32;
          const uint64_t bytes = kernel.workspace_size(&desc);
          EXPECT_GT(bytes, 0u) << kernel.name << " " << m << " " << n << " " << k;
          EXPECT_LE(bytes, uint64_t{1} << 20) << kernel.name << " " << m << " " << n << " " << k;
        }
      }
    }
  }
}

struct Backwards {
  int64_t calls = 0;
  int64_t largest_count = 0;

  static void call(void* context, int64_t count, void (*body)(void*, int64_t), void* argument) {
    auto* self = static_cast<Backwards*>(context);
    ++self->calls;
    self->largest_count = std::max(self->largest_count, count);
    for (int64_t index = count - 1; index >= 0; --index) {
      std::thread(body, argument, index).join();
    }
  }
};

TEST_F(GemmThreads, CallersParallelForGivesTheSameBits) {
  const GemmOptions options = problem(Format::kMxf4);
  GemmCase gemm(options);
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    ASSERT_TRUE(set_num_threads(3).ok());
    EXPECT_EQ(gemm.multiply(*kernel), MXGEMM_OK);
    const std::vector<uint8_t> own_pool = gemm.d_bytes();
    Backwards backwards;
    set_parallel_for(Backwards::call, &backwards);
    EXPECT_EQ(gemm.multiply(*kernel), MXGEMM_OK);
    set_parallel_for(nullptr, nullptr);
    EXPECT_EQ(gemm.d_bytes(), own_pool);
    EXPECT_EQ(backwards.calls, 1);
    EXPECT_EQ(backwards.largest_count, 3);
  }
}

}  // namespace
}  // namespace mxgemm::cpu
