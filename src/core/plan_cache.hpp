// SPDX-License-Identifier: Apache-2.0
// Plans of the one-shot call, by problem and ISA limit: no pointer is part of the key, so the cache
// is as small as the number of shapes in use.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/status.hpp"
#include "core/plan.hpp"

namespace mxgemm::internal {

class PlanCache {
 public:
  // The least recently used plan goes when there would be more than `capacity`.
  explicit PlanCache(size_t capacity) : capacity_(capacity) {}

  // desc has been checked and its device exists.
  Status get(const mxgemm_gemm_desc& desc, std::shared_ptr<const Plan>* plan);
  size_t size();

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Key {
    mxgemm_gemm_desc desc;
    int32_t isa;
    bool operator==(const Key& other) const;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  using Entries = std::list<std::pair<Key, std::shared_ptr<const Plan>>>;

  const size_t capacity_;
  std::mutex mutex_;
  Entries entries_;  // most recently used first
  std::unordered_map<Key, Entries::iterator, KeyHash> index_;
};

// The process's cache.
PlanCache& plan_cache();

}  // namespace mxgemm::internal
