// SPDX-License-Identifier: Apache-2.0
// The functions of the kernel contract (plugin/plugin_abi.h) for a CUTLASS instance.
#pragma once

#include <climits>

#include "cuda/host/block_scaled_plan.hpp"
#include "cuda/host/cutlass_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Instance: a Config (cutlass_gemm.hpp) that also has kName, kFormatA, kFormatB, kFormatD and
// rank(desc).
template <class Instance>
struct CutlassKernel {
  using Types = CutlassTypes<Instance>;
  using Kernel = typename Types::Kernel;
  using Gemm = typename Types::Gemm;
  using Arguments = typename Kernel::Arguments;

  static int32_t accepts(const mxgemm_gemm_desc* desc, mxgemm_message why) {
    if (desc->k == 0) {
      fail(why, MXGEMM_UNSUPPORTED, "K is 0; there is nothing to multiply");
    } else if (desc->k % Types::kAlignmentK != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "K is %lld; it must be a multiple of %d",
           static_cast<long long>(desc->k), Types::kAlignmentK);
    } else if (desc->n % Types::kAlignmentD != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "N is %lld; it must be a multiple of %d",
           static_cast<long long>(desc->n), Types::kAlignmentD);
    } else if (desc->m > INT_MAX || desc->n > INT_MAX || desc->k > INT_MAX) {
      fail(why, MXGEMM_UNSUPPORTED, "M, N and K must be at most %d", INT_MAX);
    } else if (!Instance::kUsesC && (desc->flags & MXGEMM_USE_C) != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "it is compiled without C");
    } else if ((desc->flags & MXGEMM_PACKED_B) != 0) {
      fail(why, MXGEMM_UNSUPPORTED, "B is packed; it reads B as it is");
    } else {
      return 1;
    }
    return 0;
  }

  static int32_t rank(const mxgemm_gemm_desc* desc) { return Instance::rank(*desc); }

  static uint64_t workspace_size(const mxgemm_gemm_desc* desc) {
    return workspace_layout(*desc, kernel_workspace(*desc)).total();
  }

  // The only place that sets function attributes: a run may stand inside a stream capture.
  static int32_t prepare(const mxgemm_gemm_desc* desc, mxgemm_message error) {
    const DeviceGuard guard(desc->device_index);
    const int32_t status = check(guard.result(), "cudaSetDevice", Instance::kName, error);
    if (status != MXGEMM_OK) {
      return status;
    }
    const auto function = reinterpret_cast<const void*>(cutlass::device_kernel<Kernel>);
    cudaFuncAttributes attributes;
    const int32_t loaded = check(cudaFuncGetAttributes(&attributes, function),
                                 "cudaFuncGetAttributes", Instance::kName, error);
    if (loaded != MXGEMM_OK) {
      return loaded;
    }
    return check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      Kernel::SharedStorageSize),
                 "cudaFuncSetAttribute", Instance::kName, error);
  }

  static int32_t run(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args, void* stream,
                     mxgemm_message error) {
    const DeviceGuard guard(desc->device_index);
    int32_t status = check(guard.result(), "cudaSetDevice", Instance::kName, error);
    if (status != MXGEMM_OK) {
      return status;
    }
    const auto cuda_stream = static_cast<cudaStream_t>(stream);
    const WorkspaceLayout layout = workspace_layout(*desc, kernel_workspace(*desc));
    StagedInputs inputs{};
    status = stage(*desc, *args, layout, cuda_stream, Instance::kName, error, &inputs);
    if (status != MXGEMM_OK) {
      return status;
    }
    int multiprocessors = 0;
    status = check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                          desc->device_index),
                   "cudaDeviceGetAttribute", Instance::kName, error);
    if (status != MXGEMM_OK) {
      return status;
    }
    const Arguments arguments = make_arguments(*desc, *args, inputs, multiprocessors);
    if (Kernel::initialize_workspace(arguments, inputs.kernel_workspace, cuda_stream) !=
        cutlass::Status::kSuccess) {
      return fail(error, MXGEMM_CUDA_ERROR,
                  "%s: the kernel's workspace could not be initialised: %s", Instance::kName,
                  cudaGetErrorName(cudaGetLastError()));
    }
    typename Kernel::Params params =
        Kernel::to_underlying_arguments(arguments, inputs.kernel_workspace);
    const cutlass::Status launched = Gemm::run(params, cuda_stream);
    // CUTLASS turns every failure into one code and leaves the cause with the runtime.
    status = check(cudaGetLastError(), "the launch", Instance::kName, error);
    if (status == MXGEMM_OK && launched != cutlass::Status::kSuccess) {
      return fail(error, MXGEMM_INTERNAL, "%s: CUTLASS refused the launch: %s", Instance::kName,
                  cutlass::cutlassGetStatusString(launched));
    }
    return status;
  }

 private:
  static auto problem_shape(const mxgemm_gemm_desc& desc) {
    const int m = static_cast<int>(desc.m);
    const int n = static_cast<int>(desc.n);
    const int k = static_cast<int>(desc.k);
    return Instance::kSwapped ? cute::make_shape(n, m, k, 1) : cute::make_shape(m, n, k, 1);
  }

  static uint64_t kernel_workspace(const mxgemm_gemm_desc& desc) {
    Arguments arguments{};
    arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    arguments.problem_shape = problem_shape(desc);
    return Kernel::get_workspace_size(arguments);
  }

  static Arguments make_arguments(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                                  const StagedInputs& inputs, int multiprocessors) {
    using BlkScaledConfig = typename Types::Mainloop::Sm1xxBlkScaledConfig;
    const mxgemm_operand& first = Instance::kSwapped ? args.b : args.a;
    const mxgemm_operand& second = Instance::kSwapped ? args.a : args.b;
    const uint8_t* first_scale = Instance::kSwapped ? inputs.scale_b : inputs.scale_a;
    const uint8_t* second_scale = Instance::kSwapped ? inputs.scale_a : inputs.scale_b;
    using Mainloop = typename Types::Mainloop;

    Arguments arguments{};
    arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    arguments.problem_shape = problem_shape(desc);
    auto& mainloop = arguments.mainloop;
    mainloop.ptr_A = static_cast<decltype(mainloop.ptr_A)>(first.data);
    cute::get<0>(mainloop.dA) = first.ld;
    mainloop.ptr_B = static_cast<decltype(mainloop.ptr_B)>(second.data);
    cute::get<0>(mainloop.dB) = second.ld;
    mainloop.ptr_SFA = reinterpret_cast<const typename Mainloop::ElementSF*>(first_scale);
    mainloop.layout_SFA = BlkScaledConfig::tile_atom_to_shape_SFA(arguments.problem_shape);
    mainloop.ptr_SFB = reinterpret_cast<const typename Mainloop::ElementSF*>(second_scale);
    mainloop.layout_SFB = BlkScaledConfig::tile_atom_to_shape_SFB(arguments.problem_shape);

    auto& epilogue = arguments.epilogue;
    const bool uses_c = (desc.flags & MXGEMM_USE_C) != 0;
    // A source tensor gets a descriptor even where beta is 0: D stands in, and is not loaded.
    const void* source = uses_c ? args.c : args.d;
    epilogue.ptr_C = static_cast<decltype(epilogue.ptr_C)>(source);
    epilogue.ptr_D = static_cast<decltype(epilogue.ptr_D)>(args.d);
    set_row_pitch(epilogue.dC, uses_c ? args.ldc : args.ldd);
    set_row_pitch(epilogue.dD, args.ldd);

    const AlphaFactors factors = alpha_factors(desc, args);
    auto& fusion = epilogue.thread;
    fusion.alpha = factors.value[0];
    fusion.alpha_ptr = factors.pointer[0];
    fusion.scale_a = factors.value[1];
    fusion.scale_a_ptr = factors.pointer[1];
    fusion.scale_b = factors.value[2];
    fusion.scale_b_ptr = factors.pointer[2];
    fusion.beta = uses_c ? args.beta : 0.0f;
    fusion.bias_ptr = desc.format_bias == MXGEMM_FORMAT_NONE ? nullptr : inputs.bias;
    fusion.activation.activation = static_cast<internal::Activation>(desc.activation);

    arguments.hw_info.device_id = desc.device_index;
    arguments.hw_info.sm_count = multiprocessors;
    return arguments;
  }

  // Row-major D: {ld, 1, 0}; swapped (column-major D^T): {1, ld, 0}.
  template <class Stride>
  static void set_row_pitch(Stride& stride, int64_t ld) {
    cute::get<Instance::kSwapped ? 1 : 0>(stride) = ld;
  }
};

template <class Instance>
constexpr mxgemm_kernel cutlass_kernel() {
  using Entry = CutlassKernel<Instance>;
  using Tile = typename Instance::Tile;
  return {sizeof(mxgemm_kernel),
          0,
          Instance::kArch,
          Instance::kName,
          uint64_t{1} << Instance::kFormatA,
          uint64_t{1} << Instance::kFormatB,
          uint64_t{1} << Instance::kFormatD,
          static_cast<int32_t>(cute::size < Instance::kSwapped ? 1 : 0 > (Tile{})),
          static_cast<int32_t>(cute::size < Instance::kSwapped ? 0 : 1 > (Tile{})),
          static_cast<int32_t>(cute::size<2>(Tile{})),
          Entry::Types::kDataAlignment,
          Entry::accepts,
          Entry::rank,
          Entry::workspace_size,
          Entry::prepare,
          Entry::run};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
