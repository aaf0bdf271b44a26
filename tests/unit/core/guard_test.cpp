// SPDX-License-Identifier: Apache-2.0
// Nothing passes the border of the C functions but a status; text results.
#include "core/guard.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "core/text.hpp"

namespace mxgemm::internal {
namespace {

TEST(Guard, TurnsEverythingIntoAStatus) {
  EXPECT_EQ(guard([]() -> Status { throw std::bad_alloc(); }), MXGEMM_OUT_OF_MEMORY);
  EXPECT_STREQ(last_error(), "out of host memory");
  EXPECT_EQ(guard([]() -> Status { throw std::runtime_error("a reason"); }), MXGEMM_INTERNAL);
  EXPECT_STREQ(last_error(), "a reason");
  EXPECT_EQ(guard([]() -> Status { throw 5; }), MXGEMM_INTERNAL);
  EXPECT_STREQ(last_error(), "unknown exception");
  EXPECT_EQ(guard([]() -> Status { return {StatusCode::kIoError, "gone"}; }), MXGEMM_IO_ERROR);
  EXPECT_STREQ(last_error(), "gone");
  EXPECT_EQ(guard([]() -> Status { return {}; }), MXGEMM_OK);
  EXPECT_STREQ(last_error(), "");
}

TEST(WriteText, CutsAndCounts) {
  size_t needed = 0;
  EXPECT_TRUE(write_text("hello", nullptr, 0, &needed).ok());
  EXPECT_EQ(needed, 6u);
  char buffer[8] = "1234567";
  EXPECT_TRUE(write_text("hello", buffer, 3, nullptr).ok());
  EXPECT_EQ(std::string(buffer), "he");
  EXPECT_EQ(buffer[3], '4') << "written past the capacity";
  EXPECT_TRUE(write_text("hello", buffer, 1, nullptr).ok());
  EXPECT_EQ(buffer[0], '\0');
  EXPECT_TRUE(write_text("hello", buffer, 8, nullptr).ok());
  EXPECT_EQ(std::string(buffer), "hello");
  EXPECT_FALSE(write_text("hello", nullptr, 1, &needed).ok());
}

TEST(FillText, ZeroesTheRest) {
  char buffer[6] = {'x', 'x', 'x', 'x', 'x', 'x'};
  fill_text("ab", buffer, 5);
  EXPECT_EQ(std::string(buffer, 6), std::string("ab\0\0\0x", 6));
  fill_text("abcdefg", buffer, 5);
  EXPECT_EQ(std::string(buffer, 6), std::string("abcd\0x", 6));
}

}  // namespace
}  // namespace mxgemm::internal
