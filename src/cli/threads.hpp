// SPDX-License-Identifier: Apache-2.0
// Threads of the program itself, for making data and for the reference; the library's own pool is
// what is tested.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "mxgemm/mxgemm.h"

namespace mxgemm::cli {

// As many as the library would use: it knows about affinity and quotas.
inline int host_threads() {
  int32_t count = 1;
  return mxgemm_get_num_threads(&count) == MXGEMM_OK && count > 0 ? count : 1;
}

// Calls body(i) for each i in [0, count) on up to `threads` threads; the first exception reaches
// the caller.
template <typename Body>
void parallel_for(int64_t count, int threads, const Body& body) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto work = [&] {
    try {
      for (int64_t i = next++; i < count; i = next++) {
        body(i);
      }
    } catch (...) {
      const std::lock_guard lock(failure_lock);
      failure = failure ? failure : std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (int64_t t = 1; t < threads && t < count; ++t) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& thread : others) {
    thread.join();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace mxgemm::cli
