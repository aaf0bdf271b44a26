// SPDX-License-Identifier: Apache-2.0
// One turn of one lane group: the instruction loop, and where lanes meet (specification 6.1, 6.2).
#include <cstdio>

#include "exec/engine.hpp"
#include "exec/frames.hpp"

namespace emu {

void Engine::enter(Warp& warp, size_t group) {
  ctx_.warp = &warp;
  ctx_.cta = warp.cta;
  ctx_.cluster = warp.cta->cluster;
  ctx_.grid = ctx_.cluster->grid;
  ctx_.group = &warp.groups[group];
  ctx_.frame = ctx_.group->frame;
  ctx_.regs = ctx_.frame->regs;
  ctx_.preds = ctx_.frame->predicates.data();
}

void Engine::run_turn(Choice choice, uint32_t quantum) {
  Warp& warp = *choice.warp;
  enter(warp, choice.group);
  ctx_.group->state = GroupState::runnable;
  const uint64_t begin = now_;
  if (options_.trace_instructions) {
    turn<true>(quantum);
  } else {
    turn<false>(quantum);
  }
  warp.instructions += now_ - begin;
  if (warp.finished() && !faulted()) {
    warp_finished(warp);
  }
}

template <bool kTraced>
void Engine::turn(uint32_t quantum) {
  constexpr uint16_t kMeeting = Instr::kLeader;
  const bool split_lanes = options_.lane_split;
  const bool counting = !ctx_.grid->executed.empty();
  for (; quantum != 0; --quantum) {
    const Instr& instr = ctx_.frame->code->instrs[ctx_.group->pc];
    if (ctx_.warp->groups.size() > 1 &&
        ((instr.flags & kMeeting) != 0 || instr.sync != SyncClass::none)) {
      merge_here();
    }
    const uint32_t guard = ctx_.preds[instr.guard];
    uint32_t active = ctx_.group->lanes & (instr.guard_negated ? ~guard : guard);
    ++now_;
    ctx_.instr = &instr;
    if (instr.sync != SyncClass::none && !at_meeting_point(instr, &active)) {
      return;
    }
    if (counting) {
      count(instr, active);
    }
    if (active == 0) {
      ++ctx_.group->pc;
      continue;
    }
    if (kTraced) {
      trace(instr, active);
    }
    thread_instructions_ += static_cast<unsigned>(__builtin_popcount(active));
    if (instr.has(Instr::kDynamicSpecial)) {
      refresh_specials(*ctx_.frame, *ctx_.warp, now_);
    }
    const StepResult result = split_lanes && instr.has(Instr::kMemory)
                                  ? run_lane_by_lane(instr, &active)
                                  : instr.handler(ctx_, instr, active);
    if (result == StepResult::next) {
      ++ctx_.group->pc;
    } else if (!settle(instr, result, active)) {
      return;
    }
    if (events_.next_due() <= now_) {
      events_.run_due(now_);
      if (faulted()) {
        return;
      }
    }
  }
}

// What is rarer than "next". False: the turn ends.
bool Engine::settle(const Instr& instr, StepResult result, uint32_t active) {
  switch (result) {
    case StepResult::next:
      ++ctx_.group->pc;
      return true;
    case StepResult::branched:
      // A call, a return or a split may have changed the frame; a split ends the turn.
      if (ctx_.group->frame != ctx_.frame) {
        ctx_.frame = ctx_.group->frame;
        ctx_.regs = ctx_.frame->regs;
        ctx_.preds = ctx_.frame->predicates.data();
      }
      return ctx_.group->lanes == active;
    case StepResult::blocked:
      if (active != ctx_.group->lanes) {
        // Only these lanes wait; the others go on.
        ctx_.split(ctx_.group->lanes & ~active, instr.index + 1);
      }
      ctx_.group->state = GroupState::blocked;
      return false;
    case StepResult::yielded:
      ++ctx_.group->pc;
      return false;
    case StepResult::exited:
    case StepResult::fault:
      return false;
  }
  return false;
}

void ExecContext::split(uint32_t lanes, uint32_t pc) {
  LaneGroup other = *group;
  other.lanes = lanes;
  other.pc = pc;
  other.state = GroupState::runnable;
  other.wait = {};
  group->lanes &= ~lanes;
  // Room for 32 groups was reserved when the warp started, so `group` stays valid.
  warp->groups.push_back(other);
}

// Joins every other group of the warp that stands at the same place and is not blocked.
void Engine::merge_here() {
  Warp& warp = *ctx_.warp;
  size_t own = static_cast<size_t>(ctx_.group - warp.groups.data());
  for (size_t i = warp.groups.size(); i-- > 0;) {
    const LaneGroup& other = warp.groups[i];
    if (i == own || other.pc != ctx_.group->pc || other.frame != ctx_.group->frame ||
        other.state == GroupState::blocked) {
      continue;
    }
    warp.groups[own].lanes |= other.lanes;
    const size_t last = warp.groups.size() - 1;
    warp.groups[i] = warp.groups[last];
    if (own == last) {
      own = i;
    }
    warp.groups.pop_back();
    ctx_.group = &warp.groups[own];
  }
}

// A synchronising instruction: true if it can be executed now, with the lanes in *active.
bool Engine::at_meeting_point(const Instr& instr, uint32_t* active) {
  LaneGroup& group = *ctx_.group;
  if (*active == 0 && instr.sync == SyncClass::mask) {
    return true;
  }
  if (instr.sync != SyncClass::mask) {
    if (group.lanes != ctx_.warp->live) {
      wait_for_lanes(instr);
      return false;
    }
    if (*active != 0 && *active != group.lanes) {
      ctx_.fault(FaultKind::launch_failure,
                 "the guard of an .aligned instruction differs between the lanes of a warp");
      return false;
    }
    return true;
  }
  uint32_t ready = 0;
  if (!gather_mask(instr, *active, &ready)) {
    return false;
  }
  if (ready == 0) {
    if (*active != group.lanes) {
      ctx_.split(group.lanes & ~*active, instr.index + 1);
    }
    wait_for_lanes(instr);
    return false;
  }
  if (const uint32_t others = *active & ~ready; others != 0) {
    ctx_.split(others, instr.index);  // lanes with another mask, not yet complete
    ctx_.warp->groups.back().state = GroupState::sync_waiting;
  }
  *active = ready;
  if (group.lanes != ready) {
    ctx_.split(group.lanes & ~ready, instr.index + 1);
  }
  return true;
}

// Lanes whose member masks are complete: all live lanes of the mask are here with the same mask.
bool Engine::gather_mask(const Instr& instr, uint32_t active, uint32_t* ready) {
  const Operand& operand = instr.ops[instr.mask_operand];
  uint32_t left = active;
  while (left != 0) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    const auto mask = static_cast<uint32_t>(ctx_.lane_value(operand, lane));
    uint32_t same = 0;
    for (uint32_t bits = left; bits != 0; bits &= bits - 1) {
      const auto other = static_cast<unsigned>(__builtin_ctz(bits));
      if (static_cast<uint32_t>(ctx_.lane_value(operand, other)) == mask) {
        same |= 1u << other;
      }
    }
    if ((same & ~mask) != 0) {
      ctx_.fault(FaultKind::launch_failure,
                 "a lane executes an instruction with a member mask that does not contain it",
                 static_cast<unsigned>(__builtin_ctz(same & ~mask)));
      return false;
    }
    left &= ~same;
    if ((mask & ctx_.warp->live & ~same) == 0) {
      *ready = same;
      return true;
    }
  }
  *ready = 0;
  return true;
}

