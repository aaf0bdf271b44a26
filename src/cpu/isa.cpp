// SPDX-License-Identifier: Apache-2.0
#include "cpu/isa.hpp"

#include <cstdio>
#include <cstring>
#include <span>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mxgemm::cpu {
namespace {

constexpr int32_t kScalar = 0;
constexpr int32_t kAvx2 = 1;
constexpr int32_t kAvx512 = 2;
constexpr int32_t kAmx = 3;
constexpr const char* kNames[kNumIsaLevels] = {"scalar", "avx2", "avx512", "amx"};

struct Feature {
  const char* name;  // as in /proc/cpuinfo
  uint32_t CpuWords::*word;
  uint32_t bit;
};

// Everything that the flags of the level's object library let the compiler emit.
constexpr Feature kAvx2Features[] = {
    {"avx", &CpuWords::leaf1_ecx, 28},
    {"fma", &CpuWords::leaf1_ecx, 12},
    {"f16c", &CpuWords::leaf1_ecx, 29},
    {"avx2", &CpuWords::leaf7_ebx, 5},
};
constexpr Feature kAvx512Features[] = {
    {"avx512f", &CpuWords::leaf7_ebx, 16},    {"avx512dq", &CpuWords::leaf7_ebx, 17},
    {"avx512bw", &CpuWords::leaf7_ebx, 30},   {"avx512vl", &CpuWords::leaf7_ebx, 31},
    {"avx512_vbmi", &CpuWords::leaf7_ecx, 1}, {"avx512_vnni", &CpuWords::leaf7_ecx, 11},
};

// XCR0: bit 1 XMM, bit 2 upper halves of YMM, bits 5-7 mask registers and ZMM.
constexpr uint64_t kYmmState = 0x6;
constexpr uint64_t kZmmState = 0xe0 | kYmmState;

// Writes "this CPU has no a, b" into `text`; false where nothing is missing.
bool list_missing(const CpuWords& words, std::span<const Feature> features, std::span<char> text) {
  size_t length = 0;
  for (const Feature& feature : features) {
    if ((words.*feature.word >> feature.bit & 1) == 0 && length < text.size()) {
      length +=
          static_cast<size_t>(std::snprintf(text.data() + length, text.size() - length, "%s%s",
                                            length == 0 ? "this CPU has no " : ", ", feature.name));
    }
  }
  return length != 0;
}

// True, and `text` stays "", where the level above the ones already granted can run.
bool grant(const CpuWords& words, std::span<const Feature> features, uint64_t state,
           const char* registers, std::span<char> text) {
  if (list_missing(words, features, text)) {
    return false;
  }
  if ((words.xcr0 & state) != state) {
    std::snprintf(text.data(), text.size(),
                  "the operating system does not enable the %s registers (XCR0 is 0x%llx)",
                  registers, static_cast<unsigned long long>(words.xcr0));
    return false;
  }
  return true;
}

constexpr const char* kNoAmxKernels = "this version of mxgemm contains no amx kernels";

void set_refusal(IsaDecision* decision, int32_t isa, const char* text) {
  std::snprintf(decision->refusal[isa].data(), decision->refusal[isa].size(), "%s", text);
}

#if defined(__x86_64__)
// Bit 27 of leaf 1 (OSXSAVE) says that xgetbv exists; without it the instruction faults.
uint64_t read_xcr0(uint32_t leaf1_ecx) {
  if ((leaf1_ecx >> 27 & 1) == 0) {
    return 0;
  }
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

IsaDecision detect() {
  CpuWords words;
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    words.leaf1_ecx = ecx;
    words.xcr0 = read_xcr0(ecx);
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    words.leaf7_ebx = ebx;
    words.leaf7_ecx = ecx;
  }
  return decide_isa_x86(words);
}
#else
IsaDecision detect() {
#if defined(__aarch64__)
  return decide_isa_other("aarch64");
#else
  return decide_isa_other("this processor");
#endif
}
#endif

const IsaDecision& decision() {
  static const IsaDecision instance = detect();
  return instance;
}

}  // namespace

IsaDecision decide_isa_x86(const CpuWords& words) {
  IsaDecision result;
  set_refusal(&result, kAmx, kNoAmxKernels);
  if (!grant(words, kAvx2Features, kYmmState, "AVX", result.refusal[kAvx2])) {
    // Kernels of a level may use every instruction of the levels below it.
    set_refusal(&result, kAvx512, result.refusal[kAvx2].data());
    return result;
  }
  result.offered = kAvx2;
  if (grant(words, kAvx512Features, kZmmState, "AVX-512", result.refusal[kAvx512])) {
    result.offered = kAvx512;
  }
  return result;
}

IsaDecision decide_isa_other(const char* architecture) {
  IsaDecision result;
  for (int32_t isa = kScalar + 1; isa < kNumIsaLevels; ++isa) {
    std::snprintf(
        result.refusal[isa].data(), result.refusal[isa].size(),
        "%s is a level of x86-64; for %s this version of mxgemm contains scalar kernels only",
        kNames[isa], architecture);
  }
  return result;
}

const char* isa_name(int32_t isa) {
  return isa >= 0 && isa < kNumIsaLevels ? kNames[isa] : "unknown";
}

int32_t isa_from_name(const char* name) {
  for (int32_t isa = 0; name != nullptr && isa < kNumIsaLevels; ++isa) {
    if (std::strcmp(name, kNames[isa]) == 0) {
      return isa;
    }
  }
  return -1;
}

int32_t isa_offered() {
  return decision().offered;
}

const char* isa_refusal(int32_t isa) {
  return isa >= 0 && isa < kNumIsaLevels ? decision().refusal[isa].data()
                                         : "there is no such level";
}

}  // namespace mxgemm::cpu
