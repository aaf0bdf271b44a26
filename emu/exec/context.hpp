// SPDX-License-Identifier: Apache-2.0
// What a handler works with: registers, memory, the machine, and ways to say how it went.
#pragma once

#include <cstdint>
#include <string>

#include "exec/events.hpp"
#include "exec/fault.hpp"
#include "exec/machine.hpp"
#include "isa/instr.hpp"

namespace emu {

inline constexpr uint64_t kSharedWindow = 0x0100000000000000u;  // specification 5.3
inline constexpr uint64_t kLocalWindow = 0x0200000000000000u;
inline constexpr uint64_t kParamWindow = 0x0300000000000000u;
inline constexpr uint64_t kWindowMask = 0xFF00000000000000u;
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint32_t kSharedOffsetMask = (1u << kRankShift) - 1;
inline constexpr uint32_t kNoSuchRank = 0xFE;  // mapa outside the cluster

enum class Access : uint8_t {
  read,
  read_rows,  // a read in whole rows of which only a part may be used: may be never-written
  write,
  atomic,
};

// A checked piece of memory.
struct Place {
  uint8_t* data = nullptr;  // null: a fault was recorded
  Cta* cta = nullptr;       // shared memory: whose
  uint32_t offset = 0;      // shared memory: address within the CTA
  explicit operator bool() const { return data != nullptr; }
};

class ExecContext {
 public:
  Engine* engine = nullptr;
  Grid* grid = nullptr;
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Frame* frame = nullptr;
  LaneGroup* group = nullptr;
  const Instr* instr = nullptr;
  uint8_t* regs = nullptr;
  uint32_t* preds = nullptr;

  // --- registers: arrays of 32 lanes
  template <class T>
  T* reg(const Operand& operand) const {
    return reinterpret_cast<T*>(regs + operand.offset);
  }
  uint32_t pred(const Operand& operand) const {
    const uint32_t bits = preds[operand.offset];
    return (operand.flags & Operand::kNegated) != 0 ? ~bits : bits;
  }
  void set_pred(const Operand& operand, uint32_t values, uint32_t active) const {
    if (!operand.is_sink()) {
      uint32_t& p = preds[operand.offset];
      p = (p & ~active) | (values & active);
    }
  }
  // An integer register of any width, zero-extended.
  uint64_t lane_value(const Operand& operand, unsigned lane) const;
  // Writes the low bytes.
  void set_lane_value(const Operand& operand, unsigned lane, uint64_t value) const;
  // Base plus offset; 32-bit bases wrap at 32 bits.
  uint64_t address(const Operand& operand, unsigned lane) const {
    if (operand.width == 8) {
      return reg<uint64_t>(operand)[lane] + static_cast<uint64_t>(operand.imm);
    }
    return static_cast<uint32_t>(lane_value(operand, lane) + static_cast<uint64_t>(operand.imm));
  }
  // Value of an operand that must be the same in all active lanes; false after a fault.
  bool uniform(const Operand& operand, uint32_t active, const char* what, uint64_t* value);

  // --- memory. Checks everything in specification 9.1 and 9.2 and keeps the marks of 9.3; the
  // caller moves the bytes.
  Place place(ptx::Space space, unsigned lane, uint64_t address, uint32_t bytes, Access access);
  // A shared address of any CTA of the cluster, without marks or uninitialised-data check, for
  // instructions that do their own (mbarrier, async copies).
  Place shared_place(ptx::Space space, unsigned lane, uint64_t address, uint32_t bytes,
                     uint32_t alignment);
  // Global memory only, for asynchronous copies: `bytes` may be large.
  Place global_place(unsigned lane, uint64_t address, uint64_t bytes, Access access);
  // Generic address -> space; the address within it is left in `address`.
  static ptx::Space generic_space(uint64_t& address);
  // For messages: "shared 0x1240 of CTA rank 1", "global 0x7f..., 16 bytes after cudaMalloc #3".
  std::string describe(ptx::Space space, uint64_t address) const;

  // --- outcome
  // Records a report and ends the launch; return its result.
  StepResult fault(FaultKind kind, const std::string& text, unsigned lane = 0);
  void warn(const std::string& text);
  // The group waits until *counter changes; never null.
  StepResult block(WaitKind kind, const uint64_t* counter, uint64_t detail0 = 0,
                   uint64_t detail1 = 0);
  // Lanes of the current group go on at `pc`, the rest of the group stays as it is. `lanes` must
  // be a proper subset.
  void split(uint32_t lanes, uint32_t pc);

  // --- services
  Random& random() const;
  const Options& options() const;
  uint64_t now() const;  // the step counter
  void schedule(EventQueue::Action action) const;
  // For the events of an operation started here: Engine::fault(origin, ...).
  Origin origin(unsigned lane) const;
  // Lane order of one instruction: ascending, or shuffled under an adversarial policy.
  template <class F>
  bool each_lane_in_order(uint32_t active, F f) {  // f(lane) -> bool; stops at the first false
    const uint32_t start = lane_shuffle();
    for (unsigned step = 0; step < kLanes; ++step) {
      const unsigned lane = (start + step * ((start >> 5) | 1)) % kLanes;
      if ((active >> lane & 1) != 0 && !f(lane)) {
        return false;
      }
    }
    return true;
  }
  // Something visible happened: the livelock counter starts anew.
  void progress() const;

 private:
  uint32_t lane_shuffle();
  Place shared(ptx::Space space, unsigned lane, uint64_t address, uint32_t bytes, Access access);
  Place global(unsigned lane, uint64_t address, uint64_t bytes, Access access);
  Place local(unsigned lane, uint64_t address, uint32_t bytes);
  Place param(unsigned lane, uint64_t address, uint32_t bytes, Access access);
  Cta* find_cta(ptx::Space space, unsigned lane, uint64_t address);
  void note_shared_access(unsigned lane, Cta& owner, uint32_t offset, uint32_t bytes,
                          Access access);
  const Allocation* last_allocation_ = nullptr;  // of grid->allocations
  const Grid* last_grid_ = nullptr;
};

}  // namespace emu
