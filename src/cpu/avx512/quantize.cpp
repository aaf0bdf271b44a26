// SPDX-License-Identifier: Apache-2.0
// Quantising rows with AVX-512: 16 numbers at a time in fp32, so that one code serves bf16, f16 and
// f32.
//
//   MX:    per block of 32: amax over both halves -> scale byte (one integer addition,
//   formats/scale_rule.hpp) ->
//          multiply by 2^-X (exact) -> round by the adder (cpu/quantize_elements.hpp) -> pack.
//   NVFP4: per 16 blocks of 16: sixteen amax -> sixteen scales and divisors in one vector -> per
//   block divide, round, pack.
//
// A block with NaN or Inf ends the run: the scalar quantiser takes it. Needs the default
// floating-point environment.
#include <immintrin.h>

#include <cstdint>

#include "cpu/quantize_elements.hpp"
#include "cpu/quantize_kernels.hpp"

namespace mxgemm::cpu {
namespace {

struct SourceBf16 {
  using Code = uint16_t;
  static __m512 load(const Code* src) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
};

struct SourceF16 {
  using Code = uint16_t;
  static __m512 load(const Code* src) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src)));
  }
};

struct SourceF32 {
  using Code = float;
  static __m512 load(const Code* src) { return _mm512_loadu_ps(src); }
};

__m512i splat(uint32_t bits) {
  return _mm512_set1_epi32(static_cast<int>(bits));
}

__m512i magnitude_bits(__m512 x) {
  return _mm512_and_si512(_mm512_castps_si512(x), splat(kMagnitudeMask));
}

struct Rounded {
  __m512i code;  // may lie above the largest code
  __m512 value;  // what the code means
};

// Magnitudes below 2^(emax + 2), given as bits.
template <typename Element>
Rounded round_magnitude(__m512i magnitude) {
  const __m512i exponent = _mm512_max_epu32(_mm512_and_si512(magnitude, splat(kExponentMask)),
                                            splat(Element::kLeastExponentBits));
  const __m512i magic = _mm512_add_epi32(exponent, splat(Element::kMagicOffset));
  const __m512 magic_value = _mm512_castsi512_ps(magic);
  const __m512 sum = _mm512_add_ps(_mm512_castsi512_ps(magnitude), magic_value);
  const __m512i significand = _mm512_sub_epi32(_mm512_castps_si512(sum), magic);
  const __m512i exponent_code = _mm512_sub_epi32(
      _mm512_srli_epi32(exponent, 23 - Element::kMantissaBits), splat(Element::kLeastExponentCode));
  return {_mm512_add_epi32(significand, exponent_code), _mm512_sub_ps(sum, magic_value)};
}

template <typename Element>
__m512i encode(__m512 x) {
  const __m512i code =
      _mm512_min_epu32(round_magnitude<Element>(magnitude_bits(x)).code, splat(Element::kMaxCode));
  const __m512i sign = _mm512_srli_epi32(_mm512_castps_si512(x), Element::kSignShift);
  constexpr int kAOrBAndC = 0xF8;
  return _mm512_ternarylogic_epi32(code, sign, splat(Element::kSignBit), kAOrBAndC);
}

// 16 codes of 4 bits -> 8 bytes: in a 64-bit lane the odd code lies 32 bits above the even one.
void store_nibbles(__m512i codes, uint8_t* dst) {
  const __m512i pairs = _mm512_or_si512(codes, _mm512_srli_epi64(codes, 28));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(dst), _mm512_cvtepi64_epi8(pairs));
}

template <typename Element>
uint8_t* store_codes(__m512i codes, uint8_t* dst) {
  if constexpr (Element::kIsNibble) {
    store_nibbles(codes, dst);
    return dst + 8;
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm512_cvtepi32_epi8(codes));
    return dst + 16;
  }
}

