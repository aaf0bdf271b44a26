// SPDX-License-Identifier: Apache-2.0
// Every GEMM kernel that the library knows, behind the one contract of plugin/plugin_abi.h: the
// CPU's, which are always there, and those of the GPU libraries, which are loaded when asked for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "core/loader.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {

// The kernels that may serve a device: one group per library, the better library first.
struct KernelGroups {
  std::vector<std::span<const RegisteredKernel>> groups;
  // Libraries that do not serve the device; empty on the CPU.
  std::vector<LibraryChoice> refused;
  // Where libraries were looked for; "" on the CPU.
  std::string folder;
};

class Registry {
 public:
  using FindLoader = Status (*)(Loader** loader);

  // Without `find_loader` there are no GPU libraries.
  explicit Registry(std::span<const mxgemm_kernel> cpu_kernels, FindLoader find_loader = nullptr);
  // The one of this build.
  static const Registry& instance();

  std::span<const RegisteredKernel> cpu_kernels() const { return cpu_kernels_; }
  // `capability` is that of the device, 0 on the CPU.
  Status groups(int32_t device_kind, int32_t capability, KernelGroups* groups) const;

  // The calls below load every library, but for a name that the CPU's kernels answer.

  // Best first per device kind.
  Status all(std::vector<const RegisteredKernel*>* kernels) const;
  // INVALID_ARGUMENT for an index outside of `all`.
  Status at(int32_t index, const RegisteredKernel** entry) const;
  // Whether there is a kernel of that id, or of that arch ("avx2", "sm80").
  Status has_id(std::string_view id, bool* found) const;
  Status has_arch(std::string_view arch, bool* found) const;
  // "id, id, …"
  Status id_list(std::string* list) const;

 private:
  template <typename Predicate>
  Status any(const Predicate& predicate, bool* found) const;

  std::vector<RegisteredKernel> cpu_kernels_;
  FindLoader find_loader_;
};

}  // namespace mxgemm::internal
