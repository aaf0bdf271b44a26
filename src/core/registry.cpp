// SPDX-License-Identifier: Apache-2.0
#include "core/registry.hpp"

#include <algorithm>

#include "base/require.hpp"
#include "core/enums.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {

Registry::Registry(std::span<const mxgemm_kernel> cpu_kernels) {
  kernels_.reserve(cpu_kernels.size());
  for (const mxgemm_kernel& kernel : cpu_kernels) {
    kernels_.push_back(
        {&kernel, MXGEMM_DEVICE_CPU,
         format_text("%s:%s:%s", device_kind_name(MXGEMM_DEVICE_CPU), kernel.arch, kernel.name)});
  }
}

const Registry& Registry::instance() {
  static const Registry* const registry =
      new Registry(cpu::kernels());  // never destroyed: plans point into it
  return *registry;
}

Status Registry::at(int32_t index, const RegisteredKernel** entry) const {
  MXGEMM_REQUIRE(index >= 0 && static_cast<size_t>(index) < kernels_.size(),
                 "index is %d; it must be at least 0 and below mxgemm_kernel_count, %zu", index,
                 kernels_.size());
  *entry = &kernels_[static_cast<size_t>(index)];
  return {};
}

const RegisteredKernel* Registry::find(std::string_view id) const {
  const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                  [id](const RegisteredKernel& entry) { return entry.id == id; });
  return found == kernels_.end() ? nullptr : &*found;
}

bool Registry::has_arch(std::string_view arch) const {
  return std::any_of(kernels_.begin(), kernels_.end(),
                     [arch](const RegisteredKernel& entry) { return entry.kernel->arch == arch; });
}

std::string Registry::id_list() const {
  std::string list;
  for (const RegisteredKernel& entry : kernels_) {
    list += list.empty() ? "" : ", ";
    list += entry.id;
  }
  return list;
}

}  // namespace mxgemm::internal
