// SPDX-License-Identifier: Apache-2.0
#include "cpu/isa.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mxgemm::cpu {
namespace {

constexpr int32_t kScalar = 0;
constexpr int32_t kAvx2 = 1;
constexpr int32_t kAvx512 = 2;
constexpr int32_t kAmx = 3;

// XCR0 as operating systems set it: x87 and SSE; plus AVX; plus AVX-512; plus AMX tiles.
constexpr uint64_t kSseState = 0x3;
constexpr uint64_t kAvxState = 0x7;
constexpr uint64_t kAvx512State = 0xe7;
constexpr uint64_t kAmxState = 0x600e7;

constexpr uint32_t bit(int number) {
  return 1u << number;
}

// cpuid words of real processors, written down from Intel's and AMD's manuals, not from the code
// under test.
CpuWords haswell() {
  CpuWords words;
  words.leaf1_ecx =
      bit(12) | bit(26) | bit(27) | bit(28) | bit(29);  // FMA, XSAVE, OSXSAVE, AVX, F16C
  words.leaf7_ebx = bit(3) | bit(5) | bit(8);           // BMI1, AVX2, BMI2
  words.xcr0 = kAvxState;
  return words;
}

CpuWords cascade_lake() {  // VNNI, but no VBMI
  CpuWords words = haswell();
  words.leaf7_ebx |= bit(16) | bit(17) | bit(28) | bit(30) | bit(31);  // AVX512 F, DQ, CD, BW, VL
  words.leaf7_ecx |= bit(11);                                          // VNNI
  words.xcr0 = kAvx512State;
  return words;
}

CpuWords ice_lake() {
  CpuWords words = cascade_lake();
  words.leaf7_ecx |= bit(1) | bit(6);  // VBMI, VBMI2
  return words;
}

std::string refusal(const IsaDecision& decision, int32_t isa) {
  return decision.refusal.at(static_cast<size_t>(isa)).data();
}

TEST(IsaDecision, SseOnlyMachineGetsScalar) {
  CpuWords words;  // a Nehalem: SSE4.2, no OSXSAVE
  words.leaf1_ecx = bit(0) | bit(9) | bit(19) | bit(20);
  const IsaDecision decision = decide_isa_x86(words);
  EXPECT_EQ(decision.offered, kScalar);
  EXPECT_EQ(refusal(decision, kScalar), "");
  EXPECT_EQ(refusal(decision, kAvx2), "this CPU has no avx, fma, f16c, avx2");
  EXPECT_EQ(refusal(decision, kAvx512), refusal(decision, kAvx2));
}

TEST(IsaDecision, Avx2Machine) {
  const IsaDecision decision = decide_isa_x86(haswell());
  EXPECT_EQ(decision.offered, kAvx2);
  EXPECT_EQ(refusal(decision, kAvx2), "");
  EXPECT_EQ(refusal(decision, kAvx512),
            "this CPU has no avx512f, avx512dq, avx512bw, avx512vl, avx512_vbmi, avx512_vnni");
}

TEST(IsaDecision, EachAvx2FeatureIsNeeded) {
  const CpuWords whole = ice_lake();
  for (const int number : {12, 28, 29}) {
    CpuWords without = whole;
    without.leaf1_ecx &= ~bit(number);
    EXPECT_EQ(decide_isa_x86(without).offered, kScalar) << "leaf 1 ecx bit " << number;
  }
  CpuWords words = whole;
  words.leaf7_ebx &= ~bit(5);
  EXPECT_EQ(decide_isa_x86(words).offered, kScalar) << "no AVX2";
}

TEST(IsaDecision, EachAvx512FeatureIsNeeded) {
  const CpuWords whole = ice_lake();
  EXPECT_EQ(decide_isa_x86(whole).offered, kAvx512);
  for (const int number : {16, 17, 30, 31}) {
    CpuWords words = whole;
    words.leaf7_ebx &= ~bit(number);
    EXPECT_EQ(decide_isa_x86(words).offered, kAvx2) << "leaf 7 ebx bit " << number;
  }
  for (const int number : {1, 11}) {
    CpuWords words = whole;
    words.leaf7_ecx &= ~bit(number);
    EXPECT_EQ(decide_isa_x86(words).offered, kAvx2) << "leaf 7 ecx bit " << number;
  }
}

TEST(IsaDecision, CascadeLakeLacksVbmi) {
  const IsaDecision decision = decide_isa_x86(cascade_lake());
  EXPECT_EQ(decision.offered, kAvx2);
  EXPECT_EQ(refusal(decision, kAvx512), "this CPU has no avx512_vbmi");
}

TEST(IsaDecision, OperatingSystemWithoutZmm) {
  CpuWords words = ice_lake();
  for (const uint64_t state : {kAvxState, uint64_t{0x27}, uint64_t{0x67}, uint64_t{0xa7}}) {
    words.xcr0 = state;
    const IsaDecision decision = decide_isa_x86(words);
    EXPECT_EQ(decision.offered, kAvx2) << state;
    EXPECT_NE(
        refusal(decision, kAvx512).find("operating system does not enable the AVX-512 registers"),
        std::string::npos)
        << refusal(decision, kAvx512);
  }
}

TEST(IsaDecision, OperatingSystemWithoutYmm) {
  CpuWords words = ice_lake();
  for (const uint64_t state : {uint64_t{0}, kSseState, uint64_t{0xe3}}) {
    words.xcr0 = state;
    const IsaDecision decision = decide_isa_x86(words);
    EXPECT_EQ(decision.offered, kScalar) << state;
    EXPECT_NE(refusal(decision, kAvx2).find("operating system does not enable the AVX registers"),
              std::string::npos);
    EXPECT_EQ(refusal(decision, kAvx512), refusal(decision, kAvx2));
  }
}

TEST(IsaDecision, AmxMachineRunsAvx512) {
  CpuWords words = ice_lake();
  words.xcr0 = kAmxState;
  const IsaDecision decision = decide_isa_x86(words);
  EXPECT_EQ(decision.offered, kAvx512);
  EXPECT_EQ(refusal(decision, kAvx512), "");
  EXPECT_EQ(refusal(decision, kAmx), "this version of mxgemm contains no amx kernels");
}

TEST(IsaDecision, OtherProcessorsGetScalarWithReason) {
  const IsaDecision decision = decide_isa_other("aarch64");
  EXPECT_EQ(decision.offered, kScalar);
  EXPECT_EQ(refusal(decision, kScalar), "");
  for (const int32_t isa : {kAvx2, kAvx512, kAmx}) {
    EXPECT_NE(refusal(decision, isa)
                  .find("for aarch64 this version of mxgemm contains scalar kernels only"),
              std::string::npos)
        << refusal(decision, isa);
  }
}

TEST(Isa, Names) {
  const char* const names[] = {"scalar", "avx2", "avx512", "amx"};
  for (int32_t isa = 0; isa < kNumIsaLevels; ++isa) {
    EXPECT_STREQ(isa_name(isa), names[isa]);
    EXPECT_EQ(isa_from_name(names[isa]), isa);
  }
  for (const int32_t isa : {-1, kNumIsaLevels, INT32_MAX, INT32_MIN}) {
    EXPECT_STREQ(isa_name(isa), "unknown");
    EXPECT_STREQ(isa_refusal(isa), "there is no such level");
  }
  for (const char* name : {"", "AVX2", "avx", "avx512 ", "unknown"}) {
    EXPECT_EQ(isa_from_name(name), -1) << name;
  }
  EXPECT_EQ(isa_from_name(nullptr), -1);
}

TEST(Isa, OfferedLevelsHaveNoRefusalAndOthersHaveOne) {
  ASSERT_GE(isa_offered(), kScalar);
  ASSERT_LT(isa_offered(), kNumIsaLevels);
  for (int32_t isa = 0; isa < kNumIsaLevels; ++isa) {
    EXPECT_EQ(std::string(isa_refusal(isa)).empty(), isa <= isa_offered()) << isa_name(isa);
  }
}

#if defined(__x86_64__)
// Linux lists only the features that it has enabled, so this machine's answer can be compared with
// it.
TEST(Isa, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(file, line) && flags.empty();) {
    if (line.starts_with("flags")) {
      flags = line + " ";
    }
  }
  ASSERT_FALSE(flags.empty()) << "/proc/cpuinfo has no flags line";
  const auto has_all = [&](const char* names) {
    std::istringstream stream(names);
    for (std::string name; stream >> name;) {
      if (flags.find(" " + name + " ") == std::string::npos) {
        return false;
      }
    }
    return true;
  };
  int32_t expected = kScalar;
  if (has_all("avx avx2 fma f16c")) {
    expected =
        has_all("avx512f avx512dq avx512bw avx512vl avx512_vnni avx512vbmi") ? kAvx512 : kAvx2;
  }
  EXPECT_EQ(isa_offered(), expected) << flags;
}
#endif

}  // namespace
}  // namespace mxgemm::cpu
