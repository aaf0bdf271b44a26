// SPDX-License-Identifier: Apache-2.0
// Which libraries a device may ask for, by their names alone.
#include "core/arch_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace mxgemm::internal {
namespace {

TEST(ParseArchName, Names) {
  const auto exact = parse_arch_name("sm90a");
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->capability, 90);
  EXPECT_EQ(exact->kind, ArchKind::kExact);
  const auto family = parse_arch_name("sm120f");
  ASSERT_TRUE(family);
  EXPECT_EQ(family->capability, 120);
  EXPECT_EQ(family->kind, ArchKind::kFamily);
  EXPECT_EQ(family->text, "sm120f");
  const auto plain = parse_arch_name("sm80");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->capability, 80);
  EXPECT_EQ(plain->kind, ArchKind::kPlain);
}

TEST(ParseArchName, NothingElse) {
  for (const char* text : {"", "sm", "sma", "smf", "120f", "sm120x", "sm120af", "sm-80", "sm+80",
                           "sm 80", "sm080", "sm8.0", "SM80", "sm8", "sm99999", "sm80 "}) {
    EXPECT_FALSE(parse_arch_name(text)) << text;
  }
}

// Order in which a device asks for `names`.
std::string asked(int32_t capability, const std::vector<const char*>& names) {
  std::vector<ArchName> may;
  for (const char* name : names) {
    const ArchName arch = *parse_arch_name(name);
    if (arch_name_refusal(arch, capability).empty()) {
      may.push_back(arch);
    }
  }
  std::sort(may.begin(), may.end(), is_preferred);
  std::string text;
  for (const ArchName& arch : may) {
    text += text.empty() ? "" : " ";
    text += arch.text;
  }
  return text;
}

TEST(ArchName, ExactThenFamilyThenPlain) {
  const std::vector<const char*> names = {"sm75",   "sm80",   "sm86",   "sm90",   "sm90a",
                                          "sm100a", "sm100f", "sm103a", "sm103f", "sm120",
                                          "sm120a", "sm120f", "sm121a", "sm121f", "sm130"};
  EXPECT_EQ(asked(75, names), "");
  EXPECT_EQ(asked(80, names), "sm80");
  EXPECT_EQ(asked(86, names), "sm86 sm80");
  EXPECT_EQ(asked(87, names), "sm86 sm80");
  EXPECT_EQ(asked(89, names), "sm86 sm80");
  EXPECT_EQ(asked(90, names), "sm90a sm90 sm86 sm80");
  EXPECT_EQ(asked(100, names), "sm100a sm100f sm90 sm86 sm80");
  EXPECT_EQ(asked(101, names), "sm100f sm90 sm86 sm80");
  EXPECT_EQ(asked(103, names), "sm103a sm103f sm100f sm90 sm86 sm80");
  EXPECT_EQ(asked(110, names), "sm90 sm86 sm80");
  EXPECT_EQ(asked(120, names), "sm120a sm120f sm120 sm90 sm86 sm80");
  EXPECT_EQ(asked(121, names), "sm121a sm121f sm120f sm120 sm90 sm86 sm80");
  EXPECT_EQ(asked(130, names), "sm130 sm120 sm90 sm86 sm80");
}

// Kind of fault 46: 12.0 is more than 10.0 and still another architecture.
TEST(ArchName, ReasonsNameBothCapabilities) {
  EXPECT_EQ(arch_name_refusal(*parse_arch_name("sm100f"), 120),
            "it is for the family of compute capability 10.0; the device has 12.0");
  EXPECT_EQ(arch_name_refusal(*parse_arch_name("sm120f"), 100),
            "it is for the family of compute capability 12.0; the device has 10.0");
  EXPECT_EQ(arch_name_refusal(*parse_arch_name("sm120a"), 121),
            "it is for compute capability 12.0 alone; the device has 12.1");
  EXPECT_EQ(arch_name_refusal(*parse_arch_name("sm80"), 75),
            "it is for compute capability 8.0 and newer; the device has 7.5");
  EXPECT_EQ(arch_name_refusal(*parse_arch_name("sm75"), 80),
            "architectures below sm80 are not used");
}

}  // namespace
}  // namespace mxgemm::internal
