// SPDX-License-Identifier: Apache-2.0
// The decoded form of an instruction, which handlers execute.
#pragma once

#include <cstdint>

#include "ptx/types.hpp"

namespace emu {

class ExecContext;
struct Instr;

inline constexpr unsigned kLanes = 32;
inline constexpr uint32_t kFullMask = 0xFFFFFFFFu;

// What a handler did to the lanes it was given.
enum class StepResult : uint8_t {
  next,      // done: the group goes on with the following instruction
  branched,  // the handler has set the group's pc (and split the group where it had to)
  blocked,   // nothing was changed; ExecContext::block has recorded what the group waits for
  yielded,   // done, and another warp shall have a turn
  exited,    // lanes left the kernel or the function; the handler has updated the group
  fault,     // ExecContext::fault has recorded the report; the launch ends
};

using Handler = StepResult (*)(ExecContext& ctx, const Instr& instr, uint32_t active);

// Which lanes an instruction needs together (specification 6.1).
enum class SyncClass : uint8_t {
  none,
  warp,       // .aligned: every live lane of the warp
  mask,       // the lanes of operand Instr::mask_operand that are live
  warpgroup,  // .aligned; the handler itself looks after the other three warps
};

struct Operand {
  enum Flag : uint8_t {
    kSink = 1,       // `_`: nothing is stored
    kPredicate = 2,  // offset is a predicate index
    kNegated = 4,    // of a predicate
    kConstant = 8,   // a constant slot: the same in all lanes unless it is %tid or %laneid
  };
  uint32_t offset = 0;  // bytes into the register block, or predicate index
  uint8_t width = 0;    // bytes of one lane's register
  uint8_t flags = 0;
  // Of an address operand: the space it really lies in (a device function's .param variable is in
  // local memory).
  ptx::Space space = ptx::Space::generic;
  int64_t imm = 0;  // address operands: added to the register

  bool is_sink() const { return (flags & kSink) != 0; }
};

struct Instr {
  enum Flag : uint16_t {
    kLeader = 1,          // a branch goes here or comes before it: groups merge here
    kMayBlock = 2,        // the handler may return blocked
    kDynamicSpecial = 4,  // reads %clock or the like: its slots are refreshed before
    kMemory = 8,          // ordinary memory instruction: EMU_LANE_SPLIT takes it lane by lane
    kUnsupported = 16,    // decode failed; executing it is a fault
    kSynchronising = 32,  // counted for coverage: fence, barrier, wait, arrive, commit...
    kBranch = 64,         // both directions are counted for coverage
  };
  static constexpr uint32_t kGuardTrue = 1;  // predicate index 1 is always true

  Handler handler = nullptr;
  const Operand* ops = nullptr;
  const void* extra = nullptr;  // family data that lives as long as the program
  uint64_t data = 0;            // family data
  uint32_t guard = kGuardTrue;
  uint32_t target = 0;  // branch target
  uint32_t line = 0;
  uint32_t index = 0;  // own position in the code
  uint16_t flags = 0;
  uint8_t op_count = 0;
  bool guard_negated = false;
  SyncClass sync = SyncClass::none;
  uint8_t mask_operand = 0;
  // Small fields, meaning up to the family.
  ptx::Type type = ptx::Type::none;
  ptx::Type type2 = ptx::Type::none;
  ptx::Space space = ptx::Space::generic;
  uint8_t vector = 1;
  uint8_t mode = 0;
  uint8_t mode2 = 0;

  bool has(Flag flag) const { return (flags & flag) != 0; }
};

// f(lane) for every active lane; the loop over a full warp has no condition, so that the compiler
// can vectorise it.
template <class F>
inline void for_lanes(uint32_t active, F f) {
  if (active == kFullMask) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      f(lane);
    }
    return;
  }
  for (; active != 0; active &= active - 1) {
    f(static_cast<unsigned>(__builtin_ctz(active)));
  }
}

}  // namespace emu
