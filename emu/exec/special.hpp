// SPDX-License-Identifier: Apache-2.0
// Special registers (specification 5.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "exec/machine.hpp"

namespace emu {

struct SpecialRegister {
  uint32_t index = 0;
  bool dynamic = false;  // changes while the warp runs
};

// "%tid.x", "WARP_SZ"...
std::optional<SpecialRegister> find_special(std::string_view name);
// Value for one lane; `now` is the step counter.
uint64_t special_value(uint32_t index, const Warp& warp, unsigned lane, uint64_t now);

}  // namespace emu
