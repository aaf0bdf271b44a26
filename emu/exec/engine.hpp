// SPDX-License-Identifier: Apache-2.0
// One host thread's share of a launch: its resident clusters, its scheduler, its events.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "exec/context.hpp"
#include "exec/events.hpp"
#include "exec/fault.hpp"
#include "exec/machine.hpp"
#include "exec/observer.hpp"

namespace emu {

class Engine {
 public:
  Engine(std::vector<Grid*> grids, const Options& options, uint64_t seed);
  ~Engine();

  // Until all clusters of the grids are done or a fault.
  void run();

  // Faults from outside a handler (events, checks at the end of a CTA).
  void fault(const Origin& origin, FaultKind kind, const std::string& text);
  bool faulted() const { return fault_.kind != FaultKind::none; }
  const Fault& fault() const { return fault_; }

  uint64_t now() const { return now_; }
  uint64_t steps() const { return now_; }
  Random& random() { return random_; }
  EventQueue& events() { return events_; }
  const Options& options() const { return options_; }
  void progress() { last_progress_ = now_; }
  const std::vector<std::unique_ptr<Cluster>>& clusters() const { return clusters_; }
  Observer* observer() const { return observer_.get(); }  // null unless the race detector is on

 private:
  friend class ExecContext;
  std::vector<Grid*> grids_;
  const Options& options_;
  Random random_;
  EventQueue events_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  uint64_t now_ = 1;
  uint64_t last_progress_ = 0;
  Fault fault_;
  std::unique_ptr<Observer> observer_;
};

inline Random& ExecContext::random() const {
  return engine->random();
}
inline const Options& ExecContext::options() const {
  return engine->options();
}
inline uint64_t ExecContext::now() const {
  return engine->now();
}
inline void ExecContext::schedule(EventQueue::Action action) const {
  engine->events().schedule(engine->now(), std::move(action));
}
inline void ExecContext::progress() const {
  engine->progress();
}

}  // namespace emu
