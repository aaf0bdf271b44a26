// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "support/test_size.hpp"

namespace mxgemm::cpu {
namespace {

using test::test_size;

// A pool with threads lives as long as the process.
ThreadPool& pool() {
  static auto* instance = new ThreadPool;
  return *instance;
}

template <typename Function>
void run(ThreadPool& pool, int32_t num_threads, int64_t count, Function function) {
  pool.run(
      num_threads, count,
      [](void* argument, int64_t index) { (*static_cast<Function*>(argument))(index); }, &function);
}

std::vector<int> visits(ThreadPool& pool, int32_t num_threads, int64_t count) {
  // Plain integers: two threads that got the same index would be a data race.
  std::vector<int> result(static_cast<size_t>(count));
  run(pool, num_threads, count, [&](int64_t index) { ++result[static_cast<size_t>(index)]; });
  return result;
}

TEST(ThreadPool, EveryIndexExactlyOnce) {
  for (const int32_t num_threads : {1, 2, 3, 4, 7}) {
    for (const int64_t count : {0, 1, 2, 3, 4, 5, 31, 64, 127, 128, 129, 1000, 100003}) {
      EXPECT_EQ(visits(pool(), num_threads, count), std::vector<int>(static_cast<size_t>(count), 1))
          << num_threads << " threads";
    }
  }
}

TEST(ThreadPool, ManyShortRounds) {
  const int rounds = test_size(20000, 500);
  int64_t sum[4] = {};
  for (int round = 0; round < rounds; ++round) {
    run(pool(), 4, 4, [&](int64_t index) { sum[index] += index + 1; });
  }
  for (int64_t index = 0; index < 4; ++index) {
    EXPECT_EQ(sum[index], rounds * (index + 1));
  }
}

TEST(ThreadPool, WritesOfTheCallerAndOfTheBodiesAreVisible) {
  std::vector<int64_t> data(64);
  for (int round = 0; round < test_size(2000, 100); ++round) {
    for (int64_t& value : data) {
      value = round;
    }
    run(pool(), 3, 64, [&](int64_t index) { data[static_cast<size_t>(index)] += index; });
    for (size_t index = 0; index < data.size(); ++index) {
      ASSERT_EQ(data[index], round + static_cast<int64_t>(index));
    }
  }
}

TEST(ThreadPool, StartsThreadsOnlyWhenNeededAndNoMoreThanAsked) {
  static auto* own = new ThreadPool;
  EXPECT_EQ(own->num_workers(), 0);
  run(*own, 4, 1, [](int64_t) {});
  run(*own, 1, 100, [](int64_t) {});
  EXPECT_EQ(own->num_workers(), 0);
  run(*own, 4, 2, [](int64_t) {});
  EXPECT_EQ(own->num_workers(), 1) << "two pieces of work need one further thread";
  own->start(3);
  EXPECT_EQ(own->num_workers(), 2);
  run(*own, 2, 1000, [](int64_t) {});
  EXPECT_EQ(own->num_workers(), 2);
}

// At most num_threads bodies run at a time, however many workers the pool has, and more than one
// when they wait for each other.
TEST(ThreadPool, AtMostSoManyThreadsAtOnce) {
  pool().start(6);
  for (const int32_t num_threads : {2, 3, 6}) {
    std::atomic<int32_t> now = 0;
    std::atomic<int32_t> most = 0;
    run(pool(), num_threads, 400, [&](int64_t) {
      const int32_t running = now.fetch_add(1) + 1;
      int32_t seen = most.load();
      while (running > seen && !most.compare_exchange_weak(seen, running)) {
      }
      std::this_thread::yield();
      now.fetch_sub(1);
    });
    EXPECT_LE(most.load(), num_threads);
  }
}

TEST(ThreadPool, ThreadsReallyRunTogether) {
  // Each of the four bodies waits until all four have begun: it ends only where four threads take
  // part.
  std::atomic<int32_t> begun = 0;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  run(pool(), 4, 4, [&](int64_t) {
    begun.fetch_add(1);
    while (begun.load() < 4) {
      std::this_thread::yield();
    }
    const std::lock_guard<std::mutex> lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), 4u);
}

TEST(ThreadPool, NestedWorkRunsOnItsThread) {
  std::vector<std::vector<int>> inner(16, std::vector<int>(50));
  std::atomic<int> elsewhere = 0;
  run(pool(), 4, 16, [&](int64_t outer) {
    const std::thread::id self = std::this_thread::get_id();
    run(pool(), 4, 50, [&, outer](int64_t index) {
      ++inner[static_cast<size_t>(outer)][static_cast<size_t>(index)];
      elsewhere += std::this_thread::get_id() != self ? 1 : 0;
    });
  });
  EXPECT_EQ(elsewhere.load(), 0);
  for (const std::vector<int>& one : inner) {
    EXPECT_EQ(one, std::vector<int>(50, 1));
  }
}

TEST(ThreadPool, SixteenThreadsAtOnce) {
  const int rounds = test_size(1000, 20);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  std::atomic<bool> go = false;
  static auto* fresh = new ThreadPool;  // the very first use is among the rounds
  for (int caller = 0; caller < 16; ++caller) {
    callers.emplace_back([&, caller] {
      while (!go.load()) {
        std::this_thread::yield();
      }
      for (int round = 0; round < rounds; ++round) {
        const int64_t count = 1 + (caller * 7 + round) % 40;
        const std::vector<int> seen = visits(*fresh, 2 + caller % 3, count);
        wrong += seen != std::vector<int>(static_cast<size_t>(count), 1) ? 1 : 0;
      }
    });
  }
  go.store(true);
  for (std::thread& caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong.load(), 0);
}

// A body that waits for another thread's parallel work must not stop that work.
TEST(ThreadPool, WorkThatWaitsForAnotherCallersWork) {
  std::vector<int> seen;
  run(pool(), 2, 2, [&](int64_t index) {
    if (index == 0) {
      std::thread([&] { seen = visits(pool(), 2, 100); }).join();
    }
  });
  EXPECT_EQ(seen, std::vector<int>(100, 1));
}

TEST(ThreadPool, GoesOnWithFewerThreads) {
  static std::vector<std::string>* lines = new std::vector<std::string>;
  internal::set_log_function(
      [](void*, int32_t level, const char* text) {
        lines->push_back(std::to_string(level) + " " + text);
      },
      nullptr);
  static int starts_left = 0;
  static int attempts = 0;
  const ThreadPool::StartThread start = [](void* (*function)(void*), void* argument) {
    ++attempts;
    return starts_left-- > 0 ? ThreadPool::start_detached_thread(function, argument) : EAGAIN;
  };
  ThreadPool none(start);
  EXPECT_EQ(visits(none, 4, 1000), std::vector<int>(1000, 1));
  EXPECT_EQ(none.num_workers(), 0);
  ASSERT_EQ(lines->size(), 1u);
  EXPECT_EQ(lines->front().find("1 could not start thread 2 of 4 ("), 0u) << lines->front();

  starts_left = 2;
  static auto* some = new ThreadPool(start);
  EXPECT_EQ(visits(*some, 8, 1000), std::vector<int>(1000, 1));
  EXPECT_EQ(some->num_workers(), 2);

  attempts = 0;  // not tried again at every call
  EXPECT_EQ(visits(*some, 8, 1000), std::vector<int>(1000, 1));
  EXPECT_EQ(attempts, 0);
  internal::set_log_function(nullptr, nullptr);
}

TEST(ThreadPool, IdleThreadsUseNoCpu) {
  pool().start(8);  // more than CPUs on small machines, fewer on large ones
  EXPECT_EQ(visits(pool(), 8, 1000), std::vector<int>(1000, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  EXPECT_LT(used, 0.1) << "one spinning thread would use 0.2 s";
}

TEST(ThreadPool, WorkersAreNotDisturbedBySignals) {
  static std::atomic<int> wrong_thread = 0;
  static const std::thread::id self = std::this_thread::get_id();
  struct sigaction action {};
  action.sa_handler = [](int) { wrong_thread += std::this_thread::get_id() != self ? 1 : 0; };
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  pool().start(4);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);  // only a worker could take it now
  kill(getpid(), SIGUSR1);
  EXPECT_EQ(visits(pool(), 4, 1000), std::vector<int>(1000, 1));
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);  // taken here
  EXPECT_EQ(wrong_thread.load(), 0);
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace mxgemm::cpu
