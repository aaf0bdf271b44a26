// SPDX-License-Identifier: Apache-2.0
#include "base/env.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "support/environment.hpp"

namespace mxgemm::internal {
namespace {

constexpr const char* kName = "MXGEMM_BASE_TEST";

TEST(Env, TextIsEmptyWhereUnsetOrBlank) {
  test::EnvironmentVariable variable(kName, nullptr);
  EXPECT_FALSE(env_text(kName));
  variable.set("");
  EXPECT_FALSE(env_text(kName));
  variable.set(" ");
  EXPECT_EQ(env_text(kName), " ");
  variable.set("avx2");
  EXPECT_EQ(env_text(kName), "avx2");
}

TEST(Env, IntegerWithinRange) {
  test::EnvironmentVariable variable(kName, nullptr);
  std::optional<int64_t> value = 5;
  EXPECT_TRUE(env_integer(kName, 0, 10, &value).ok());
  EXPECT_FALSE(value) << "unset: nothing, not the value of before";
  const struct {
    const char* text;
    int64_t value;
  } cases[] = {{"0", 0}, {"10", 10}, {"007", 7}, {"-3", -3}};
  for (const auto& one : cases) {
    variable.set(one.text);
    EXPECT_TRUE(env_integer(kName, -3, 10, &value).ok()) << one.text;
    EXPECT_EQ(value, one.value);
  }
  variable.set("-9223372036854775808");
  EXPECT_TRUE(env_integer(kName, INT64_MIN, INT64_MAX, &value).ok());
  EXPECT_EQ(value, INT64_MIN);
}

TEST(Env, EverythingElseIsAnErrorThatNamesVariableValueAndRange) {
  test::EnvironmentVariable variable(kName, nullptr);
  for (const char* text :
       {"-4", "11", "1.0", "1 ", " 1", "0x1", "one", "+1", "1e1", "9223372036854775808", "-"}) {
    variable.set(text);
    std::optional<int64_t> value = 5;
    const Status status = env_integer(kName, -3, 10, &value);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message(), "environment variable MXGEMM_BASE_TEST is \"" + std::string(text) +
                                    "\"; it must be a whole number from -3 to 10");
    EXPECT_FALSE(value) << text;
  }
}

}  // namespace
}  // namespace mxgemm::internal
