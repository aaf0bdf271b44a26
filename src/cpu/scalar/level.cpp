// SPDX-License-Identifier: Apache-2.0
// What the scalar level consists of.
#include "cpu/level.h"

#include "cpu/scalar/scalar.h"

namespace mxgemm::cpu::scalar {

const Level kLevel = {
    .rows = {.load = {load_bf16, load_f16, load_f32},
             .store = {store_bf16, store_f16, store_f32},
             .linear = linear,
             .pack_codes = {pack_codes4, pack_codes8}},
    // No decoded operands: the driver multiplies everything in double. 16 rows share one decoded
    // tile of B.
    .any_any = {.rows = 16,
                .groups = 1,
                .panel_k = 256,
                .chunk_cols = 64,
                .a_tile_bytes = 0,
                .b_tile_bytes = 0,
                .magnitude_limit = 0,
                .decode_a = {},
                .decode_b = {},
                .multiply = nullptr},
    .mxf4_mxf4 = {},
    .bf16_mxf4 = {},
};

}  // namespace mxgemm::cpu::scalar
