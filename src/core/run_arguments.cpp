// SPDX-License-Identifier: Apache-2.0
#include "core/run_arguments.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/require.hpp"
#include "core/backend_call.hpp"
#include "core/cuda_state.hpp"
#include "core/device.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::internal {
namespace {

// More than any call has pointers.
constexpr size_t kMaxPointers = 16;

uint64_t pitch_bytes(int32_t format, int64_t ld) {
  const int bits = find_format(static_cast<Format>(format))->element_bits;
  // Checked before: a matrix of that pitch fits 2^63 - 1 bytes, or has a single row.
  return static_cast<uint64_t>(ld) / 8 * static_cast<uint64_t>(bits) +
         static_cast<uint64_t>(ld) % 8 * static_cast<uint64_t>(bits) / 8;
}

}  // namespace

// Kernels that want aligned data (CUTLASS) copy scales that are swizzled by tensor maps as well.
constexpr int32_t kSwizzledScaleAlignment = 16;

Misaligned find_misaligned(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                           const mxgemm_data_alignment& alignment) {
  struct Matrix {
    const char* data;
    const char* ld;
    const void* pointer;
    uint64_t pitch;
    int32_t alignment;
  };
  const bool has_demands = std::max({alignment.a, alignment.b, alignment.d}) > 1;
  const auto scales = [has_demands](int32_t layout) {
    return has_demands && layout == MXGEMM_SCALE_SWIZZLE_32_4_4 ? kSwizzledScaleAlignment : 1;
  };
  const Matrix matrices[] = {
      {"args.a.data", "args.a.ld", args.a.data, pitch_bytes(desc.format_a, args.a.ld), alignment.a},
      {"args.b.data", "args.b.ld", args.b.data, pitch_bytes(desc.format_b, args.b.ld), alignment.b},
      {"args.c", "args.ldc", args.c, pitch_bytes(desc.format_d, args.ldc), alignment.d},
      {"args.d", "args.ldd", args.d, pitch_bytes(desc.format_d, args.ldd), alignment.d},
      {"args.a.scale", "", args.a.scale, 0, scales(desc.scale_layout_a)},
      {"args.b.scale", "", args.b.scale, 0, scales(desc.scale_layout_b)},
  };
  for (const Matrix& matrix : matrices) {
    const auto step = static_cast<uint64_t>(std::max(matrix.alignment, 1));
    const uint64_t address = reinterpret_cast<uintptr_t>(matrix.pointer);
    if (address % step != 0) {
      return {matrix.data, false, address, matrix.alignment};
    }
    if (matrix.pitch % step != 0) {
      return {matrix.ld, true, matrix.pitch, matrix.alignment};
    }
  }
  return {};
}

Status check_fallback(const Plan& plan, const Misaligned& found) {
  if (plan.fallback != nullptr) {
    return {};
  }
  const std::string what =
      found.is_pitch
          ? format_text("%s makes rows of %" PRIu64 " bytes", found.argument, found.value)
          : format_text("%s is 0x%" PRIx64, found.argument, found.value);
  return {
      StatusCode::kUnsupported,
      format_text("%s; %s needs multiples of %d bytes, and there is no other kernel: %s",
                  what.c_str(), plan.entry->id.c_str(), found.alignment, plan.no_fallback.c_str())};
}

Status check_memory(const char* device_argument, int32_t device_index,
                    std::span<const NamedPointer> pointers) {
  const CudaState* cuda = nullptr;
  MXGEMM_TRY(cuda_state(&cuda));
  mxgemm_cuda_pointer queries[kMaxPointers];
  const char* arguments[kMaxPointers];
  int32_t count = 0;
  for (const NamedPointer& pointer : pointers) {
    if (pointer.pointer != nullptr && count < static_cast<int32_t>(kMaxPointers)) {
      queries[count] = {pointer.pointer, 0, 0};
      arguments[count++] = pointer.argument;
    }
  }
  // What went wrong in the caller's own use of CUDA is not to be blamed on this call.
  cuda->runtime->clear_error();
  MXGEMM_TRY(call_backend(cuda->runtime->query_pointers, device_index, &queries[0], count));
  const bool reaches_host =
      cuda->devices[static_cast<size_t>(device_index)].pageable_memory_access != 0;
  for (int32_t index = 0; index < count; ++index) {
    const mxgemm_cuda_pointer& query = queries[index];
    MXGEMM_REQUIRE(query.memory != MXGEMM_CUDA_MEMORY_DEVICE || query.device == device_index,
                   "%s is %p, in the memory of cuda:%" PRId32
                   "; it must be in that of cuda:%" PRId32 ", which %s says",
                   arguments[index], query.pointer, query.device, device_index, device_argument);
    MXGEMM_REQUIRE(query.memory != MXGEMM_CUDA_MEMORY_PAGEABLE || reaches_host,
                   "%s is %p, in host memory; it must be in memory that cuda:%" PRId32
                   " reaches: its own, managed or pinned",
                   arguments[index], query.pointer, device_index);
  }
  return {};
}

Status check_argument_memory(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args) {
  if (desc.device_kind == MXGEMM_DEVICE_CPU) {
    return {};
  }
  // Without elements a pointer points at nothing.
  const bool has_elements = desc.k > 0;
  const NamedPointer pointers[] = {{"args.a.data", has_elements ? args.a.data : nullptr},
                                   {"args.a.scale", has_elements ? args.a.scale : nullptr},
                                   {"args.a.global_scale_ptr", args.a.global_scale_ptr},
                                   {"args.b.data", has_elements ? args.b.data : nullptr},
                                   {"args.b.scale", has_elements ? args.b.scale : nullptr},
                                   {"args.b.global_scale_ptr", args.b.global_scale_ptr},
                                   {"args.alpha_ptr", args.alpha_ptr},
                                   {"args.c", args.c},
                                   {"args.d", args.d},
                                   {"args.bias", args.bias},
                                   {"args.workspace", args.workspace}};
  return check_memory(kDescDevice.index, desc.device_index, pointers);
}

}  // namespace mxgemm::internal
