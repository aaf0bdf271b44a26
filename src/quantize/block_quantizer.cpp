// SPDX-License-Identifier: Apache-2.0
#include "quantize/block_quantizer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "formats/nvf4_scale.hpp"
#include "quantize/philox.hpp"

namespace mxgemm::internal {
namespace {

constexpr int kLargestBlock = 32;
constexpr uint32_t kF32MagnitudeMask = kF32SignBit - 1;

struct E2m1 {
  static constexpr uint8_t kMaxCode = kE2m1MaxCode;
  static constexpr uint8_t kSignBit = kE2m1SignBit;
  static uint8_t encode(double value) { return e2m1_encode(value); }
  static double decode(uint8_t code) { return e2m1_decode(code); }
};

struct E4m3 {
  static constexpr uint8_t kMaxCode = kE4m3MaxCode;
  static constexpr uint8_t kSignBit = kE4m3SignBit;
  static uint8_t encode(double value) { return e4m3_encode(value); }
  static double decode(uint8_t code) { return e4m3_decode(code); }
};

struct E5m2 {
  static constexpr uint8_t kMaxCode = kE5m2MaxCode;
  static constexpr uint8_t kSignBit = kE5m2SignBit;
  static uint8_t encode(double value) { return e5m2_encode(value); }
  static double decode(uint8_t code) { return e5m2_decode(code); }
};

struct Block {
  int size = 0;
  uint32_t amax_bits = 0;  // of the absolute values; NaN counts as larger than infinity
  std::array<float, kLargestBlock> x{};

