// SPDX-License-Identifier: Apache-2.0
#include "cpu/gemm_grid.hpp"

#include <algorithm>

#include "base/math.hpp"
#include "cpu/packed_layout.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cpu {

namespace {

using internal::ceil_div;
using internal::round_up;

// Rows of a work tile: enough that decoding a panel of B costs little beside multiplying it (a few
// percent), few enough that the decoded rows stay in the second-level cache, 1 MiB being common:
// 256 rows x 256 floats are 256 KiB, 256 rows x 1024 elements of the integer kernels 320 KiB.
constexpr int64_t kMaxChunkRows = 256;
constexpr int64_t kDecodedABytes = 320 * 1024;
// Below so many rows a work tile is narrower, so that a small problem still gives every core some.
constexpr int64_t kFewRows = 64;
constexpr int64_t kFewRowsCols = 64;
// Keeps rows of A, whose natural stride is a power of two, from meeting in the same cache sets.
constexpr int64_t kRowSkew = 64;
// Slots of different threads share no cache line and no prefetched pair of lines.
constexpr int64_t kSlotAlignment = 256;

// Cuts `extent` into equal chunks of at most `limit`, each a multiple of `step`.
int64_t equal_chunks(int64_t extent, int64_t limit, int64_t step) {
  return round_up(ceil_div(extent, ceil_div(extent, limit)), step);
}

class SlotPlan {
 public:
  int64_t take(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += round_up<int64_t>(bytes, kPackedAlignment);
    return offset;
  }
  int64_t bytes() const { return round_up(bytes_, kSlotAlignment); }

 private:
  int64_t bytes_ = 0;
};

}  // namespace

GemmGrid make_grid(const Strategy& strategy, const mxgemm_gemm_desc& desc) {
  const auto format_b = static_cast<internal::Format>(desc.format_b);
  const int64_t register_cols = int64_t{strategy.groups} * kTileCols;
  // In tiles: K itself rounded up need not fit.
  const int64_t k_tiles = std::max<int64_t>(ceil_div<int64_t>(desc.k, kTileK), 1);
  GemmGrid grid{};
  grid.chunk_rows = equal_chunks(desc.m, kMaxChunkRows, 1);
  const int64_t max_cols = desc.m <= kFewRows ? std::min<int64_t>(kFewRowsCols, strategy.chunk_cols)
                                              : strategy.chunk_cols;
  grid.chunk_cols = equal_chunks(desc.n, max_cols, register_cols);
  grid.row_chunks = ceil_div(desc.m, grid.chunk_rows);
  grid.col_chunks = ceil_div(desc.n, grid.chunk_cols);

  int64_t panel_tiles = std::min<int64_t>(strategy.panel_k / kTileK, k_tiles);
  int64_t panels = 1;
  if (strategy.a_tile_bytes != 0) {
    const int64_t budget =
        std::max<int64_t>(kDecodedABytes / (grid.chunk_rows * strategy.a_tile_bytes), 1);
    panel_tiles = std::min(panel_tiles, budget);
    panels = std::min(budget / panel_tiles, ceil_div(k_tiles, panel_tiles));
  }
  grid.panel_k = panel_tiles * kTileK;
  grid.a_depth = panels * grid.panel_k;

  const PackedShape panel = packed_shape(format_b, kTileCols, grid.panel_k);
  SlotPlan slot;
  grid.a_row_bytes =
      grid.a_depth / kTileK * strategy.a_tile_bytes + (strategy.a_tile_bytes == 0 ? 0 : kRowSkew);
  grid.a_scale_ld = grid.a_depth /
                    internal::find_format(static_cast<internal::Format>(desc.format_a))->block_size;
  grid.b_group_bytes = panel.tiles * strategy.b_tile_bytes;
  grid.a_offset = slot.take(grid.chunk_rows * grid.a_row_bytes);
  grid.a_scale_offset = slot.take(grid.chunk_rows * grid.a_scale_ld);
  grid.magnitude_offset = slot.take(grid.chunk_rows * static_cast<int64_t>(sizeof(int32_t)));
  grid.b_codes_offset = slot.take(strategy.groups * panel.tiles * panel.code_tile_bytes);
  grid.b_scale_offset = slot.take(strategy.groups * panel.tiles * panel.scale_tile_bytes);
  grid.b_offset = slot.take(strategy.groups * grid.b_group_bytes);
  const int64_t row_bytes = grid.chunk_cols * static_cast<int64_t>(sizeof(float));
  grid.acc_offset = slot.take(grid.chunk_rows * row_bytes);
  grid.bias_offset = slot.take(row_bytes);
  grid.c_offset = slot.take(row_bytes);
  grid.slot_bytes = slot.bytes();
  return grid;
}

}  // namespace mxgemm::cpu
