// SPDX-License-Identifier: Apache-2.0
#include "quantize/amax.hpp"

#include <algorithm>

namespace mxgemm::internal {
namespace {

// Without its sign bit the code of a float is a non-negative integer in the order of the values.
// Signed integers: the baseline vector instructions have a signed 16-bit maximum only.
template <typename Int>
Int finite_amax_code(const void* src, int64_t count, Int infinity) {
  const auto* codes = static_cast<const Int*>(src);
  const Int magnitude_mask = static_cast<Int>(~(Int{1} << (8 * sizeof(Int) - 1)));
  Int amax = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Int code = static_cast<Int>(codes[i] & magnitude_mask);
    amax = std::max(amax, code < infinity ? code : Int{0});
  }
  return amax;
}

}  // namespace

uint32_t finite_amax_bits(Format format, const void* src, int64_t count) {
  switch (format) {
    case Format::kBf16: {
      const int16_t code = finite_amax_code<int16_t>(src, count, kBf16Infinity);
      return static_cast<uint32_t>(code) << 16;
    }
    case Format::kF16: {
      const int16_t code = finite_amax_code<int16_t>(src, count, kF16Infinity);
      return f32_encode(f16_decode(static_cast<uint16_t>(code)));
    }
    default:
      return static_cast<uint32_t>(finite_amax_code<int32_t>(src, count, kF32Infinity));
  }
}

}  // namespace mxgemm::internal