  bool has_nan() const { return amax_bits > kF32Infinity; }
  bool is_finite() const { return amax_bits < kF32Infinity; }
};

uint32_t load_f32_bits(Format format, const void* src, int64_t index) {
  uint16_t half = 0;
  uint32_t bits = 0;
  switch (format) {
    case Format::kBf16:
      std::memcpy(&half, static_cast<const uint16_t*>(src) + index, sizeof(half));
      return uint32_t{half} << 16;
    case Format::kF16:
      std::memcpy(&half, static_cast<const uint16_t*>(src) + index, sizeof(half));
      return f32_encode(f16_decode(half));
    default:
      std::memcpy(&bits, static_cast<const uint32_t*>(src) + index, sizeof(bits));
      return bits;
  }
}

Block load_block(Format format, const void* src, int64_t first, int size) {
  Block block;
  block.size = size;
  for (int k = 0; k < size; ++k) {
    const uint32_t bits = load_f32_bits(format, src, first + k);
    block.amax_bits = std::max(block.amax_bits, bits & kF32MagnitudeMask);
    block.x[static_cast<size_t>(k)] = std::bit_cast<float>(bits);
  }
  return block;
}

// Between two codes the one farther from zero is taken iff random < fraction * 2^32.
template <typename Element>
uint8_t encode_stochastic(double value, uint32_t random) {
  const uint8_t nearest = Element::encode(value);
  const uint8_t sign = nearest & Element::kSignBit;
  const double magnitude = magnitude_of(value);
  uint8_t code = nearest & static_cast<uint8_t>(~Element::kSignBit);
  if (Element::decode(code) > magnitude) {
    --code;
  }
  if (code < Element::kMaxCode) {
    const double below = Element::decode(code);
    const double fraction = (magnitude - below) / (Element::decode(code + 1) - below);
    if (random < fraction * 0x1p32) {
      ++code;
    }
  }
  return sign | code;
}

// Codes of the values scaled(x); one byte each.
template <typename Element, typename Scaled>
void encode_block(const BlockRule& rule, const Block& block, int64_t first_index,
                  const Scaled& scaled, uint8_t* codes) {
  if (!rule.stochastic) {
    for (int k = 0; k < block.size; ++k) {
      codes[k] = Element::encode(scaled(block.x[static_cast<size_t>(k)]));
    }
    return;
  }
  for (int k = 0; k < block.size;
       k += 4) {  // a block starts at a multiple of 4, the words of one Philox call
    const uint64_t counter = rule.offset + static_cast<uint64_t>(first_index + k) / 4;
    const std::array<uint32_t, 4> random = philox(rule.seed, counter);
    for (int i = 0; i < 4; ++i) {
      const double value = scaled(block.x[static_cast<size_t>(k + i)]);
      codes[k + i] = encode_stochastic<Element>(value, random[static_cast<size_t>(i)]);
    }
  }
}

template <typename Element>
double squared_error(const Block& block, uint8_t scale) {
  const double step = e8m0_decode(scale);
  const double inverse = power_of_two(kE8m0Bias - scale);
  double sum = 0.0;
  for (int k = 0; k < block.size; ++k) {
    const double x = block.x[static_cast<size_t>(k)];
    const double error = x - Element::decode(Element::encode(x * inverse)) * step;
    sum += error * error;
  }
  return sum;
}

// Of floor's exponent and its two neighbours the one with the least error; ties go to the smaller.
template <typename Element>
uint8_t least_error_scale(const Block& block, uint8_t floor_scale) {
  const int last = std::min(floor_scale + 1, int{kE8m0MaxCode});
  int best = std::max(floor_scale - 1, 0);
  double best_error = squared_error<Element>(block, static_cast<uint8_t>(best));
  for (int scale = best + 1; scale <= last; ++scale) {
    const double error = squared_error<Element>(block, static_cast<uint8_t>(scale));
    if (error < best_error) {
      best = scale;
      best_error = error;
    }
  }
  return static_cast<uint8_t>(best);
}

// Returns the scale; `codes` receives a byte per element.
template <typename Element>
uint8_t quantize_mx_block(const BlockRule& rule, const FormatInfo& info, const Block& block,
                          int64_t first_index, uint8_t* codes) {
  uint8_t scale = kE8m0MaxCode;
  if (block.is_finite()) {
    const uint32_t element_max_bits = f32_encode(info.element_max);
    const uint32_t addend =
        scale_rule_addend(rule.scale_rule, info.mantissa_bits, element_max_bits);
    scale = scale_from_amax(block.amax_bits, addend, info.element_emax);
    if (rule.scale_rule == ScaleRule::kMse && block.amax_bits != 0) {
      scale = least_error_scale<Element>(block, scale);
    }
  } else if (block.has_nan() || !rule.saturate_nonfinite) {
    std::fill_n(codes, block.size, uint8_t{0});
    return kE8m0Nan;
  }
  const double inverse = power_of_two(kE8m0Bias - scale);
  encode_block<Element>(
      rule, block, first_index, [inverse](float x) { return x * inverse; }, codes);
  return scale;
}

uint8_t quantize_nvf4_block(const BlockRule& rule, const Block& block, int64_t first_index,
                            uint8_t* codes) {
  uint8_t scale = kE4m3MaxCode;
  if (block.is_finite()) {
    const float amax = std::bit_cast<float>(block.amax_bits);
    scale = e4m3_encode(nvf4_block_scale(amax, rule.global_scale, rule.min_block_scale));
  } else if (block.has_nan() || !rule.saturate_nonfinite) {
    std::fill_n(codes, block.size, uint8_t{0});
    return kE4m3Nan;
  }
  const float divisor = nvf4_divisor(static_cast<float>(e4m3_decode(scale)), rule.global_scale);
  const auto quotient = [divisor](float x) { return double{nvf4_quotient(x, divisor)}; };
  encode_block<E2m1>(rule, block, first_index, quotient, codes);
  return scale;
}

uint8_t quantize_block(const BlockRule& rule, const FormatInfo& info, const Block& block,
                       int64_t first_index, uint8_t* codes) {
  switch (rule.format) {
    case Format::kMxf4:
      return quantize_mx_block<E2m1>(rule, info, block, first_index, codes);
    case Format::kMxf8E4m3:
      return quantize_mx_block<E4m3>(rule, info, block, first_index, codes);
    case Format::kMxf8E5m2:
      return quantize_mx_block<E5m2>(rule, info, block, first_index, codes);
    default:
      return quantize_nvf4_block(rule, block, first_index, codes);
  }
}

}  // namespace

void quantize_blocks(const BlockRule& rule, const void* src, int64_t blocks, int64_t first_index,
                     uint8_t* qdata, uint8_t* scale) {
  const FormatInfo& info = *find_format(rule.format);
  std::array<uint8_t, kLargestBlock> codes{};
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t first = i * info.block_size;
    const Block block = load_block(rule.format_src, src, first, info.block_size);
    scale[i] = quantize_block(rule, info, block, first_index + first, codes.data());
    if (info.element_bits == 4) {
      uint8_t* packed = qdata + first / 2;
      for (size_t k = 0; k < static_cast<size_t>(info.block_size); k += 2) {
        packed[k / 2] = pack_nibbles(codes[k], codes[k + 1]);
      }
    } else {
      std::memcpy(qdata + first, codes.data(), static_cast<size_t>(info.block_size));
    }
  }
}

}  // namespace mxgemm::internal
