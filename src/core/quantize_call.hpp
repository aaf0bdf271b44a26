// SPDX-License-Identifier: Apache-2.0
// The C calls on block-scaled data besides GEMM, checked and handed to the CPU's routines or to a
// GPU library.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

Status apply_preset(int32_t preset, mxgemm_quantize_desc* desc);
Status check_quantize_desc(const mxgemm_quantize_desc* desc);
// desc has been checked and its device exists.
Status quantize_workspace_size(const mxgemm_quantize_desc& desc, uint64_t* bytes);
Status run_quantize(const mxgemm_quantize_desc& desc, const mxgemm_quantize_args* args,
                    void* stream);

// Where a call runs: the device has been checked and is no fake.
struct Target {
  int32_t device_kind;
  int32_t device_index;
  void* stream;
};

struct DequantizeCall {
  Target target;
  int32_t format;
  int64_t rows;
  int64_t cols;
  const mxgemm_operand* src;
  int32_t scale_layout;
  int32_t global_scale_on_device;
  int32_t format_dst;
  void* dst;
  uint64_t dst_bytes;
  int64_t dst_ld;
};
Status run_dequantize(const DequantizeCall& call);

struct SwizzleCall {
  Target target;
  int64_t rows;
  int64_t cols;
  const uint8_t* src;
  uint64_t src_bytes;
  uint8_t* dst;
  uint64_t dst_bytes;
  int64_t ld;  // of the row-major side
};
Status run_swizzle(const SwizzleCall& call);
Status run_unswizzle(const SwizzleCall& call);

struct PackCall {
  int32_t format;
  int64_t n;
  int64_t k;
  const mxgemm_operand* b;
  int32_t scale_layout;
  void* packed;
  uint64_t packed_bytes;
};
// UNSUPPORTED on a GPU, whose kernels read B as it is.
Status check_packing_device(int32_t device_kind);
Status packed_bytes(int32_t format, int64_t n, int64_t k, uint64_t* bytes);
Status run_pack(const PackCall& call);

}  // namespace mxgemm::internal
