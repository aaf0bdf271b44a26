// SPDX-License-Identifier: Apache-2.0
// The scalar quantiser: runs of blocks, one block after the other. Whatever a SIMD kernel does must
// give these bytes.
#pragma once

#include <cstdint>

#include "formats/block_format.hpp"
#include "formats/scale_rule.hpp"

namespace mxgemm::internal {

// What is the same for all blocks of a tensor.
struct BlockRule {
  Format format_src = Format::kNone;
  Format format = Format::kNone;
  ScaleRule scale_rule = ScaleRule::kDefault;  // E8M0 scales only
  bool saturate_nonfinite = false;
  bool stochastic = false;
  uint64_t seed = 0;
  uint64_t offset = 0;
  float global_scale = 1.0f;     // nvf4 only
  float min_block_scale = 0.0f;  // nvf4 only
};

// `blocks` dense blocks at src -> codes, packed as in memory, and a scale byte each. `first_index`
// is row * K + column of the first element: stochastic rounding counts from it. Needs the default
// floating-point environment.
void quantize_blocks(const BlockRule& rule, const void* src, int64_t blocks, int64_t first_index,
                     uint8_t* qdata, uint8_t* scale);

}  // namespace mxgemm::internal
