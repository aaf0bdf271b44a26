// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_edge.hpp"

#include "cli/verify_codes.hpp"

namespace mxgemm::cli {

using internal::find_format;
using internal::ScaleType;

EdgeData::EdgeData(internal::Format format, int64_t cols, uint64_t seed, uint64_t stream)
    : format_(format),
      cols_(cols),
      scale_cols_(is_block_scaled(format) ? cols / find_format(format)->block_size : 0),
      rows_(seed, stream),
      elements_(seed, stream + 1),
      scales_(seed, stream + 2) {}

EdgeRow EdgeData::row(int64_t row) const {
  return static_cast<EdgeRow>(rows_.below(static_cast<uint64_t>(2 * row), kNumEdgeRows));
}

int64_t EdgeData::special_k(int64_t row) const {
  return static_cast<int64_t>(rows_.bits(static_cast<uint64_t>(2 * row + 1)) %
                              static_cast<uint64_t>(cols_));
}

uint8_t EdgeData::scale_code(EdgeRow edge, int64_t row, int64_t col) const {
  const bool e8m0 = find_format(format_)->scale_type == ScaleType::kE8m0;
  const uint64_t bits = scales_.bits(static_cast<uint64_t>(row * scale_cols_ + col));
  const auto pick = [&](auto... codes) {
    const uint8_t list[] = {static_cast<uint8_t>(codes)...};
    return list[(bits >> 32) % sizeof...(codes)];
  };
  const bool takes_nan_scale =
      edge == EdgeRow::kNanScale || (edge == EdgeRow::kNanElement && code_facts(format_).nan == 0);
  const bool special = special_k(row) / find_format(format_)->block_size == col;
  uint8_t code =
      e8m0 ? pick(124, 125, 126, 127, 128, 129, 130) : pick(0x30, 0x35, 0x38, 0x3B, 0x40, 0x4C);
  if (takes_nan_scale && special) {
    code = e8m0 ? internal::kE8m0Nan : internal::kE4m3Nan;
  } else if (edge == EdgeRow::kTiny) {
    code = pick(0, 1);
  } else if (edge == EdgeRow::kHuge) {
    code = e8m0 ? pick(253, 254) : pick(0x7D, 0x7E);
  } else if (edge == EdgeRow::kZeros) {
    code = e8m0 ? internal::kE8m0MaxCode : internal::kE4m3MaxCode;
  } else if (edge == EdgeRow::kMixedScales) {
    code = e8m0 ? pick(0, 1, 127, 253, 254) : pick(0, 1, 0x38, 0x7D, 0x7E);
  }
  // The sign bit of an E4M3 scale is ignored.
  return e8m0 ? code : static_cast<uint8_t>(code | (bits & internal::kE4m3SignBit));
}

uint32_t EdgeData::element(EdgeRow edge, int64_t row, int64_t k) const {
  const CodeFacts facts = code_facts(format_);
  const uint64_t bits = elements_.bits(static_cast<uint64_t>(row * cols_ + k));
  const uint32_t sign = (bits & 1) != 0 ? facts.sign : 0;
  const bool plain = !is_block_scaled(format_);
  const bool special = special_k(row) == k;
  const uint32_t ordinary = (bits & 6) == 0 ? sign : wide_code(format_, bits);
  switch (edge) {
    case EdgeRow::kOrdinary:
    case EdgeRow::kMixedScales:
      return ordinary;
    case EdgeRow::kTiny: {
      const uint32_t subnormals = 1u << find_format(format_)->mantissa_bits;
      return plain ? sign | static_cast<uint32_t>(bits >> 32) % subnormals : ordinary;
    }
    case EdgeRow::kHuge:
      return plain ? sign | (facts.max - (bits >> 62)) : (bits >> 60) == 0 ? sign | 1u : sign;
    case EdgeRow::kNanScale:
      if (plain) {
        return special ? facts.nan : ordinary;
      }
      return special_k(row) / find_format(format_)->block_size ==
                         k / find_format(format_)->block_size &&
                     row % 2 != 0
                 ? sign
                 : ordinary;
    case EdgeRow::kNanElement:
      return special && facts.nan != 0 ? sign | facts.nan : ordinary;
    case EdgeRow::kInfinity:
      return facts.infinity == 0 ? facts.sign : special ? sign | facts.infinity : ordinary;
    case EdgeRow::kZeros:
      return sign;
  }
  return 0;
}

uint32_t edge_addend(internal::Format format, uint64_t bits) {
  const CodeFacts facts = code_facts(format);
  switch (bits >> 59) {
    case 0:
      return facts.nan;
    case 1:
      return facts.infinity;
    case 2:
      return facts.sign | facts.infinity;
    case 3:
      return facts.sign;
    case 4:
      return 1;
    case 5:
      return facts.max;
    default:
      return element_code(format, static_cast<int>(bits % 65) / 4.0 - 8.0);
  }
}

}  // namespace mxgemm::cli
