// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "formats/block_format.hpp"

namespace mxgemm::internal {

// Largest absolute value among the finite ones of `count` numbers (bf16, f16, f32), as fp32 bits; 0
// if there is none.
uint32_t finite_amax_bits(Format format, const void* src, int64_t count);

}  // namespace mxgemm::internal
