// SPDX-License-Identifier: Apache-2.0
// Sizes and descriptor of a problem: what its buffers are and what the library is asked.
#include <fmt/format.h>
#include <unistd.h>

#include "cli/problem.hpp"
#include "cli/program.hpp"
#include "cli/table.hpp"

namespace mxgemm::cli {

using internal::find_format;

int64_t lda(const Problem& problem) {
  return problem.k + problem.extra_lda;
}
int64_t ldb(const Problem& problem) {
  return problem.k + problem.extra_ldb;
}
int64_t ldc(const Problem& problem) {
  return problem.n + problem.extra_ldc;
}
int64_t ldd(const Problem& problem) {
  return problem.n + problem.extra_ldd;
}

int64_t scale_row_bytes(Format format, int64_t ld) {
  return internal::scale_tiles_along(ld, find_format(format)->block_size);
}

uint64_t matrix_bytes(Format format, int64_t rows, int64_t cols, int64_t ld) {
  if (rows == 0 || cols == 0) {
    return 0;
  }
  const auto elements = static_cast<uint64_t>((rows - 1) * ld + cols);
  return elements * static_cast<uint64_t>(find_format(format)->element_bits) / 8;
}

uint64_t scale_bytes(const Problem& problem, Format format, int64_t rows, int64_t ld) {
  if (!is_block_scaled(format) || rows == 0 || problem.k == 0) {
    return 0;
  }
  const int64_t cols = problem.k / find_format(format)->block_size;
  return static_cast<uint64_t>(problem.scales == ScaleLayout::kRowMajor
                                   ? (rows - 1) * scale_row_bytes(format, ld) + cols
                                   : internal::swizzled_scale_bytes(rows, cols));
}

uint64_t total_bytes(const Problem& p) {
  const uint64_t bias =
      p.bias == Format::kNone ? 0 : matrix_bytes(p.bias, p.n == 0 ? 0 : 1, p.n, p.n);
  const uint64_t c = p.beta ? matrix_bytes(p.d, p.m, p.n, ldc(p)) : 0;
  return matrix_bytes(p.a, p.m, p.k, lda(p)) + scale_bytes(p, p.a, p.m, lda(p)) +
         matrix_bytes(p.b, p.n, p.k, ldb(p)) + scale_bytes(p, p.b, p.n, ldb(p)) + c + bias +
         matrix_bytes(p.d, p.m, p.n, ldd(p));
}

void require_memory(const Problem& problem, double bytes) {
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > memory) {
    throw CommandError(kExitRunTimeFailure,
                       fmt::format("problem '{}' needs {} of memory, this machine has {}",
                                   to_string(problem), format_bytes(bytes), format_bytes(memory)));
  }
}

mxgemm_gemm_desc make_desc(const Problem& p, int32_t device_kind, int32_t device_index) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.device_kind = device_kind;
  desc.device_index = device_index;
  desc.m = p.m;
  desc.n = p.n;
  desc.k = p.k;
  desc.format_a = static_cast<int32_t>(p.a);
  desc.format_b = static_cast<int32_t>(p.b);
  desc.format_d = static_cast<int32_t>(p.d);
  desc.format_bias = static_cast<int32_t>(p.bias);
  desc.scale_layout_a = static_cast<int32_t>(p.scales);
  desc.scale_layout_b = static_cast<int32_t>(p.scales);
  desc.activation = p.activation;
  const bool swizzled = p.scales == ScaleLayout::kSwizzle32x4x4;
  const auto flag = [&](bool set, uint32_t bit) { desc.flags |= set ? bit : 0u; };
  flag(p.beta.has_value(), MXGEMM_USE_C);
  flag(p.alpha_on_device, MXGEMM_ALPHA_ON_DEVICE);
  // alpha=dev keeps every scalar on the device, the global scales included.
  flag(p.alpha_on_device && find_format(p.a)->has_global_scale, MXGEMM_GLOBAL_SCALE_A_ON_DEVICE);
  flag(p.alpha_on_device && find_format(p.b)->has_global_scale, MXGEMM_GLOBAL_SCALE_B_ON_DEVICE);
  flag(p.pad_zero && swizzled && is_block_scaled(p.a), MXGEMM_SCALE_PADDING_ZERO_A);
  flag(p.pad_zero && swizzled && !p.packed_b, MXGEMM_SCALE_PADDING_ZERO_B);
  flag(p.packed_b, MXGEMM_PACKED_B);
  return desc;
}

}  // namespace mxgemm::cli
