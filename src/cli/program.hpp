// SPDX-License-Identifier: Apache-2.0
// The frame of the command line program: subcommands, exit codes, where output goes. A command
// lives in a file of its own, cmd_<name>.cpp, and enters the program through one function
// register_<name> (commands.hpp).
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>

#include "mxgemm/mxgemm.h"

// A file that adds options includes <CLI/CLI.hpp> itself: with sanitizers that header alone takes
// ten seconds to compile.
namespace CLI {
class App;
}  // namespace CLI

namespace mxgemm::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitVerifyFailed = 1,
  kExitBadCommandLine = 2,
  kExitUnsupported = 3,  // this machine lacks the device or level, or no kernel takes the problem
  kExitRunTimeFailure = 4,
};

// Ends a command: the message goes to stderr, the code to the shell.
class CommandError : public std::runtime_error {
 public:
  CommandError(ExitCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

// Throws the CommandError of a failed call of the C API: UNSUPPORTED and DEVICE_UNAVAILABLE give
// exit code 3, INVALID_ARGUMENT 2, all else 4. The message is the library's own, with `context`
// before it where there is one.
void check(mxgemm_status status, const std::string& context = "");

// Where a command writes. Results go to `out`, progress and complaints to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;  // out is a terminal and NO_COLOR is not set
};

// A command's body: what main returns. May throw CommandError; any other exception is exit code 4.
using CommandBody = std::function<int(Console&)>;

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Adds the subcommand `name`; `examples` is shown at the end of its help, one command per line.
  // Options are added to the result, their values kept in something that `body` shares.
  CLI::App* add_command(const std::string& name, const std::string& summary,
                        const std::string& examples, CommandBody body);

  // Parses argv and runs the chosen command. Never throws.
  int run(int argc, const char* const* argv, Console& console);

 private:
  int run_command(const std::string& name, Console& console);

  std::unique_ptr<CLI::App> app_;
  CommandBody chosen_;
};

// The whole program, as main calls it and tests do.
int run_program(int argc, const char* const* argv, Console& console);

}  // namespace mxgemm::cli
