// SPDX-License-Identifier: Apache-2.0
// The C functions about the library, its devices and its kernels, and the sizes of buffers.
#include "base/log.hpp"
#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/device.hpp"
#include "core/enums.hpp"
#include "core/environment.hpp"
#include "core/gpu_libraries.hpp"
#include "core/guard.hpp"
#include "core/operand.hpp"
#include "core/plan.hpp"
#include "core/registry.hpp"
#include "core/text.hpp"
#include "cpu/cpu_backend.hpp"
#include "mxgemm/mxgemm.h"
#include "quantize/quantize.hpp"

using namespace mxgemm::internal;
namespace cpu = mxgemm::cpu;

// The internal enums repeat values of the C header, which the layers below do not include.
static_assert(static_cast<int>(StatusCode::kInternal) == MXGEMM_INTERNAL);
static_assert(static_cast<int>(StatusCode::kInvalidArgument) == MXGEMM_INVALID_ARGUMENT);
static_assert(static_cast<int>(StatusCode::kUnsupported) == MXGEMM_UNSUPPORTED);
static_assert(static_cast<int>(StatusCode::kDeviceUnavailable) == MXGEMM_DEVICE_UNAVAILABLE);
static_assert(static_cast<int>(StatusCode::kOutOfMemory) == MXGEMM_OUT_OF_MEMORY);
static_assert(static_cast<int>(StatusCode::kWorkspaceTooSmall) == MXGEMM_WORKSPACE_TOO_SMALL);
static_assert(static_cast<int>(StatusCode::kCudaError) == MXGEMM_CUDA_ERROR);
static_assert(static_cast<int>(StatusCode::kPluginError) == MXGEMM_PLUGIN_ERROR);
static_assert(static_cast<int>(StatusCode::kIoError) == MXGEMM_IO_ERROR);
static_assert(static_cast<int>(Format::kNone) == MXGEMM_FORMAT_NONE);
static_assert(static_cast<int>(Format::kMxf4) == MXGEMM_MXF4);
static_assert(static_cast<int>(Format::kNvf4) == MXGEMM_NVF4);
static_assert(static_cast<int>(Format::kMxf8E4m3) == MXGEMM_MXF8E4M3);
static_assert(static_cast<int>(Format::kMxf8E5m2) == MXGEMM_MXF8E5M2);
static_assert(static_cast<int>(Format::kBf16) == MXGEMM_BF16);
static_assert(static_cast<int>(Format::kF16) == MXGEMM_F16);
static_assert(static_cast<int>(Format::kF32) == MXGEMM_F32);
static_assert(static_cast<int>(ScaleLayout::kSwizzle32x4x4) == MXGEMM_SCALE_SWIZZLE_32_4_4);
static_assert(static_cast<int>(ScaleRule::kMse) == MXGEMM_SCALE_RULE_MSE);
static_assert(static_cast<int>(GlobalScaleMode::kGiven) == MXGEMM_GLOBAL_SCALE_GIVEN);
static_assert(static_cast<int>(LogLevel::kDebug) == 3);
static_assert(cpu::kNumIsaLevels == MXGEMM_ISA_AMX + 1);

const char* mxgemm_version(void) {
  return MXGEMM_VERSION_STRING;
}

uint32_t mxgemm_abi_version(void) {
  return MXGEMM_ABI_VERSION;
}

const char* mxgemm_status_string(mxgemm_status status) {
  switch (status) {
    case MXGEMM_OK:
      return "OK";
    case MXGEMM_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case MXGEMM_UNSUPPORTED:
      return "UNSUPPORTED";
    case MXGEMM_DEVICE_UNAVAILABLE:
      return "DEVICE_UNAVAILABLE";
    case MXGEMM_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case MXGEMM_WORKSPACE_TOO_SMALL:
      return "WORKSPACE_TOO_SMALL";
    case MXGEMM_CUDA_ERROR:
      return "CUDA_ERROR";
    case MXGEMM_PLUGIN_ERROR:
      return "PLUGIN_ERROR";
    case MXGEMM_IO_ERROR:
      return "IO_ERROR";
    case MXGEMM_INTERNAL:
      return "INTERNAL";
  }
  return "UNKNOWN_STATUS";
}

const char* mxgemm_last_error(void) {
  return last_error();
}

mxgemm_status mxgemm_set_log_callback(mxgemm_log_fn callback, void* context) {
  return guard([&]() -> Status {
    set_log_function(callback, context);
    return {};
  });
}

mxgemm_status mxgemm_device_count(int32_t device_kind, int32_t* count) {
  return guard([&] { return device_count(device_kind, count); });
}

