// SPDX-License-Identifier: Apache-2.0
// The functions of the kernel contract (plugin/plugin_abi.h) for the kernels of this library.
#pragma once

#include <algorithm>

#include "cuda/host/alpha_factors.hpp"
#include "cuda/sm80/gemm_params.cuh"
#include "cuda/sm80/launch_plan.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

constexpr uint64_t format_bit(int32_t format) {
  return uint64_t{1} << format;
}

constexpr uint64_t kOutputFormats =
    format_bit(MXGEMM_BF16) | format_bit(MXGEMM_F16) | format_bit(MXGEMM_F32);

// Shared memory that a CTA can have on every device that this library serves (8.6, 8.9 and 12.x
// have least).
constexpr int kSharedMemoryLimit = 101376;

// Fills in all of the parameters but the kernel's own: operands, epilogue, and the parts of K.
GemmParams make_params(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                       const LaunchPlan& plan);

// 0 and the reason where a kernel cannot take the problem at all, whatever its tile.
int32_t accepts_problem(const mxgemm_gemm_desc& desc, const KernelShape& shape, mxgemm_message why);

uint64_t partial_bytes(const mxgemm_gemm_desc& desc, const LaunchPlan& plan);

// Makes the driver load `function` (on 9.0 and later it compiles the module's PTX here, and not in
// the first run, which may stand inside a stream capture) and allows it its shared memory.
int32_t prepare_function(const void* function, const KernelShape& shape, int device,
                         mxgemm_message error);
int32_t prepare_sum_splits(int device, mxgemm_message error);

// Launches `function` and, where K is split, the second pass.
int32_t launch(const void* function, const KernelShape& shape, const GemmParams& params, int device,
               void* stream, mxgemm_message error);

// Kernel: kShape, kFormatsA, kFormatsB, function(), refuses(desc, why), rank(desc), plan(desc);
// and, where only takes(params) tells whether it can do a run, Fallback, which can do every run.
template <class Kernel>
struct KernelEntry {
  static_assert(Kernel::kShape.shared_bytes <= kSharedMemoryLimit,
                "the kernel needs more shared memory than a CTA can have on 8.6, 8.9 and 12.x");

  static int32_t accepts(const mxgemm_gemm_desc* desc, mxgemm_message why) {
    return Kernel::refuses(*desc, why) ? 0 : accepts_problem(*desc, Kernel::kShape, why);
  }
  static int32_t rank(const mxgemm_gemm_desc* desc) { return Kernel::rank(*desc); }
  static uint64_t workspace_size(const mxgemm_gemm_desc* desc) {
    const uint64_t bytes = partial_bytes(*desc, Kernel::plan(*desc));
    if constexpr (kHasFallback) {
      return std::max(bytes, partial_bytes(*desc, Kernel::Fallback::plan(*desc)));
    }
    return bytes;
  }
  static int32_t prepare(const mxgemm_gemm_desc* desc, mxgemm_message error) {
    int32_t status = prepare_launch<Kernel>(*desc, error);
    if constexpr (kHasFallback) {
      status =
          status == MXGEMM_OK ? prepare_launch<typename Kernel::Fallback>(*desc, error) : status;
    }
    return status;
  }
  static int32_t run(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args, void* stream,
                     mxgemm_message error) {
    GemmParams params = make_params(*desc, *args, Kernel::plan(*desc));
    if constexpr (kHasFallback) {
      using Fallback = typename Kernel::Fallback;
      if (!Kernel::takes(params)) {
        params = make_params(*desc, *args, Fallback::plan(*desc));
        return launch(Fallback::function(), Fallback::kShape, params, desc->device_index, stream,
                      error);
      }
    }
    return launch(Kernel::function(), Kernel::kShape, params, desc->device_index, stream, error);
  }

 private:
  static constexpr bool kHasFallback = requires { typename Kernel::Fallback; };

  template <class Launch>
  static int32_t prepare_launch(const mxgemm_gemm_desc& desc, mxgemm_message error) {
    const int32_t status =
        prepare_function(Launch::function(), Launch::kShape, desc.device_index, error);
    return status != MXGEMM_OK || Launch::plan(desc).splits == 1
               ? status
               : prepare_sum_splits(desc.device_index, error);
  }
};

template <class Kernel>
constexpr mxgemm_kernel kernel_entry() {
  using Entry = KernelEntry<Kernel>;
  return {sizeof(mxgemm_kernel),
          0,
          MXGEMM_CUDA_ARCH_NAME,
          Kernel::kShape.name,
          Kernel::kFormatsA,
          Kernel::kFormatsB,
          kOutputFormats,
          Kernel::kShape.tile_m,
          Kernel::kShape.tile_n,
          Kernel::kShape.step_k,
          {1, 1, 1},
          Kernel::kAllowances,
          0,
          Entry::accepts,
          Entry::rank,
          Entry::workspace_size,
          Entry::prepare,
          Entry::run};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
