// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "runtime/device_spec.hpp"

namespace emu::runtime {

// The answer of cudaDeviceGetAttribute; nothing for a number that is no attribute.
std::optional<int> device_attribute(const DeviceSpec& spec, int index, cudaDeviceAttr attribute);

// Made of the attributes, so that the two cannot disagree.
cudaDeviceProp device_properties(const DeviceSpec& spec, int index);

}  // namespace emu::runtime
