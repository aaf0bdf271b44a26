// SPDX-License-Identifier: Apache-2.0
#include "quantize/quantize.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/float_environment.hpp"
#include "base/require.hpp"
#include "formats/nvf4_scale.hpp"
#include "quantize/amax.hpp"
#include "quantize/block_quantizer.hpp"
#include "quantize/tiling.hpp"

namespace mxgemm::internal {
namespace {

struct RunKernel {
  mxgemm_quantize_row_mx mx = nullptr;
  mxgemm_quantize_row_nvf4 nvf4 = nullptr;
};

RunKernel choose_kernel(const BlockRule& rule, const QuantizeRowKernels* kernels) {
  RunKernel kernel;
  if (kernels == nullptr || rule.stochastic) {
    return kernel;
  }
  const int source = rule.format_src == Format::kBf16 ? 0 : rule.format_src == Format::kF16 ? 1 : 2;
  if (rule.format == Format::kNvf4) {
    kernel.nvf4 = kernels->nvf4[source];
  } else {
    const int element = rule.format == Format::kMxf4 ? 0 : rule.format == Format::kMxf8E4m3 ? 1 : 2;
    const ScaleRule scale_rule =
        rule.scale_rule == ScaleRule::kDefault ? ScaleRule::kEven : rule.scale_rule;
    kernel.mx = kernels->mx[source][element][static_cast<int>(scale_rule)];
  }
  return kernel;
}

// A matrix of blocks being quantised.
struct Job {
  BlockRule rule;
  RunKernel kernel;
  QuantizeBuffers buffers;
  int64_t rows;
  int64_t cols;  // in blocks
  int64_t src_block_bytes;
  int64_t qdata_block_bytes;
  int64_t src_row_bytes;
  int64_t block_size;
  bool swizzled;
};

// Returns the number of blocks done from the left; 0 without a kernel.
int64_t run_kernel(const Job& job, const uint8_t* src, int64_t blocks, uint8_t* qdata,
                   uint8_t* scale) {
  if (job.kernel.mx != nullptr) {
    return job.kernel.mx(src, blocks, qdata, scale);
  }
  if (job.kernel.nvf4 != nullptr) {
    return job.kernel.nvf4(src, blocks, job.rule.global_scale, job.rule.min_block_scale, qdata,
                           scale);
  }
  return 0;
}

void quantize_run(const Job& job, const uint8_t* src, int64_t blocks, int64_t first_index,
                  uint8_t* qdata, uint8_t* scale) {
  const bool has_kernel = job.kernel.mx != nullptr || job.kernel.nvf4 != nullptr;
  int64_t done = 0;
  while (done < blocks) {
    done += run_kernel(job, src + done * job.src_block_bytes, blocks - done,
                       qdata + done * job.qdata_block_bytes, scale + done);
    if (done < blocks) {  // a kernel stops at a block that it does not want
      const int64_t count = has_kernel ? 1 : blocks;
      quantize_blocks(job.rule, src + done * job.src_block_bytes, count,
                      first_index + done * job.block_size, qdata + done * job.qdata_block_bytes,
                      scale + done);
      done += count;
    }
  }
}

void scatter_scales(const uint8_t* scale, int64_t count, uint8_t* dst) {
  for (int64_t col = 0; col < count; col += kScaleTileCols, dst += kScaleTileBytes) {
    std::memcpy(dst, scale + col, static_cast<size_t>(std::min(kScaleTileCols, count - col)));
  }
}

void clear_scale_tiles(const Job& job, const TileRange& range) {
  const int64_t tiles = scale_tiles_along(range.col_end - range.col_begin, kScaleTileCols);
  for (int64_t row = range.row_begin; row < range.row_end; row += kScaleTileRows) {
    std::memset(job.buffers.scale + swizzled_scale_offset(row, range.col_begin, job.cols), 0,
                static_cast<size_t>(tiles * kScaleTileBytes));
  }
}

void quantize_tile(const Job& job, const TileRange& range) {
  std::array<uint8_t, Tiling::kMaxCols> row_scales;
  const int64_t blocks = range.col_end - range.col_begin;
  if (job.swizzled) {
    clear_scale_tiles(job, range);
  }
  for (int64_t row = range.row_begin; row < range.row_end; ++row) {
    const uint8_t* src = static_cast<const uint8_t*>(job.buffers.src) + row * job.src_row_bytes +
                         range.col_begin * job.src_block_bytes;
    uint8_t* qdata = job.buffers.qdata + row * job.buffers.qdata_row_bytes +
                     range.col_begin * job.qdata_block_bytes;
    uint8_t* scale = job.swizzled
                         ? row_scales.data()
                         : job.buffers.scale + row * job.buffers.scale_ld + range.col_begin;
    const int64_t first_index = (row * job.cols + range.col_begin) * job.block_size;
    quantize_run(job, src, blocks, first_index, qdata, scale);
    if (job.swizzled) {
      scatter_scales(scale, blocks,
                     job.buffers.scale + swizzled_scale_offset(row, range.col_begin, job.cols));
    }
  }
}

// Rows that follow each other without gaps are one long row: short rows then cost no call each.
void join_dense_rows(Job* job) {
  const QuantizeBuffers& buffers = job->buffers;
  if (!job->swizzled && job->src_row_bytes == job->cols * job->src_block_bytes &&
      buffers.qdata_row_bytes == job->cols * job->qdata_block_bytes &&
      buffers.scale_ld == job->cols) {
    job->cols *= job->rows;
    job->rows = 1;
  }
}

// Finite amax of the tensor, as fp32. Each tile has its own maximum and the maximum has no order,
// so the result is the same for every schedule.
float tensor_amax(const QuantizeOptions& options, const QuantizeBuffers& buffers,
                  const ParallelFor& parallel_for) {
  if (options.rows == 0 || options.cols == 0) {
    return 0.0f;
  }
  const FormatInfo& info = *find_format(options.format);
  const int64_t source_bytes = find_format(options.format_src)->element_bits / 8;
  const Tiling tiling(options.rows, options.cols / info.block_size, 1);
  std::atomic<uint32_t> amax_bits{0};
  auto body = [&](int64_t index) {
    const TileRange range = tiling.tile(index);
    uint32_t tile_bits = 0;
    for (int64_t row = range.row_begin; row < range.row_end; ++row) {
      const int64_t first = row * buffers.src_ld + range.col_begin * info.block_size;
      tile_bits =
          std::max(tile_bits,
                   finite_amax_bits(options.format_src,
                                    static_cast<const uint8_t*>(buffers.src) + first * source_bytes,
                                    (range.col_end - range.col_begin) * info.block_size));
    }
    uint32_t seen = amax_bits.load(std::memory_order_relaxed);
    while (seen < tile_bits &&
           !amax_bits.compare_exchange_weak(seen, tile_bits, std::memory_order_relaxed)) {
    }
  };
  parallel_for(tiling.count(), body);
  return std::bit_cast<float>(amax_bits.load());
}

__attribute__((noinline)) float global_scale_from_amax(float amax) {
  return nvf4_global_scale(amax);
}

Status settle_global_scale(const QuantizeOptions& options, const QuantizeBuffers& buffers,
                           const ParallelFor& parallel_for, float* global_scale) {
  if (options.global_scale_mode == GlobalScaleMode::kOne) {
    *global_scale = 1.0f;
    if (buffers.global_scale != nullptr) {
      *buffers.global_scale = 1.0f;
    }
    return {};
  }
  MXGEMM_REQUIRE(buffers.global_scale != nullptr,
                 "global_scale is NULL; only global_scale_mode 1 (one) needs no place for it");
  if (options.global_scale_mode == GlobalScaleMode::kGiven) {
    *global_scale = *buffers.global_scale;
    MXGEMM_REQUIRE(std::isfinite(*global_scale) && *global_scale > 0.0f,
                   "global_scale is %g; it must be finite and > 0",
                   static_cast<double>(*global_scale));
    return {};
  }
  const float amax = tensor_amax(options, buffers, parallel_for);
  const DefaultFloatEnvironment environment;
  *global_scale = global_scale_from_amax(amax);
  *buffers.global_scale = *global_scale;
  return {};
}

}  // namespace

Status quantize(const QuantizeOptions& options, const QuantizeBuffers& buffers,
                const QuantizeRowKernels* kernels, const ParallelFor& parallel_for) {
  const FormatInfo& info = *find_format(options.format);
  const int64_t source_bytes = find_format(options.format_src)->element_bits / 8;
  BlockRule rule{options.format_src,
                 options.format,
                 options.scale_rule,
                 options.saturate_nonfinite,
                 options.stochastic,
                 options.seed,
                 options.offset,
                 1.0f,
                 std::fabs(options.min_block_scale)};
  if (info.has_global_scale) {
    MXGEMM_TRY(settle_global_scale(options, buffers, parallel_for, &rule.global_scale));
  }
  if (options.rows == 0 || options.cols == 0) {
    return {};
  }
  Job job{.rule = rule,
          .kernel = choose_kernel(rule, kernels),
          .buffers = buffers,
          .rows = options.rows,
          .cols = options.cols / info.block_size,
          .src_block_bytes = info.block_size * source_bytes,
          .qdata_block_bytes = info.block_size * info.element_bits / 8,
          .src_row_bytes = buffers.src_ld * source_bytes,
          .block_size = info.block_size,
          .swizzled = options.scale_layout == ScaleLayout::kSwizzle32x4x4};
  join_dense_rows(&job);
  const Tiling tiling(job.rows, job.cols, job.swizzled ? kScaleTileRows : 1);
  auto body = [&](int64_t index) {
    const DefaultFloatEnvironment environment;
    quantize_tile(job, tiling.tile(index));
  };
  parallel_for(tiling.count(), body);
  return {};
}

}  // namespace mxgemm::internal
