// SPDX-License-Identifier: Apache-2.0
// Calls of a GPU library's kernels without the core: problems that each kernel takes, on memory
// that nothing touches.
#pragma once

#include <cstdint>
#include <string>

#include "abi/cuda/recorder.h"
#include "formats/block_format.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::test {

inline int32_t lowest(uint64_t formats) {
  return __builtin_ctzll(formats);
}

inline mxgemm_operand operand(void* memory, int32_t format, int64_t k) {
  mxgemm_operand result = MXGEMM_OPERAND_INIT;
  result.data = memory;
  result.ld = k;
  if (internal::is_block_scaled(static_cast<internal::Format>(format))) {
    result.scale = static_cast<const uint8_t*>(memory);
    result.scale_ld = k / 16;
  }
  return result;
}

// A problem that every fast kernel takes; row-major scales and a bf16 bias make the staging run,
// too.
inline mxgemm_gemm_desc problem_for(const mxgemm_kernel& kernel, bool with_c) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.device_kind = MXGEMM_DEVICE_CUDA;
  desc.m = 512;
  desc.n = 512;
  desc.k = 512;
  desc.format_a = lowest(kernel.formats_a);
  desc.format_b = lowest(kernel.formats_b);
  desc.format_d = lowest(kernel.formats_d);
  desc.format_bias = desc.format_d;
  desc.flags = with_c ? MXGEMM_USE_C : 0;
  return desc;
}

// One that this kernel takes; false and the reason in `why` if it takes none.
inline bool accepted_problem(const mxgemm_kernel& kernel, mxgemm_message why,
                             mxgemm_gemm_desc* desc) {
  *desc = problem_for(kernel, true);
  if (kernel.accepts(desc, why) == 0) {
    *desc = problem_for(kernel, false);
  }
  // Kernels for few rows or for K = 0 only.
  for (const int64_t m : {int64_t{16}, int64_t{1}}) {
    if (kernel.accepts(desc, why) == 0) {
      desc->m = m;
    }
  }
  if (kernel.accepts(desc, why) == 0) {
    desc->k = 0;
  }
  return kernel.accepts(desc, why) != 0;
}

inline int32_t run_problem(const mxgemm_kernel& kernel, const mxgemm_gemm_desc& desc, void* memory,
                           mxgemm_message error) {
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.a = operand(memory, desc.format_a, desc.k);
  args.b = operand(memory, desc.format_b, desc.k);
  args.c = args.d = args.workspace = memory;
  args.bias = memory;
  args.ldc = args.ldd = desc.n;
  args.workspace_bytes = kernel.workspace_size(&desc);
  return kernel.run(&desc, &args, nullptr, error);
}

}  // namespace mxgemm::test
