// SPDX-License-Identifier: Apache-2.0
#include "runtime/work.hpp"

#include <algorithm>

namespace emu::runtime {
namespace {

// One query in this many makes progress: enough to see "not ready", few enough for polling loops.
constexpr uint64_t kQueriesPerStep = 4;

bool is_pending(const WorkPtr& work) {
  return work != nullptr && work->state != Work::State::kDone;
}

}  // namespace

std::optional<StreamPolicy> parse_stream_policy(const std::string& text) {
  if (text == "late") {
    return StreamPolicy::kLate;
  }
  if (text == "eager") {
    return StreamPolicy::kEager;
  }
  if (text == "random") {
    return StreamPolicy::kRandom;
  }
  return std::nullopt;
}

WorkPtr Executor::submit(Lock& lock, Task task, std::vector<WorkPtr> needs) {
  auto work = std::make_shared<Work>();
  work->task = std::move(task);
  std::erase_if(needs, [](const WorkPtr& need) { return !is_pending(need); });
  work->needs = std::move(needs);
  pending_.push_back(work);
  if (policy_ == StreamPolicy::kEager) {
    wait(lock, {work});
  } else {
    drift(lock);
  }
  return work;
}

std::vector<WorkPtr> Executor::pending_closure(const std::vector<WorkPtr>& targets) {
  const uint64_t search = ++searches_;
  std::vector<WorkPtr> found;
  const auto visit = [&](const WorkPtr& work) {
    if (is_pending(work) && work->visited != search) {
      work->visited = search;
      found.push_back(work);
    }
  };
  std::for_each(targets.begin(), targets.end(), visit);
  for (size_t index = 0; index < found.size(); ++index) {
    const std::vector<WorkPtr> needs = found[index]->needs;
    std::for_each(needs.begin(), needs.end(), visit);
  }
  return found;
}

bool Executor::is_ready(const Work& work) {
  return work.state == Work::State::kPending &&
         std::none_of(work.needs.begin(), work.needs.end(), is_pending);
}

void Executor::wait(Lock& lock, const std::vector<WorkPtr>& targets) {
  while (true) {
    const std::vector<WorkPtr> needed = pending_closure(targets);
    if (needed.empty()) {
      return;
    }
    run_one(lock, policy_ == StreamPolicy::kRandom ? pending_ : needed);
  }
}

void Executor::wait_device(Lock& lock, int device) {
  std::vector<WorkPtr> targets;
  std::copy_if(pending_.begin(), pending_.end(), std::back_inserter(targets),
               [&](const WorkPtr& work) { return work->task.device == device; });
  wait(lock, targets);
}

void Executor::wait_all(Lock& lock) {
  wait(lock, std::vector<WorkPtr>(pending_));
}

void Executor::wait_idle(Lock& lock) {
  changed_.wait(lock, [this] { return !busy_; });
}

void Executor::nudge(Lock& lock, const WorkPtr& target) {
  const std::vector<WorkPtr> needed = pending_closure({target});
  if (!needed.empty() && random_() % kQueriesPerStep == 0) {
    run_one(lock, needed);
  }
}

void Executor::drift(Lock& lock) {
  if (policy_ == StreamPolicy::kRandom && !busy_ && !pending_.empty() && random_() % 2 == 0) {
    run_one(lock, pending_);
  }
}

void Executor::run_one(Lock& lock, const std::vector<WorkPtr>& candidates) {
  if (busy_) {
    changed_.wait(lock);
    return;
  }
  std::vector<WorkPtr> ready;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(ready),
               [](const WorkPtr& work) { return is_ready(*work); });
  if (!ready.empty()) {
    run(lock, ready[random_() % ready.size()]);
  }
}

void Executor::run(Lock& lock, const WorkPtr& work) {
  work->state = Work::State::kRunning;
  busy_ = true;
  Outcome outcome;
  const Task& task = work->task;
  if (task.run && (task.always || !callbacks_.has_failed(task.device))) {
    // A host function is the caller's code: device memory is as closed to it as ever.
    const bool opens = task.kind != TaskKind::kHost;
    lock.unlock();
    if (opens) {
      callbacks_.open_memory(true);
    }
    outcome = task.run();
    if (opens) {
      callbacks_.open_memory(false);
    }
    lock.lock();
  }
  clock_ += outcome.steps;
  work->finished_at = clock_;
  work->state = Work::State::kDone;
  work->needs.clear();
  std::erase(pending_, work);
  busy_ = false;
  if (outcome.error != cudaSuccess) {
    callbacks_.failed(task.device, outcome);
  }
  changed_.notify_all();
}

}  // namespace emu::runtime
