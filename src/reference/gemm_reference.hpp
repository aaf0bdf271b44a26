// SPDX-License-Identifier: Apache-2.0
// The oracle of every GEMM kernel: what each output D[m,n] must be, from exact arithmetic. It
// shares nothing with a kernel but the decode tables of src/formats and is never optimised at the
// price of plainness.
//
//   D[m,n] = cast(act(fma(beta, C[m,n], fma(alpha', acc, bias[n])))),  acc = sum over k of A[m,k] *
//   B[n,k]
//
// Every product of two operand values is an exact double (at most 48 significant bits, exponents
// -298 … 286), and the sum is kept in fixed point that covers the whole range (exact_sum.hpp), so
// `acc`, S = sum |A * B| and the argument of the activation are exact for every finite input.
#pragma once

#include <cstdint>
#include <span>

#include "formats/activation.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "reference/error_bound.hpp"

namespace mxgemm::internal {

struct ReferenceOperand {
  Format format = Format::kNone;
  const void* data = nullptr;
  int64_t ld = 0;     // elements from row to row
  ScaleView scale{};  // block-scaled formats only
};

// The three scalars that fold into alpha', and where each lives: host values are multiplied in
// double and rounded once, device values are then multiplied in fp32.
struct AlphaFactors {
  float alpha = 1.0f;
  float global_scale_a = 1.0f;
  float global_scale_b = 1.0f;
  bool alpha_on_device = false;
  bool global_scale_a_on_device = false;
  bool global_scale_b_on_device = false;
};

float folded_alpha(const AlphaFactors& factors);

// What a kernel's path is allowed, by its own declaration. CPU kernels declare nothing.
struct KernelAllowances {
  // Block-scaled MMA, whose published models align all terms to the largest exponent, zeros
  // included. FP4: an all-zero group of 16 counts in S with the product of its two scales. Others:
  // a zero has the exponent -126, the largest element of E4M3 8, so each zero product counts with
  // 2^-118 times the product of the scales.
  bool zero_products_count = false;
  // Operands are expanded to bf16: scale bytes outside 3…246 (E4M3), 10…239 (E5M2), 0…252 (E2M1)
  // may flush or clamp.
  bool limited_scales = false;
};

struct ReferenceProblem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  ReferenceOperand a;  // m x k
  ReferenceOperand b;  // n x k
  AlphaFactors factors;
  float beta = 0.0f;        // 0: C is not read
  const void* c = nullptr;  // of format_d; for a run in place a copy of what D held before it
  int64_t ldc = 0;
  const void* bias = nullptr;  // one value per column; nullptr = none
  Format format_bias = Format::kNone;
  Activation activation = Activation::kNone;
  Format format_d = Format::kF32;
  KernelAllowances allowances;
};

// acc and what is known about it.
struct ExactDot {
  double value = 0.0;  // rounded to nearest once; ±Inf and NaN where IEEE arithmetic gives them
  float value_f32 = 0.0f;     // rounded from the exact sum, not from `value`
  double magnitude = 0.0;     // S over the finite products, rounded to nearest once
  bool has_products = false;  // any finite product other than zero
  int unit_exponent = 0;      // u = 2^unit_exponent divides every product, with has_products
  // S < 2^24 u and no product below fp32's normal range, none infinite or NaN: no order of
  // summation in fp32 can round.
  bool exact_in_any_order = false;
  bool overflows = false;            // S >= 2^128
  bool outside_scale_limit = false;  // with KernelAllowances::limited_scales
};

enum class CheckKind {
  kExact,  // D must be `d_code` bit for bit (zeros of either sign are equal, and so are all NaNs)
  kBound,  // D must lie within the rounding of `allowed`
  kNanPlacement,  // flush or clamp is allowed: only that D is NaN where it must be and nowhere else
  kNothing,       // numerics promise nothing: S, or |alpha'| S, reaches 2^128
};

struct ExpectedOutput {
  CheckKind check = CheckKind::kExact;
  ExactDot dot;
  double exact = 0.0;     // act(exact argument); NaN or ±Inf where that is the right result
  double bound = 0.0;     // on |D_f32 - exact|
  AllowedValues allowed;  // for kBound and kNanPlacement
  float d_f32 = 0.0f;     // the fp32 chain evaluated once from value_f32
  uint32_t d_code = 0;    // its rounding to D, as stored
};

// Rows [m_begin, m_end) x columns [n_begin, n_end) of D.
struct OutputTile {
  int64_t m_begin = 0;
  int64_t m_end = 0;
  int64_t n_begin = 0;
  int64_t n_end = 0;
};

// Extent that keeps a tile's working set near 2 MB; larger tiles are right, too.
constexpr int64_t kReferenceTile = 64;

// Expected outputs of a tile, row-major and dense, `out` of its size. Tiles are independent:
// callers spread them over threads, or ask for the few they want of a large problem.
void expected_tile(const ReferenceProblem& problem, const OutputTile& tile,
                   std::span<ExpectedOutput> out);
ExpectedOutput expected_at(const ReferenceProblem& problem, int64_t m, int64_t n);

}  // namespace mxgemm::internal
