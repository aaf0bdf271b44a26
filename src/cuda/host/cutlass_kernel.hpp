// SPDX-License-Identifier: Apache-2.0
// The functions of the kernel contract (plugin/plugin_abi.h) for a CUTLASS instance.
#pragma once

#include <climits>

#include "cuda/host/block_scaled_plan.hpp"
#include "cuda/host/cutlass_instance.hpp"
#include "cuda/host/shared_memory.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// The rank of an instance by the shape of the problem: an architecture's kernels.cu says why.
using RankRule = int32_t (*)(const mxgemm_gemm_desc& desc);

template <const CutlassInstance& kInstance, RankRule kRank>
struct CutlassKernel {
  static int32_t accepts(const mxgemm_gemm_desc* desc, mxgemm_message why) {
    if (desc->k == 0) {
      fail(why, MXGEMM_UNSUPPORTED, "K is 0; there is nothing to multiply");
    } else if (desc->k % kInstance.alignment_k != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "K is %lld; it must be a multiple of %d",
           static_cast<long long>(desc->k), kInstance.alignment_k);
    } else if (desc->n % kInstance.alignment_n != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "N is %lld; it must be a multiple of %d",
           static_cast<long long>(desc->n), kInstance.alignment_n);
    } else if (desc->m > INT_MAX || desc->n > INT_MAX || desc->k > INT_MAX) {
      fail(why, MXGEMM_UNSUPPORTED, "M, N and K must be at most %d", INT_MAX);
    } else if (!kInstance.uses_c && (desc->flags & MXGEMM_USE_C) != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "it is compiled without C");
    } else if ((desc->flags & MXGEMM_PACKED_B) != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "B is packed; it reads B as it is");
    } else {
      return 1;
    }
    return 0;
  }

  static int32_t rank(const mxgemm_gemm_desc* desc) { return kRank(*desc); }

  static uint64_t workspace_size(const mxgemm_gemm_desc* desc) {
    return workspace_layout(*desc, kernel_workspace(*desc)).total();
  }

  // The only place that sets function attributes: a run may stand inside a stream capture.
  static int32_t prepare(const mxgemm_gemm_desc* desc, mxgemm_message error) {
    const DeviceGuard guard(desc->device_index);
    int32_t status = check(guard.result(), "cudaSetDevice", error);
    if (status == MXGEMM_OK) {
      status = load_function(kInstance.function(), "cudaFuncGetAttributes", error);
    }
    if (status == MXGEMM_OK) {
      status = load_function(reinterpret_cast<const void*>(stage_inputs),
                             "cudaFuncGetAttributes of stage_inputs", error);
    }
    return status != MXGEMM_OK ? status
                               : allow_shared_memory(kInstance.function(), kInstance.shared_bytes,
                                                     desc->device_index, error);
  }

  static int32_t run(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args, void* stream,
                     mxgemm_message error) {
    const DeviceGuard guard(desc->device_index);
    int32_t status = check(guard.result(), "cudaSetDevice", error);
    if (status != MXGEMM_OK) {
      return status;
    }
    const auto cuda_stream = static_cast<cudaStream_t>(stream);
    const WorkspaceLayout layout = workspace_layout(*desc, kernel_workspace(*desc));
    StagedInputs inputs{};
    status = stage(*desc, *args, layout, cuda_stream, error, &inputs);
    if (status != MXGEMM_OK) {
      return status;
    }
    BlockScaledProblem problem = make_problem(*desc, *args, inputs);
    status = check(cudaDeviceGetAttribute(&problem.multiprocessors, cudaDevAttrMultiProcessorCount,
                                          desc->device_index),
                   "cudaDeviceGetAttribute", error);
    if (status != MXGEMM_OK) {
      return status;
    }
    const LaunchResult result = kInstance.launch(problem, cuda_stream);
    if (result.refusal != nullptr && result.error == cudaSuccess) {
      return fail(error, MXGEMM_INTERNAL, "CUTLASS refused %s: %s", result.call, result.refusal);
    }
    return check(result.error, result.call, error);
  }

 private:
  static int32_t load_function(const void* function, const char* what, mxgemm_message error) {
    cudaFuncAttributes attributes;
    return check(cudaFuncGetAttributes(&attributes, function), what, error);
  }

  static uint64_t kernel_workspace(const mxgemm_gemm_desc& desc) {
    return kInstance.workspace_bytes(static_cast<int>(desc.m), static_cast<int>(desc.n),
                                     static_cast<int>(desc.k));
  }

  static BlockScaledProblem make_problem(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                                         const StagedInputs& inputs) {
    const bool uses_c = (desc.flags & MXGEMM_USE_C) != 0;
    const AlphaFactors factors = alpha_factors(desc, args);
    BlockScaledProblem problem{};
    problem.m = static_cast<int>(desc.m);
    problem.n = static_cast<int>(desc.n);
    problem.k = static_cast<int>(desc.k);
    problem.a = {args.a.data, args.a.ld, inputs.scale_a};
    problem.b = {args.b.data, args.b.ld, inputs.scale_b};
    problem.c = uses_c ? args.c : nullptr;
    problem.ldc = args.ldc;
    problem.d = args.d;
    problem.ldd = args.ldd;
    problem.bias = desc.format_bias == MXGEMM_FORMAT_NONE ? nullptr : inputs.bias;
    for (int i = 0; i < 3; ++i) {
      problem.factor[i] = factors.value[i];
      problem.factor_pointer[i] = factors.pointer[i];
    }
    problem.beta = uses_c ? args.beta : 0.0f;
    problem.activation = static_cast<internal::Activation>(desc.activation);
    problem.workspace = inputs.kernel_workspace;
    problem.device = desc.device_index;
    return problem;
  }
};

template <const CutlassInstance& kInstance, RankRule kRank>
mxgemm_kernel make_cutlass_entry() {
  using Entry = CutlassKernel<kInstance, kRank>;
  const auto bit = [](internal::Format format) { return uint64_t{1} << static_cast<int>(format); };
  return {sizeof(mxgemm_kernel),
          0,
          MXGEMM_CUDA_ARCH_NAME,
          kInstance.name,
          bit(kInstance.format_a),
          bit(kInstance.format_b),
          bit(kInstance.format_d),
          kInstance.tile_m,
          kInstance.tile_n,
          kInstance.tile_k,
          {kInstance.data_alignment_a, kInstance.data_alignment_b, kInstance.data_alignment_d},
          MXGEMM_ALLOW_ZERO_PRODUCTS,
          0,
          Entry::accepts,
          Entry::rank,
          Entry::workspace_size,
          Entry::prepare,
          Entry::run};
}

// The row of a library's table.
template <const CutlassInstance& kInstance, RankRule kRank>
const mxgemm_kernel* cutlass_entry() {
  static const mxgemm_kernel kernel = make_cutlass_entry<kInstance, kRank>();
  return &kernel;
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
