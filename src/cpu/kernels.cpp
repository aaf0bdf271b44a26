// SPDX-License-Identifier: Apache-2.0
// The table of the CPU's GEMM kernels, best first. To add one: a strategy in the level's folder and
// a row here.
#include <array>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "cpu/cpu_backend.hpp"
#include "cpu/gemm_driver.hpp"
#include "cpu/level.h"
#include "cpu/scalar/scalar.h"
#include "mxgemm/mxgemm.h"

#if defined(MXGEMM_CPU_X86)
#include "cpu/avx2/avx2.h"
#include "cpu/avx512/avx512.h"
#endif

namespace mxgemm::cpu {

namespace {

constexpr uint64_t format_bit(int32_t format) {
  return uint64_t{1} << format;
}

constexpr uint64_t kBlockScaled = format_bit(MXGEMM_MXF4) | format_bit(MXGEMM_NVF4) |
                                  format_bit(MXGEMM_MXF8E4M3) | format_bit(MXGEMM_MXF8E5M2);
constexpr uint64_t kPlain =
    format_bit(MXGEMM_BF16) | format_bit(MXGEMM_F16) | format_bit(MXGEMM_F32);

constexpr int64_t kAnyM = INT64_MAX;

struct Row {
  int32_t isa;
  const char* name;
  uint64_t formats_a;
  uint64_t formats_b;
  const Level* level;
  Strategy Level::*strategy;
  // Up to this M the kernel ranks above its level's generic one, beyond it below. Measured:
  // bench/gemm_bench.cpp.
  int64_t best_up_to_m;
};

constexpr uint64_t kAnyA = kBlockScaled | kPlain;
constexpr uint64_t kMxf4 = format_bit(MXGEMM_MXF4);
constexpr uint64_t kBf16 = format_bit(MXGEMM_BF16);

constexpr Row kRows[] = {
#if defined(MXGEMM_CPU_X86)
    {MXGEMM_ISA_AVX512, "gemm_mxf4_mxf4_any_6x32x32", kMxf4, kMxf4, &avx512::kLevel,
     &Level::mxf4_mxf4, kAnyM},
    {MXGEMM_ISA_AVX512, "gemm_bf16_mxf4_any_8x16x32", kBf16, kMxf4, &avx512::kLevel,
     &Level::bf16_mxf4, kAnyM},
    {MXGEMM_ISA_AVX512, "gemm_any_any_any_12x32x32", kAnyA, kBlockScaled, &avx512::kLevel,
     &Level::any_any, kAnyM},
    {MXGEMM_ISA_AVX2, "gemm_mxf4_mxf4_any_4x16x32", kMxf4, kMxf4, &avx2::kLevel, &Level::mxf4_mxf4,
     kAnyM},
    {MXGEMM_ISA_AVX2, "gemm_bf16_mxf4_any_6x16x32", kBf16, kMxf4, &avx2::kLevel, &Level::bf16_mxf4,
     8},
    {MXGEMM_ISA_AVX2, "gemm_any_any_any_6x16x32", kAnyA, kBlockScaled, &avx2::kLevel,
     &Level::any_any, kAnyM},
#endif
    {MXGEMM_ISA_SCALAR, "gemm_any_any_any_16x16x32", kAnyA, kBlockScaled, &scalar::kLevel,
     &Level::any_any, kAnyM},
};
constexpr size_t kNumRows = std::size(kRows);

// The table's functions have no context argument: one instance per row.
template <size_t kRow>
struct Functions {
  static const Strategy& strategy() { return kRows[kRow].level->*kRows[kRow].strategy; }

  // Formats are checked by the core; shapes, layouts and epilogues are all the same to the driver.
  static int32_t accepts(const mxgemm_gemm_desc*, mxgemm_message) { return 1; }
  static int32_t rank(const mxgemm_gemm_desc* desc) {
    const Row& row = kRows[kRow];
    const int32_t in_level = row.formats_a == kAnyA ? 1 : desc->m <= row.best_up_to_m ? 2 : 0;
    return row.isa * 3 + in_level;
  }
  static uint64_t workspace_size(const mxgemm_gemm_desc* desc) {
    return gemm_workspace_size(strategy(), *desc);
  }
  static int32_t prepare(const mxgemm_gemm_desc*, mxgemm_message) {
    warm_up();
    return MXGEMM_OK;
  }
  static int32_t run(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args, void*,
                     mxgemm_message error) {
    if (run_gemm(*kRows[kRow].level, strategy(), *desc, *args)) {
      return MXGEMM_OK;
    }
    std::snprintf(error.text, error.capacity, "workspace_bytes is %llu; %s needs more",
                  static_cast<unsigned long long>(args->workspace_bytes), kRows[kRow].name);
    return MXGEMM_WORKSPACE_TOO_SMALL;
  }
};

template <size_t kRow>
mxgemm_kernel make_kernel() {
  const Row& row = kRows[kRow];
  const Strategy& strategy = Functions<kRow>::strategy();
  mxgemm_kernel kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.isa = row.isa;
  kernel.arch = isa_name(row.isa);
  kernel.name = row.name;
  kernel.formats_a = row.formats_a;
  kernel.formats_b = row.formats_b;
  kernel.formats_d = kPlain;
  kernel.tile_m = strategy.rows;
  kernel.tile_n = strategy.groups * kTileCols;
  kernel.tile_k = kTileK;
  kernel.accepts = Functions<kRow>::accepts;
  kernel.rank = Functions<kRow>::rank;
  kernel.workspace_size = Functions<kRow>::workspace_size;
  kernel.prepare = Functions<kRow>::prepare;
  kernel.run = Functions<kRow>::run;
  return kernel;
}

template <size_t... kRow>
std::array<mxgemm_kernel, kNumRows> make_kernels(std::index_sequence<kRow...>) {
  return {make_kernel<kRow>()...};
}

}  // namespace

std::span<const mxgemm_kernel> kernels() {
  static const std::array<mxgemm_kernel, kNumRows> table =
      make_kernels(std::make_index_sequence<kNumRows>());
  return table;
}

}  // namespace mxgemm::cpu
