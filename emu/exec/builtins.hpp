// SPDX-License-Identifier: Apache-2.0
// Functions that kernels call and the system provides (specification 7.8).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "exec/context.hpp"

namespace emu {

struct BuiltinCall {
  std::vector<uint64_t> values;  // arguments, zero-extended
  uint64_t result = 0;
};

// One lane's call; false after a fault.
using Builtin = bool (*)(ExecContext& ctx, unsigned lane, BuiltinCall& call);

// Null if there is none of that name.
Builtin find_builtin(std::string_view name);

}  // namespace emu
