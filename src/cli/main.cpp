// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "cli/program.hpp"

namespace {

// Whether all output got out, or nobody wanted the rest of it (`mxgemm info | head -1`).
bool output_is_complete() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    return true;
  }
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away (`mxgemm info | head`) ends the output, not a command that may be
  // writing a file.
  std::signal(SIGPIPE, SIG_IGN);
  const bool out_is_terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = out_is_terminal && (no_color == nullptr || *no_color == '\0');
  mxgemm::cli::Console console{std::cout, std::cerr, out_is_terminal, isatty(STDERR_FILENO) != 0,
                               color};
  const int code = mxgemm::cli::run_program(argc, argv, console);
  if (!output_is_complete()) {
    std::fprintf(stderr, "mxgemm: cannot write to standard output\n");
    return mxgemm::cli::kExitRunTimeFailure;
  }
  return code;
}
