// SPDX-License-Identifier: Apache-2.0
// How a level is decided from what the processor and the operating system say. Apart from reading
// the registers it is a pure function, so that every kind of machine can be tried on any machine.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/cpu_backend.hpp"

namespace mxgemm::cpu {

// What the decision looks at. All zero where the processor lacks the leaf.
struct CpuWords {
  uint32_t leaf1_ecx = 0;  // cpuid 1
  uint32_t leaf7_ebx = 0;  // cpuid 7, sub-leaf 0
  uint32_t leaf7_ecx = 0;
  uint64_t xcr0 = 0;  // register state that the operating system saves; 0 without OSXSAVE
};

struct IsaDecision {
  int32_t offered = 0;
  // Per level: why not, "" where it is offered. 160 bytes hold the longest reason, all avx512
  // features missing.
  std::array<std::array<char, 160>, kNumIsaLevels> refusal{};
};

IsaDecision decide_isa_x86(const CpuWords& words);
// For a build whose processor has no SIMD level yet; `architecture` as users know it ("aarch64").
IsaDecision decide_isa_other(const char* architecture);

}  // namespace mxgemm::cpu
