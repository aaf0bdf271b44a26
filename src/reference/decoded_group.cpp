// SPDX-License-Identifier: Apache-2.0
#include "reference/decoded_group.hpp"

#include <algorithm>
#include <cmath>

#include "reference/exact_sum.hpp"

namespace mxgemm::internal {

namespace {

// Scale bytes for which numerics promise exact products on paths that expand operands to bf16.
bool outside_scale_limit(Format format, uint8_t code) {
  switch (format) {
    case Format::kMxf4:
      return code > 252;
    case Format::kMxf8E4m3:
      return code < 3 || code > 246;
    case Format::kMxf8E5m2:
      return code < 10 || code > 239;
    default:
      return false;
  }
}

// Fills the integer form, or marks the group as wide.
void find_integers(DecodedGroup* group) {
  group->kind = GroupKind::kIntegers;
  group->exponent = 0;
  group->bits = 0;
  group->mantissa.fill(0);
  int lowest = 0;
  int highest = 0;
  bool any = false;
  for (const double value : group->value) {
    if (value != 0.0) {
      const int low = lowest_exponent(value);
      const int high = std::ilogb(value);
      lowest = any ? std::min(lowest, low) : low;
      highest = any ? std::max(highest, high) : high;
      any = true;
    }
  }
  if (!any) {
    return;
  }
  group->exponent = lowest;
  group->bits = highest - lowest + 1;
  if (group->bits > 31) {
    group->kind = GroupKind::kWide;
    return;
  }
  for (size_t index = 0; index < kGroup; ++index) {
    group->mantissa[index] = static_cast<int32_t>(std::ldexp(group->value[index], -lowest));
  }
}

}  // namespace

void decode_group(const ReferenceOperand& operand, int64_t row, int64_t group, int64_t k,
                  DecodedGroup* out) {
  const FormatInfo& info = *find_format(operand.format);
  const int64_t first = group * kGroup;
  const auto* row_data =
      static_cast<const uint8_t*>(operand.data) + row * operand.ld * info.element_bits / 8;
  out->scale = 1.0;
  out->outside_scale_limit = false;
  if (info.scale_type != ScaleType::kNone) {
    const uint8_t code = operand.scale.at(row, first / info.block_size);
    out->scale = scale_value(info.scale_type, code);
    out->outside_scale_limit = outside_scale_limit(operand.format, code);
  }
  bool finite = true;
  for (int64_t index = 0; index < kGroup; ++index) {
    const double value =
        first + index < k ? element_at(operand.format, row_data, first + index) * out->scale : 0.0;
    out->value[static_cast<size_t>(index)] = value;
    finite = finite && std::isfinite(value);
  }
  if (finite) {
    find_integers(out);
  } else {
    out->kind = GroupKind::kSpecial;
    out->exponent = 0;
    out->bits = 0;
  }
}

}  // namespace mxgemm::internal
