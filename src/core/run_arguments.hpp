// SPDX-License-Identifier: Apache-2.0
// What only the arguments of a run tell: whether a kernel's alignment holds, and whether the memory
// is the device's.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "core/plan.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

// The first argument that is no multiple of an alignment; `argument` is null where all are.
struct Misaligned {
  const char* argument = nullptr;
  bool is_pitch = false;
  uint64_t value = 0;  // an address, or a row pitch in bytes
  int32_t alignment = 1;
};

// Looks at the data pointers and row pitches of A, B, C and D, and at swizzled scales.
Misaligned find_misaligned(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args,
                           const mxgemm_data_alignment& alignment);

// UNSUPPORTED, naming what is misaligned, unless the plan has a second kernel.
Status check_fallback(const Plan& plan, const Misaligned& found);

// INVALID_ARGUMENT for memory that the device cannot use: another device's, or host memory where
// the device reaches none. Always right on the CPU.
Status check_argument_memory(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args);

// The same for the pointers of any call; null pointers are left out.
struct NamedPointer {
  const char* argument;
  const void* pointer;
};
Status check_memory(const char* device_argument, int32_t device_index,
                    std::span<const NamedPointer> pointers);

}  // namespace mxgemm::internal
