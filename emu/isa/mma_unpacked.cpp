// SPDX-License-Identifier: Apache-2.0
// mma.sync of e4m3 and e5m2 on capabilities 9.0 to 10.3. Their tensor cores take 8-bit floating
// point from wgmma and tcgen05 only; ptxas unpacks the operands of mma.sync to f16, multiplies the
// lower two bytes of every register and then the upper two, both without C, and adds C at the end
// with the ordinary addition, which rounds to nearest. docs/decisions/0005-fp8-mma-sync.md.
#include "isa/mma_sync.hpp"
#include "num/ieee.hpp"

namespace emu {
namespace {

using num::ElementType;

// All codes of an 8-bit type as f16, which holds each of them exactly.
std::array<uint16_t, 256> codes_as_f16(const num::FloatFormat& format) {
  std::array<uint16_t, 256> codes{};
  for (uint32_t code = 0; code < codes.size(); ++code) {
    codes[code] = static_cast<uint16_t>(num::encode(num::kF16, num::decode(format, code)));
  }
  return codes;
}

const std::array<uint16_t, 256>& f16_codes(ElementType type) {
  static const std::array<uint16_t, 256> e4m3 = codes_as_f16(num::kE4m3);
  static const std::array<uint16_t, 256> e5m2 = codes_as_f16(num::kE5m2);
  return type == ElementType::e4m3 ? e4m3 : e5m2;
}

constexpr unsigned kMaxHalfK = 16;  // of the 32 of m16n8k32

// The k-th pair of bytes `half` of all registers: elements 4 i + 2 half and the next.
unsigned place(unsigned half, unsigned k) {
  return 4 * (k / 2) + 2 * half + k % 2;
}

void multiply_half(unsigned half, const MmaShape& shape, ElementType a_type, ElementType b_type,
                   const num::Accumulation& accumulation, const MmaCodes& codes,
                   MmaAccumulators& sums) {
  const unsigned k_count = shape.k / 2;
  alignas(32) std::array<int32_t, kMmaRows * kMaxHalfK> a_significand;
  alignas(32) std::array<int32_t, kMmaRows * kMaxHalfK> a_exponent;
  alignas(32) std::array<int32_t, kMmaColumns * kMaxHalfK> b_significand;
  alignas(32) std::array<int32_t, kMmaColumns * kMaxHalfK> b_exponent;
  for (unsigned k = 0; k < k_count; ++k) {
    for (unsigned row = 0; row < kMmaRows; ++row) {
      const uint32_t code = codes.a[row * shape.k + place(half, k)];
      const num::SplitElement element = num::split(ElementType::f16, f16_codes(a_type)[code]);
      a_significand[row * k_count + k] = element.significand;
      a_exponent[row * k_count + k] = element.exponent;
    }
    for (unsigned column = 0; column < kMmaColumns; ++column) {
      const uint32_t code = codes.b[place(half, k) * kMmaColumns + column];
      const num::SplitElement element = num::split(ElementType::f16, f16_codes(b_type)[code]);
      b_significand[k * kMmaColumns + column] = element.significand;
      b_exponent[k * kMmaColumns + column] = element.exponent;
    }
  }
  num::SplitProduct product;
  product.rows = kMmaRows;
  product.columns = kMmaColumns;
  product.k = static_cast<int>(k_count);
  product.product_fraction = 2 * num::mantissa_bits(ElementType::f16);
  product.a_significand = a_significand.data();
  product.a_exponent = a_exponent.data();
  product.b_significand = b_significand.data();
  product.b_exponent = b_exponent.data();
  num::multiply(product, accumulation, sums.data());
}

uint32_t added(uint32_t c, uint32_t sum, bool f16) {
  if (!f16) {
    return num::bits_of(num::canonical(num::float_of(c) + num::float_of(sum)));
  }
  const auto wide = [](uint32_t code) {
    return double{num::f16_to_float(static_cast<uint16_t>(code))};
  };
  return num::round_to_f16(wide(c) + wide(sum));
}

}  // namespace

bool unpacks_fp8(uint32_t capability) {
  return capability >= 90 && capability < 120;
}

void multiply_unpacked(const MmaShape& shape, ElementType a, ElementType b, bool f16_accumulators,
                       const MmaCodes& codes, MmaAccumulators& accumulators) {
  num::Accumulation accumulation;
  accumulation.f16_result = f16_accumulators;
  MmaAccumulators sums{};
  for (unsigned half = 0; half < 2; ++half) {
    multiply_half(half, shape, a, b, accumulation, codes, sums);
  }
  for (size_t index = 0; index < sums.size(); ++index) {
    accumulators[index] = added(accumulators[index], sums[index], f16_accumulators);
  }
}

}  // namespace emu
