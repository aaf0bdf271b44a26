// SPDX-License-Identifier: Apache-2.0
// Block-scaled GEMM instances of sm_120f (RTX 5090, RTX PRO 6000: 12.0; GB10: 12.1): warp-level
// block-scaled mma, TMA, 128 x 128 x 128 tiles, no clusters. Larger tiles measured slower
// elsewhere, smaller ones CUTLASS 4.2.0 refuses.
#pragma once

#include "cuda/host/cutlass_launch.hpp"
#include "cuda/host/operand_types.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Cooperative: both MMA warp groups share an output tile. Ping-pong: each has its own, so that
// one's epilogue hides behind the other's mainloop; it has registers to spare only without C.
enum class Schedule { kCooperative, kPingpong };

template <class A, class B, class D, Schedule kSchedule, bool kWithC>
struct BlockScaledGemm {
  static constexpr internal::Format kFormatA = A::kFormat;
  static constexpr internal::Format kFormatB = B::kFormat;
  static constexpr internal::Format kFormatD = D::kFormat;
  using Arch = cutlass::arch::Sm120;
  using Tile = cute::Shape<cute::_128, cute::_128, cute::_128>;
  using Cluster = cute::Shape<cute::_1, cute::_1, cute::_1>;
  using PairA = typename A::Operand;
  using PairB = typename B::Operand;
  using Output = typename D::Element;
  static constexpr bool kUsesC = kWithC;
  static constexpr bool kSwapped = false;
  static constexpr bool kMixed =
      !cute::is_same_v<typename PairA::DataType, typename PairB::DataType>;
  static constexpr bool kIsPingpong = kSchedule == Schedule::kPingpong;
  using MainloopSchedule = cute::conditional_t<
      kMixed,
      cute::conditional_t<kIsPingpong, cutlass::gemm::KernelTmaWarpSpecializedPingpongMxf8f6f4Sm120,
                          cutlass::gemm::KernelTmaWarpSpecializedMxf8f6f4Sm120>,
      cute::conditional_t<kIsPingpong, cutlass::gemm::KernelTmaWarpSpecializedPingpong,
                          cutlass::gemm::KernelTmaWarpSpecializedCooperative>>;
  using EpilogueSchedule = cute::conditional_t<kIsPingpong, cutlass::epilogue::TmaWarpSpecialized,
                                               cutlass::epilogue::TmaWarpSpecializedCooperative>;
  static constexpr int kSharedMemoryLimit = 101376;  // bytes a CTA can have on 12.x
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
