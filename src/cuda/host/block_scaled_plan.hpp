// SPDX-License-Identifier: Apache-2.0
// What a kernel that reads swizzled, finitely padded scales and an fp32 bias needs around its
// launch: which inputs must be staged, where they go in the workspace, and the scalars of the
// epilogue. No CUTLASS here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/common/staging.cuh"
#include "cuda/host/alpha_factors.hpp"
#include "cuda/host/cuda_status.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

// Workspace parts start at multiples of this: TMA reads scales, which wants 16; 256 is what
// cudaMalloc itself gives.
constexpr uint64_t kWorkspaceAlignment = 256;

inline uint64_t align_workspace(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

// Offsets in the workspace; a size of 0 = that input is read where the caller has it.
struct WorkspaceLayout {
  uint64_t scale_a_bytes = 0;
  uint64_t scale_b_bytes = 0;
  uint64_t bias_bytes = 0;
  uint64_t kernel_bytes = 0;

  uint64_t scale_b_offset() const { return scale_a_bytes; }
  uint64_t bias_offset() const { return scale_b_offset() + scale_b_bytes; }
  uint64_t kernel_offset() const { return bias_offset() + bias_bytes; }
  uint64_t total() const { return kernel_offset() + kernel_bytes; }
};

inline int64_t scale_cols(int32_t format, int64_t k) {
  return k / internal::find_format(static_cast<internal::Format>(format))->block_size;
}

// Swizzled scales can be read as they are where no column group mixes real and padding bytes, or
// where the caller promises that the padding is zero.
inline bool needs_staging(int32_t layout, int64_t cols, bool padding_is_zero) {
  return layout == MXGEMM_SCALE_ROW_MAJOR ||
         (cols % internal::kScaleTileCols != 0 && !padding_is_zero);
}

inline WorkspaceLayout workspace_layout(const mxgemm_gemm_desc& desc, uint64_t kernel_bytes) {
  WorkspaceLayout layout;
  const int64_t cols_a = scale_cols(desc.format_a, desc.k);
  const int64_t cols_b = scale_cols(desc.format_b, desc.k);
  if (needs_staging(desc.scale_layout_a, cols_a, (desc.flags & MXGEMM_SCALE_PADDING_ZERO_A) != 0)) {
    layout.scale_a_bytes = align_workspace(internal::swizzled_scale_bytes(desc.m, cols_a));
  }
  if (needs_staging(desc.scale_layout_b, cols_b, (desc.flags & MXGEMM_SCALE_PADDING_ZERO_B) != 0)) {
    layout.scale_b_bytes = align_workspace(internal::swizzled_scale_bytes(desc.n, cols_b));
  }
  if (desc.format_bias != MXGEMM_FORMAT_NONE && desc.format_bias != MXGEMM_F32) {
    layout.bias_bytes = align_workspace(static_cast<uint64_t>(desc.n) * sizeof(float));
  }
  layout.kernel_bytes = align_workspace(kernel_bytes);
  return layout;
}

// The inputs as the kernel will find them.
struct StagedInputs {
  const uint8_t* scale_a;
  const uint8_t* scale_b;
  const float* bias;
  void* kernel_workspace;
};

inline ScaleStaging scale_staging(const mxgemm_operand& operand, int32_t layout, int64_t rows,
                                  int64_t cols, uint8_t* staged) {
  const int64_t ld = operand.scale_ld;
  return {{operand.scale, static_cast<internal::ScaleLayout>(layout), ld, cols}, rows, staged};
}

// Launches the staging where any is needed.
inline int32_t stage(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                     const WorkspaceLayout& layout, cudaStream_t stream, mxgemm_message error,
                     StagedInputs* inputs) {
  auto* workspace = static_cast<uint8_t*>(args.workspace);
  const int64_t cols_a = scale_cols(desc.format_a, desc.k);
  const int64_t cols_b = scale_cols(desc.format_b, desc.k);
  uint8_t* staged_a = layout.scale_a_bytes != 0 ? workspace : nullptr;
  uint8_t* staged_b = layout.scale_b_bytes != 0 ? workspace + layout.scale_b_offset() : nullptr;
  auto* staged_bias =
      layout.bias_bytes != 0 ? reinterpret_cast<float*>(workspace + layout.bias_offset()) : nullptr;
  inputs->scale_a = staged_a != nullptr ? staged_a : args.a.scale;
  inputs->scale_b = staged_b != nullptr ? staged_b : args.b.scale;
  inputs->bias = staged_bias != nullptr ? staged_bias : static_cast<const float*>(args.bias);
  inputs->kernel_workspace = workspace + layout.kernel_offset();

  const Staging staging = {
      scale_staging(args.a, desc.scale_layout_a, desc.m, cols_a, staged_a),
      scale_staging(args.b, desc.scale_layout_b, desc.n, cols_b, staged_b),
      {args.bias, static_cast<internal::Format>(desc.format_bias), desc.n, staged_bias}};
  const int64_t items = std::max({scale_groups(staging.a), scale_groups(staging.b),
                                  staged_bias != nullptr ? desc.n : int64_t{0}});
  if (items == 0) {
    return MXGEMM_OK;
  }
  // A grid-stride loop: 4096 CTAs fill every GPU there is, more would only queue.
  const auto grid = static_cast<unsigned>(
      std::min<int64_t>((items + kStagingThreads - 1) / kStagingThreads, 4096));
  stage_inputs<<<grid, kStagingThreads, 0, stream>>>(staging);
  return check(cudaGetLastError(), "the launch of stage_inputs", error);
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
