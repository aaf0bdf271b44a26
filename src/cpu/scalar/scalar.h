// SPDX-License-Identifier: Apache-2.0
// The portable level: plain C++ for every processor. The other levels' tables say what they take
// over from it.
#pragma once

#include <cstdint>

#include "cpu/level.h"

namespace mxgemm::cpu::scalar {

extern const Level kLevel;

// The product of a few rows and 16 columns in double: exact products whatever the scales, the sum
// rounded to fp32 once per 32 elements of K.
struct DoubleProduct {
  OperandIndex a_index;
  OperandIndex b_index;
  int32_t rows;
  int64_t k;      // elements, a multiple of 16
  const void* a;  // codes of row 0
  int64_t a_row_bytes;
  const uint8_t* a_scales;  // row-major
  int64_t a_scale_ld;
  const uint8_t* b;  // packed tiles
  const uint8_t* b_scales;
  float* acc;  // acc[r * acc_ld + column], 16 columns
  int64_t acc_ld;
};
void multiply_double(const DoubleProduct& product);

// Row functions (level.h).
void load_bf16(const void* src, int64_t count, float* out);
void load_f16(const void* src, int64_t count, float* out);
void load_f32(const void* src, int64_t count, float* out);
void store_bf16(const float* row, int64_t count, void* dst);
void store_f16(const float* row, int64_t count, void* dst);
void store_f32(const float* row, int64_t count, void* dst);
void linear(int64_t count, float alpha, const float* bias, float beta, const float* c, bool relu,
            float* row);
void pack_codes4(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out);
void pack_codes8(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out);

}  // namespace mxgemm::cpu::scalar
