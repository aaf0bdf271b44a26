// SPDX-License-Identifier: Apache-2.0
// mbarrier objects in shared memory, for their own instructions and for asynchronous operations
// that signal them.
#pragma once

#include <cstdint>

#include "exec/context.hpp"
#include "isa/mbarrier_state.hpp"

namespace emu {

class OpcodeTable;

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

// From events: signals `ref`, or records a fault at `origin`. False after a fault.
bool signal_complete_tx(Engine& engine, const Origin& origin, const MbarrierRef& ref,
                        uint32_t bytes);
bool signal_arrive(Engine& engine, const Origin& origin, const MbarrierRef& ref);

void register_mbarrier(OpcodeTable& table);

}  // namespace emu
