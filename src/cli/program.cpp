// SPDX-License-Identifier: Apache-2.0
#include "cli/program.hpp"

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <ostream>
#include <vector>

#include "cli/commands.hpp"

namespace mxgemm::cli {

void check(mxgemm_status status, const std::string& context) {
  if (status == MXGEMM_OK) {
    return;
  }
  const std::string message = (context.empty() ? "" : context + ": ") + mxgemm_last_error();
  switch (status) {
    case MXGEMM_UNSUPPORTED:
    case MXGEMM_DEVICE_UNAVAILABLE:
      throw CommandError(kExitUnsupported, message);
    case MXGEMM_INVALID_ARGUMENT:
      throw CommandError(kExitBadCommandLine, message);
    default:
      throw CommandError(kExitRunTimeFailure,
                         fmt::format("{}: {}", mxgemm_status_string(status), message));
  }
}

Program::Program()
    : app_(std::make_unique<CLI::App>("Matrix multiplication in 4- and 8-bit block-scaled formats.",
                                      "mxgemm")) {
  app_->set_version_flag("--version", [] { return fmt::format("mxgemm {}", mxgemm_version()); });
  app_->require_subcommand(1);
  app_->footer(
      "Exit codes: 0 ok, 1 verification failed, 2 bad command line, 3 unsupported on this machine, "
      "4 run-time failure.\n`mxgemm COMMAND --help` explains a command.");
}

Program::~Program() = default;

CLI::App* Program::add_command(const std::string& name, const std::string& summary,
                               const std::string& examples, CommandBody body) {
  CLI::App* command = app_->add_subcommand(name, summary);
  command->footer("Examples:\n" + examples);
  command->callback([this, body = std::move(body)] { chosen_ = body; });
  return command;
}

int Program::run(int argc, const char* const* argv, Console& console) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Of an unknown command CLI11 says only that a command is missing.
    const std::vector<std::string> unknown = app_->remaining(/*recurse=*/true);
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) &&
        !unknown.empty()) {
      app_->exit(CLI::ExtrasError(app_->get_name(), unknown), console.out, console.err);
      return kExitBadCommandLine;
    }
    const bool asked = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    if (!asked && app_->get_subcommands().empty() && !app_->remaining().empty()) {
      // Without this the message would be that a subcommand is missing.
      fmt::print(console.err, "mxgemm: '{}' is no command or option; `mxgemm --help` lists them\n",
                 app_->remaining().front());
      return kExitBadCommandLine;
    }
    app_->exit(error, console.out, console.err);
    return asked ? kExitOk : kExitBadCommandLine;
  }
  const CLI::App* command = app_->get_subcommands().front();
  return run_command(command->get_name(), console);
}

int Program::run_command(const std::string& name, Console& console) {
  try {
    return chosen_(console);
  } catch (const CommandError& error) {
    fmt::print(console.err, "mxgemm {}: {}\n", name, error.what());
    return error.code();
  } catch (const std::bad_alloc&) {
    fmt::print(console.err, "mxgemm {}: out of memory\n", name);
  } catch (const std::exception& error) {
    fmt::print(console.err, "mxgemm {}: {}\n", name, error.what());
  }
  return kExitRunTimeFailure;
}

int run_program(int argc, const char* const* argv, Console& console) {
  Program program;
  register_info(program);
  register_quantize(program);
  register_dequantize(program);
  register_gemm(program);
  register_inspect(program);
  register_verify(program);
  register_bench(program);
  register_explain(program);
  return program.run(argc, argv, console);
}

}  // namespace mxgemm::cli