template <typename Source, typename Element>
__attribute__((noinline)) int64_t quantize_mx(const void* src, int64_t blocks, uint32_t addend,
                                              uint8_t* qdata, uint8_t* scale) {
  const auto* row = static_cast<const typename Source::Code*>(src);
  for (int64_t block = 0; block < blocks; ++block, row += kMxBlock) {
    const __m512 low = Source::load(row);
    const __m512 high = Source::load(row + 16);
    const uint32_t amax =
        _mm512_reduce_max_epu32(_mm512_max_epu32(magnitude_bits(low), magnitude_bits(high)));
    if (amax >= kNonFinite) {
      return block;
    }
    const uint8_t code = internal::scale_from_amax(amax, addend, kElementEmax<Element>);
    scale[block] = code;
    const __m512 inverse = _mm512_castsi512_ps(splat(inverse_scale_bits(code)));
    qdata = store_codes<Element>(encode<Element>(_mm512_mul_ps(low, inverse)), qdata);
    qdata = store_codes<Element>(encode<Element>(_mm512_mul_ps(high, inverse)), qdata);
  }
  return blocks;
}

constexpr int kNvBatch = 16;  // blocks whose scales fill one vector

// The scales of a batch: bytes to `scale`, divisors (scale x global scale) to `divisors`. A scale
// that rounds to zero gives an infinite divisor, which leaves nothing of a number but its sign.
void nvf4_scales(__m512 amax, float global_scale, float min_block_scale, __mmask16 used,
                 uint8_t* scale, float* divisors) {
  const __m512 global = _mm512_set1_ps(global_scale);
  __m512 wanted = _mm512_div_ps(_mm512_div_ps(amax, _mm512_set1_ps(6.0f)), global);
  wanted = _mm512_max_ps(wanted, _mm512_set1_ps(min_block_scale));
  wanted = _mm512_min_ps(wanted, _mm512_set1_ps(448.0f));
  const Rounded rounded = round_magnitude<E4m3>(_mm512_castps_si512(wanted));
  _mm512_mask_cvtepi32_storeu_epi8(scale, used, rounded.code);
  const __mmask16 is_zero = _mm512_cmpeq_epi32_mask(rounded.code, _mm512_setzero_si512());
  const __m512 divisor = _mm512_mask_mov_ps(_mm512_mul_ps(rounded.value, global), is_zero,
                                            _mm512_castsi512_ps(splat(internal::kF32Infinity)));
  _mm512_store_ps(divisors, divisor);
}

template <typename Source>
int64_t quantize_nvf4(const void* src, int64_t blocks, float global_scale, float min_block_scale,
                      uint8_t* qdata, uint8_t* scale) {
  if (global_scale < 0x1p-126f) {
    return 0;  // scale x global scale could be zero, and 0 / 0 has a rule of its own
  }
  const auto* row = static_cast<const typename Source::Code*>(src);
  alignas(64) uint32_t amax[kNvBatch] = {};
  alignas(64) float divisors[kNvBatch];
  for (int64_t first = 0; first < blocks; first += kNvBatch) {
    const int wanted = static_cast<int>(blocks - first < kNvBatch ? blocks - first : kNvBatch);
    int count = 0;
    while (count < wanted) {
      amax[count] = _mm512_reduce_max_epu32(magnitude_bits(Source::load(row + count * kNvBlock)));
      if (amax[count] >= kNonFinite) {
        break;
      }
      ++count;
    }
    const auto used = static_cast<__mmask16>((1u << count) - 1);
    nvf4_scales(_mm512_castsi512_ps(_mm512_load_si512(amax)), global_scale, min_block_scale, used,
                scale + first, divisors);
    for (int i = 0; i < count; ++i, row += kNvBlock, qdata += kNvBlock / 2) {
      const __m512 quotient = _mm512_div_ps(Source::load(row), _mm512_set1_ps(divisors[i]));
      // At most 8, so that rounding stays in range; 8 saturates like any larger value.
      constexpr int kLesserMagnitude = 2;
      const __m512 bounded = _mm512_range_ps(quotient, _mm512_set1_ps(8.0f), kLesserMagnitude);
      store_nibbles(encode<E2m1>(bounded), qdata);
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
constinit const QuantizeRowKernels kAvx512QuantizeKernels = make_row_kernels<Level>();

}  // namespace mxgemm::cpu
