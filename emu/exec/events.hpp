// SPDX-License-Identifier: Apache-2.0
// Asynchronous work of a launch. An operation is a chain: an action that runs may schedule the
// next one (source read, destination written, completion signalled), which keeps the order the
// instruction promises; everything else is up to the policy.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "exec/options.hpp"
#include "exec/random.hpp"

namespace emu {

class EventQueue {
 public:
  using Action = std::function<void()>;

  EventQueue(const Options& options, Random& random) : options_(options), random_(random) {}

  // When the policy says: at once, after a random delay, or only when nothing else can run.
  void schedule(uint64_t now, Action action);
  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }
  // The step at which something is due; never for policies that wait until nothing else can run.
  uint64_t next_due() const { return next_due_; }
  // Runs everything due at `now`.
  void run_due(uint64_t now);
  // Nothing else can run: runs the next event, whatever its time. False if there is none. Moves
  // `now` on to the event's time.
  bool run_one(uint64_t& now);

 private:
  struct Event {
    uint64_t time;
    uint64_t sequence;
    Action action;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : sequence > other.sequence;
    }
  };
  void update_due();
  Event pop();

  const Options& options_;
  Random& random_;
  std::vector<Event> queue_;  // a heap, earliest first
  uint64_t sequence_ = 0;
  uint64_t next_due_ = ~uint64_t{0};
};

}  // namespace emu
