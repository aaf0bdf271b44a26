// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace mxgemm::internal {

// Same values as mxgemm_activation. gelu is the erf form; all of them pass NaN on.
enum class Activation : int32_t { kNone = 0, kRelu = 1, kGelu = 2, kGeluTanh = 3, kSilu = 4 };

constexpr const char* kActivationNames[] = {"none", "relu", "gelu", "gelu_tanh", "silu"};

}  // namespace mxgemm::internal
