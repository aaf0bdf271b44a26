// SPDX-License-Identifier: Apache-2.0
// The process's threads: default number, setting it, the caller's parallel_for, fork and exit.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "cpu/cpu_limit.hpp"
#include "cpu/thread_pool.hpp"
#include "support/environment.hpp"
#include "support/test_size.hpp"

// Thread sanitizer ends a child that starts threads unless told otherwise; that they start is what
// is tested here.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace mxgemm::cpu {
namespace {

using internal::StatusCode;
using test::EnvironmentVariable;
using test::test_size;

// A child that hangs is killed by SIGALRM after so long; sanitizers and emulators are slow.
constexpr unsigned kChildSeconds = 60;

constexpr const char* kNoThreadsInChildren =
    "qemu-user itself fails where the child of a process with threads starts threads";

class ThreadsTest : public testing::Test {
 protected:
  ThreadsTest() : variable_("MXGEMM_NUM_THREADS", nullptr) { reset(); }
  ~ThreadsTest() override { reset(); }
  static void reset() {
    set_parallel_for(nullptr, nullptr);
    EXPECT_TRUE(set_num_threads(0).ok());
  }

  EnvironmentVariable variable_;
};

// `seen` holds `count` numbers.
bool each_index_once(int64_t count, std::vector<int>& seen) {
  std::fill(seen.begin(), seen.end(), 0);
  auto body = [&](int64_t index) { ++seen[static_cast<size_t>(index)]; };
  parallel_for()(count, body);
  return std::count(seen.begin(), seen.end(), 1) == count;
}

bool each_index_once(int64_t count) {
  std::vector<int> seen(static_cast<size_t>(count));
  return each_index_once(count, seen);
}

// Threads of this process that carry the pool's name.
int count_workers() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    count += name == "mxgemm" ? 1 : 0;
  }
  return count;
}