mxgemm_status mxgemm_device_info_get(int32_t device_kind, int32_t device_index,
                                     mxgemm_device_info* info) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("info", info));
    MXGEMM_TRY(check_struct_size("info.struct_size", info->struct_size, sizeof(*info),
                                 "mxgemm_device_info"));
    MXGEMM_TRY(check_device(kDeviceArguments, device_kind, device_index));
    return device_info(device_kind, device_index, info);
  });
}

mxgemm_status mxgemm_kernel_count(int32_t* count) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("count", count));
    IsaLimit limit;
    MXGEMM_TRY(isa_limit(&limit));
    std::vector<const RegisteredKernel*> kernels;
    MXGEMM_TRY(Registry::instance().all(&kernels));
    *count = static_cast<int32_t>(kernels.size());
    return {};
  });
}

mxgemm_status mxgemm_kernel_info_get(int32_t index, mxgemm_kernel_info* info) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("info", info));
    MXGEMM_TRY(check_struct_size("info.struct_size", info->struct_size, sizeof(*info),
                                 "mxgemm_kernel_info"));
    const RegisteredKernel* entry = nullptr;
    MXGEMM_TRY(Registry::instance().at(index, &entry));
    IsaLimit limit;
    MXGEMM_TRY(isa_limit(&limit));
    std::string reason;
    MXGEMM_TRY(unavailable_reason(*entry, limit, &reason));
    info->device_kind = entry->device_kind;
    info->formats_a = entry->kernel->formats_a;
    info->formats_b = entry->kernel->formats_b;
    info->formats_d = entry->kernel->formats_d;
    info->isa = entry->kernel->isa;
    info->available = reason.empty() ? 1 : 0;
    info->tile_m = entry->kernel->tile_m;
    info->tile_n = entry->kernel->tile_n;
    info->tile_k = entry->kernel->tile_k;
    info->allowances = entry->kernel->allowances;
    fill_text(entry->id, info->id, sizeof(info->id));
    fill_text(reason, info->reason, sizeof(info->reason));
    return {};
  });
}

mxgemm_status mxgemm_library_count(int32_t* count) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("count", count));
    std::vector<mxgemm_library_info> libraries;
    MXGEMM_TRY(gpu_libraries(&libraries));
    *count = static_cast<int32_t>(libraries.size());
    return {};
  });
}

mxgemm_status mxgemm_library_info_get(int32_t index, mxgemm_library_info* info) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("info", info));
    MXGEMM_TRY(check_struct_size("info.struct_size", info->struct_size, sizeof(*info),
                                 "mxgemm_library_info"));
    std::vector<mxgemm_library_info> libraries;
    MXGEMM_TRY(gpu_libraries(&libraries));
    MXGEMM_REQUIRE(index >= 0 && static_cast<size_t>(index) < libraries.size(),
                   "index is %d; it must be at least 0 and below mxgemm_library_count, %zu", index,
                   libraries.size());
    *info = libraries[static_cast<size_t>(index)];
    return {};
  });
}

mxgemm_status mxgemm_qdata_size(int32_t format, int64_t rows, int64_t cols, uint64_t* bytes) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("bytes", bytes));
    MXGEMM_TRY(check_format("format", format, kBlockScaledFormats | kPlainFormats));
    MXGEMM_TRY(check_not_negative("rows", rows));
    MXGEMM_TRY(check_not_negative("cols", cols));
    return qdata_bytes(*find_format(static_cast<Format>(format)), "rows", rows, "cols", cols,
                       bytes);
  });
}

mxgemm_status mxgemm_scale_size(int32_t format, int32_t scale_layout, int64_t rows, int64_t cols,
                                uint64_t* bytes) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("bytes", bytes));
    MXGEMM_TRY(check_format("format", format, kBlockScaledFormats | kPlainFormats));
    MXGEMM_TRY(check_scale_layout("scale_layout", scale_layout));
    MXGEMM_TRY(check_not_negative("rows", rows));
    MXGEMM_TRY(check_not_negative("cols", cols));
    return scale_bytes(*find_format(static_cast<Format>(format)), scale_layout, "rows", rows,
                       "cols", cols, bytes);
  });
}

mxgemm_status mxgemm_set_num_threads(int32_t num_threads) {
  return guard([&] { return cpu::set_num_threads(num_threads); });
}

mxgemm_status mxgemm_get_num_threads(int32_t* num_threads) {
  return guard([&]() -> Status {
    MXGEMM_TRY(check_not_null("num_threads", num_threads));
    MXGEMM_TRY(check_threads());
    *num_threads = cpu::num_threads();
    return {};
  });
}

mxgemm_status mxgemm_set_parallel_for(mxgemm_parallel_for_fn parallel_for, void* context) {
  return guard([&]() -> Status {
    cpu::set_parallel_for(parallel_for, context);
    return {};
  });
}

mxgemm_status mxgemm_set_max_isa(int32_t isa) {
  return guard([&] { return set_max_isa(isa); });
}
