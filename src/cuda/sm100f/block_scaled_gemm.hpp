// SPDX-License-Identifier: Apache-2.0
// Block-scaled GEMM instances of sm_100f (B200: 10.0; B300: 10.3): tcgen05 with scales in tensor
// memory, TMA. One CTA per tile (1-SM, 128 rows) or a pair of CTAs that share B (2-SM, 256 rows,
// cluster 2 x 1).
#pragma once

#include "cuda/host/cutlass_launch.hpp"
#include "cuda/host/operand_types.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

enum class Shape {
  k1Sm128x128,
  k2Sm256x128,
  kSwapped128x64,  // 128 columns of D by 64 rows: for few rows
};

// K of a tile: 128 bytes of a row, which is what one TMA swizzle atom holds.
template <class A, class B>
using TileK =
    cute::conditional_t<cutlass::sizeof_bits<typename A::Operand::DataType>::value == 4 &&
                            cutlass::sizeof_bits<typename B::Operand::DataType>::value == 4,
                        cute::_256, cute::_128>;

template <class A, class B, class D, Shape kShape>
struct BlockScaledGemm {
  static constexpr internal::Format kFormatA = A::kFormat;
  static constexpr internal::Format kFormatB = B::kFormat;
  static constexpr internal::Format kFormatD = D::kFormat;
  using Arch = cutlass::arch::Sm100;
  static constexpr bool kIs2Sm = kShape == Shape::k2Sm256x128;
  static constexpr bool kSwapped = kShape == Shape::kSwapped128x64;
  using Tile = cute::Shape<cute::conditional_t<kIs2Sm, cute::_256, cute::_128>,
                           cute::conditional_t<kSwapped, cute::_64, cute::_128>, TileK<A, B>>;
  using Cluster = cute::Shape<cute::conditional_t<kIs2Sm, cute::_2, cute::_1>, cute::_1, cute::_1>;
  using PairA = typename A::Operand;
  using PairB = typename B::Operand;
  using Output = typename D::Element;
  static constexpr bool kUsesC = true;
  static constexpr bool kMixed =
      !cute::is_same_v<typename PairA::DataType, typename PairB::DataType>;
  using MainloopSchedule = cute::conditional_t<
      kMixed,
      cute::conditional_t<kIs2Sm, cutlass::gemm::KernelTmaWarpSpecialized2SmMxf8f6f4Sm100,
                          cutlass::gemm::KernelTmaWarpSpecialized1SmMxf8f6f4Sm100>,
      cute::conditional_t<kIs2Sm, cutlass::gemm::KernelTmaWarpSpecialized2SmBlockScaledSm100,
                          cutlass::gemm::KernelTmaWarpSpecialized1SmBlockScaledSm100>>;
  using EpilogueSchedule = cute::conditional_t<kIs2Sm, cutlass::epilogue::TmaWarpSpecialized2Sm,
                                               cutlass::epilogue::TmaWarpSpecialized1Sm>;
  static constexpr int kSharedMemoryLimit = 232448;  // bytes a CTA can have on 10.x
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
