// SPDX-License-Identifier: Apache-2.0
// The process's choice of threads: how many, and whose.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "base/env.hpp"
#include "base/require.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/cpu_limit.hpp"
#include "cpu/thread_pool.hpp"

namespace mxgemm::cpu {
namespace {

// Nothing here is a lock that another thread could hold at a fork; all of it is
// constant-initialised.
std::atomic<ThreadPool*> process_pool = nullptr;
std::atomic<ThreadPool*> forked_pools =
    nullptr;                                 // keeps what a parent's pool allocated within reach
std::atomic<int32_t> requested_threads = 0;  // 0 = default
std::atomic<int32_t> known_default = 0;      // 0 = to be found out

// The caller's parallel_for: two words that belong together, read at every call, written rarely.
// `version` is odd while they are being written.
struct CallerParallelFor {
  std::atomic<uint32_t> version = 0;
  std::atomic<ParallelFor::Call> call = nullptr;
  std::atomic<void*> context = nullptr;
};
CallerParallelFor caller_parallel_for;

void write_caller_parallel_for(ParallelFor::Call call, void* context) {
  CallerParallelFor& slot = caller_parallel_for;
  uint32_t version = slot.version.load() & ~1u;
  while (!slot.version.compare_exchange_weak(version, version + 1)) {
    version &= ~1u;
  }
  slot.call.store(call);
  slot.context.store(context);
  slot.version.store(version + 2);
}

ParallelFor read_caller_parallel_for() {
  const CallerParallelFor& slot = caller_parallel_for;
  for (;;) {
    const uint32_t version = slot.version.load();
    const ParallelFor result{slot.call.load(), slot.context.load(), 1};
    if (version % 2 == 0 && slot.version.load() == version) {
      return result;
    }
  }
}

// A child has the forking thread only: the parent's pool has no workers there and may have been at
// work.
void forget_pool_in_child() {
  ThreadPool* pool = process_pool.exchange(nullptr);
  if (pool != nullptr) {
    pool->next = forked_pools.load();
    forked_pools.store(pool);
  }
  known_default.store(0);
  if (caller_parallel_for.version.load() % 2 != 0) {  // its writer is not here to finish
    caller_parallel_for.version.store(0);
    write_caller_parallel_for(nullptr, nullptr);
  }
}

[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, forget_pool_in_child);

// Made at first use and never destroyed: its threads may still look at it while the process exits.
ThreadPool& pool() {
  ThreadPool* current = process_pool.load(std::memory_order_acquire);
  if (current == nullptr) {
    auto* made = new ThreadPool;
    if (process_pool.compare_exchange_strong(current, made)) {
      return *made;
    }
    delete made;
  }
  return *current;
}

void run_on_pool(void* /*context*/, int64_t count, ParallelFor::Body body, void* argument) {
  pool().run(num_threads(), count, body, argument);
}

Status read_environment(std::optional<int64_t>* value) {
  return internal::env_integer("MXGEMM_NUM_THREADS", 1, kMaxThreads, value);
}

}  // namespace

ParallelFor parallel_for() {
  ParallelFor result = read_caller_parallel_for();
  result.num_threads = num_threads();
  if (result.call == nullptr && result.num_threads > 1) {
    result.call = run_on_pool;
  }
  return result;
}

Status check_thread_environment() {
  std::optional<int64_t> value;
  return read_environment(&value);
}

int32_t default_num_threads() {
  std::optional<int64_t> value;
  if (read_environment(&value).ok() && value) {
    return static_cast<int32_t>(*value);
  }
  return std::min(usable_cpus(), kMaxThreads);
}

Status set_num_threads(int32_t num_threads) {
  MXGEMM_REQUIRE(num_threads >= 0 && num_threads <= kMaxThreads,
                 "num_threads is %d; it must be from 1 to %d, or 0 for the default", num_threads,
                 kMaxThreads);
  known_default.store(0);
  requested_threads.store(num_threads);
  return {};
}

int32_t num_threads() {
  int32_t number = requested_threads.load(std::memory_order_relaxed);
  if (number == 0) {
    number = known_default.load(std::memory_order_relaxed);
  }
  if (number == 0) {
    number = default_num_threads();
    known_default.store(number, std::memory_order_relaxed);
  }
  return number;
}

void set_parallel_for(ParallelFor::Call call, void* context) {
  write_caller_parallel_for(call, context);
}

void warm_up() {
  if (read_caller_parallel_for().call == nullptr) {
    pool().start(num_threads());
  }
}

}  // namespace mxgemm::cpu
