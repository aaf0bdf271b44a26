// SPDX-License-Identifier: Apache-2.0
#include "cli/device.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/program.hpp"

namespace mxgemm::cli {
namespace {

// The text that a call with (buffer, capacity, needed) gives.
template <typename Call>
std::string text_of(const Call& call) {
  size_t needed = 0;
  check(call(nullptr, 0, &needed));
  std::string text(needed, '\0');
  check(call(text.data(), text.size(), &needed));
  text.resize(text.find('\0') == std::string::npos ? text.size() : text.find('\0'));
  return text;
}

int32_t device_count(int32_t kind) {
  int32_t count = 0;
  check(mxgemm_device_count(kind, &count));
  return count;
}

}  // namespace

std::string to_string(DeviceId device) {
  return device.kind == MXGEMM_DEVICE_CPU ? "cpu" : fmt::format("cuda:{}", device.index);
}

std::vector<DeviceId> parse_devices(std::string_view text) {
  if (text == "all") {
    std::vector<DeviceId> devices;
    for (int32_t kind : {MXGEMM_DEVICE_CPU, MXGEMM_DEVICE_CUDA}) {
      for (int32_t index = 0; index < device_count(kind); ++index) {
        devices.push_back({kind, index});
      }
    }
    return devices;
  }
  DeviceId device;
  if (text != "cpu") {
    constexpr std::string_view kPrefix = "cuda:";
    const std::string_view digits = text.substr(std::min(text.size(), kPrefix.size()));
    const auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), device.index);
    if (!text.starts_with(kPrefix) || error != std::errc() ||
        stop != digits.data() + digits.size() || device.index < 0) {
      throw CommandError(kExitBadCommandLine,
                         fmt::format("--device is '{}', allowed are cpu, cuda:N, all", text));
    }
    device.kind = MXGEMM_DEVICE_CUDA;
  }
  device_info(device);
  return {device};
}

DeviceId parse_device(std::string_view text) {
  if (text == "all") {
    throw CommandError(kExitBadCommandLine, "--device is 'all', allowed are cpu and cuda:N");
  }
  return parse_devices(text).front();
}

mxgemm_device_info device_info(DeviceId device) {
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  check(mxgemm_device_info_get(device.kind, device.index, &info));
  return info;
}

const char* isa_name(int32_t isa) {
  constexpr const char* kNames[] = {"scalar", "avx2", "avx512", "amx"};
  return isa >= 0 && isa < static_cast<int32_t>(std::size(kNames)) ? kNames[isa] : "unknown";
}

std::vector<Kernel> all_kernels() {
  int32_t count = 0;
  check(mxgemm_kernel_count(&count));
  std::vector<Kernel> kernels;
  for (int32_t index = 0; index < count; ++index) {
    Kernel kernel{index, MXGEMM_KERNEL_INFO_INIT};
    check(mxgemm_kernel_info_get(index, &kernel.info));
    kernels.push_back(kernel);
  }
  return kernels;
}

Kernel find_kernel(const std::string& id) {
  std::string known;
  for (const Kernel& kernel : all_kernels()) {
    if (id == kernel.info.id) {
      return kernel;
    }
    known += fmt::format("\n  {}", kernel.info.id);
  }
  throw CommandError(kExitBadCommandLine,
                     fmt::format("--kernel is '{}', allowed are{}", id, known));
}

std::string refusal(const Kernel& kernel, const mxgemm_gemm_desc& desc) {
  int32_t accepts = 0;
  const std::string reason = text_of([&](char* buffer, size_t capacity, size_t* needed) {
    return mxgemm_kernel_accepts(kernel.index, &desc, &accepts, buffer, capacity, needed);
  });
  return accepts != 0 ? "" : reason.empty() ? "refused without a reason" : reason;
}

std::string explanation(const mxgemm_gemm_desc& desc) {
  return text_of([&desc](char* buffer, size_t capacity, size_t* needed) {
    return mxgemm_explain(&desc, buffer, capacity, needed);
  });
}

std::vector<mxgemm_library_info> all_libraries() {
  int32_t count = 0;
  check(mxgemm_library_count(&count));
  std::vector<mxgemm_library_info> libraries(static_cast<size_t>(count), MXGEMM_LIBRARY_INFO_INIT);
  for (int32_t index = 0; index < count; ++index) {
    check(mxgemm_library_info_get(index, &libraries[static_cast<size_t>(index)]));
  }
  return libraries;
}

Plan::Plan(const mxgemm_gemm_desc& desc, const std::string& kernel_id) {
  check(mxgemm_plan_create(&desc, kernel_id.empty() ? nullptr : kernel_id.c_str(), &plan_));
}

std::string Plan::name() const {
  return text_of([&](char* buffer, size_t capacity, size_t* needed) {
    return mxgemm_plan_name(plan_, buffer, capacity, needed);
  });
}

uint64_t Plan::workspace_bytes() const {
  uint64_t bytes = 0;
  check(mxgemm_plan_workspace_size(plan_, &bytes));
  return bytes;
}

}  // namespace mxgemm::cli
