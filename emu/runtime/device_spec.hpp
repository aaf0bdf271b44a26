// SPDX-License-Identifier: Apache-2.0
// What an emulated device says about itself, and EMU_DEVICES, which lists the devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/launch.hpp"

namespace emu::runtime {

struct DeviceSpec {
  int capability = 0;  // 10 x major + minor
  // Only multiplies the CTAs that are resident at once, hence far fewer than of a real part.
  int multiprocessors = 4;
  uint64_t memory_bytes = uint64_t{8} << 30;
  int shared_per_block_optin = 0;
  int shared_per_multiprocessor = 0;
  int threads_per_multiprocessor = 0;
  int blocks_per_multiprocessor = 0;
  int l2_bytes = 0;
  bool cluster_launch = false;

  int major() const { return capability / 10; }
  int minor() const { return capability % 10; }
  // "Emulated 12.0 device 0": nothing may look like a result of a real part.
  std::string name(int index) const;
};

// The same for every capability that is known.
inline constexpr int kSharedPerBlock = 49152;
inline constexpr int kReservedSharedPerBlock = 1024;
inline constexpr int kMaxThreadsPerBlock = 1024;
inline constexpr int kRegistersPerBlock = 65536;
inline constexpr int kWarpSize = 32;

// What its kernels find out about the device.
DeviceFacts device_facts(const DeviceSpec& spec, int index);

struct DeviceList {
  std::vector<DeviceSpec> devices;
  std::string error;  // not empty: `text` is no list of devices
};

// "12.0*2,10.0,9.0:sms=8:mem=2G".
DeviceList parse_devices(const std::string& text);

}  // namespace emu::runtime
