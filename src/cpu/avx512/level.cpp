// SPDX-License-Identifier: Apache-2.0
// What the avx512 level consists of.
#include "cpu/level.h"

#include "cpu/avx512/avx512.h"

namespace mxgemm::cpu::avx512 {

const Level kLevel = {
    .rows = {.load = {load_bf16, load_f16, load_f32},
             .store = {store_bf16, store_f16, store_f32},
             .linear = linear,
             .pack_codes = {pack_codes4, pack_codes8}},
    // A panel of 32 columns x 256 floats is 32 KiB: it stays in the first-level cache while the
    // rows pass by.
    .any_any = {.rows = 12,
                .groups = 2,
                .panel_k = 256,
                .chunk_cols = 128,
                .a_tile_bytes = kTileK * static_cast<int32_t>(sizeof(float)),
                .b_tile_bytes = kTileK * kTileCols * static_cast<int32_t>(sizeof(float)),
                .magnitude_limit = 0,
                .decode_a = {decode_a_mxf4, decode_a_nvf4, decode_a_mxf8e4m3, decode_a_mxf8e5m2,
                             decode_a_bf16, decode_a_f16, decode_a_f32},
                .decode_b = {decode_b_mxf4, decode_b_nvf4, decode_b_mxf8e4m3, decode_b_mxf8e5m2},
                .multiply = multiply_f32},
    // 32 columns x 1024 bytes are 32 KiB.
    .mxf4_mxf4 = {.rows = 6,
                  .groups = 2,
                  .panel_k = 1024,
                  .chunk_cols = 256,
                  .a_tile_bytes = kMxf4BlockBytes,
                  .b_tile_bytes = kMxf4TileBytes,
                  .magnitude_limit = kMxf4MaxScaleSum,
                  .decode_a = {mxf4_mxf4_decode_a},
                  .decode_b = {mxf4_mxf4_decode_b},
                  .multiply = mxf4_mxf4_multiply},
    // No decoded panel: a longer one only means fewer calls.
    .bf16_mxf4 = {.rows = 8,
                  .groups = 1,
                  .panel_k = 2048,
                  .chunk_cols = 128,
                  .a_tile_bytes = kTileK * static_cast<int32_t>(sizeof(float)),
                  .b_tile_bytes = 0,
                  .magnitude_limit = 0,
                  .decode_a = {nullptr, nullptr, nullptr, nullptr, bf16_mxf4_decode_a},
                  .decode_b = {},
                  .multiply = bf16_mxf4_multiply},
};

}  // namespace mxgemm::cpu::avx512
