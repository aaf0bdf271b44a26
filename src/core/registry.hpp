// SPDX-License-Identifier: Apache-2.0
// Every GEMM kernel that the library knows, best first per device kind, behind the one contract of
// plugin/plugin_abi.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {

struct RegisteredKernel {
  const mxgemm_kernel* kernel;
  int32_t device_kind;
  std::string id;  // "cpu:avx512:gemm_mxf4_mxf4_any_8x32x32"
};

class Registry {
 public:
  explicit Registry(std::span<const mxgemm_kernel> cpu_kernels);
  // The one of this build.
  static const Registry& instance();

  std::span<const RegisteredKernel> kernels() const { return kernels_; }
  // INVALID_ARGUMENT for an index outside.
  Status at(int32_t index, const RegisteredKernel** entry) const;
  // nullptr if there is none of that id.
  const RegisteredKernel* find(std::string_view id) const;
  // Whether any kernel has that arch ("avx2").
  bool has_arch(std::string_view arch) const;
  // "id, id, …"
  std::string id_list() const;

 private:
  std::vector<RegisteredKernel> kernels_;
};

}  // namespace mxgemm::internal
