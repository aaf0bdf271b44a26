// SPDX-License-Identifier: Apache-2.0
#include "core/registry.hpp"

#include <algorithm>

#include "base/require.hpp"
#include "core/enums.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {

Registry::Registry(std::span<const mxgemm_kernel> cpu_kernels, FindLoader find_loader)
    : find_loader_(find_loader) {
  cpu_kernels_.reserve(cpu_kernels.size());
  for (const mxgemm_kernel& kernel : cpu_kernels) {
    cpu_kernels_.push_back(
        {&kernel, MXGEMM_DEVICE_CPU,
         format_text("%s:%s:%s", device_kind_name(MXGEMM_DEVICE_CPU), kernel.arch, kernel.name)});
  }
}

const Registry& Registry::instance() {
  static const Registry* const registry =
      new Registry(cpu::kernels(), gpu_loader);  // never destroyed: plans point into it
  return *registry;
}

Status Registry::groups(int32_t device_kind, int32_t capability, KernelGroups* groups) const {
  if (device_kind == MXGEMM_DEVICE_CPU) {
    groups->groups.push_back(cpu_kernels_);
    return {};
  }
  if (find_loader_ == nullptr) {
    return {};
  }
  Loader* loader = nullptr;
  MXGEMM_TRY(find_loader_(&loader));
  groups->folder = loader->folder();
  for (const LibraryChoice& choice : loader->choices(capability)) {
    if (choice.refusal.empty()) {
      groups->groups.push_back(choice.library->kernels);
    } else {
      groups->refused.push_back(choice);
    }
  }
  return {};
}

Status Registry::all(std::vector<const RegisteredKernel*>* kernels) const {
  for (const RegisteredKernel& entry : cpu_kernels_) {
    kernels->push_back(&entry);
  }
  if (find_loader_ == nullptr) {
    return {};
  }
  Loader* loader = nullptr;
  MXGEMM_TRY(find_loader_(&loader));
  for (const GpuLibrary* library : loader->load_all()) {
    for (const RegisteredKernel& entry : library->kernels) {
      kernels->push_back(&entry);
    }
  }
  return {};
}

Status Registry::at(int32_t index, const RegisteredKernel** entry) const {
  std::vector<const RegisteredKernel*> kernels;
  MXGEMM_TRY(all(&kernels));
  MXGEMM_REQUIRE(index >= 0 && static_cast<size_t>(index) < kernels.size(),
                 "index is %d; it must be at least 0 and below mxgemm_kernel_count, %zu", index,
                 kernels.size());
  *entry = kernels[static_cast<size_t>(index)];
  return {};
}

template <typename Predicate>
Status Registry::any(const Predicate& predicate, bool* found) const {
  *found = std::any_of(cpu_kernels_.begin(), cpu_kernels_.end(), predicate);
  if (*found) {
    return {};
  }
  std::vector<const RegisteredKernel*> kernels;
  MXGEMM_TRY(all(&kernels));
  *found = std::any_of(kernels.begin(), kernels.end(),
                       [&predicate](const RegisteredKernel* entry) { return predicate(*entry); });
  return {};
}

Status Registry::has_id(std::string_view id, bool* found) const {
  return any([id](const RegisteredKernel& entry) { return entry.id == id; }, found);
}

Status Registry::has_arch(std::string_view arch, bool* found) const {
  return any([arch](const RegisteredKernel& entry) { return entry.kernel->arch == arch; }, found);
}

Status Registry::id_list(std::string* list) const {
  std::vector<const RegisteredKernel*> kernels;
  MXGEMM_TRY(all(&kernels));
  list->clear();
  for (const RegisteredKernel* entry : kernels) {
    *list += list->empty() ? "" : ", ";
    *list += entry->id;
  }
  return {};
}

}  // namespace mxgemm::internal
