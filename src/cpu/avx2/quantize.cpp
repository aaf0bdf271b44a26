// SPDX-License-Identifier: Apache-2.0
// Quantising rows with AVX2: avx512/quantize.cpp with 8 numbers at a time; see there for the steps.
#include <immintrin.h>

#include <cstdint>

#include "cpu/quantize_elements.hpp"
#include "cpu/quantize_kernels.hpp"

namespace mxgemm::cpu {
namespace {

struct SourceBf16 {
  using Code = uint16_t;
  static __m256 load(const Code* src) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
};

struct SourceF16 {
  using Code = uint16_t;
  static __m256 load(const Code* src) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src)));
  }
};

struct SourceF32 {
  using Code = float;
  static __m256 load(const Code* src) { return _mm256_loadu_ps(src); }
};

__m256i splat(uint32_t bits) {
  return _mm256_set1_epi32(static_cast<int>(bits));
}

__m256i magnitude_bits(__m256 x) {
  return _mm256_and_si256(_mm256_castps_si256(x), splat(kMagnitudeMask));
}

uint32_t largest(__m256i bits) {
  __m128i four = _mm_max_epu32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));  // halves exchanged
  four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1));  // neighbours exchanged
  return static_cast<uint32_t>(_mm_cvtsi128_si32(four));
}

struct Rounded {
  __m256i code;  // may lie above the largest code
  __m256 value;  // what the code means
};

// Magnitudes below 2^(emax + 2), given as bits.
template <typename Element>
Rounded round_magnitude(__m256i magnitude) {
  const __m256i exponent = _mm256_max_epu32(_mm256_and_si256(magnitude, splat(kExponentMask)),
                                            splat(Element::kLeastExponentBits));
  const __m256i magic = _mm256_add_epi32(exponent, splat(Element::kMagicOffset));
  const __m256 magic_value = _mm256_castsi256_ps(magic);
  const __m256 sum = _mm256_add_ps(_mm256_castsi256_ps(magnitude), magic_value);
  const __m256i significand = _mm256_sub_epi32(_mm256_castps_si256(sum), magic);
  const __m256i exponent_code = _mm256_sub_epi32(
      _mm256_srli_epi32(exponent, 23 - Element::kMantissaBits), splat(Element::kLeastExponentCode));
  return {_mm256_add_epi32(significand, exponent_code), _mm256_sub_ps(sum, magic_value)};
}

template <typename Element>
__m256i encode(__m256 x) {
  const __m256i code =
      _mm256_min_epu32(round_magnitude<Element>(magnitude_bits(x)).code, splat(Element::kMaxCode));
  const __m256i sign = _mm256_srli_epi32(_mm256_castps_si256(x), Element::kSignShift);
  return _mm256_or_si256(code, _mm256_and_si256(sign, splat(Element::kSignBit)));
}

// 4 x 8 codes -> 32 bytes in order.
__m256i pack_bytes(const __m256i* codes) {
  const __m256i low = _mm256_packus_epi32(codes[0], codes[1]);
  const __m256i high = _mm256_packus_epi32(codes[2], codes[3]);
  // Packing works within 128-bit halves; the groups of four bytes lie in the order 0 2 4 6 1 3 5 7.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
}

// 32 bytes of 4-bit codes -> 16 bytes, the even code in the low nibble.
__m128i pack_nibbles(__m256i bytes) {
  const __m256i pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(0x1001));
  return _mm_packus_epi16(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
}

template <typename Element>
uint8_t* store_codes(const __m256i* codes, uint8_t* dst) {
  const __m256i bytes = pack_bytes(codes);
  if constexpr (Element::kIsNibble) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), pack_nibbles(bytes));
    return dst + 16;
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), bytes);
    return dst + 32;
  }
}

template <typename Source, typename Element>
__attribute__((noinline)) int64_t quantize_mx(const void* src, int64_t blocks, uint32_t addend,
                                              uint8_t* qdata, uint8_t* scale) {
  const auto* row = static_cast<const typename Source::Code*>(src);
  for (int64_t block = 0; block < blocks; ++block, row += kMxBlock) {
    __m256 x[4];
    __m256i codes[4];
    __m256i amax_bits = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
      x[i] = Source::load(row + 8 * i);
      amax_bits = _mm256_max_epu32(amax_bits, magnitude_bits(x[i]));
    }
    const uint32_t amax = largest(amax_bits);
    if (amax >= kNonFinite) {
      return block;
    }
    const uint8_t code = internal::scale_from_amax(amax, addend, kElementEmax<Element>);
    scale[block] = code;
    const __m256 inverse = _mm256_castsi256_ps(splat(inverse_scale_bits(code)));
    for (int i = 0; i < 4; ++i) {
      codes[i] = encode<Element>(_mm256_mul_ps(x[i], inverse));
    }
    qdata = store_codes<Element>(codes, qdata);
  }
  return blocks;
}

constexpr int kNvBatch = 8;  // blocks whose scales fill one vector

