// SPDX-License-Identifier: Apache-2.0
#include "runtime/registry.hpp"

#include <algorithm>

namespace emu::runtime {

FatBinary* Registry::add_binary(const void* wrapper, std::string library) {
  auto binary = std::make_unique<FatBinary>();
  binary->library = std::move(library);
  try {
    binary->container = fatbin::read_container(
        fatbin::container_of_wrapper(wrapper, binary->library), binary->library);
  } catch (const fatbin::Error& error) {
    binary->fault = error.what();
  }
  binaries_.push_back(std::move(binary));
  return binaries_.back().get();
}

FatBinary* Registry::add_text(std::string text) {
  auto binary = std::make_unique<FatBinary>();
  binary->library = "PTX in memory";
  binary->text = std::move(text);
  try {
    binary->container.entries.push_back(fatbin::entry_of_text(binary->text, binary->library));
  } catch (const fatbin::Error& error) {
    binary->fault = error.what();
  }
  binaries_.push_back(std::move(binary));
  return binaries_.back().get();
}

bool Registry::has_binary(const FatBinary* binary) const {
  return std::any_of(binaries_.begin(), binaries_.end(),
                     [&](const auto& each) { return each.get() == binary; });
}

void Registry::remove_binary(FatBinary* binary) {
  std::erase_if(by_handle_, [&](const auto& entry) { return entry.second->binary == binary; });
  std::erase_if(by_stub_, [&](const auto& entry) { return entry.second->binary == binary; });
  std::erase_if(variables_, [&](const auto& entry) { return entry.second.binary == binary; });
  std::erase_if(binaries_, [&](const auto& each) { return each.get() == binary; });
}

void Registry::unload(int device) {
  for (const std::unique_ptr<FatBinary>& binary : binaries_) {
    binary->loaded.erase(device);
  }
  for (const auto& [stub, kernel] : by_stub_) {
    kernel->settings.erase(device);
  }
}

void Registry::forget_settings() {
  for (const auto& [stub, kernel] : by_stub_) {
    kernel->settings.clear();
  }
}

std::string Registry::add_kernel(FatBinary* binary, const void* stub, std::string name) {
  std::unique_ptr<Kernel>& kernel = by_stub_[stub];
  if (kernel != nullptr) {
    return name + " of " + binary->library + " and " + kernel->name + " of " +
           kernel->binary->library +
           " are registered under the same host function; the first stays";
  }
  kernel = std::make_unique<Kernel>();
  kernel->binary = binary;
  kernel->name = std::move(name);
  kernel->stub = stub;
  by_handle_[kernel.get()] = kernel.get();
  return "";
}

Kernel* Registry::named_kernel(FatBinary* binary, const std::string& name) {
  for (const auto& [stub, known] : by_stub_) {
    if (known->binary == binary && known->name == name) {
      return known.get();
    }
  }
  auto owned = std::make_unique<Kernel>();
  Kernel* const kernel = owned.get();
  kernel->binary = binary;
  kernel->name = name;
  kernel->stub = kernel;
  by_stub_[kernel] = std::move(owned);
  return kernel;
}

void Registry::add_variable(const void* host_address, Variable variable) {
  variables_.try_emplace(host_address, std::move(variable));
}

Kernel* Registry::find_kernel(const void* stub_or_handle) {
  const auto stub = by_stub_.find(stub_or_handle);
  if (stub != by_stub_.end()) {
    return stub->second.get();
  }
  const auto handle = by_handle_.find(stub_or_handle);
  return handle == by_handle_.end() ? nullptr : handle->second;
}

Variable* Registry::find_variable(const void* host_address) {
  const auto found = variables_.find(host_address);
  return found == variables_.end() ? nullptr : &found->second;
}

}  // namespace emu::runtime
