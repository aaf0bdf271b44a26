// SPDX-License-Identifier: Apache-2.0
// The door to the interpreter: one call runs a kernel to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/fault.hpp"
#include "exec/global_memory.hpp"
#include "exec/options.hpp"
#include "exec/program.hpp"

namespace emu {

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

// What a kernel can find out about its device.
struct DeviceFacts {
  int index = 0;
  uint32_t capability = 120;  // 10 * major + minor
  uint32_t multiprocessors = 4;
  uint32_t max_threads_per_multiprocessor = 2048;
  uint32_t max_ctas_per_multiprocessor = 32;
  uint32_t shared_per_multiprocessor = 102'400;
  uint32_t shared_optin = 101'376;
};

struct LaunchRequest {
  std::shared_ptr<const Program> program;
  const Code* kernel = nullptr;
  const ModuleInstance* instance = nullptr;
  Dim3 grid;
  Dim3 block;
  Dim3 cluster;
  bool has_cluster = false;  // clusters were asked for, be they of one CTA
  uint32_t dynamic_shared_bytes = 0;
  std::vector<uint8_t> params;  // kernel->param_bytes of them
  DeviceFacts device;
  uint64_t accessible_devices = ~uint64_t{0};  // bit d: memory of device d may be used
  GlobalMemory* memory = nullptr;
  uint64_t grid_id = 0;
  bool cooperative = false;  // all CTAs must be resident at once
  // Programmatic stream serialisation: this grid may start before the one in front of it in
  // launch_chain's list has ended.
  bool programmatic = false;
  std::string library;  // where the kernel comes from, for reports
};

struct LaunchResult {
  Fault fault;  // kind none: the kernel ended well
  uint64_t steps = 0;
  uint64_t warp_instructions = 0;
  uint64_t thread_instructions = 0;
  std::string printed;  // output of the kernel's printf, also written to stdout
  bool ok() const { return fault.kind == FaultKind::none; }
  int error() const { return cuda_error(fault.kind); }
};

// Runs the kernel to its end. Device memory must be open (GlobalMemory::Access).
LaunchResult launch(const LaunchRequest& request, const Options& options);

// Grids of one stream, each `programmatic` one allowed to overlap with the one before it. Ends at
// the first fault; results of grids that did not end have the same fault.
std::vector<LaunchResult> launch_chain(std::span<const LaunchRequest> requests,
                                       const Options& options);

}  // namespace emu
