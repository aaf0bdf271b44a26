// SPDX-License-Identifier: Apache-2.0
// Clusters come and go; the main loop (specification 6.3 to 6.5).
#include "exec/engine.hpp"

#include <algorithm>

#include "check/race_detector.hpp"
#include "exec/frames.hpp"
#include "exec/hooks.hpp"
#include "exec/report.hpp"
#include "isa/barriers.hpp"

namespace emu {
namespace {

// Under a late policy completions wait until nothing else can run. Warps that poll never stop; so
// many steps without anything that they changed say that they only poll, and then completions come
// one per turn until a warp gets on.
constexpr uint64_t kLatePatience = 5'000;
constexpr uint32_t kPriorities = 1u << 31;

}  // namespace

Engine::Engine(std::vector<Grid*> grids, const Options& options, uint64_t seed)
    : grids_(std::move(grids)), options_(options), random_(seed), events_(options, random_) {
  ctx_.engine = this;
  if (options_.race_detector) {
    observer_ = std::make_unique<RaceDetector>(*this);
  }
}

Engine::~Engine() = default;

bool Engine::may_start(const Grid& grid) const {
  if (grid.pending.empty()) {
    return false;
  }
  if (grid.previous != nullptr && !grid.previous->complete()) {
    if (!grid.request->programmatic || grid.previous->ctas_not_launched_dependents != 0) {
      return false;
    }
  }
  if (clusters_.empty() || grid.request->cooperative) {
    return true;
  }
  if (clusters_.size() >= options_.resident_clusters) {
    return false;
  }
  // What the device holds: threads, CTAs and shared memory of its multiprocessors.
  const DeviceFacts& device = grid.request->device;
  uint64_t ctas = grid.request->cluster.count();
  uint64_t threads = ctas * grid.request->block.count();
  uint64_t shared = ctas * grid.shared_bytes;
  for (const auto& cluster : clusters_) {
    const LaunchRequest& r = *cluster->grid->request;
    ctas += r.cluster.count();
    threads += r.cluster.count() * r.block.count();
    shared += r.cluster.count() * cluster->grid->shared_bytes;
  }
  const uint64_t sms = device.multiprocessors;
  return ctas <= sms * device.max_ctas_per_multiprocessor &&
         threads <= sms * device.max_threads_per_multiprocessor &&
         shared <= sms * device.shared_per_multiprocessor;
}

bool Engine::start_clusters() {
  bool started = false;
  for (Grid* grid : grids_) {
    while (may_start(*grid)) {
      const uint64_t linear = grid->pending.back();
      grid->pending.pop_back();
      start_cluster(*grid, linear);
      started = true;
    }
  }
  return started;
}

void Engine::start_cluster(Grid& grid, uint64_t linear) {
  auto cluster = std::make_unique<Cluster>();
  cluster->grid = &grid;
  cluster->engine = this;
  cluster->linear = linear;
  const Dim3& counts = grid.clusters;
  cluster->id[0] = static_cast<uint32_t>(linear % counts.x);
  cluster->id[1] = static_cast<uint32_t>(linear / counts.x % counts.y);
  cluster->id[2] = static_cast<uint32_t>(linear / counts.x / counts.y);
  const auto ctas = static_cast<uint32_t>(grid.request->cluster.count());
  cluster->running_ctas = ctas;
  for (uint32_t rank = 0; rank < ctas; ++rank) {
    start_cta(*cluster, rank);
  }
  clusters_.push_back(std::move(cluster));
  progress();
}

void Engine::start_cta(Cluster& cluster, uint32_t rank) {
  Grid& grid = *cluster.grid;
  const Dim3& size = grid.request->cluster;
  const Dim3& whole = grid.request->grid;
  auto cta = std::make_unique<Cta>();
  cta->cluster = &cluster;
  cta->rank = rank;
  cta->id[0] = cluster.id[0] * size.x + rank % size.x;
  cta->id[1] = cluster.id[1] * size.y + rank / size.x % size.y;
  cta->id[2] = cluster.id[2] * size.z + rank / size.x / size.y;
  cta->linear = cta->id[0] + uint64_t{whole.x} * (cta->id[1] + uint64_t{whole.y} * cta->id[2]);
  cta->shared.reset(grid.shared_bytes, options_.random_poison ? random_.next() | 1 : 0);
  const auto threads = static_cast<uint32_t>(grid.request->block.count());
  const uint32_t warps = (threads + kLanes - 1) / kLanes;
  cta->running_warps = warps;
  for (uint32_t index = 0; index < warps; ++index) {
    auto warp = std::make_unique<Warp>();
    warp->cta = cta.get();
    warp->index = index;
    const uint32_t lanes = std::min(kLanes, threads - index * kLanes);
    warp->live = lanes == kLanes ? kFullMask : (1u << lanes) - 1;
    warp->initial = warp->live;
    warp->priority = random_.below(kPriorities);
    warp->groups.reserve(kLanes + 1);
    LaneGroup group;
    group.lanes = warp->live;
    group.frame = enter_frame(*warp, nullptr, 0, *grid.kernel, warp->live, random_);
    warp->groups.push_back(group);
    warps_.push_back(warp.get());
    cta->warps.push_back(std::move(warp));
  }
  cluster.ctas.push_back(std::move(cta));
}

void Engine::warp_finished(Warp& warp) {
  progress();
  Cta& cta = *warp.cta;
  Origin origin{&cta, warp.index, 0, nullptr, nullptr};
  const std::string complaint = check_warp_exit(warp);
  if (!complaint.empty()) {
    fault(origin, FaultKind::launch_failure, "a warp has exited: " + complaint);
    return;
  }
  named_barriers_warp_exited(cta);
  cluster_barrier_warp_exited(*cta.cluster, warp);
  if (--cta.running_warps == 0) {
    cta_finished(cta);
  }
}

void Engine::cta_finished(Cta& cta) {
  Origin origin{&cta, 0, 0, nullptr, nullptr};
  std::string complaint = check_cta_exit(cta);
  for (uint32_t id = 0; id < Cta::kBarriers && complaint.empty(); ++id) {
    if (cta.barriers[id].arrived != 0) {
      complaint = "barrier " + std::to_string(id) + " holds " +
                  std::to_string(cta.barriers[id].arrived) + " arrivals of " +
                  std::to_string(cta.barriers[id].expected) + " expected";
    }
  }
  if (!complaint.empty()) {
    fault(origin, FaultKind::launch_failure, "a CTA has ended: " + complaint);
    return;
  }
  launch_dependents(cta);
  cta.exited = true;
  --cta.cluster->running_ctas;
  retire_needed_ = true;
}

void Engine::launch_dependents(Cta& cta) {
  if (!cta.launched_dependents) {
    cta.launched_dependents = true;
    --cta.cluster->grid->ctas_not_launched_dependents;
  }
}

void Engine::retire() {
  retire_needed_ = false;
  for (size_t i = clusters_.size(); i-- > 0;) {
    Cluster& cluster = *clusters_[i];
    if (cluster.running_ctas != 0) {
      continue;
    }
    const bool busy = std::any_of(cluster.ctas.begin(), cluster.ctas.end(), [](const auto& cta) {
      return cta->pending_async != 0 || cta->pending_writes != 0;
    });
    if (busy) {
      retire_needed_ = true;  // an event will end it
      continue;
    }
    cluster_finished(cluster);
    clusters_.erase(clusters_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Engine::cluster_finished(Cluster& cluster) {
  std::erase_if(warps_, [&](const Warp* warp) { return warp->cta->cluster == &cluster; });
  next_warp_ = 0;
  Grid& grid = *cluster.grid;
  --grid.clusters_left;
  ++grid.completion_counter;
  progress();
}

bool Engine::run_one_event() {
  in_event_ = true;
  const bool ran = events_.run_one(now_);
  in_event_ = false;
  return ran;
}

void Engine::no_progress() {
  const Origin nobody;
  if (options_.max_steps != 0 && now_ > options_.max_steps) {
    fault(nobody, FaultKind::step_limit,
          "EMU_MAX_STEPS = " + std::to_string(options_.max_steps) + " steps are used up");
  } else if (now_ - last_progress_ > options_.livelock_steps) {
    fault(nobody, FaultKind::livelock,
          "nothing has changed in " + std::to_string(options_.livelock_steps) +
              " steps: no memory, no barrier, no warp that ended");
  }
}

void Engine::run() {
  const bool late = options_.policy == Policy::late || options_.policy == Policy::late_pct;
  while (!faulted()) {
    if (retire_needed_) {
      retire();
    }
    start_clusters();
    events_.run_due(now_);
    const Choice choice = faulted() ? Choice{} : choose();
    if (choice.warp == nullptr) {
      if (faulted() || run_one_event()) {
        continue;
      }
      if (clusters_.empty()) {
        return;
      }
      if (!retire_needed_) {
        fault({}, FaultKind::deadlock, "every warp waits and nothing can happen any more");
      }
      continue;
    }
    if (late && now_ - last_warp_progress_ > kLatePatience) {
      run_one_event();
    }
    run_turn(choice, choose_quantum());
    no_progress();
  }
}

}  // namespace emu
