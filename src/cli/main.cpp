// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "cli/program.hpp"

int main(int argc, char** argv) {
  // A reader that goes away (`mxgemm info | head`) ends the output, not a command that may be
  // writing a file.
  std::signal(SIGPIPE, SIG_IGN);
  const bool out_is_terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_color = std::getenv("NO_COLOR");
  const bool color = out_is_terminal && (no_color == nullptr || *no_color == '\0');
  mxgemm::cli::Console console{std::cout, std::cerr, out_is_terminal, isatty(STDERR_FILENO) != 0,
                               color};
  return mxgemm::cli::run_program(argc, argv, console);
}
