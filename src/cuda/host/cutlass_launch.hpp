// SPDX-License-Identifier: Apache-2.0
// A CUTLASS kernel behind the functions of CutlassInstance.
#pragma once

#include "cuda/host/cutlass_gemm.hpp"
#include "cuda/host/cutlass_instance.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

template <class Config>
struct CutlassLaunch {
  using Types = CutlassTypes<Config>;
  using Kernel = typename Types::Kernel;
  using Mainloop = typename Types::Mainloop;
  using Arguments = typename Kernel::Arguments;

  // Descriptors for TMA are parts of it, and want this.
  static_assert(alignof(typename Kernel::Params) >= 64);

  static const void* function() {
    return reinterpret_cast<const void*>(cutlass::device_kernel<Kernel>);
  }

  static uint64_t workspace_bytes(int m, int n, int k) {
    Arguments arguments{};
    arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    arguments.problem_shape = problem_shape(m, n, k);
    return Kernel::get_workspace_size(arguments);
  }

  static LaunchResult launch(const BlockScaledProblem& problem, cudaStream_t stream) {
    const Arguments arguments = make_arguments(problem);
    const cutlass::Status initialized =
        Kernel::initialize_workspace(arguments, problem.workspace, stream);
    if (initialized != cutlass::Status::kSuccess) {
      return {cudaGetLastError(), cutlass::cutlassGetStatusString(initialized),
              "the workspace's initialisation"};
    }
    typename Kernel::Params params = Kernel::to_underlying_arguments(arguments, problem.workspace);
    return {launch_kernel(params, stream), nullptr, "the launch"};
  }

 private:
  // CUTLASS's own adapter turns every failure of a launch into one code and takes the cause away
  // from the runtime.
  static cudaError_t launch_kernel(typename Kernel::Params& params, cudaStream_t stream) {
    using Cluster = typename Config::Cluster;
    cudaLaunchConfig_t config{};
    config.gridDim = Kernel::get_grid_shape(params);
    config.blockDim = Kernel::get_block_shape();
    config.dynamicSmemBytes = Kernel::SharedStorageSize;
    config.stream = stream;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {static_cast<unsigned>(cute::size<0>(Cluster{})),
                              static_cast<unsigned>(cute::size<1>(Cluster{})), 1u};
    config.attrs = &cluster;
    config.numAttrs = cute::size(Cluster{}) == 1 ? 0 : 1;
    void* arguments[] = {&params};
    return cudaLaunchKernelExC(&config, function(), arguments);
  }

  static auto problem_shape(int m, int n, int k) {
    return Config::kSwapped ? cute::make_shape(n, m, k, 1) : cute::make_shape(m, n, k, 1);
  }

  static Arguments make_arguments(const BlockScaledProblem& problem) {
    Arguments arguments{};
    arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    arguments.problem_shape = problem_shape(problem.m, problem.n, problem.k);
    set_mainloop(problem, &arguments);
    set_epilogue(problem, &arguments);
    set_raster_order(&arguments);
    arguments.hw_info.device_id = problem.device;
    arguments.hw_info.sm_count = problem.multiprocessors;
    return arguments;
  }

  // Left alone, sm_100's scheduler puts the direction with more tiles into the grid's y, which has
  // room for 65,535 CTAs, two of which may share a tile.
  static void set_raster_order(Arguments* arguments) {
    using Order = decltype(arguments->scheduler.raster_order);
    constexpr int kMostTiles = 65535 / 2;
    constexpr int kTileFirst = cute::size<0>(typename Config::Tile{});
    constexpr int kTileSecond = cute::size<1>(typename Config::Tile{});
    if (cute::get<0>(arguments->problem_shape) / kTileFirst >= kMostTiles) {
      arguments->scheduler.raster_order = Order::AlongM;
    } else if (cute::get<1>(arguments->problem_shape) / kTileSecond >= kMostTiles) {
      arguments->scheduler.raster_order = Order::AlongN;
    }
  }

  static void set_mainloop(const BlockScaledProblem& problem, Arguments* arguments) {
    using ScaleLayout = typename Mainloop::Sm1xxBlkScaledConfig;
    using Scale = typename Mainloop::ElementSF;
    const BlockScaledOperand& first = Config::kSwapped ? problem.b : problem.a;
    const BlockScaledOperand& second = Config::kSwapped ? problem.a : problem.b;
    auto& mainloop = arguments->mainloop;
    mainloop.ptr_A = static_cast<decltype(mainloop.ptr_A)>(first.data);
    cute::get<0>(mainloop.dA) = first.ld;
    mainloop.ptr_B = static_cast<decltype(mainloop.ptr_B)>(second.data);
    cute::get<0>(mainloop.dB) = second.ld;
    mainloop.ptr_SFA = reinterpret_cast<const Scale*>(first.scale);
    mainloop.layout_SFA = ScaleLayout::tile_atom_to_shape_SFA(arguments->problem_shape);
    mainloop.ptr_SFB = reinterpret_cast<const Scale*>(second.scale);
    mainloop.layout_SFB = ScaleLayout::tile_atom_to_shape_SFB(arguments->problem_shape);
  }

  static void set_epilogue(const BlockScaledProblem& problem, Arguments* arguments) {
    auto& epilogue = arguments->epilogue;
    // A source tensor gets a descriptor even where beta is 0: D stands in, and is not loaded.
    const bool has_c = problem.c != nullptr;
    epilogue.ptr_C = static_cast<decltype(epilogue.ptr_C)>(has_c ? problem.c : problem.d);
    epilogue.ptr_D = static_cast<decltype(epilogue.ptr_D)>(problem.d);
    set_row_pitch(epilogue.dC, has_c ? problem.ldc : problem.ldd);
    set_row_pitch(epilogue.dD, problem.ldd);
    auto& fusion = epilogue.thread;
    fusion.alpha = problem.factor[0];
    fusion.alpha_ptr = problem.factor_pointer[0];
    fusion.scale_a = problem.factor[1];
    fusion.scale_a_ptr = problem.factor_pointer[1];
    fusion.scale_b = problem.factor[2];
    fusion.scale_b_ptr = problem.factor_pointer[2];
    fusion.beta = problem.beta;
    fusion.bias_ptr = problem.bias;
    fusion.activation.activation = problem.activation;
  }

  // Row-major D: {ld, 1, 0}; swapped (column-major D^T): {1, ld, 0}.
  template <class Stride>
  static void set_row_pitch(Stride& stride, int64_t ld) {
    cute::get<Config::kSwapped ? 1 : 0>(stride) = ld;
  }
};

// Config: cutlass_gemm.hpp, and kFormatA, kFormatB, kFormatD.
template <class Config>
constexpr CutlassInstance cutlass_instance(const char* name) {
  using Launch = CutlassLaunch<Config>;
  using Types = typename Launch::Types;
  using Tile = typename Config::Tile;
  return {name,
          Config::kFormatA,
          Config::kFormatB,
          Config::kFormatD,
          static_cast<int>(cute::size < Config::kSwapped ? 1 : 0 > (Tile{})),
          static_cast<int>(cute::size < Config::kSwapped ? 0 : 1 > (Tile{})),
          static_cast<int>(cute::size<2>(Tile{})),
          Types::kAlignmentK,
          Types::kAlignmentD,
          Types::template kDataAlignment<typename Config::PairA>,
          Types::template kDataAlignment<typename Config::PairB>,
          16,
          Config::kUsesC,
          Launch::Kernel::SharedStorageSize,
          Launch::function,
          Launch::workspace_bytes,
          Launch::launch};
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
