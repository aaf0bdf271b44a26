// SPDX-License-Identifier: Apache-2.0
#include "core/plan_cache.hpp"

#include <pthread.h>

#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/require.hpp"

namespace mxgemm::internal {
namespace {

// More shapes than a model has layers times batch sizes in use at a time; a plan is a few hundred
// bytes.
constexpr size_t kCachedPlans = 512;

// Keys are compared and hashed as bytes.
static_assert(std::has_unique_object_representations_v<mxgemm_gemm_desc>);

}  // namespace

bool PlanCache::Key::operator==(const Key& other) const {
  return isa == other.isa && std::memcmp(&desc, &other.desc, sizeof(desc)) == 0;
}

size_t PlanCache::KeyHash::operator()(const Key& key) const {
  const std::string_view bytes(reinterpret_cast<const char*>(&key.desc), sizeof(key.desc));
  return std::hash<std::string_view>()(bytes) + static_cast<size_t>(key.isa);
}

Status PlanCache::get(const mxgemm_gemm_desc& desc, std::shared_ptr<const Plan>* plan) {
  IsaLimit limit;
  MXGEMM_TRY(isa_limit(&limit));
  const Key key = {desc, limit.isa};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = index_.find(key);
    if (found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      *plan = found->second->second;
      return {};
    }
  }
  // Made without the lock: two threads may make the same plan, and the first to come back here
  // keeps it.
  Selection selection;
  MXGEMM_TRY(current_selection(desc, nullptr, &selection));
  selection.isa = limit;
  const auto made = std::make_shared<Plan>();
  MXGEMM_TRY(make_plan(Registry::instance(), selection, desc, made.get()));
  *plan = made;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (index_.find(key) != index_.end()) {
    return {};
  }
  entries_.emplace_front(key, made);
  index_.emplace(key, entries_.begin());
  if (entries_.size() > capacity_) {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return {};
}

size_t PlanCache::size() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

PlanCache& plan_cache() {
  static PlanCache* const cache = [] {
    // Held across a fork, so that no other thread holds it in the child.
    pthread_atfork([] { plan_cache().lock(); }, [] { plan_cache().unlock(); },
                   [] { plan_cache().unlock(); });
    return new PlanCache(kCachedPlans);  // never destroyed: threads may outlive main
  }();
  return *cache;
}

}  // namespace mxgemm::internal
