// SPDX-License-Identifier: Apache-2.0
#include "exec/frames.hpp"

#include <algorithm>
#include <cstring>

#include "exec/context.hpp"
#include "exec/engine.hpp"
#include "exec/special.hpp"

namespace emu {
namespace {

constexpr uint8_t kRegisterPoison = 0xCD;  // specification 5.2
constexpr uint8_t kLocalPoison = 0xCD;
constexpr size_t kLine = 64;

void store(uint8_t* at, unsigned width, uint64_t value) {
  switch (width) {
    case 1:
      *at = static_cast<uint8_t>(value);
      break;
    case 2:
      std::memcpy(at, &value, 2);
      break;
    case 4:
      std::memcpy(at, &value, 4);
      break;
    default:
      std::memcpy(at, &value, 8);
      if (width == 16) {
        std::memset(at + 8, 0, 8);
      }
      break;
  }
}

uint64_t slot_value(const ConstantSlot& slot, const Frame& frame, const Warp& warp, unsigned lane,
                    uint64_t now) {
  const Cta& cta = *warp.cta;
  const Grid& grid = *cta.cluster->grid;
  const uint64_t rank_bits = uint64_t{cta.rank} << kRankShift;
  switch (slot.kind) {
    case ConstantSlot::Kind::value:
    case ConstantSlot::Kind::param_address:
      return slot.value;
    case ConstantSlot::Kind::shared_address:
      return slot.value + rank_bits;
    case ConstantSlot::Kind::dynamic_shared:
      return slot.value + grid.dynamic_shared + rank_bits;
    case ConstantSlot::Kind::frame_local:
      return slot.value + frame.local_base;
    case ConstantSlot::Kind::variable:
      return grid.request->instance->addresses[slot.index] + slot.value;
    case ConstantSlot::Kind::function:
      return kFunctionHandle + slot.index + 1;
    case ConstantSlot::Kind::special:
    case ConstantSlot::Kind::dynamic_special:
      return special_value(slot.index, warp, lane, now);
  }
  return 0;
}

void fill_slot(const ConstantSlot& slot, Frame& frame, const Warp& warp, uint64_t now) {
  uint8_t* at = frame.regs + slot.offset;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    store(at + size_t{lane} * slot.width, slot.width, slot_value(slot, frame, warp, lane, now));
  }
}

void prepare(Frame& frame, const Warp& warp, Random& random, bool random_poison) {
  const Code& code = *frame.code;
  frame.storage.resize((code.register_bytes + kLine) / sizeof(uint64_t) + 1);
  const auto raw = reinterpret_cast<uintptr_t>(frame.storage.data());
  frame.regs = reinterpret_cast<uint8_t*>((raw + kLine - 1) / kLine * kLine);
  if (random_poison) {
    std::generate(frame.storage.begin(), frame.storage.end(), [&] { return random.next(); });
  } else {
    std::memset(frame.regs, kRegisterPoison, code.register_bytes);
  }
  frame.predicates.assign(code.predicate_count, 0xCDCDCDCDu);
  frame.predicates[0] = 0;
  frame.predicates[1] = kFullMask;
  for (const ConstantSlot& slot : code.constants) {
    fill_slot(slot, frame, warp, 0);
  }
}

// Local memory is one array per lane; it grows with the depth of calls.
void reserve_local(Warp& warp, uint32_t bytes) {
  if (bytes <= warp.local_stride) {
    return;
  }
  const uint32_t stride = std::max(bytes, 2 * warp.local_stride);
  std::vector<uint8_t> grown(size_t{stride} * kLanes, kLocalPoison);
  for (unsigned lane = 0; lane < kLanes && warp.local_stride != 0; ++lane) {
    std::memcpy(grown.data() + size_t{lane} * stride,
                warp.local.data() + size_t{lane} * warp.local_stride, warp.local_stride);
  }
  warp.local = std::move(grown);
  warp.local_stride = stride;
}

}  // namespace

Frame* enter_frame(Warp& warp, Frame* parent, uint32_t call_pc, const Code& code, uint32_t lanes,
                   Random& random) {
  for (const auto& frame : warp.frames) {
    if (frame->parent == parent && frame->call_pc == call_pc && frame->code == &code &&
        frame->lanes != 0 && (frame->lanes & lanes) == 0) {
      frame->lanes |= lanes;
      return frame.get();
    }
  }
  std::unique_ptr<Frame> frame;
  if (warp.free_frames.empty()) {
    frame = std::make_unique<Frame>();
  } else {
    frame = std::move(warp.free_frames.back());
    warp.free_frames.pop_back();
  }
  frame->parent = parent;
  frame->code = &code;
  frame->call_pc = call_pc;
  frame->lanes = lanes;
  frame->depth = parent == nullptr ? 0 : parent->depth + 1;
  // 16 keeps the alignment that variables were given within the frame.
  constexpr uint32_t kFrameAlign = 128;
  frame->local_base = parent == nullptr
                          ? 0
                          : (parent->local_base + parent->code->local_bytes + kFrameAlign - 1) /
                                kFrameAlign * kFrameAlign;
  reserve_local(warp, frame->local_base + code.local_bytes);
  prepare(*frame, warp, random, warp.cta->cluster->engine->options().random_poison);
  warp.frames.push_back(std::move(frame));
  return warp.frames.back().get();
}

void leave_frame(Warp& warp, Frame& frame, uint32_t lanes) {
  frame.lanes &= ~lanes;
  if (frame.lanes != 0) {
    return;
  }
  const auto at = std::find_if(warp.frames.begin(), warp.frames.end(),
                               [&](const auto& f) { return f.get() == &frame; });
  warp.free_frames.push_back(std::move(*at));
  warp.frames.erase(at);
}

void refresh_specials(Frame& frame, const Warp& warp, uint64_t now) {
  for (const ConstantSlot& slot : frame.code->constants) {
    if (slot.kind == ConstantSlot::Kind::dynamic_special) {
      fill_slot(slot, frame, warp, now);
    }
  }
}

void exit_lanes(Warp& warp, uint32_t lanes) {
  warp.live &= ~lanes;
  for (LaneGroup& group : warp.groups) {
    group.lanes &= ~lanes;
    if (group.state == GroupState::sync_waiting) {
      group.state = GroupState::runnable;
    }
  }
  std::erase_if(warp.groups, [](const LaneGroup& g) { return g.lanes == 0; });
  for (size_t i = warp.frames.size(); i-- > 0;) {
    leave_frame(warp, *warp.frames[i], lanes);
  }
}

}  // namespace emu
