// SPDX-License-Identifier: Apache-2.0
// The block-scaled formats in CUTLASS's types.
#pragma once

#include "cuda/host/cutlass_gemm.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct Mxf4 {
  using Operand = Pair<cutlass::float_e2m1_t, cutlass::float_ue8m0_t, 32>;
  static constexpr int32_t kFormat = MXGEMM_MXF4;
};

struct Nvf4 {
  using Operand = Pair<cutlass::float_e2m1_t, cutlass::float_ue4m3_t, 16>;
  static constexpr int32_t kFormat = MXGEMM_NVF4;
};

struct Mxf8E4m3 {
  using Operand = Pair<cutlass::float_e4m3_t, cutlass::float_ue8m0_t, 32>;
  static constexpr int32_t kFormat = MXGEMM_MXF8E4M3;
};

struct Bf16 {
  using Element = cutlass::bfloat16_t;
  static constexpr int32_t kFormat = MXGEMM_BF16;
};

struct F32 {
  using Element = float;
  static constexpr int32_t kFormat = MXGEMM_F32;
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
