// SPDX-License-Identifier: Apache-2.0
#include "runtime/modules.hpp"

#include <cstdio>
#include <stdexcept>

#include "check/mutation.hpp"
#include "check/registration.hpp"
#include "fatbin/choose.hpp"

namespace emu::runtime {
namespace {

std::string first_error(const LoadResult& result) {
  if (result.errors.empty()) {
    return "the PTX does not parse";
  }
  const ptx::Diagnostic& error = result.errors.front();
  return "PTX line " + std::to_string(error.line) + ": " + error.message +
         (result.errors.size() > 1
              ? " (and " + std::to_string(result.errors.size() - 1) + " more errors)"
              : "");
}

// Parses the entry's text once for all devices. Throws fatbin::Error.
std::shared_ptr<const Program> program_of(Session& s, FatBinary* binary,
                                          const fatbin::Entry& entry) {
  const auto known = binary->programs.find(&entry);
  if (known != binary->programs.end()) {
    if (known->second == nullptr) {
      throw fatbin::Error(binary->program_faults[&entry]);
    }
    return known->second;
  }
  const std::string origin = binary->library + " (PTX for " + entry.target() + ")";
  std::shared_ptr<const Program>& program = binary->programs[&entry];
  std::string& fault = binary->program_faults[&entry];
  try {
    std::string text = fatbin::ptx_text(entry, origin);
    if (!s.rt.mutation.empty()) {
      try {
        text = mutate_as_set(std::move(text), s.rt.mutation);
      } catch (const std::invalid_argument& error) {
        throw fatbin::Error(error.what());
      }
    }
    fault = fatbin::target_mismatch(entry, text);
    if (fault.empty()) {
      const LoadResult result = load_program(text, origin);
      program = result.program;
      fault = program != nullptr ? "" : first_error(result);
    }
  } catch (const fatbin::Error& error) {
    fault = error.what();
    throw;
  }
  if (program == nullptr) {
    fault = origin + ": " + fault;
    throw fatbin::Error(fault);
  }
  for (const ptx::Diagnostic& warning : program->warnings) {
    s.rt.report(origin + ", line " + std::to_string(warning.line) + ": " + warning.message);
  }
  return program;
}

// The binary's program and variables on the session's device.
cudaError_t load_binary(Session& s, FatBinary* binary, const FatBinary::Loaded** loaded) {
  const int device = s.device_index();
  const auto known = binary->loaded.find(device);
  if (known != binary->loaded.end()) {
    *loaded = &known->second;
    return cudaSuccess;
  }
  if (!binary->fault.empty()) {
    return s.fail(cudaErrorInvalidKernelImage, binary->fault);
  }
  const cudaError_t refused = s.refuse_in_capture();
  if (refused != cudaSuccess) {
    return refused;
  }
  const fatbin::Choice choice = fatbin::choose_image(binary->container.entries,
                                                     s.device().spec.capability, s.rt.forced_image);
  if (choice.entry == nullptr) {
    return s.fail(cudaErrorNoKernelImageForDevice, binary->library + ": " + choice.reason);
  }
  FatBinary::Loaded fresh;
  try {
    fresh.program = program_of(s, binary, *choice.entry);
  } catch (const fatbin::Error& error) {
    return s.fail(cudaErrorInvalidPtx, error.what());
  }
  auto instance = std::make_shared<ModuleInstance>();
  const GlobalMemory::Access access(s.rt.memory);
  if (!instantiate(*fresh.program, s.rt.memory, device, instance.get())) {
    return s.fail(cudaErrorMemoryAllocation, binary->library + ": no memory for its variables");
  }
  fresh.instance = std::move(instance);
  *loaded = &(binary->loaded[device] = std::move(fresh));
  return cudaSuccess;
}

}  // namespace

Kernel* find_kernel(Session& s, const void* stub_or_handle, cudaError_t error, const void* caller) {
  Kernel* const kernel = s.rt.registry.find_kernel(stub_or_handle);
  if (kernel == nullptr) {
    s.fail(error, check::unregistered_function(stub_or_handle, caller));
  }
  return kernel;
}

LoadedKernel load_kernel(Session& s, const void* stub_or_handle, cudaError_t unregistered,
                         const void* caller) {
  LoadedKernel result;
  result.kernel = find_kernel(s, stub_or_handle, unregistered, caller);
  if (result.kernel == nullptr) {
    result.error = unregistered;
    return result;
  }
  const FatBinary::Loaded* loaded = nullptr;
  result.error = load_binary(s, result.kernel->binary, &loaded);
  if (result.error != cudaSuccess) {
    return result;
  }
  result.program = loaded->program;
  result.instance = loaded->instance;
  result.code = loaded->program->find_kernel(result.kernel->name);
  if (result.code == nullptr) {
    result.error = s.fail(cudaErrorInvalidDeviceFunction,
                          result.kernel->binary->library + ": its PTX (" + loaded->program->name +
                              ") has no kernel " + result.kernel->name);
  }
  return result;
}

cudaError_t load_program_of(Session& s, FatBinary* binary,
                            std::shared_ptr<const Program>* program) {
  const FatBinary::Loaded* loaded = nullptr;
  const cudaError_t error = load_binary(s, binary, &loaded);
  if (error == cudaSuccess) {
    *program = loaded->program;
  }
  return error;
}

LoadedVariable load_variable(Session& s, const void* host_address) {
  LoadedVariable result;
  const Variable* const variable = s.rt.registry.find_variable(host_address);
  if (variable == nullptr) {
    result.error = s.fail(cudaErrorInvalidSymbol, "no library has registered a variable " +
                                                      check::describe_address(host_address));
    return result;
  }
  const FatBinary::Loaded* loaded = nullptr;
  result.error = load_binary(s, variable->binary, &loaded);
  if (result.error != cudaSuccess) {
    return result;
  }
  const ModuleVariable* const found = loaded->program->find_variable(variable->name);
  if (found == nullptr) {
    result.error = s.fail(cudaErrorInvalidSymbol, variable->binary->library + ": its PTX (" +
                                                      loaded->program->name + ") has no variable " +
                                                      variable->name);
    return result;
  }
  const auto index = static_cast<size_t>(found - loaded->program->variables.data());
  result.address = loaded->instance->addresses[index];
  result.bytes = found->bytes;
  return result;
}

}  // namespace emu::runtime
