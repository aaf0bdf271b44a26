// SPDX-License-Identifier: Apache-2.0
// The emulator's own C interface, and the answer to API functions that are not emulated.
#include <cstdio>
#include <set>

#include "runtime/capture.hpp"
#include "runtime/emu.h"
#include "runtime/not_emulated.hpp"

using namespace emu;
using namespace emu::runtime;

namespace {

std::string& pending_devices() {
  static auto* const text = new std::string;
  return *text;
}

// Empty, or why the setting is refused. The lock is held.
std::string set_runtime_option(Runtime& rt, const std::string& name, const std::string& value) {
  if (name == "EMU_DEVICES") {
    DeviceList list = parse_devices(value);
    if (list.error.empty()) {
      pending_devices() = value;
    }
    return list.error;
  }
  if (name == "EMU_FAULT") {
    return rt.set_faults(value);
  }
  if (name == "EMU_STREAMS") {
    return rt.set_stream_policy(value);
  }
  if (name == "EMU_PROTECT") {
    return rt.set_protection(value);
  }
  if (name == "EMU_IMAGE") {
    rt.forced_image = value;
    return "";
  }
  std::string refused = set_option(rt.options, name, value);
  if (refused.empty()) {
    rt.executor->set_seed(rt.options.seed);
  }
  return refused;
}

void forget_everything(Runtime& rt) {
  for (size_t device = 0; device < rt.devices.size(); ++device) {
    rt.memory.release_device(static_cast<int>(device));
    rt.registry.unload(static_cast<int>(device));
    rt.devices[device].sticky = cudaSuccess;
    rt.devices[device].peers.clear();
    rt.devices[device].orphans.clear();
    rt.devices[device].default_pool = nullptr;
    rt.devices[device].pool = nullptr;
  }
  rt.pools.clear();
  rt.streams.clear();
  rt.events.clear();
  rt.graphs.clear();
  rt.graph_execs.clear();
  rt.registry.forget_settings();
  rt.faults.restart();
  rt.last_report.clear();
}

}  // namespace

namespace emu::runtime {

int not_emulated(const char* name) {
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  static auto* const reported = new std::set<std::string>;
  if (reported->insert(name).second) {
    rt.report(std::string(name) + " is not emulated");
  }
  return remember(cudaErrorNotSupported);
}

}  // namespace emu::runtime

extern "C" {

int emu_set_option(const char* name, const char* value) {
  Runtime& rt = process_runtime();
  std::unique_lock<std::mutex> lock(rt.mutex);
  rt.executor->wait_idle(lock);
  const std::string refused = name == nullptr || value == nullptr
                                  ? "emu_set_option: name or value is null"
                                  : set_runtime_option(rt, name, value);
  if (!refused.empty()) {
    rt.report(refused);
  }
  return refused.empty() ? 0 : 1;
}

int emu_reset(void) {
  Runtime& rt = process_runtime();
  std::unique_lock<std::mutex> lock(rt.mutex);
  if (!rt.captures.empty()) {
    rt.report("emu_reset: a stream captures");
    return 1;
  }
  rt.executor->wait_all(lock);
  rt.executor->wait_idle(lock);
  forget_everything(rt);
  if (!pending_devices().empty()) {
    rt.configuration_error = rt.set_devices(pending_devices());
    pending_devices().clear();
    rt.faults = FaultPlan();  // they named devices of before
  }
  this_thread() = ThreadState();
  return 0;
}

const char* emu_last_report(void) {
  static thread_local std::string text;
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  text = rt.last_report;
  return text.c_str();
}

void emu_counters(emu_counter_values* values) {
  Runtime& rt = process_runtime();
  const std::lock_guard<std::mutex> lock(rt.mutex);
  *values = {};
  values->calls = rt.counters.calls;
  values->launches = rt.counters.launches;
  values->kernels_run = rt.kernels_run;
  values->warp_instructions = rt.executor->clock();
  values->faults = rt.counters.faults;
  for (const Allocation& each : rt.memory.snapshot()->all()) {
    if (each.kind == MemoryKind::device && !each.freed) {
      ++values->live_allocations;
      values->live_bytes += each.bytes;
    }
  }
  values->pending = rt.executor->pending_count();
  values->streams = rt.streams.size();
  values->events = rt.events.size();
}

}  // extern "C"
