// SPDX-License-Identifier: Apache-2.0
// Calls across the contract of plugin/plugin_abi.h: of the CUDA runtime library, of kernels and of
// data functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {

// Room for one sentence.
constexpr size_t kMessageCapacity = 512;

// The message becomes the status'.
template <typename Function, typename... Arguments>
Status call_backend(Function function, Arguments... arguments) {
  char text[kMessageCapacity] = "";
  const int32_t code = function(arguments..., mxgemm_message{text, sizeof(text)});
  return code == 0 ? Status() : Status(static_cast<StatusCode>(code), text);
}

}  // namespace mxgemm::internal
