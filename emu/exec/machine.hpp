// SPDX-License-Identifier: Apache-2.0
// The state of a running grid: clusters, CTAs, warps, frames, lane groups (specification 5, 6).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "exec/launch.hpp"
#include "exec/options.hpp"
#include "exec/program.hpp"
#include "exec/random.hpp"
#include "exec/shared_memory.hpp"
#include "isa/instr.hpp"

namespace emu {

struct Cluster;
struct Cta;
struct Grid;
struct Warp;
class Engine;

// State that a family keeps with a warp, CTA or cluster; the family knows the real type.
struct Extension {
  virtual ~Extension() = default;
};

enum class WaitKind : uint8_t {
  none,
  sync_lanes,  // other lanes of the warp must come to the same instruction
  named_barrier,
  cluster_barrier,
  mbarrier,
  copy_group,  // cp.async and bulk groups, wgmma groups
  tmem_alloc,
  registers,  // setmaxnreg.inc
  previous_grid,
  other,
};

// Why a group does not run. It is tried again once *counter differs from `seen`: whoever changes
// the condition adds to the counter.
struct WaitState {
  WaitKind kind = WaitKind::none;
  const uint64_t* counter = nullptr;
  uint64_t seen = 0;
  uint64_t detail[2] = {0, 0};  // for reports: address of the mbarrier and parity, barrier id...
};

enum class GroupState : uint8_t { runnable, sync_waiting, blocked };

// Registers of one activation of a function; shared by the lane groups that are in it. Two groups
// that make the same call from the same frame share the callee's frame, so that they can meet.
struct Frame {
  Frame* parent = nullptr;
  const Code* code = nullptr;
  uint32_t call_pc = 0;  // in the parent, of the call instruction
  uint32_t lanes = 0;    // lanes inside
  uint32_t depth = 0;
  uint32_t local_base = 0;           // of this frame in each lane's local memory
  std::vector<uint64_t> storage;     // the register block (aligned within)
  std::vector<uint32_t> predicates;  // a bit per lane
  uint8_t* regs = nullptr;
};

struct LaneGroup {
  uint32_t pc = 0;
  uint32_t lanes = 0;
  Frame* frame = nullptr;
  GroupState state = GroupState::runnable;
  WaitState wait;
};

struct Warp {
  Cta* cta = nullptr;
  uint32_t index = 0;  // in the CTA
  uint32_t live = 0;   // lanes that have not exited
  uint32_t initial = 0;
  int64_t priority = 0;  // of the pct policies
  std::vector<LaneGroup> groups;
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<std::unique_ptr<Frame>> free_frames;
  std::vector<uint8_t> local;  // lane-major: lane * local_stride
  uint32_t local_stride = 0;
  uint64_t carry = 0;  // per-lane carry flags of add.cc and the like (32 bits used)
  uint64_t instructions = 0;
  std::unique_ptr<Extension> async;  // copy and bulk groups
  std::unique_ptr<Extension> wgmma;
  bool finished() const { return live == 0; }
};

struct NamedBarrier {
  uint32_t expected = 0;  // threads; 0 while nobody has arrived
  uint32_t arrived = 0;
  bool whole_cta = false;  // default count: warps that exit are not waited for
  uint64_t phase = 0;      // completed phases
  uint64_t counter = 0;    // WaitState::counter of those who wait
  uint32_t popc = 0;       // bar.red: result being gathered, and of the last phase
  bool all = true;
  bool any = false;
  uint32_t last_popc = 0;
  bool last_all = false;
  bool last_any = false;
  std::vector<uint32_t> lanes;  // per warp: lanes that arrived by forms without .aligned
};

struct Cta {
  static constexpr uint32_t kBarriers = 16;
  Cluster* cluster = nullptr;
  uint32_t rank = 0;  // in the cluster
  uint32_t id[3] = {0, 0, 0};
  uint64_t linear = 0;  // in the grid
  std::vector<std::unique_ptr<Warp>> warps;
  uint32_t running_warps = 0;
  SharedMemory shared;
  NamedBarrier barriers[kBarriers];
  uint64_t mbarrier_changes = 0;  // WaitState::counter for mbarriers of this CTA
  uint32_t pending_async = 0;     // operations that still use this CTA's memory
  // Stores that have read the CTA's memory and are not yet written: the cluster stays for them.
  uint32_t pending_writes = 0;
  bool exited = false;
  bool launched_dependents = false;  // griddepcontrol: by any of its threads
  std::unique_ptr<Extension> async;
  std::unique_ptr<Extension> tmem;
  std::unique_ptr<Extension> launch_control;
};

struct Cluster {
  Grid* grid = nullptr;
  Engine* engine = nullptr;
  uint64_t linear = 0;
  uint32_t id[3] = {0, 0, 0};
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t running_ctas = 0;
  std::unique_ptr<Extension> barrier;  // barrier.cluster
};

// Who started an asynchronous operation: for reports of what goes wrong in it later.
struct Origin {
  Cta* cta = nullptr;
  uint32_t warp = 0;
  uint32_t lane = 0;
  const Code* code = nullptr;
  const Instr* instr = nullptr;
};

inline constexpr uint8_t kTaken = 1;
inline constexpr uint8_t kNotTaken = 2;

// A launch, or with several host threads the part of it that one engine runs.
struct Grid {
  const LaunchRequest* request = nullptr;
  const Options* options = nullptr;
  const Code* kernel = nullptr;
  std::shared_ptr<const AllocationMap> allocations;
  Dim3 clusters;                // grid / cluster
  uint32_t shared_bytes = 0;    // of one CTA, reserved kilobyte included
  uint32_t dynamic_shared = 0;  // offset of dynamic shared memory
  // Clusters not started; the last one is the next (launch control may take any).
  std::vector<uint32_t> pending;
  uint64_t clusters_left = 0;                 // not finished
  uint64_t ctas_not_launched_dependents = 0;  // griddepcontrol
  bool started = false;
  uint64_t completion_counter = 0;  // WaitState::counter of griddepcontrol.wait
  Grid* previous = nullptr;         // programmatic serialisation
  std::string printed;
  // Coverage, by function and instruction; empty unless it is asked for.
  std::vector<std::vector<uint64_t>> executed;
  std::vector<std::vector<uint8_t>> branches;  // kTaken, kNotTaken

  bool complete() const { return clusters_left == 0; }
};

}  // namespace emu
