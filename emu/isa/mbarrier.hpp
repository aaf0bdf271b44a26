// SPDX-License-Identifier: Apache-2.0
// mbarrier objects in shared memory, for their own instructions and for asynchronous operations
// that signal them.
#pragma once

#include <cstdint>
#include <string>

#include "exec/context.hpp"
#include "isa/mbarrier_state.hpp"

namespace emu {

inline constexpr uint32_t kMbarrierBytes = 8;

struct MbarrierRef {
  Cta* cta = nullptr;  // null: a fault was recorded
  uint32_t offset = 0;
  explicit operator bool() const { return cta != nullptr; }
};

// Resolves an address operand of a lane; generic addresses must lie in the shared window.
// `needs_valid`: an mbarrier must have been initialised there.
MbarrierRef mbarrier_at(ExecContext& ctx, ptx::Space space, unsigned lane, uint64_t address,
                        bool needs_valid = true);

MbarrierState load_mbarrier(const MbarrierRef& ref);
void store_mbarrier(const MbarrierRef& ref, const MbarrierState& state);
// Stores what an operation has made of `before`; a phase that is complete wakes those who wait.
void update_mbarrier(Engine& engine, const MbarrierRef& ref, const MbarrierState& before,
                     const MbarrierState& after);
// The complaint with the state of the mbarrier.
std::string mbarrier_fault_text(const char* what, const MbarrierRef& ref);

// From events: signals `ref`, or records a fault at `origin`. False after a fault.
// `operation`: of the race detector.
bool signal_complete_tx(Engine& engine, const Origin& origin, uint64_t operation,
                        const MbarrierRef& ref, uint32_t bytes);
// cp.async copies by the generic proxy, which needs no fence after the mbarrier's init.
bool signal_arrive(Engine& engine, const Origin& origin, uint64_t operation, const MbarrierRef& ref,
                   bool asynchronous_proxy = true);

}  // namespace emu
