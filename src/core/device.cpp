// SPDX-License-Identifier: Apache-2.0
#include "core/device.hpp"

#include <unistd.h>

#include <cinttypes>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/math.hpp"
#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/enums.hpp"
#include "core/environment.hpp"
#include "core/text.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {
namespace {

// What mxgemm_device_alloc promises; the alignment of a workspace, so that one serves as the other.
constexpr uint64_t kAllocationAlignment = 256;

// "model name" of the first CPU; the kernel of other machines than x86 has no such line.
std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "CPU";
}

uint64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_size = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_size > 0
             ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_size)
             : 0;
}

}  // namespace

Status device_count(int32_t device_kind, int32_t* count) {
  MXGEMM_TRY(check_not_null("count", count));
  MXGEMM_TRY(check_device_kind("device_kind", device_kind));
  *count = device_kind == MXGEMM_DEVICE_CPU ? 1 : 0;
  return {};
}

Status check_device(const DeviceNames& names, int32_t device_kind, int32_t device_index) {
  MXGEMM_TRY(check_device_kind(names.kind, device_kind));
  MXGEMM_REQUIRE(device_index >= 0, "%s is %" PRId32 "; it must be at least 0", names.index,
                 device_index);
  if (device_kind == MXGEMM_DEVICE_CUDA) {
    return {
        StatusCode::kDeviceUnavailable,
        format_text("%s is %" PRId32 " (cuda), %s is %" PRId32 ": this build has no CUDA backend",
                    names.kind, device_kind, names.index, device_index)};
  }
  if (device_index != 0) {
    return {StatusCode::kDeviceUnavailable,
            format_text("%s is %" PRId32 "; the only CPU device is 0", names.index, device_index)};
  }
  return {};
}

Status check_stream(int32_t device_kind, const void* stream) {
  MXGEMM_REQUIRE(
      device_kind != MXGEMM_DEVICE_CPU || stream == nullptr,
      "stream is %p; it must be NULL on the CPU, where every call completes before it returns",
      stream);
  return {};
}

Status device_info(int32_t device_kind, int32_t device_index, mxgemm_device_info* info) {
  IsaLimit limit;
  MXGEMM_TRY(isa_limit(&limit));
  MXGEMM_TRY(check_threads());
  info->device_kind = device_kind;
  info->device_index = device_index;
  info->capability_major = 0;
  info->capability_minor = 0;
  info->isa = limit.isa;
  info->isa_offered = cpu::isa_offered();
  info->num_threads = cpu::num_threads();
  info->memory_bytes = memory_bytes();
  fill_text(cpu_name(), info->name, sizeof(info->name));
  fill_text(cpu::isa_name(limit.isa), info->arch, sizeof(info->arch));
  return {};
}

Status device_alloc(uint64_t bytes, void** pointer) {
  *pointer = nullptr;
  if (bytes == 0) {
    return {};
  }
  if (bytes <= SIZE_MAX - kAllocationAlignment) {
    *pointer = std::aligned_alloc(kAllocationAlignment, round_up(bytes, kAllocationAlignment));
  }
  if (*pointer == nullptr) {
    return {StatusCode::kOutOfMemory,
            format_text("bytes is %" PRIu64 "; the host has no such memory", bytes)};
  }
  return {};
}

void device_free(void* pointer) {
  std::free(pointer);
}

}  // namespace mxgemm::internal
