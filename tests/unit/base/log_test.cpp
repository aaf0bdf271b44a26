// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mxgemm::internal {
namespace {

using Lines = std::vector<std::pair<int32_t, std::string>>;

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { set_log_function(nullptr, nullptr); }

  void listen() {
    set_log_function(
        [](void* context, int32_t level, const char* text) {
          static_cast<Lines*>(context)->emplace_back(level, text);
        },
        &lines_);
  }
  Lines lines_;
};

void log_all_levels() {
  log_line(LogLevel::kError, "error %d", 1);
  log_line(LogLevel::kWarning, "warning %s", "two");
  log_line(LogLevel::kInfo, "info %.1f", 3.0);
  log_line(LogLevel::kDebug, "debug %c", '4');
}

TEST_F(LogTest, CallbackGetsEveryLevelAndNothingGoesToStderr) {
  listen();
  testing::internal::CaptureStderr();
  log_all_levels();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(lines_, (Lines{{0, "error 1"}, {1, "warning two"}, {2, "info 3.0"}, {3, "debug 4"}}));
}

TEST_F(LogTest, CallbackCanBeTakenBack) {
  listen();
  log_line(LogLevel::kError, "one");
  set_log_function(nullptr, nullptr);
  testing::internal::CaptureStderr();
  log_line(LogLevel::kError, "two");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mxgemm: two\n");
  EXPECT_EQ(lines_, (Lines{{0, "one"}}));
}

TEST_F(LogTest, LongLinesAreCutNotOverrun) {
  listen();
  const std::string text(5000, 'x');
  log_line(LogLevel::kInfo, "%s", text.c_str());
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(lines_[0].second, text.substr(0, 1023));
}

TEST_F(LogTest, CallbackMayLogAndChangeTheReceiver) {
  set_log_function(
      [](void* context, int32_t level, const char* text) {
        static_cast<Lines*>(context)->emplace_back(level, text);
        set_log_function(nullptr, nullptr);  // would block where a lock is held during the call
      },
      &lines_);
  log_line(LogLevel::kError, "once");
  EXPECT_EQ(lines_, (Lines{{0, "once"}}));
}

}  // namespace
}  // namespace mxgemm::internal
