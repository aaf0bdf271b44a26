// SPDX-License-Identifier: Apache-2.0
#include "core/device.hpp"

#include <unistd.h>

#include <cinttypes>
#include <fstream>
#include <string>

#include "base/require.hpp"
#include "core/arch_name.hpp"
#include "core/buffers.hpp"
#include "core/cuda_state.hpp"
#include "core/enums.hpp"
#include "core/environment.hpp"
#include "core/registry.hpp"
#include "core/text.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {
namespace {

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

Status cpu_info(mxgemm_device_info* info) {
  IsaLimit limit;
  MXGEMM_TRY(isa_limit(&limit));
  MXGEMM_TRY(check_threads());
  info->capability_major = 0;
  info->capability_minor = 0;
  info->isa = limit.isa;
  info->isa_offered = cpu::isa_offered();
  info->num_threads = cpu::num_threads();
  info->memory_bytes = memory_bytes();
  info->l2_bytes = 0;
  fill_text(cpu_name(), info->name, sizeof(info->name));
  fill_text(cpu::isa_name(limit.isa), info->arch, sizeof(info->arch));
  return {};
}

Status cuda_device(int32_t device_index, const mxgemm_cuda_device** device) {
  const CudaState* cuda = nullptr;
  MXGEMM_TRY(cuda_state(&cuda));
  *device = &cuda->devices[static_cast<size_t>(device_index)];
  return {};
}

Status cuda_info(int32_t device_index, mxgemm_device_info* info) {
  const mxgemm_cuda_device* device = nullptr;
  MXGEMM_TRY(cuda_device(device_index, &device));
  KernelGroups groups;
  MXGEMM_TRY(Registry::instance().groups(MXGEMM_DEVICE_CUDA, device->capability, &groups));
  info->capability_major = device->capability / 10;
  info->capability_minor = device->capability % 10;
  info->isa = 0;
  info->isa_offered = 0;
  info->num_threads = device->multiprocessors;
  info->memory_bytes = device->memory_bytes;
  info->l2_bytes = device->l2_bytes;
  fill_text(device->name, info->name, sizeof(info->name));
  const bool is_served = !groups.groups.empty() && !groups.groups.front().empty();
  fill_text(is_served ? groups.groups.front().front().kernel->arch : "", info->arch,
            sizeof(info->arch));
  return {};
}

Status check_cuda_device(const DeviceNames& names, int32_t device_index) {
  const CudaState* cuda = nullptr;
  MXGEMM_TRY(cuda_state(&cuda));
  const auto count = static_cast<int32_t>(cuda->devices.size());
  if (count == 0) {
    return {StatusCode::kDeviceUnavailable,
            format_text("%s is 1 (cuda), %s is %" PRId32 "; there is no CUDA device: %s",
                        names.kind, names.index, device_index, cuda->absence.c_str())};
  }
  if (device_index >= count) {
    return {
        StatusCode::kDeviceUnavailable,
        format_text("%s is 1 (cuda), %s is %" PRId32 "; the CUDA devices here are 0 to %" PRId32,
                    names.kind, names.index, device_index, count - 1)};
  }
  return {};
}

}  // namespace

Status device_count(int32_t device_kind, int32_t* count) {
  MXGEMM_TRY(check_not_null("count", count));
  MXGEMM_TRY(check_device_kind("device_kind", device_kind));
  if (device_kind == MXGEMM_DEVICE_CPU) {
    *count = 1;
    return {};
  }
  const CudaState* cuda = nullptr;
  MXGEMM_TRY(cuda_state(&cuda));
  *count = static_cast<int32_t>(cuda->devices.size());
  return {};
}

Status check_device(const DeviceNames& names, int32_t device_kind, int32_t device_index) {
  MXGEMM_TRY(check_device_kind(names.kind, device_kind));
  MXGEMM_REQUIRE(device_index >= 0, "%s is %" PRId32 "; it must be at least 0", names.index,
                 device_index);
  if (device_kind == MXGEMM_DEVICE_CUDA) {
    return check_cuda_device(names, device_index);
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

Status is_fake_device(int32_t device_kind, bool* is_fake) {
  *is_fake = false;
  if (device_kind == MXGEMM_DEVICE_CUDA) {
    const CudaState* cuda = nullptr;
    MXGEMM_TRY(cuda_state(&cuda));
    *is_fake = cuda->fake;
  }
  return {};
}

Status check_runnable(const DeviceNames& names, int32_t device_kind, int32_t device_index) {
  bool is_fake = false;
  MXGEMM_TRY(is_fake_device(device_kind, &is_fake));
  if (is_fake) {
    return {StatusCode::kDeviceUnavailable,
            format_text("%s is %" PRId32
                        ", a fake device of MXGEMM_FAKE_DEVICES, on which nothing runs",
                        names.index, device_index)};
  }
  return {};
}

Status device_info(int32_t device_kind, int32_t device_index, mxgemm_device_info* info) {
  info->device_kind = device_kind;
  info->device_index = device_index;
  return device_kind == MXGEMM_DEVICE_CPU ? cpu_info(info) : cuda_info(device_index, info);
}

Status device_capability(int32_t device_kind, int32_t device_index, int32_t* capability) {
  *capability = 0;
  if (device_kind == MXGEMM_DEVICE_CUDA) {
    const mxgemm_cuda_device* device = nullptr;
    MXGEMM_TRY(cuda_device(device_index, &device));
    *capability = device->capability;
  }
  return {};
}

std::string describe_device(const mxgemm_gemm_desc& desc, int32_t capability) {
  return desc.device_kind == MXGEMM_DEVICE_CPU
             ? ""
             : format_text(" on cuda:%" PRId32 " (compute capability %s)", desc.device_index,
                           capability_text(capability).c_str());
}

void forget_device_error(int32_t device_kind, StatusCode code) {
  const CudaState* cuda = nullptr;
  if (code != StatusCode::kOk && device_kind == MXGEMM_DEVICE_CUDA && cuda_state(&cuda).ok() &&
      cuda->runtime != nullptr) {
    cuda->runtime->clear_error();
  }
}

}  // namespace mxgemm::internal
