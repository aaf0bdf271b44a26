// SPDX-License-Identifier: Apache-2.0
// Operand values in groups of 16 along K, as integers times a power of two where they allow it.
#pragma once

#include <array>
#include <cstdint>

#include "reference/gemm_reference.hpp"

namespace mxgemm::internal {

// Divides every block size, and is the group that block-scaled FP4 MMA adds up at a time.
constexpr int64_t kGroup = 16;

enum class GroupKind : uint8_t {
  kIntegers,  // value = mantissa * 2^exponent, all zeros included
  kWide,      // finite, but mantissas of a common exponent exceed 31 bits
  kSpecial,   // an infinity or a NaN is among them
};

struct DecodedGroup {
  std::array<double, kGroup> value;
  std::array<int32_t, kGroup> mantissa;
  int exponent;
  int bits;      // of the largest |mantissa|
  double scale;  // block scale, 1 without one
  bool outside_scale_limit;
  GroupKind kind;
};

// Group `group` of row `row`; elements from `k` on are zeros.
void decode_group(const ReferenceOperand& operand, int64_t row, int64_t group, int64_t k,
                  DecodedGroup* out);

}  // namespace mxgemm::internal
