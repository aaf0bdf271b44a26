// SPDX-License-Identifier: Apache-2.0
#include "cpu/gemm_driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/float_environment.hpp"
#include "base/math.hpp"
#include "cpu/cpu_backend.hpp"
#include "cpu/epilogue.hpp"
#include "cpu/gemm_grid.hpp"
#include "cpu/operand_index.hpp"
#include "cpu/packed_layout.hpp"
#include "cpu/scalar/scalar.h"
#include "cpu/scale_row.hpp"

namespace mxgemm::cpu {

namespace {

using internal::ceil_div;
using internal::Format;

struct RowsOfA {
  OperandIndex index;
  const uint8_t* codes;
  int64_t row_bytes;
  int element_bits;
  int block_size;
  ScaleView scale;  // data null for plain formats
};

struct ColumnsOfB {
  Format format;
  OperandIndex index;
  bool packed;
  const uint8_t* codes;  // rows of N, or the packed operand
  int64_t row_bytes;
  int element_bits;
  int block_size;
  ScaleView scale;
  PackedShape shape;
};

struct Job {
  const Level* level;
  const Strategy* strategy;
  GemmGrid grid;
  RowsOfA a;
  ColumnsOfB b;
  Epilogue epilogue;
  int64_t m;
  int64_t n;
  int64_t k;
  uint8_t* workspace;
  std::atomic<int64_t> next_tile{0};
};

// A work tile in the hands of one thread, and the scratch memory that it uses.
struct WorkTile {
  const Job& job;
  int64_t row0;
  int64_t rows;
  int64_t col0;
  int64_t cols;
  uint8_t* slot;

