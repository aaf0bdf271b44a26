// SPDX-License-Identifier: Apache-2.0
// A child of a process whose threads are inside the library can use it: no lock is left held, no
// thread is waited for.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

// Long enough for any machine, short enough to see that a child hangs.
constexpr unsigned kSecondsForAChild = 20;

// Exit status of a child that multiplies.
int run_child(int64_t m) {
  alarm(kSecondsForAChild);
  GemmCall call(m, 40, 64);
  return call.run() == MXGEMM_OK && call.d == std::vector<float>(call.d.size(), 64.0f) ? 0 : 1;
}

TEST(Fork, AChildMultipliesWhileTheParentDoes) {
  expect_ok(mxgemm_set_num_threads(3));
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int index = 0; index < 3; ++index) {
    threads.emplace_back([&stop, index] {
      for (int64_t round = 0; !stop; ++round) {
        GemmCall call(1 + (round * 3 + index) % 700, 2, 32);  // more shapes than the cache holds
        expect_ok(call.run());
      }
    });
  }
  for (int child = 0; child < test_size(60, 5); ++child) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      _exit(run_child(1 + child));
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  expect_ok(mxgemm_set_num_threads(0));
}

}  // namespace
}  // namespace mxgemm::test
