// SPDX-License-Identifier: Apache-2.0
#include "base/status.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/require.hpp"

namespace mxgemm::internal {
namespace {

TEST(Status, DefaultIsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, KeepsCodeAndMessage) {
  const Status status(StatusCode::kIoError, "model.safetensors: no such file");
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_EQ(status.message(), "model.safetensors: no such file");
  const Status copy = status;
  EXPECT_EQ(copy.message(), status.message());
}

TEST(FormatText, AnyLength) {
  EXPECT_EQ(format_text("%s", ""), "");
  EXPECT_EQ(format_text("K is %d; it must be a multiple of %d", 33, 32),
            "K is 33; it must be a multiple of 32");
  EXPECT_EQ(format_text("100%%"), "100%");
  for (const size_t length : {1u, 127u, 128u, 1023u, 1024u, 100000u}) {
    const std::string text(length, 'x');
    EXPECT_EQ(format_text("<%s>", text.c_str()), "<" + text + ">");
  }
}

TEST(FormatText, WhatCannotBeFormattedIsEmpty) {
  // A wide character that the "C" locale has no bytes for makes vsnprintf fail.
  const wchar_t wide[] = {static_cast<wchar_t>(0x20ac), 0};
  EXPECT_EQ(format_text("%ls", wide), "");
}

Status require_positive(int number, int* evaluated) {
  MXGEMM_REQUIRE(++*evaluated > 0 && number > 0, "number is %d; it must be positive", number);
  return {};
}

Status try_both(int first, int second, int* evaluated) {
  MXGEMM_TRY(require_positive(first, evaluated));
  MXGEMM_TRY(require_positive(second, evaluated));
  return Status(StatusCode::kInternal, "reached the end");
}

TEST(Require, ReturnsInvalidArgumentWithTheText) {
  int evaluated = 0;
  EXPECT_TRUE(require_positive(1, &evaluated).ok());
  const Status status = require_positive(-7, &evaluated);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "number is -7; it must be positive");
  EXPECT_EQ(evaluated, 2) << "the condition is evaluated once";
}

TEST(Require, TryPassesTheFirstFailureOn) {
  int evaluated = 0;
  EXPECT_EQ(try_both(-1, -2, &evaluated).message(), "number is -1; it must be positive");
  EXPECT_EQ(evaluated, 1);
  EXPECT_EQ(try_both(1, -2, &evaluated).message(), "number is -2; it must be positive");
  EXPECT_EQ(evaluated, 3);
  EXPECT_EQ(try_both(1, 2, &evaluated).message(), "reached the end");
}

}  // namespace
}  // namespace mxgemm::internal