// A thread names itself when it first runs, which may be a while after it was started.
bool has_workers(int expected) {
  for (int wait = 0; wait < 5000 && count_workers() < expected; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return count_workers() == expected;
}

// Exit status of a child that runs `function` and leaves with its result (true: 0); -1 for one that
// was killed.
template <typename Function>
int status_of_child(Function function) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    _exit(function() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                               : -1;
}

// First, while this process has one thread: thread sanitizer loses track of joinable threads in the
// child of more.
TEST_F(ThreadsTest, ProcessExitsWhileOtherThreadsWork) {
  for (int round = 0; round < test_size(5, 2); ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(kChildSeconds);
      if (!set_num_threads(3).ok()) {
        _exit(1);
      }
      std::thread([] {
        for (;;) {
          each_index_once(100);
        }
      }).detach();
      each_index_once(1000);
      std::exit(0);  // runs static destructors, unlike _exit
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST_F(ThreadsTest, DefaultIsWhatTheProcessMayUse) {
  EXPECT_EQ(default_num_threads(), std::min(usable_cpus(), kMaxThreads));
  EXPECT_EQ(num_threads(), default_num_threads());
  EXPECT_EQ(parallel_for().num_threads, num_threads());
}

TEST_F(ThreadsTest, EnvironmentVariableIsTheDefault) {
  EXPECT_TRUE(check_thread_environment().ok());
  variable_.set("3");
  EXPECT_TRUE(check_thread_environment().ok());
  EXPECT_EQ(default_num_threads(), 3);
  EXPECT_TRUE(set_num_threads(0).ok());
  EXPECT_EQ(num_threads(), 3);
  EXPECT_TRUE(set_num_threads(5).ok());
  EXPECT_EQ(num_threads(), 5) << "the call wins over the variable";
}

TEST_F(ThreadsTest, BadEnvironmentVariableIsAnError) {
  for (const char* value : {"0", "-1", "two", "4x", " 4", "1025", "99999999999999999999", "1.5"}) {
    variable_.set(value);
    const Status status = check_thread_environment();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << value;
    for (const std::string& part : {std::string("MXGEMM_NUM_THREADS"),
                                    std::string("\"") + value + "\"", std::string("1 to 1024")}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_EQ(default_num_threads(), std::min(usable_cpus(), kMaxThreads));
  }
}

TEST_F(ThreadsTest, NumberOutOfRangeIsAnError) {
  EXPECT_TRUE(set_num_threads(2).ok());
  for (const int32_t value : {-1, kMaxThreads + 1, INT32_MIN, INT32_MAX}) {
    const Status status = set_num_threads(value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("num_threads is " + std::to_string(value)), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find("1 to 1024"), std::string::npos) << status.message();
  }
  EXPECT_EQ(num_threads(), 2) << "a refused number changes nothing";
  EXPECT_TRUE(set_num_threads(kMaxThreads).ok());
  EXPECT_EQ(num_threads(), kMaxThreads);
}

// Host threads may be bound to a CPU; so are the workers they start, which therefore must be few.
TEST_F(ThreadsTest, OneCpuInTheMaskGivesOneThread) {
  const int status = status_of_child([] {
    cpu_set_t mask;
    if (sched_getaffinity(0, sizeof(mask), &mask) != 0) {
      return false;
    }
    int cpu = 0;
    while (!CPU_ISSET(cpu, &mask)) {
      ++cpu;
    }
    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    return sched_setaffinity(0, sizeof(mask), &mask) == 0 && default_num_threads() == 1 &&
           num_threads() == 1 && parallel_for().num_threads == 1 && each_index_once(1000) &&
           count_workers() == 0;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ThreadsTest, NeverMoreWorkersThanAsked) {
  const int status = status_of_child([] {
    bool ok = count_workers() == 0;
    for (const int32_t number : {1, 2, 3, 2}) {
      ok = ok && set_num_threads(number).ok() && each_index_once(10000);
    }
    return ok && has_workers(2);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ThreadsTest, WarmUpStartsTheThreads) {
  const int status = status_of_child([] {
    const bool ok = set_num_threads(3).ok();
    warm_up();
    return ok && has_workers(2) && each_index_once(100);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(ThreadsTest, NumberChangesWhileWorkRuns) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      while (!stop.load()) {
        wrong += each_index_once(200) ? 0 : 1;
      }
    });
  }
  for (int round = 0; round < test_size(2000, 50); ++round) {
    EXPECT_TRUE(set_num_threads(1 + round % 4).ok());
    wrong += each_index_once(50) ? 0 : 1;
  }
  stop.store(true);
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ThreadsTest, NumberMayChangeFromInsideWork) {
  EXPECT_TRUE(set_num_threads(4).ok());
  auto body = [](int64_t index) {
    EXPECT_TRUE(set_num_threads(1 + static_cast<int32_t>(index % 4)).ok());
  };
  parallel_for()(64, body);
  EXPECT_TRUE(each_index_once(100));
}

// ---- the caller's parallel_for ----

struct Recorder {
  int calls = 0;
  int64_t indices = 0;
};

void record_and_run_backwards(void* context, int64_t count, ParallelFor::Body body,
                              void* argument) {
  auto* recorder = static_cast<Recorder*>(context);
  ++recorder->calls;
  recorder->indices += count;
  for (int64_t index = count - 1; index >= 0; --index) {
    body(argument, index);
  }
}

TEST_F(ThreadsTest, CallersParallelForIsUsedAndThePoolRestored) {
  EXPECT_TRUE(set_num_threads(4).ok());
  Recorder recorder;
  set_parallel_for(record_and_run_backwards, &recorder);
  EXPECT_EQ(parallel_for().num_threads, 4) << "work is still cut for so many threads";
  EXPECT_TRUE(each_index_once(100));
  EXPECT_TRUE(each_index_once(7));
  warm_up();
  EXPECT_EQ(recorder.calls, 2);
  EXPECT_EQ(recorder.indices, 107);
  set_parallel_for(nullptr, nullptr);
  EXPECT_TRUE(each_index_once(100));
  EXPECT_EQ(recorder.calls, 2);
}

// Function and context must never be mixed from two settings.
template <int kNumber>
void run_checked(void* context, int64_t count, ParallelFor::Body body, void* argument) {
  if (*static_cast<int*>(context) != kNumber) {
    std::abort();
  }
  for (int64_t index = 0; index < count; ++index) {
    body(argument, index);
  }
}

TEST_F(ThreadsTest, CallersParallelForChangesWhileWorkRuns) {
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&] {
      while (!stop.load()) {
        wrong += each_index_once(5) ? 0 : 1;
      }
    });
  }
  int one = 1;
  int two = 2;
  std::thread other([&] {
    for (int round = 0; round < test_size(5000, 200); ++round) {
      set_parallel_for(run_checked<2>, &two);
    }
  });
  for (int round = 0; round < test_size(5000, 200); ++round) {
    set_parallel_for(run_checked<1>, &one);
    set_parallel_for(nullptr, nullptr);
  }
  other.join();
  stop.store(true);
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

// ---- fork and exit ----

TEST_F(ThreadsTest, ChildOfAnUsedPoolStartsItsOwn) {
  if (test::emulated()) {
    GTEST_SKIP() << kNoThreadsInChildren;
  }
  EXPECT_TRUE(set_num_threads(3).ok());
  EXPECT_TRUE(each_index_once(1000));
  const int status = status_of_child([] {
    if (count_workers() != 0 || num_threads() != 3 || !each_index_once(1000) || !has_workers(2)) {
      return false;
    }
    return status_of_child([] { return each_index_once(1000) && has_workers(2); }) ==
           0;  // and a grandchild
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(each_index_once(1000)) << "the parent's pool goes on";
}

TEST_F(ThreadsTest, ForkWhileOtherThreadsWork) {
  if (test::emulated()) {
    GTEST_SKIP() << kNoThreadsInChildren;
  }
  EXPECT_TRUE(set_num_threads(3).ok());
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> running = 0;
  int one = 1;
  std::vector<std::thread> callers;
  // These threads do not allocate, once they run: AddressSanitizer, unlike the C library, leaves
  // its heap locked in a child that is made while another thread allocates.
  std::vector<int> seen[2] = {std::vector<int>(100), std::vector<int>(100)};
  for (std::vector<int>& own : seen) {
    callers.emplace_back([&] {
      for (running += 1; !stop.load();) {
        wrong += each_index_once(100, own) ? 0 : 1;
      }
    });
  }
  callers.emplace_back([&] {  // a fork may also fall into the writing of these two words
    for (running += 1; !stop.load();) {
      set_parallel_for(run_checked<1>, &one);
      set_parallel_for(nullptr, nullptr);
    }
  });
  while (running.load() < 3) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(has_workers(2) || count_workers() > 2);  // earlier tests may have asked for more
  for (int round = 0; round < test_size(40, 4); ++round) {
    EXPECT_EQ(status_of_child([] {
                set_parallel_for(nullptr, nullptr);
                return each_index_once(1000) && each_index_once(1000) && has_workers(2);
              }),
              0)
        << round;
  }
  stop.store(true);
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ThreadsTest, ForkFromInsideWork) {
  if (test::emulated()) {
    GTEST_SKIP() << kNoThreadsInChildren;
  }
  EXPECT_TRUE(set_num_threads(2).ok());
  warm_up();
  EXPECT_TRUE(has_workers(1) || count_workers() > 1);
  std::atomic<int> wrong = 0;
  auto body = [&](int64_t) {
    wrong += status_of_child([] { return each_index_once(100); }) == 0 ? 0 : 1;
  };
  parallel_for()(4, body);
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace mxgemm::cpu
