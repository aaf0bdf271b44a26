// SPDX-License-Identifier: Apache-2.0
// The first use of GPU libraries, by 16 threads at once, in a process that has made no call yet:
// the test that comes first in this file must stay first. CTest sets:
//   MXGEMM_PLUGIN_DIR=<the whole stubs>   STUB_DEVICES=12.1,9.0,10.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "abi/loader/gpu_gemm.hpp"

namespace mxgemm::test {
namespace {

constexpr int kThreads = 16;

// Kind of fault 54.
TEST(FirstUse, ManyThreadsAtOnce) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&ready, index] {
      ++ready;
      while (ready < kThreads) {  // all start together
        std::this_thread::yield();
      }
      const int32_t device = index % 3;
      const int expected[] = {120, 80, 100};
      for (int round = 0; round < 20; ++round) {
        if ((index + round) % 5 == 0) {
          int32_t count = 0;
          expect_ok(mxgemm_kernel_count(&count));
          expect_ok(mxgemm_library_count(&count));
          EXPECT_EQ(count, 4);
        }
        GpuGemm call(device);
        expect_ok(call.run());
        EXPECT_EQ(call.mark(), expected[device]);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace mxgemm::test
