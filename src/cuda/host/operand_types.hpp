// SPDX-License-Identifier: Apache-2.0
// The block-scaled formats in CUTLASS's types.
#pragma once

#include "cuda/host/cutlass_gemm.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct Mxf4 {
  using Operand = Pair<cutlass::float_e2m1_t, cutlass::float_ue8m0_t, 32>;
  static constexpr internal::Format kFormat = internal::Format::kMxf4;
};

struct Nvf4 {
  using Operand = Pair<cutlass::float_e2m1_t, cutlass::float_ue4m3_t, 16>;
  static constexpr internal::Format kFormat = internal::Format::kNvf4;
};

struct Mxf8E4m3 {
  using Operand = Pair<cutlass::float_e4m3_t, cutlass::float_ue8m0_t, 32>;
  static constexpr internal::Format kFormat = internal::Format::kMxf8E4m3;
};

struct Bf16 {
  using Element = cutlass::bfloat16_t;
  static constexpr internal::Format kFormat = internal::Format::kBf16;
};

struct F32 {
  using Element = float;
  static constexpr internal::Format kFormat = internal::Format::kF32;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