// The scales of a batch: bytes to `scale`, divisors (scale x global scale) to `divisors`. A scale
// that rounds to zero gives an infinite divisor, which leaves nothing of a number but its sign.
void nvf4_scales(__m256 amax, float global_scale, float min_block_scale, int count, uint8_t* scale,
                 float* divisors) {
  const __m256 global = _mm256_set1_ps(global_scale);
  __m256 wanted = _mm256_div_ps(_mm256_div_ps(amax, _mm256_set1_ps(6.0f)), global);
  wanted = _mm256_max_ps(wanted, _mm256_set1_ps(min_block_scale));
  wanted = _mm256_min_ps(wanted, _mm256_set1_ps(448.0f));
  const Rounded rounded = round_magnitude<E4m3>(_mm256_castps_si256(wanted));
  alignas(32) uint32_t codes[kNvBatch];
  _mm256_store_si256(reinterpret_cast<__m256i*>(codes), rounded.code);
  for (int i = 0; i < count; ++i) {
    scale[i] = static_cast<uint8_t>(codes[i]);
  }
  const __m256i is_zero = _mm256_cmpeq_epi32(rounded.code, _mm256_setzero_si256());
  const __m256 infinity = _mm256_castsi256_ps(splat(internal::kF32Infinity));
  _mm256_store_ps(divisors, _mm256_blendv_ps(_mm256_mul_ps(rounded.value, global), infinity,
                                             _mm256_castsi256_ps(is_zero)));
}

// At most 8 in magnitude, so that rounding stays in range; 8 saturates like any larger value.
__m256 bounded_quotient(__m256 x, __m256 divisor) {
  const __m256 limit = _mm256_set1_ps(8.0f);
  const __m256 quotient = _mm256_div_ps(x, divisor);
  return _mm256_min_ps(_mm256_max_ps(quotient, _mm256_set1_ps(-8.0f)), limit);
}

template <typename Source>
uint32_t nvf4_amax(const typename Source::Code* row) {
  return largest(
      _mm256_max_epu32(magnitude_bits(Source::load(row)), magnitude_bits(Source::load(row + 8))));
}

// Two blocks at a time fill the registers of pack_bytes.
template <typename Source>
void nvf4_two_blocks(const typename Source::Code* row, const float* divisors, uint8_t* qdata) {
  __m256i codes[4];
  for (int i = 0; i < 4; ++i) {
    const __m256 divisor = _mm256_broadcast_ss(divisors + i / 2);
    codes[i] = encode<E2m1>(bounded_quotient(Source::load(row + 8 * i), divisor));
  }
  store_codes<E2m1>(codes, qdata);
}

template <typename Source>
void nvf4_one_block(const typename Source::Code* row, float divisor, uint8_t* qdata) {
  const __m256 divisors = _mm256_set1_ps(divisor);
  __m256i codes[4] = {};
  codes[0] = encode<E2m1>(bounded_quotient(Source::load(row), divisors));
  codes[1] = encode<E2m1>(bounded_quotient(Source::load(row + 8), divisors));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(qdata), pack_nibbles(pack_bytes(codes)));
}

template <typename Source>
int64_t quantize_nvf4(const void* src, int64_t blocks, float global_scale, float min_block_scale,
                      uint8_t* qdata, uint8_t* scale) {
  if (global_scale < 0x1p-126f) {
    return 0;  // scale x global scale could be zero, and 0 / 0 has a rule of its own
  }
  const auto* row = static_cast<const typename Source::Code*>(src);
  alignas(32) uint32_t amax[kNvBatch] = {};
  alignas(32) float divisors[kNvBatch];
  for (int64_t first = 0; first < blocks; first += kNvBatch) {
    const int wanted = static_cast<int>(blocks - first < kNvBatch ? blocks - first : kNvBatch);
    int count = 0;
    while (count < wanted) {
      amax[count] = nvf4_amax<Source>(row + count * kNvBlock);
      if (amax[count] >= kNonFinite) {
        break;
      }
      ++count;
    }
    const __m256i amax_bits = _mm256_load_si256(reinterpret_cast<const __m256i*>(amax));
    nvf4_scales(_mm256_castsi256_ps(amax_bits), global_scale, min_block_scale, count, scale + first,
                divisors);
    int i = 0;
    for (; i + 2 <= count; i += 2, row += 2 * kNvBlock, qdata += kNvBlock) {
      nvf4_two_blocks<Source>(row, divisors + i, qdata);
    }
    if (i < count) {
      nvf4_one_block<Source>(row, divisors[i], qdata);
      row += kNvBlock;
      qdata += kNvBlock / 2;
    }
    if (count < wanted) {
      return first + count;
    }
  }
  return blocks;
}

struct Level {
  using Bf16 = SourceBf16;
  using F16 = SourceF16;
  using F32 = SourceF32;

  template <typename Source, typename Element, ScaleRule kRule>
  static int64_t mx(const void* src, int64_t blocks, uint8_t* qdata, uint8_t* scale) {
    return quantize_mx<Source, Element>(src, blocks, kRuleAddend<Element, kRule>, qdata, scale);
  }
  template <typename Source>
  static int64_t nvf4(const void* src, int64_t blocks, float global_scale, float min_block_scale,
                      uint8_t* qdata, uint8_t* scale) {
    return quantize_nvf4<Source>(src, blocks, global_scale, min_block_scale, qdata, scale);
  }
};

}  // namespace

// constinit: a constructor would run instructions of this level on every machine.
constinit const QuantizeRowKernels kAvx2QuantizeKernels = make_row_kernels<Level>();

}  // namespace mxgemm::cpu
