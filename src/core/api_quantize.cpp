// SPDX-License-Identifier: Apache-2.0
// The C functions on block-scaled data: quantising, decoding, scale layouts, prepared weights.
#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/device.hpp"
#include "core/guard.hpp"
#include "core/quantize_call.hpp"
#include "mxgemm/mxgemm.h"

using namespace mxgemm::internal;

namespace {

Status check_target(const DeviceNames& names, const Target& target) {
  MXGEMM_TRY(check_device(names, target.device_kind, target.device_index));
  MXGEMM_TRY(check_runnable(names, target.device_kind, target.device_index));
  return check_stream(target.device_kind, target.stream);
}

}  // namespace

mxgemm_status mxgemm_pack_size(int32_t device_kind, int32_t device_index, int32_t format, int64_t n,
                               int64_t k, uint64_t* bytes) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("bytes", bytes));
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    MXGEMM_TRY(check_packing_device(device_kind));
    return packed_bytes(format, n, k, bytes);
  });
}

mxgemm_status mxgemm_pack(int32_t device_kind, int32_t device_index, int32_t format, int64_t n,
                          int64_t k, const mxgemm_operand* b, int32_t scale_layout, void* packed,
                          uint64_t packed_bytes, void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_target(kDeviceArguments, {device_kind, device_index, stream}));
    MXGEMM_TRY(check_packing_device(device_kind));
    return run_pack({format, n, k, b, scale_layout, packed, packed_bytes});
  });
}

mxgemm_status mxgemm_quantize_preset(int32_t preset, mxgemm_quantize_desc* desc) {
  return guard([&] { return apply_preset(preset, desc); });
}

mxgemm_status mxgemm_quantize_workspace_size(const mxgemm_quantize_desc* desc, uint64_t* bytes) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("bytes", bytes));
    MXGEMM_TRY(check_quantize_desc(desc));
    MXGEMM_TRY(check_device(kDescDevice, desc->device_kind, desc->device_index));
    return quantize_workspace_size(*desc, bytes);
  });
}

mxgemm_status mxgemm_quantize(const mxgemm_quantize_desc* desc, const mxgemm_quantize_args* args,
                              void* stream) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_quantize_desc(desc));
    MXGEMM_TRY(check_target(kDescDevice, {desc->device_kind, desc->device_index, stream}));
    return run_quantize(*desc, args, stream);
  });
}

mxgemm_status mxgemm_dequantize(int32_t device_kind, int32_t device_index, int32_t format,
                                int64_t rows, int64_t cols, const mxgemm_operand* src,
                                int32_t scale_layout, int32_t global_scale_on_device,
                                int32_t format_dst, void* dst, uint64_t dst_bytes, int64_t dst_ld,
                                void* stream) {
  return guard([&]() -> Status {
    const Target target = {device_kind, device_index, stream};
    MXGEMM_TRY(check_target(kDeviceArguments, target));
    return run_dequantize({target, format, rows, cols, src, scale_layout, global_scale_on_device,
                           format_dst, dst, dst_bytes, dst_ld});
  });
}

mxgemm_status mxgemm_swizzle_scales(int32_t device_kind, int32_t device_index, int64_t rows,
                                    int64_t cols, const uint8_t* src, uint64_t src_bytes,
                                    int64_t src_ld, uint8_t* dst, uint64_t dst_bytes,
                                    void* stream) {
  return guard([&]() -> Status {
    const Target target = {device_kind, device_index, stream};
    MXGEMM_TRY(check_target(kDeviceArguments, target));
    return run_swizzle({target, rows, cols, src, src_bytes, dst, dst_bytes, src_ld});
  });
}

mxgemm_status mxgemm_unswizzle_scales(int32_t device_kind, int32_t device_index, int64_t rows,
                                      int64_t cols, const uint8_t* src, uint64_t src_bytes,
                                      uint8_t* dst, uint64_t dst_bytes, int64_t dst_ld,
                                      void* stream) {
  return guard([&]() -> Status {
    const Target target = {device_kind, device_index, stream};
    MXGEMM_TRY(check_target(kDeviceArguments, target));
    return run_unswizzle({target, rows, cols, src, src_bytes, dst, dst_bytes, dst_ld});
  });
}
