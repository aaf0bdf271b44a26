// SPDX-License-Identifier: Apache-2.0
// A program of its own: it forks before it has logged anything, so that every child reads its own
// level.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/log.hpp"
#include "support/environment.hpp"

namespace mxgemm::internal {
namespace {

void log_all_levels() {
  log_line(LogLevel::kError, "error %d", 1);
  log_line(LogLevel::kWarning, "warning %s", "two");
  log_line(LogLevel::kInfo, "info %.1f", 3.0);
  log_line(LogLevel::kDebug, "debug %c", '4');
}

// What a process with that MXGEMM_VERBOSE writes to stderr. The level is read once in a process,
// hence a child each.
std::string stderr_with(const char* verbose) {
  const test::EnvironmentVariable variable("MXGEMM_VERBOSE", verbose);
  int ends[2];
  if (pipe(ends) != 0) {
    return "no pipe";
  }
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    log_all_levels();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char bytes[256];
  for (ssize_t count = 0; (count = read(ends[0], bytes, sizeof(bytes))) > 0;) {
    text.append(bytes, static_cast<size_t>(count));
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return text;
}

constexpr const char* kTwo = "mxgemm: error 1\nmxgemm: warning two\n";
constexpr const char* kThree = "mxgemm: error 1\nmxgemm: warning two\nmxgemm: info 3.0\n";
constexpr const char* kFour =
    "mxgemm: error 1\nmxgemm: warning two\nmxgemm: info 3.0\nmxgemm: debug 4\n";

TEST(LogToStderr, LevelFollowsTheEnvironment) {
  EXPECT_EQ(stderr_with(nullptr), kTwo);
  EXPECT_EQ(stderr_with(""), kTwo);
  EXPECT_EQ(stderr_with("0"), kTwo);
  EXPECT_EQ(stderr_with("1"), kThree);
  EXPECT_EQ(stderr_with("2"), kFour);
  EXPECT_EQ(stderr_with("3"), kThree) << "a bad value counts as 1";
  EXPECT_EQ(stderr_with("yes"), kThree);
}

}  // namespace
}  // namespace mxgemm::internal
