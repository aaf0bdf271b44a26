// SPDX-License-Identifier: Apache-2.0
// A block-scaled GEMM built from CUTLASS collectives, for sm_120f and sm_100f alike. An
// architecture's header (sm120f/block_scaled_gemm.hpp, …) fills in a Config; an instance is one
// line that names a Config.
//
//   D[M,N] = act(alpha' * A[M,K] . B[N,K]^T + bias[N] + beta * C[M,N]),  A, B block-scaled along K,
//   accumulation in fp32
//
// Why the operand types are our own Pair and not CUTLASS's mx_float4_t & Co.: docs/decisions,
// "invalid resource handle".
#pragma once

#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>

#include <cutlass/detail/sm100_blockscaled_layout.hpp>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/epilogue/fusion/operations.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

#include "cuda/common/activation.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Element and scale type of an operand and its block size. The size is an int on purpose: where
// CUTLASS 4.2.0 keeps it as an unsigned constant, GCC and nvcc disagree about the type of the
// kernel and its stub is never registered.
template <class Element, class Scale, int kBlockSize>
struct Pair {
  using DataType = Element;
  using ScaleFactorType = Scale;
};

// Element-wise functor of the epilogue, switched at run time.
template <class T>
struct RuntimeActivation;

template <>
struct RuntimeActivation<float> {
  struct Arguments {
    internal::Activation activation = internal::Activation::kNone;
  };
  __device__ float operator()(float x, const Arguments& arguments) const {
    return activate(x, arguments.activation);
  }
};

template <int kCount>
struct RuntimeActivation<cutlass::Array<float, kCount>> {
  using Arguments = RuntimeActivation<float>::Arguments;
  __device__ cutlass::Array<float, kCount> operator()(const cutlass::Array<float, kCount>& x,
                                                      const Arguments& arguments) const {
    cutlass::Array<float, kCount> result;
    if (is_smooth(arguments.activation)) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        result[i] = activate_smooth(x[i], arguments.activation);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        result[i] = activate_floor(x[i], arguments.activation);
      }
    }
    return result;
  }
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda

namespace cutlass::gemm::collective::detail::blockscaled {

template <class ScheduleTag, class Element, class Scale, int kBlockSize>
struct blockscaled_type<ScheduleTag, mxgemm::cuda::Pair<Element, Scale, kBlockSize>> {
  using sf_type = Scale;
  using data_type = Element;
  static constexpr int SfVectorSize = kBlockSize;
};

}  // namespace cutlass::gemm::collective::detail::blockscaled

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Alignments in elements that TMA asks of rows: 16 bytes, and 64 bytes of packed FP4 in a mixed
// pair.
template <class Element, bool kMixed>
constexpr int kOperandAlignment = cutlass::sizeof_bits<Element>::value == 4 ? (kMixed ? 128 : 32)
                                                                            : 16;

// A kernel whose CTAs end only when their TMA stores have read shared memory, as they must: it may
// belong to another CTA from then on. CUTLASS 4.2.0's epilogue for sm_100 does not wait for the
// last stores of a CTA where no C is loaded.
template <class Base>
struct DrainedKernel : Base {
  CUTLASS_DEVICE void operator()(const typename Base::Params& params, char* shared_memory) {
    Base::operator()(params, shared_memory);
    cute::tma_store_wait<0>();
  }
};

// Types of one instance. Config: Arch, Tile, Cluster, PairA, PairB, Output, kUsesC, kSwapped,
// MainloopSchedule, EpilogueSchedule. A swapped instance computes D^T = B . A^T, so that few rows
// of A fill the short side of the tile.
template <class Config>
struct CutlassTypes {
  using First =
      cute::conditional_t<Config::kSwapped, typename Config::PairB, typename Config::PairA>;
  using Second =
      cute::conditional_t<Config::kSwapped, typename Config::PairA, typename Config::PairB>;
  using Output = typename Config::Output;
  using Source = cute::conditional_t<Config::kUsesC, Output, void>;
  using LayoutD = cute::conditional_t<Config::kSwapped, cutlass::layout::ColumnMajor,
                                      cutlass::layout::RowMajor>;
  static constexpr bool kMixed =
      !cute::is_same_v<typename First::DataType, typename Second::DataType>;
  static constexpr int kAlignmentFirst = kOperandAlignment<typename First::DataType, kMixed>;
  static constexpr int kAlignmentSecond = kOperandAlignment<typename Second::DataType, kMixed>;
  static constexpr int kAlignmentK = cute::max(kAlignmentFirst, kAlignmentSecond);
  // Bytes, of pointers and row pitches. Where TMA unpacks FP4 into the bytes of a mixed pair it
  // wants 32 (CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B).
  template <class Pair>
  static constexpr int kDataAlignment =
      kMixed&& cutlass::sizeof_bits<typename Pair::DataType>::value == 4 ? 32 : 16;
  static constexpr int kAlignmentD = 128 / cutlass::sizeof_bits<Output>::value;

  // The bias is one value per column of D, hence per row of a swapped product. It is read as fp32:
  // one instance serves both of its types (cuda/common/staging.cuh converts). Alignment 1: a
  // caller's bias may start anywhere.
  using Fusion =
      cute::conditional_t<Config::kSwapped,
                          cutlass::epilogue::fusion::ScaledLinCombPerRowBiasEltAct<
                              RuntimeActivation, Output, float, float, Source, float, 1>,
                          cutlass::epilogue::fusion::ScaledLinCombPerColBiasEltAct<
                              RuntimeActivation, Output, float, float, Source, float, 1>>;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      typename Config::Arch, cutlass::arch::OpClassTensorOp, typename Config::Tile,
      typename Config::Cluster, cutlass::epilogue::collective::EpilogueTileAuto, float, float,
      Source, LayoutD, kAlignmentD, Output, LayoutD, kAlignmentD, typename Config::EpilogueSchedule,
      Fusion>::CollectiveOp;

  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      typename Config::Arch, cutlass::arch::OpClassBlockScaledTensorOp, First,
      cutlass::layout::RowMajor, kAlignmentFirst, Second, cutlass::layout::ColumnMajor,
      kAlignmentSecond, float, typename Config::Tile, typename Config::Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
          sizeof(typename Epilogue::SharedStorage))>,
      typename Config::MainloopSchedule>::CollectiveOp;

  using Kernel = DrainedKernel<cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>,
                                                                    Mainloop, Epilogue, void>>;

  static_assert(Kernel::SharedStorageSize <= Config::kSharedMemoryLimit,
                "the kernel needs more shared memory than a CTA of this architecture can have");
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