  uint8_t* a() const { return slot + job.grid.a_offset; }
  uint8_t* a_scales() const { return slot + job.grid.a_scale_offset; }
  int32_t* magnitudes() const {
    return reinterpret_cast<int32_t*>(slot + job.grid.magnitude_offset);
  }
  float* acc() const { return reinterpret_cast<float*>(slot + job.grid.acc_offset); }
  int64_t acc_ld() const { return job.grid.chunk_cols; }
};

// Columns of a register tile over a step of K.
struct Panel {
  int64_t k0;
  int64_t k;
  int64_t col;  // in the work tile
  const uint8_t* codes[kMaxGroups];
  const uint8_t* scales[kMaxGroups];
  const void* decoded[kMaxGroups];
  int32_t magnitude;
};

ScaleView scale_view(const mxgemm_operand& operand, int32_t layout, int64_t cols) {
  return ScaleView{operand.scale, static_cast<ScaleLayout>(layout), operand.scale_ld, cols};
}

// Decodes the rows of a work tile for K from k0 on and gathers their block scales.
void prepare_rows(const WorkTile& tile, int64_t k0, int64_t k) {
  const Job& job = tile.job;
  const RowsOfA& a = job.a;
  const DecodeA decode = job.strategy->decode_a[a.index];
  for (int64_t r = 0; r < tile.rows; ++r) {
    uint8_t* scales = tile.a_scales() + r * job.grid.a_scale_ld;
    if (a.scale.data != nullptr) {
      ScaleRow(a.scale, tile.row0 + r).copy(k0 / a.block_size, k / a.block_size, scales, 1);
    }
    if (decode != nullptr) {
      const uint8_t* codes = a.codes + (tile.row0 + r) * a.row_bytes + k0 * a.element_bits / 8;
      tile.magnitudes()[r] = decode(codes, scales, k, tile.a() + r * job.grid.a_row_bytes);
    }
  }
}

// The packed tiles of 16 columns: where they are in a packed operand, else made now.
void find_tiles(const WorkTile& tile, int group, Panel& panel) {
  const Job& job = tile.job;
  const ColumnsOfB& b = job.b;
  const int64_t n0 = tile.col0 + panel.col + group * kTileCols;
  const int64_t first = panel.k0 / kTileK;
  if (b.packed) {
    const int64_t index = n0 / kTileCols * b.shape.tiles + first;
    panel.codes[group] = b.codes + b.shape.codes_offset() + index * b.shape.code_tile_bytes;
    panel.scales[group] = b.codes + b.shape.scales_offset() + index * b.shape.scale_tile_bytes;
    return;
  }
  const int64_t panel_tiles = job.grid.panel_k / kTileK;
  uint8_t* codes =
      tile.slot + job.grid.b_codes_offset + group * panel_tiles * b.shape.code_tile_bytes;
  uint8_t* scales =
      tile.slot + job.grid.b_scale_offset + group * panel_tiles * b.shape.scale_tile_bytes;
  const int64_t cols = std::clamp<int64_t>(job.n - n0, 0, kTileCols);
  const uint8_t* source = b.codes + n0 * b.row_bytes + panel.k0 * b.element_bits / 8;
  job.level->rows.pack_codes[b.element_bits == 4 ? 0 : 1](
      source, b.row_bytes, static_cast<int32_t>(cols), panel.k, codes);
  pack_scales(b.format, b.scale, n0, cols, panel.k0 / b.block_size,
              ceil_div<int64_t>(panel.k, kTileK), scales);
  panel.codes[group] = codes;
  panel.scales[group] = scales;
}

void prepare_panel(const WorkTile& tile, Panel& panel) {
  const Job& job = tile.job;
  const DecodeB decode = job.strategy->decode_b[job.b.index];
  panel.magnitude = 0;
  for (int group = 0; group < job.strategy->groups; ++group) {
    find_tiles(tile, group, panel);
    panel.decoded[group] = panel.codes[group];
    if (decode != nullptr) {
      uint8_t* out = tile.slot + job.grid.b_offset + group * job.grid.b_group_bytes;
      const int32_t magnitude =
          decode(panel.codes[group], panel.scales[group], ceil_div<int64_t>(panel.k, kTileK), out);
      panel.magnitude = std::max(panel.magnitude, magnitude);
      panel.decoded[group] = out;
    }
  }
}

void multiply_in_double(const WorkTile& tile, const Panel& panel, int64_t a_k0, int64_t row,
                        int64_t rows) {
  const Job& job = tile.job;
  const RowsOfA& a = job.a;
  for (int group = 0; group < job.strategy->groups; ++group) {
    scalar::DoubleProduct product;
    product.a_index = a.index;
    product.b_index = job.b.index;
    product.rows = static_cast<int32_t>(rows);
    product.k = panel.k;
    product.a = a.codes + (tile.row0 + row) * a.row_bytes + panel.k0 * a.element_bits / 8;
    product.a_row_bytes = a.row_bytes;
    product.a_scales =
        tile.a_scales() + row * job.grid.a_scale_ld + (panel.k0 - a_k0) / a.block_size;
    product.a_scale_ld = job.grid.a_scale_ld;
    product.b = panel.codes[group];
    product.b_scales = panel.scales[group];
    product.acc = tile.acc() + row * tile.acc_ld() + panel.col + group * kTileCols;
    product.acc_ld = tile.acc_ld();
    scalar::multiply_double(product);
  }
}

// Rows [row, row + rows) of the tile times a panel. `a_k0` is where the decoded rows start in K.
void multiply_rows(const WorkTile& tile, const Panel& panel, int64_t a_k0, int64_t row,
                   int64_t rows) {
  const Job& job = tile.job;
  const Strategy& strategy = *job.strategy;
  if (strategy.multiply == nullptr) {
    return multiply_in_double(tile, panel, a_k0, row, rows);
  }
  const int32_t* magnitudes = tile.magnitudes() + row;
  if (*std::max_element(magnitudes, magnitudes + rows) + panel.magnitude >
      strategy.magnitude_limit) {
    return multiply_in_double(tile, panel, a_k0, row, rows);
  }
  MultiplyArgs args;
  args.rows = static_cast<int32_t>(rows);
  args.tiles = ceil_div<int64_t>(panel.k, kTileK);
  args.a =
      tile.a() + row * job.grid.a_row_bytes + (panel.k0 - a_k0) / kTileK * strategy.a_tile_bytes;
  args.a_row_bytes = job.grid.a_row_bytes;
  for (int group = 0; group < strategy.groups; ++group) {
    args.b[group] = panel.decoded[group];
    args.b_scales[group] = panel.scales[group];
  }
  args.acc = tile.acc() + row * tile.acc_ld() + panel.col;
  args.acc_ld = tile.acc_ld();
  strategy.multiply(args);
}

void run_work_tile(const WorkTile& tile) {
  const Job& job = tile.job;
  const int64_t panel_cols = int64_t{job.strategy->groups} * kTileCols;
  // Register tiles of equal height: 13 rows at a limit of 6 are 5 + 4 + 4, not 6 + 6 + 1.
  const int64_t row_groups = ceil_div<int64_t>(tile.rows, job.strategy->rows);
  std::memset(tile.acc(), 0, static_cast<size_t>(tile.rows * tile.acc_ld()) * sizeof(float));
  for (int64_t a_k0 = 0; a_k0 < job.k; a_k0 += job.grid.a_depth) {
    const int64_t a_k = std::min(job.k - a_k0, job.grid.a_depth);
    prepare_rows(tile, a_k0, a_k);
    for (int64_t col = 0; col < tile.cols; col += panel_cols) {
      for (int64_t k0 = a_k0; k0 < a_k0 + a_k; k0 += job.grid.panel_k) {
        Panel panel;
        panel.k0 = k0;
        panel.k = std::min(a_k0 + a_k - k0, job.grid.panel_k);
        panel.col = col;
        prepare_panel(tile, panel);
        for (int64_t group = 0; group < row_groups; ++group) {
          const int64_t row = group * tile.rows / row_groups;
          multiply_rows(tile, panel, a_k0, row, (group + 1) * tile.rows / row_groups - row);
        }
      }
    }
  }
  run_epilogue(job.epilogue, job.level->rows,
               EpilogueTile{tile.row0, tile.rows, tile.col0, tile.cols, tile.acc(), tile.acc_ld(),
                            reinterpret_cast<float*>(tile.slot + job.grid.bias_offset),
                            reinterpret_cast<float*>(tile.slot + job.grid.c_offset)});
}

// What one thread does: takes work tiles until none is left.
void run_slot(Job& job, int64_t slot) {
  const internal::DefaultFloatEnvironment environment;
  for (;;) {
    const int64_t index = job.next_tile.fetch_add(1, std::memory_order_relaxed);
    if (index >= job.grid.work_tiles()) {
      return;
    }
    // Tiles of the same columns follow each other: they share B in the cache.
    const int64_t row0 = index % job.grid.row_chunks * job.grid.chunk_rows;
    const int64_t col0 = index / job.grid.row_chunks * job.grid.chunk_cols;
    run_work_tile(WorkTile{job, row0, std::min(job.m - row0, job.grid.chunk_rows), col0,
                           std::min(job.n - col0, job.grid.chunk_cols),
                           job.workspace + slot * job.grid.slot_bytes});
  }
}

// The number of bits of a row need not fit.
int64_t row_bytes(const mxgemm_operand& operand, const internal::FormatInfo& info) {
  return info.element_bits == 4 ? operand.ld / 2 : operand.ld * (info.element_bits / 8);
}

RowsOfA rows_of_a(const mxgemm_gemm_desc& desc, const mxgemm_operand& operand) {
  const auto format = static_cast<Format>(desc.format_a);
  const internal::FormatInfo& info = *internal::find_format(format);
  return RowsOfA{
      operand_index(format),    static_cast<const uint8_t*>(operand.data),
      row_bytes(operand, info), info.element_bits,
      info.block_size,          scale_view(operand, desc.scale_layout_a, desc.k / info.block_size)};
}

ColumnsOfB columns_of_b(const mxgemm_gemm_desc& desc, const mxgemm_operand& operand) {
  const auto format = static_cast<Format>(desc.format_b);
  const internal::FormatInfo& info = *internal::find_format(format);
  return ColumnsOfB{format,
                    operand_index(format),
                    (desc.flags & MXGEMM_PACKED_B) != 0,
                    static_cast<const uint8_t*>(operand.data),
                    row_bytes(operand, info),
                    info.element_bits,
                    info.block_size,
                    scale_view(operand, desc.scale_layout_b, desc.k / info.block_size),
                    packed_shape(format, desc.n, desc.k)};
}

}  // namespace

uint64_t gemm_workspace_size(const Strategy& strategy, const mxgemm_gemm_desc& desc) {
  const GemmGrid grid = make_grid(strategy, desc);
  const int64_t slots = std::min<int64_t>(num_threads(), grid.work_tiles());
  return static_cast<uint64_t>(slots) * static_cast<uint64_t>(grid.slot_bytes);
}

bool run_gemm(const Level& level, const Strategy& strategy, const mxgemm_gemm_desc& desc,
              const mxgemm_gemm_args& args) {
  Job job{&level,
          &strategy,
          make_grid(strategy, desc),
          rows_of_a(desc, args.a),
          columns_of_b(desc, args.b),
          make_epilogue(desc, args),
          desc.m,
          desc.n,
          desc.k,
          static_cast<uint8_t*>(args.workspace)};
  const ParallelFor threads = parallel_for();
  const int64_t slots_held =
      static_cast<int64_t>(args.workspace_bytes / static_cast<uint64_t>(job.grid.slot_bytes));
  const int64_t slots = std::min({slots_held, int64_t{threads.num_threads}, job.grid.work_tiles()});
  if (slots < 1) {
    return false;
  }
  auto body = [&job](int64_t slot) { run_slot(job, slot); };
  threads(slots, body);
  return true;
}

}  // namespace mxgemm::cpu
