// SPDX-License-Identifier: Apache-2.0
// Who runs next, and for how long (specification 6.1, 6.3).
#include "exec/engine.hpp"

namespace emu {
namespace {

// pct: chance per choice that the chosen warp is demoted (specification 6.3).
constexpr uint32_t kDemotion = 200;
// Random group instead of the lowest pc: one time in four under an adversarial policy. The plain
// policy needs it, too, or lanes that spin at a low pc would starve the lane they wait for.
constexpr uint32_t kRandomGroupAdversarial = 4;
constexpr uint32_t kRandomGroupPlain = 16;
// Turns of the plain policy are longer by this factor.
constexpr uint32_t kLongTurn = 16;

bool runs(const LaneGroup& group) {
  return group.state == GroupState::runnable ||
         (group.state == GroupState::blocked && *group.wait.counter != group.wait.seen);
}

bool before(const LaneGroup& a, const LaneGroup& b) {
  return a.frame->depth != b.frame->depth ? a.frame->depth > b.frame->depth : a.pc < b.pc;
}

}  // namespace

bool Engine::has_runnable(const Warp& warp) const {
  for (const LaneGroup& group : warp.groups) {
    if (runs(group)) {
      return true;
    }
  }
  return false;
}

Engine::Choice Engine::choose() {
  runnable_.clear();
  for (uint32_t i = 0; i < warps_.size(); ++i) {
    if (has_runnable(*warps_[i])) {
      runnable_.push_back(i);
    }
  }
  if (runnable_.empty()) {
    return {};
  }
  uint32_t index = runnable_[0];
  switch (options_.policy) {
    case Policy::plain:
      for (const uint32_t candidate : runnable_) {
        if (candidate >= next_warp_) {
          index = candidate;
          break;
        }
      }
      next_warp_ = index + 1;
      break;
    case Policy::random:
    case Policy::late:
      index = runnable_[random_.below(static_cast<uint32_t>(runnable_.size()))];
      break;
    case Policy::pct:
    case Policy::late_pct:
    case Policy::early_pct:
      for (const uint32_t candidate : runnable_) {
        if (warps_[candidate]->priority > warps_[index]->priority) {
          index = candidate;
        }
      }
      if (random_.one_in(kDemotion)) {
        // Below everybody: with a random low priority a warp near the bottom could starve for ever
        // while those above it poll for what it does.
        warps_[index]->priority = --lowest_priority_;
      }
      break;
  }
  return {warps_[index], choose_group(*warps_[index])};
}

size_t Engine::choose_group(const Warp& warp) {
  if (warp.groups.size() == 1) {
    return 0;
  }
  size_t best = warp.groups.size();
  uint32_t count = 0;
  for (size_t i = 0; i < warp.groups.size(); ++i) {
    if (runs(warp.groups[i])) {
      ++count;
      if (best == warp.groups.size() || before(warp.groups[i], warp.groups[best])) {
        best = i;
      }
    }
  }
  if (count > 1 &&
      random_.one_in(options_.adversarial() ? kRandomGroupAdversarial : kRandomGroupPlain)) {
    uint32_t skip = random_.below(count);
    for (size_t i = 0; i < warp.groups.size(); ++i) {
      if (runs(warp.groups[i]) && skip-- == 0) {
        return i;
      }
    }
  }
  return best;
}

uint32_t Engine::choose_quantum() {
  return options_.adversarial() ? 1 + random_.below(options_.quantum)
                                : options_.quantum * kLongTurn;
}

}  // namespace emu