void Engine::wait_for_lanes(const Instr& instr) {
  ctx_.group->state = GroupState::sync_waiting;
  ctx_.group->wait = {};
  ctx_.group->wait.kind = WaitKind::sync_lanes;
  for (const LaneGroup& other : ctx_.warp->groups) {
    if (other.state != GroupState::sync_waiting) {
      return;
    }
  }
  ctx_.fault(FaultKind::launch_failure,
             instr.sync == SyncClass::mask
                 ? "lanes of the member mask never come: all lanes of the warp wait"
                 : "divergent .aligned instruction: all lanes of the warp wait for one another");
}

// EMU_LANE_SPLIT: a random part of the lanes, one after the other; the rest goes another time.
StepResult Engine::run_lane_by_lane(const Instr& instr, uint32_t* active) {
  uint32_t part = *active & static_cast<uint32_t>(random_.next() | random_.next());
  if (part == 0) {
    part = *active;
  }
  if (*active != part) {
    ctx_.split(*active & ~part, instr.index);
  }
  if (ctx_.group->lanes != part) {
    ctx_.split(ctx_.group->lanes & ~part, instr.index + 1);
  }
  *active = part;
  while (part != 0) {
    unsigned lane = random_.below(kLanes);
    while ((part >> lane & 1) == 0) {
      lane = (lane + 1) % kLanes;
    }
    part &= ~(1u << lane);
    const StepResult result = instr.handler(ctx_, instr, 1u << lane);
    if (result != StepResult::next) {
      return result;
    }
  }
  return StepResult::next;
}

void Engine::trace(const Instr& instr, uint32_t active) const {
  const Program& program = *ctx_.grid->request->program;
  const std::string_view text = instr.index < ctx_.frame->code->function->body.size()
                                    ? ctx_.frame->code->function->body[instr.index].text
                                    : std::string_view("ret");
  std::fprintf(stderr, "emu: %llu cta %llu warp %u %08x %s:%u %.*s\n",
               static_cast<unsigned long long>(now_),
               static_cast<unsigned long long>(ctx_.cta->linear), ctx_.warp->index, active,
               program.name.c_str(), instr.line, static_cast<int>(text.size()), text.data());
}

void Engine::count(const Instr& instr, uint32_t active) {
  const uint32_t function = ctx_.frame->code->index;
  ctx_.grid->executed[function][instr.index] += active != 0 ? 1 : 0;
  if (instr.has(Instr::kBranch)) {
    const unsigned some = active != 0 ? kTaken : 0;
    const unsigned others = active != ctx_.group->lanes ? kNotTaken : 0;
    ctx_.grid->branches[function][instr.index] |= static_cast<uint8_t>(some | others);
  }
}

}  // namespace emu
