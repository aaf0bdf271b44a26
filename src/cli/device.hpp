// SPDX-License-Identifier: Apache-2.0
// Devices and kernels as commands name them, through the public API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mxgemm/mxgemm.h"

namespace mxgemm::cli {

struct DeviceId {
  int32_t kind = MXGEMM_DEVICE_CPU;
  int32_t index = 0;

  bool operator==(const DeviceId&) const = default;
};

// "cpu", "cuda:0".
std::string to_string(DeviceId device);

// "cpu", "cuda:N", or "all" for every device here. Throws CommandError: exit code 2 for text that
// is none of these, 3 for a device that this machine lacks, with the library's reason.
std::vector<DeviceId> parse_devices(std::string_view text);

// "cpu" or "cuda:N" alone.
DeviceId parse_device(std::string_view text);

mxgemm_device_info device_info(DeviceId device);

// "scalar", "avx2", …
const char* isa_name(int32_t isa);

struct Kernel {
  int32_t index = 0;  // as mxgemm_kernel_accepts takes it
  mxgemm_kernel_info info{};
};

// Every kernel of every loaded library, best first.
std::vector<Kernel> all_kernels();

// The kernel with that full id; exit code 2 where there is none.
Kernel find_kernel(const std::string& id);

// Why `kernel` does not take `desc`; "" if it does.
std::string refusal(const Kernel& kernel, const mxgemm_gemm_desc& desc);

// What the library says of each kernel (mxgemm_explain).
std::string explanation(const mxgemm_gemm_desc& desc);

// The GPU libraries of this installation, loaded or refused.
std::vector<mxgemm_library_info> all_libraries();

// One plan, destroyed with this.
class Plan {
 public:
  // `kernel_id` empty: the library chooses.
  Plan(const mxgemm_gemm_desc& desc, const std::string& kernel_id);
  ~Plan() { mxgemm_plan_destroy(plan_); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const mxgemm_plan* get() const { return plan_; }
  std::string name() const;
  uint64_t workspace_bytes() const;

 private:
  mxgemm_plan* plan_ = nullptr;
};

}  // namespace mxgemm::cli
