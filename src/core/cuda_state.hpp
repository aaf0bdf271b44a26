// SPDX-License-Identifier: Apache-2.0
// What this process knows of CUDA: the devices, and the runtime library that reaches them. Nothing
// of CUDA is loaded before the first call that asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {

struct CudaState {
  const mxgemm_cuda_runtime_table* runtime = nullptr;  // null with fake devices, or where absent
  std::vector<mxgemm_cuda_device> devices;
  bool fake = false;    // MXGEMM_FAKE_DEVICES: for the choice of kernels only
  std::string absence;  // why there are no devices
  // The runtime library; "" where there is none, or where fake devices make it unneeded.
  std::string runtime_path;
};

// Fails where an environment variable is wrong. Found out once per process.
Status cuda_state(const CudaState** state);

// What MXGEMM_FAKE_DEVICES says ("12.0,9.0,12.1"); INVALID_ARGUMENT for anything else.
Status parse_fake_devices(std::string_view text, std::vector<mxgemm_cuda_device>* devices);

// The state with the devices behind the runtime library at `path`.
CudaState read_cuda_devices(const std::string& path);

}  // namespace mxgemm::internal
