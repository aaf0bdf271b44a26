// SPDX-License-Identifier: Apache-2.0
// NVFP4's scales: fp32 operations in exactly this order, with IEEE division and nothing flushed.
#pragma once

#include <cstdint>

#include "formats/macros.hpp"

namespace mxgemm::internal {

// Of a tensor whose largest finite magnitude is `amax`. 2688 = 6 * 448: the largest element under
// the largest block scale. The floor keeps the scale normal.
MXGEMM_FORMAT_FN float nvf4_global_scale(float amax) {
  const float scale = amax / 2688.0f;
  return amax == 0.0f ? 1.0f : scale < 0x1p-126f ? 0x1p-126f : scale;
}

// Of a block with finite `amax`, before it is rounded to E4M3; >= 0, may be infinite.
MXGEMM_FORMAT_FN float nvf4_block_scale(float amax, float global_scale, float min_block_scale) {
  const float scale = amax / 6.0f / global_scale;
  return scale < min_block_scale ? min_block_scale : scale;
}

// What the elements of a block are divided by, given its rounded scale. A scale of zero leaves
// nothing but signs, as division by infinity does.
MXGEMM_FORMAT_FN float nvf4_divisor(float block_scale, float global_scale) {
  return block_scale == 0.0f ? __builtin_inff() : block_scale * global_scale;
}

// 0 / 0 and Inf / Inf (the divisor is 0 or infinite only for zero blocks and extreme given global
// scales) are no NaN here.
MXGEMM_FORMAT_FN float nvf4_quotient(float x, float divisor) {
  return x == 0.0f || x - x != 0.0f ? x : x / divisor;
}

}  // namespace mxgemm::internal
