// SPDX-License-Identifier: Apache-2.0
#include "cpu/thread_pool.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstring>

#include "base/log.hpp"
#include "cpu/cpu_limit.hpp"

namespace mxgemm::cpu {
namespace {

// Waking a parked thread costs about 20 µs, a spinning one 0.15 µs. The layers of a model call us a
// few to a few tens of µs apart: that long a thread looks for more before it parks.
constexpr std::chrono::microseconds kSpinTime{50};
// Looks between two readings of the clock, which costs as much as several of them.
constexpr int kLooksPerClock = 32;
// Pieces per thread that work of many indices is cut into: the last piece, for which the others may
// have to wait, is then 3 % of a thread's share, and threads rarely meet at the counter.
constexpr int64_t kPiecesPerThread = 32;
// Each thread that wakes up wakes so many others, so that a hundred are awake after a few rounds
// and no one thread pays for all the calls.
constexpr int kWakeFanOut = 2;

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain 32-bit word");

// Returns when woken, at once if the word is not `expected`, and sometimes for no reason.
void futex_wait(const std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

void futex_wake(const std::atomic<uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace

// Held by the thread whose work is on the pool.
class ThreadPool::Owner {
 public:
  explicit Owner(ThreadPool* pool) : pool_(pool) {
    // The plain load keeps the line shared while another thread owns the pool.
    held_ = !pool->owned_.load(std::memory_order_relaxed) &&
            !pool->owned_.exchange(true, std::memory_order_acquire);
  }
  ~Owner() {
    if (held_) {
      pool_->owned_.store(false, std::memory_order_release);
    }
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  bool held() const { return held_; }

 private:
  ThreadPool* pool_;
  bool held_;
};

int ThreadPool::start_detached_thread(void* (*function)(void*), void* argument) {
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) {
    return error;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // Signals are the application's: its handlers must not run on threads that it does not know.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  error = pthread_create(&thread, &attributes, function, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

void ThreadPool::run(int32_t num_threads, int64_t count, Body body, void* argument) {
  int64_t index = 0;
  for (; num_threads > 1 && count - index > 1; ++index) {
    const Owner owner(this);
    if (owner.held()) {
      share(num_threads, index, Work{body, argument, count, 1});
      return;
    }
    body(argument, index);
  }
  for (; index < count; ++index) {
    body(argument, index);
  }
}

void ThreadPool::start(int32_t num_threads) {
  const Owner owner(this);
  if (owner.held()) {
    start_workers(num_threads - 1);
  }
}

void ThreadPool::share(int32_t num_threads, int64_t first, const Work& work) {
  const int64_t left = work.count - first;
  const auto wanted = static_cast<int32_t>(std::min<int64_t>(num_threads, left)) - 1;
  start_workers(wanted);
  const auto tickets = static_cast<uint32_t>(std::min(wanted, num_workers()));
  work_ = work;
  work_.grain = std::max<int64_t>(1, left / ((tickets + 1) * kPiecesPerThread));
  index_.store(first, std::memory_order_relaxed);
  finished_.store(0, std::memory_order_relaxed);
  // Sequentially consistent, as is the pair in wait_for_ticket: either we see the worker parked or
  // it sees the tickets.
  tickets_.store(tickets, std::memory_order_seq_cst);
  if (parked_workers_.load(std::memory_order_seq_cst) > 0) {
    futex_wake(tickets_, kWakeFanOut);
  }
  do_work();
  wait_for_workers(tickets - tickets_.exchange(0, std::memory_order_acq_rel));
}

void ThreadPool::start_workers(int32_t wanted) {
  wanted = std::min(wanted, start_failed_at_);
  if (wanted <= num_workers()) {
    return;
  }
  while (num_workers() < wanted) {
    const int error = start_thread_(worker_main, this);
    if (error != 0) {
      start_failed_at_ = num_workers();
      internal::log_line(internal::LogLevel::kWarning,
                         "could not start thread %d of %d (%s); going on with fewer",
                         num_workers() + 2, wanted + 1, std::strerror(error));
      break;
    }
    num_workers_.fetch_add(1, std::memory_order_relaxed);
  }
  // Where threads outnumber CPUs, one that spins takes the CPU from one that works.
  may_spin_.store(num_workers() < usable_cpus(), std::memory_order_relaxed);
}

void* ThreadPool::worker_main(void* self) {
  auto* pool = static_cast<ThreadPool*>(self);
  pthread_setname_np(pthread_self(), "mxgemm");
  for (;;) {
    pool->wait_for_ticket();
    if (!pool->take_ticket()) {
      continue;
    }
    pool->do_work();
    // Pairs with wait_for_workers: either the owner sees our increment or we see it parked.
    pool->finished_.fetch_add(1, std::memory_order_seq_cst);
    if (pool->parked_owner_.load(std::memory_order_seq_cst)) {
      futex_wake(pool->finished_, 1);
    }
  }
  return nullptr;
}

void ThreadPool::wait_for_ticket() {
  if (spin_until([this] { return tickets_.load(std::memory_order_relaxed) != 0; })) {
    return;
  }
  parked_workers_.fetch_add(1, std::memory_order_seq_cst);
  while (tickets_.load(std::memory_order_seq_cst) == 0) {
    futex_wait(tickets_, 0);
  }
  parked_workers_.fetch_sub(1, std::memory_order_relaxed);
}

bool ThreadPool::take_ticket() {
  uint32_t tickets = tickets_.load(std::memory_order_relaxed);
  while (tickets != 0) {
    if (tickets_.compare_exchange_weak(tickets, tickets - 1, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
      if (tickets > 1 && parked_workers_.load(std::memory_order_relaxed) > 0) {
        futex_wake(tickets_, kWakeFanOut);
      }
      return true;
    }
  }
  return false;
}

void ThreadPool::do_work() {
  for (;;) {
    const int64_t first = index_.fetch_add(work_.grain, std::memory_order_relaxed);
    if (first >= work_.count) {
      return;
    }
    const int64_t end = first + std::min(work_.grain, work_.count - first);
    for (int64_t index = first; index < end; ++index) {
      work_.body(work_.argument, index);
    }
  }
}

void ThreadPool::wait_for_workers(uint32_t count) {
  if (spin_until([this, count] { return finished_.load(std::memory_order_acquire) == count; })) {
    return;
  }
  parked_owner_.store(true, std::memory_order_seq_cst);
  for (;;) {
    const uint32_t finished = finished_.load(std::memory_order_seq_cst);
    if (finished == count) {
      break;
    }
    futex_wait(finished_, finished);
  }
  parked_owner_.store(false, std::memory_order_relaxed);
}

// True as soon as the condition holds, false when it was not met in time.
template <typename Condition>
bool ThreadPool::spin_until(Condition condition) const {
  if (condition()) {
    return true;
  }
  if (!may_spin_.load(std::memory_order_relaxed)) {
    return false;
  }
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  for (bool yielded = false; std::chrono::steady_clock::now() < end; yielded = true) {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (condition()) {
        return true;
      }
      relax();
    }
    // A wake-up may have put us on the CPU of the thread that we wait for; it must run first, else
    // both lose the whole time. Once only: Linux (6.18) lets a thread that yields often wait 3 ms
    // for its next turn.
    if (!yielded) {
      sched_yield();
    }
  }
  return condition();
}

}  // namespace mxgemm::cpu
