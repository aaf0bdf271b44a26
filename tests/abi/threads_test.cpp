// SPDX-License-Identifier: Apache-2.0
// Calls from many threads at once. Kind of fault 54 needs a process that has made no call yet: the
// test that comes first in this file must stay first.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

constexpr int kThreads = 16;

template <typename Function>
void on_threads(Function function) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&ready, &function, index] {
      ++ready;
      while (ready < kThreads) {  // all start together
        std::this_thread::yield();
      }
      function(index);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(Threads, FirstCallsEver) {
  on_threads([](int index) {
    for (int round = 0; round < test_size(1000, 3); ++round) {
      GemmCall call(1 + index, 3 + (index * 7 + round) % 20, 32 * (1 + index % 3));
      expect_ok(call.run());
      EXPECT_EQ(call.d,
                std::vector<float>(call.d.size(), 32.0f * static_cast<float>(1 + index % 3)));
    }
  });
}

TEST(Threads, OnePlanForAll) {
  GemmCall first(20, 30, 64);
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&first.desc, nullptr, &plan));
  uint64_t bytes = 0;
  expect_ok(mxgemm_plan_workspace_size(plan, &bytes));
  on_threads([plan, bytes](int index) {
    void* workspace = nullptr;
    expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes, &workspace));
    GemmCall call(20, 30, 64);
    call.args.workspace = workspace;
    call.args.workspace_bytes = bytes;
    call.args.alpha = static_cast<float>(index);
    for (int round = 0; round < test_size(20, 2); ++round) {
      expect_ok(mxgemm_run(plan, &call.args, nullptr));
      EXPECT_EQ(call.d, std::vector<float>(600, 64.0f * static_cast<float>(index)));
    }
    expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, workspace));
  });
  mxgemm_plan_destroy(plan);
}

TEST(Threads, EachHasItsOwnMessage) {
  on_threads([](int index) {
    for (int round = 0; round < test_size(100, 5); ++round) {
      GemmCall call;
      call.desc.activation = 100 + index;
      expect_invalid(call.run(), {("desc.activation is " + std::to_string(100 + index)).c_str()});
      std::this_thread::yield();
      EXPECT_NE(std::string(mxgemm_last_error()).find(std::to_string(100 + index)),
                std::string::npos);
    }
  });
}

TEST(Threads, SettingsChangeDuringCalls) {
  on_threads([](int index) {
    for (int round = 0; round < test_size(20, 2); ++round) {
      GemmCall call(40, 40, 64);
      if (index == 0) {
        expect_ok(mxgemm_set_num_threads(1 + round % 3));
      } else if (index == 1) {
        expect_ok(mxgemm_set_max_isa(round % 2 == 0 ? MXGEMM_ISA_SCALAR : -1));
      } else {
        expect_ok(call.run());
        EXPECT_EQ(call.d, std::vector<float>(1600, 64.0f));
      }
    }
  });
  expect_ok(mxgemm_set_num_threads(0));
  expect_ok(mxgemm_set_max_isa(-1));
}

// Kilobytes of this process in memory.
int64_t resident_kilobytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  const bool read = file != nullptr && std::fscanf(file, "%*s %ld", &pages) == 1;
  if (file != nullptr) {
    std::fclose(file);
  }
  return read ? int64_t{pages} * 4 : -1;
}

// Kind of fault 56: the plan cache knows shapes, not pointers.
TEST(Threads, MemoryDoesNotGrowWithCalls) {
  const int calls = test_size(20000, 200);
  int64_t before = 0;
  for (int index = 0; index < calls; ++index) {
    if (index == calls / 10) {
      before = resident_kilobytes();
    }
    GemmCall call(1 + index % 8, 4, 32);
    const auto alpha = std::make_unique<float>(2.0f);
    call.desc.flags |= MXGEMM_ALPHA_ON_DEVICE;
    call.args.alpha_ptr = alpha.get();
    ASSERT_EQ(call.run(), MXGEMM_OK) << mxgemm_last_error();
    ASSERT_EQ(call.d[0], 64.0f);
  }
  ASSERT_GT(before, 0);
  EXPECT_LT(resident_kilobytes() - before, 20 * 1024);
}

}  // namespace
}  // namespace mxgemm::test
