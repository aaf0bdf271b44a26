/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between the quantiser and its SIMD kernels (src/cpu/<level>/quantize.cpp). */
#ifndef MXGEMM_QUANTIZE_ROW_KERNELS_H
#define MXGEMM_QUANTIZE_ROW_KERNELS_H

#include <stdint.h>

/* One row of `blocks` blocks, dense: src -> codes (packed as in memory) and one scale byte per
 * block. Returns the number of blocks done from the left, which may be less than asked: the scalar
 * code does the rest (blocks with NaN, Inf or anything else that a SIMD kernel does not want). */
typedef int64_t (*mxgemm_quantize_row_mx)(const void* src, int64_t blocks, uint8_t* qdata,
                                          uint8_t* scale);
typedef int64_t (*mxgemm_quantize_row_nvf4)(const void* src, int64_t blocks, float global_scale,
                                            float min_block_scale, uint8_t* qdata, uint8_t* scale);

enum { MXGEMM_QUANTIZE_SOURCES = 3, MXGEMM_QUANTIZE_MX_FORMATS = 3, MXGEMM_QUANTIZE_MX_RULES = 7 };

/* Null where a level has no kernel. Index 0 of a source: bf16, 1: f16, 2: f32; of an MX format:
 * mxf4, mxf8e4m3, mxf8e5m2; the last index is the scale rule's enum value (0 unused: it stands for
 * `even`). */
typedef struct QuantizeRowKernels {
  mxgemm_quantize_row_mx mx[MXGEMM_QUANTIZE_SOURCES][MXGEMM_QUANTIZE_MX_FORMATS]
                           [MXGEMM_QUANTIZE_MX_RULES];
  mxgemm_quantize_row_nvf4 nvf4[MXGEMM_QUANTIZE_SOURCES];
} QuantizeRowKernels;

#endif
