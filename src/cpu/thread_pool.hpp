// SPDX-License-Identifier: Apache-2.0
// A pool of persistent threads that runs one piece of parallel work at a time.
//
// The caller works too. It offers as many tickets as further threads are wanted; a worker that
// takes a ticket takes part until the work runs out. When the caller finds no more work it
// withdraws the tickets left over and waits for those taken alone. So a worker that is still
// asleep, or has lost its CPU to someone else, delays nobody.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/parallel.hpp"

namespace mxgemm::cpu {

// More threads than any machine has CPUs: a larger number is a mistake and would only exhaust
// memory.
constexpr int32_t kMaxThreads = 1024;

class ThreadPool {
 public:
  using Body = internal::ParallelFor::Body;
  // Runs function(argument) on a thread of its own that nobody joins; 0 or an errno value.
  using StartThread = int (*)(void* (*function)(void*), void* argument);

  static int start_detached_thread(void* (*function)(void*), void* argument);

  explicit ThreadPool(StartThread start_thread = start_detached_thread)
      : start_thread_(start_thread) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  // A pool with threads must live as long as the process: they use it and never end.
  ~ThreadPool() = default;

  // body(argument, i) once for each i in [0, count), on at most num_threads threads, the calling
  // one included. While the pool is at work, for another thread or for the body that calls this,
  // everything runs on the calling thread: nobody waits for work that is not his own.
  void run(int32_t num_threads, int64_t count, Body body, void* argument);

  // Starts what is missing for run(num_threads, …), unless the pool is at work.
  void start(int32_t num_threads);

  int32_t num_workers() const { return num_workers_.load(std::memory_order_relaxed); }

  ThreadPool* next = nullptr;  // list of pools that a fork left behind

 private:
  struct Work {
    Body body = nullptr;
    void* argument = nullptr;
    int64_t count = 0;
    int64_t grain = 1;  // indices taken at once
  };
  class Owner;

  static void* worker_main(void* self);
  void share(int32_t num_threads, int64_t first, const Work& work);
  void start_workers(int32_t wanted);
  void do_work();
  void wait_for_ticket();
  bool take_ticket();
  void wait_for_workers(uint32_t count);
  template <typename Condition>
  bool spin_until(Condition condition) const;

  // Own cache lines (128: adjacent lines are fetched in pairs) for what different threads write in
  // one job.
  alignas(128) std::atomic<bool> owned_ = false;    // a thread is running work on the pool
  alignas(128) std::atomic<uint32_t> tickets_ = 0;  // workers wait until it is not 0
  alignas(128) std::atomic<int64_t> index_ = 0;     // next index of the work to be done
  alignas(128) std::atomic<uint32_t> finished_ =
      0;                    // the owner waits until all that took a ticket have finished
  alignas(128) Work work_;  // written by the owner while there are no tickets
  std::atomic<uint32_t> parked_workers_ = 0;
  std::atomic<bool> parked_owner_ = false;
  std::atomic<bool> may_spin_ = false;
  std::atomic<int32_t> num_workers_ = 0;
  int32_t start_failed_at_ = kMaxThreads;  // no more than this many workers can be had
  StartThread start_thread_;
};

}  // namespace mxgemm::cpu
