// SPDX-License-Identifier: Apache-2.0
// AVX2, FMA, F16C.
#pragma once

#include <cstdint>

#include "cpu/level.h"

namespace mxgemm::cpu::avx2 {

extern const Level kLevel;

// How far ahead packed weights are asked for while they stream by: the hardware's prefetcher stops
// at the end of a page.
constexpr int kPrefetchBytes = 2048;

// decode_a_f32.cpp: rows of A as fp32, scales multiplied in. The magnitude is 1 where that may
// overflow.
int32_t decode_a_mxf4(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t decode_a_nvf4(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t decode_a_mxf8e4m3(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t decode_a_mxf8e5m2(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t decode_a_bf16(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t decode_a_f16(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t decode_a_f32(const void* codes, const uint8_t* scales, int64_t count, void* out);

// decode_b_f32.cpp: packed tiles as fp32, 16 columns for k = 0, for k = 1, …, scales multiplied in.
int32_t decode_b_mxf4(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out);
int32_t decode_b_nvf4(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out);
int32_t decode_b_mxf8e4m3(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out);
int32_t decode_b_mxf8e5m2(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out);

// multiply_f32.cpp
void multiply_f32(const MultiplyArgs& args);

// gemm_mxf4_mxf4.cpp
constexpr int kMxf4BlockBytes = 40;          // of 32 decoded elements of A
constexpr int kMxf4TileBytes = 8 * 64 + 64;  // of a decoded tile of B
// Sum of the largest scale bytes of a row and a panel at which 2^(ea + eb - 2) is finite in fp32.
constexpr int kMxf4MaxScaleSum = 2 * 127 + 2 + 127;
int32_t mxf4_mxf4_decode_a(const void* codes, const uint8_t* scales, int64_t count, void* out);
int32_t mxf4_mxf4_decode_b(const uint8_t* codes, const uint8_t* scales, int64_t tiles, void* out);
void mxf4_mxf4_multiply(const MultiplyArgs& args);

// gemm_bf16_mxf4.cpp
int32_t bf16_mxf4_decode_a(const void* codes, const uint8_t* scales, int64_t count, void* out);
void bf16_mxf4_multiply(const MultiplyArgs& args);

// rows.cpp
void load_bf16(const void* src, int64_t count, float* out);
void load_f16(const void* src, int64_t count, float* out);
void load_f32(const void* src, int64_t count, float* out);
void store_bf16(const float* row, int64_t count, void* dst);
void store_f16(const float* row, int64_t count, void* dst);
void store_f32(const float* row, int64_t count, void* dst);
void linear(int64_t count, float alpha, const float* bias, float beta, const float* c, bool relu,
            float* row);

// pack_codes.cpp
void pack_codes4(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out);
void pack_codes8(const uint8_t* src, int64_t row_bytes, int32_t rows, int64_t k, uint8_t* out);

}  // namespace mxgemm::cpu::avx2
