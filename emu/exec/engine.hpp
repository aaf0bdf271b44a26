// SPDX-License-Identifier: Apache-2.0
// One host thread's share of a launch: its resident clusters, its scheduler, its events.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
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
  const EventQueue& events() const { return events_; }
  const Options& options() const { return options_; }
  void progress() {
    last_progress_ = now_;
    if (!in_event_) {
      last_warp_progress_ = now_;
    }
  }
  uint64_t thread_instructions() const { return thread_instructions_; }
  // griddepcontrol.launch_dependents of a CTA, or its end.
  void launch_dependents(Cta& cta);
  const std::vector<std::unique_ptr<Cluster>>& clusters() const { return clusters_; }
  Observer* observer() const { return observer_.get(); }  // null unless the race detector is on

 private:
  friend class ExecContext;
  struct Choice {
    Warp* warp = nullptr;
    size_t group = 0;
  };
  // engine.cpp: clusters and the main loop
  bool start_clusters();
  void start_cluster(Grid& grid, uint64_t linear);
  void start_cta(Cluster& cluster, uint32_t rank);
  void retire();
  void cluster_finished(Cluster& cluster);
  void warp_finished(Warp& warp);
  void cta_finished(Cta& cta);
  bool may_start(const Grid& grid) const;
  void no_progress();
  bool run_one_event();
  // scheduler.cpp: choices
  Choice choose();
  size_t choose_group(const Warp& warp);
  uint32_t choose_quantum();
  bool has_runnable(const Warp& warp) const;
  // warp_run.cpp: one turn of one group
  void run_turn(Choice choice, uint32_t quantum);
  template <bool kTraced>
  void turn(uint32_t quantum);
  void enter(Warp& warp, size_t group);
  bool at_meeting_point(const Instr& instr, uint32_t* active);
  bool gather_mask(const Instr& instr, uint32_t active, uint32_t* ready);
  void wait_for_lanes(const Instr& instr);
  void merge_here();
  bool settle(const Instr& instr, StepResult result, uint32_t active);
  StepResult run_lane_by_lane(const Instr& instr, uint32_t* active);
  void trace(const Instr& instr, uint32_t active) const;
  void count(const Instr& instr, uint32_t active);

  std::vector<Grid*> grids_;
  const Options& options_;
  Random random_;
  EventQueue events_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<Warp*> warps_;  // of all resident clusters, finished ones too
  std::vector<uint32_t> runnable_;
  ExecContext ctx_;
  uint64_t now_ = 1;
  uint64_t last_progress_ = 0;
  uint64_t last_warp_progress_ = 0;  // by an instruction, not by an event
  bool in_event_ = false;
  size_t next_warp_ = 0;  // round robin
  int64_t lowest_priority_ = 0;
  bool retire_needed_ = false;
  uint64_t thread_instructions_ = 0;
  Fault fault_;
  std::set<const Instr*> warned_;
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
