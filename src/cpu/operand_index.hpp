// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cpu/level.h"
#include "formats/block_format.hpp"

namespace mxgemm::cpu {

// Position of an operand format in a level's tables.
constexpr OperandIndex operand_index(internal::Format format) {
  using internal::Format;
  switch (format) {
    case Format::kMxf4:
      return kIndexMxf4;
    case Format::kNvf4:
      return kIndexNvf4;
    case Format::kMxf8E4m3:
      return kIndexMxf8E4m3;
    case Format::kMxf8E5m2:
      return kIndexMxf8E5m2;
    case Format::kBf16:
      return kIndexBf16;
    case Format::kF16:
      return kIndexF16;
    default:
      return kIndexF32;
  }
}

// Position of bf16, f16 or f32 in the tables of row functions.
constexpr int plain_index(internal::Format format) {
  return operand_index(format) - kIndexBf16;
}

}  // namespace mxgemm::cpu
