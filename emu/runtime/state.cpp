// SPDX-License-Identifier: Apache-2.0
#include "runtime/state.hpp"

#include <cstdio>
#include <cstdlib>

#include "runtime/capture.hpp"

namespace emu::runtime {
namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

}  // namespace

ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

Runtime::Runtime() : options(options_from_environment()) {
  configuration_error = set_devices(environment("EMU_DEVICES", "12.0"));
  if (configuration_error.empty()) {
    configuration_error = set_faults(environment("EMU_FAULT", ""));
  }
  const std::string policy = environment("EMU_STREAMS", "late");
  make_executor();
  if (configuration_error.empty()) {
    configuration_error = set_stream_policy(policy);
  }
  if (configuration_error.empty()) {
    configuration_error = set_protection(environment("EMU_PROTECT", "1"));
  }
  forced_image = environment("EMU_IMAGE", "");
  mutation = environment("EMU_MUTATE", "");
  if (!configuration_error.empty()) {
    report(configuration_error);
  }
}

void Runtime::make_executor() {
  Executor::Callbacks callbacks;
  callbacks.has_failed = [this](int device) {
    return devices[static_cast<size_t>(device)].sticky != cudaSuccess;
  };
  callbacks.failed = [this](int device, const Outcome& outcome) {
    Device& failed = devices[static_cast<size_t>(device)];
    if (failed.sticky == cudaSuccess) {
      failed.sticky = outcome.error;
    }
    ++counters.faults;
    last_report = outcome.report;
  };
  callbacks.open_memory = [this](bool open) {
    if (open) {
      memory.open();
    } else {
      memory.close();
    }
  };
  executor = std::make_unique<Executor>(std::move(callbacks), StreamPolicy::kLate, options.seed);
}

std::string Runtime::set_devices(const std::string& text) {
  DeviceList list = parse_devices(text);
  if (!list.error.empty()) {
    return list.error;
  }
  devices.clear();
  for (DeviceSpec& spec : list.devices) {
    Device device;
    device.spec = spec;
    device.legacy = std::make_shared<Stream>();
    device.legacy->device = static_cast<int>(devices.size());
    device.legacy->is_legacy = true;
    devices.push_back(std::move(device));
  }
  return "";
}

std::string Runtime::set_faults(const std::string& text) {
  FaultList list = parse_faults(text, static_cast<int>(devices.size()));
  if (list.error.empty()) {
    faults = FaultPlan(std::move(list.faults));
  }
  return list.error;
}

std::string Runtime::set_stream_policy(const std::string& text) {
  const std::optional<StreamPolicy> policy = parse_stream_policy(text);
  if (!policy) {
    return "EMU_STREAMS is '" + text + "'; allowed: late, eager, random";
  }
  executor->set_policy(*policy);
  return "";
}

std::string Runtime::set_protection(const std::string& text) {
  if (text != "0" && text != "1") {
    return "EMU_PROTECT is '" + text + "'; allowed: 0, 1";
  }
  memory.set_protection(text == "1");
  return "";
}

void Runtime::report(const std::string& text) {
  last_report = text;
  std::fprintf(stderr, "emulated CUDA: %s\n", text.c_str());
}

Runtime& process_runtime() {
  static auto* const instance = new Runtime;
  return *instance;
}

}  // namespace emu::runtime
