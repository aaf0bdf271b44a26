// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the matrix instructions as pure functions over arrays: D = C + sum over k of A * B,
// in two models. `kExact`: the exact sum, rounded once to nearest even. `kHardware`: what is
// publicly reported of the hardware: every term is aligned to the largest exponent, cut toward zero
// at a fixed number of fraction bits, summed exactly and rounded toward zero.
//
// Columns are handled eight at a time: operands of B lie as [n / 8][k][8].
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "float_format.hpp"
#include "matrix_lanes.hpp"

namespace emu::num {

enum class MmaModel : uint8_t { kHardware, kExact };

enum class ElementType : uint8_t { e2m1, e2m3, e3m2, e4m3, e5m2, f16, bf16, tf32 };

inline constexpr int kLaneColumns = 8;

// value = significand * 2^(exponent - mantissa bits of the type). Subnormals are not normalised:
// they have the smallest exponent of their type and a significand without the leading one.
struct SplitElement {
  int32_t significand;
  int32_t exponent;
};

inline constexpr int32_t kZeroExponent = kSplitZeroExponent;
inline constexpr int32_t kInfinityExponent = kSplitInfinityExponent;
inline constexpr int32_t kNanExponent = kSplitNanExponent;

int mantissa_bits(ElementType type);
SplitElement split(ElementType type, uint32_t code);
// All codes of a type of at most 8 bits.
const std::array<SplitElement, 256>& split_table(ElementType type);
// Many codes at once (a multiple of 8), each in the low bits of its word once shifted right by
// `right_shift`; bits above the code are ignored.
void split(ElementType type, int right_shift, std::span<const uint32_t> codes,
           int32_t* significands, int32_t* exponents);

// How the sum of one instruction is formed.
struct Accumulation {
  MmaModel model = MmaModel::kHardware;
  int fraction_bits = 25;    // kept of every term, relative to the largest exponent
  int result_fraction = 23;  // bits kept of an f32 result; 13 for wgmma with 8-bit types
  bool f16_result = false;   // C and D are f16; rounded to nearest even
};

inline constexpr int kTensorFraction = 25;
inline constexpr int kFp8WgmmaFraction = 13;
inline constexpr int kFp4Fraction = 35;

// Rows of A by columns of B, `k` products each; `product_fraction` = mantissa bits of both types.
// Scale exponents (already without bias, both added to every product's exponent) may be null; a
// scale of kNanExponent is NaN. `a` arrays are [rows][k], `b` arrays [columns / 8][k][8].
struct SplitProduct {
  int rows = 0;
  int columns = 0;
  int k = 0;
  int product_fraction = 0;
  const int32_t* a_significand = nullptr;
  const int32_t* a_exponent = nullptr;
  const int32_t* b_significand = nullptr;
  const int32_t* b_exponent = nullptr;
  const int32_t* a_scale = nullptr;  // [rows]
  const int32_t* b_scale = nullptr;  // [columns]
};

// `accumulators` [rows][columns]: C on entry, D on return, as f32 bits or f16 codes.
void multiply(const SplitProduct& product, const Accumulation& accumulation,
              uint32_t* accumulators);

// --- 4-bit kinds with K = 64
// ----------------------------------------------------------------------

inline constexpr int kFp4K = 64;
inline constexpr int kFp4Groups = 4;  // of 16 products, each of them one term

// A block scale as its significand in eighths and its exponent.
struct SplitScale {
  int32_t significand;
  int32_t exponent;  // kNanExponent: NaN
};
SplitScale split_ue8m0(uint8_t code);
SplitScale split_ue4m3(uint8_t code);

// Values of e2m1 as float, all 16 codes.
const std::array<float, 16>& e2m1_values();
// Words of eight codes, the first one in the low bits -> 8 values for each.
void unpack_e2m1(std::span<const uint32_t> packed, float* values);

struct Fp4Product {
  int rows = 0;
  int columns = 0;
  const float* a = nullptr;             // [rows][64]
  const float* b = nullptr;             // [columns / 8][64][8]
  const SplitScale* a_scale = nullptr;  // [rows][4], one for each 16 of K
  const SplitScale* b_scale = nullptr;  // [columns][4]
};

void multiply_fp4(const Fp4Product& product, MmaModel model, uint32_t* accumulators);

// --- Integers
// --------------------------------------------------------------------------------------

// s32 accumulators, wrapping, or clamped where `satfinite`. `a` [rows][k], `b` [columns / 8][k][8].
void multiply_int8(int rows, int columns, int k, const int32_t* a, const int32_t* b, bool satfinite,
                   uint32_t* accumulators);

}  // namespace emu::num
