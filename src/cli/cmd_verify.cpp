// SPDX-License-Identifier: Apache-2.0
// `mxgemm verify`: every kernel that takes a problem, against the reference.
#include "cli/cmd_verify.hpp"

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/option_values.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"

namespace mxgemm::cli {
namespace {

bool is_data_kind(const std::string& word) {
  return std::find(std::begin(kDataKindNames), std::end(kDataKindNames), word) !=
         std::end(kDataKindNames);
}

constexpr const char* kExamples =
    "  mxgemm verify m133n528k512:mxf4:mxf4:bf16\n"
    "  mxgemm verify m1n40k64:nvf4:nvf4:f32 m129n384k256:bf16:mxf4:bf16:bias:act=gelu\n"
    "  mxgemm verify m5n9k96:f32:mxf8e5m2:f32:beta=0.5:lda=+3:ldd=+5:off=4:scales=rowmajor\n"
    "  mxgemm verify m64n64k64:nvf4:mxf4:f16 --data exact,normal,wide,edge --seed 7\n"
    "  MXGEMM_MAX_ISA=avx2 mxgemm verify m300n7k2880:mxf8:mxf4:f16 --device cpu --json\n"
    "\n"
    "A problem is m<M>n<N>k<K>:<A>:<B>:<D>[:option]..., D = act(alpha A B^T + bias + beta C):\n"
    "  A, B     mxf4 nvf4 mxf8 (= mxf8e4m3) mxf8e5m2, and for A also bf16 f16 f32\n"
    "  D        bf16 f16 f32\n"
    "  options  scales=swizzled|rowmajor  pad=nan|zero  bias[=f32]  beta=<x>  alpha=<x>|dev\n"
    "           act=none|relu|gelu|gelu_tanh|silu  lda=+<n> ldb=+<n> ldc=+<n> ldd=+<n>\n"
    "           off=<bytes>  packed\n";

struct ProblemRows {
  Problem problem;
  VerifyResult result;
  std::optional<CommandError> error;  // instead of a result
};

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : value > 0 ? "inf" : "-inf";
}

void print_rows(const ProblemRows& rows, Console& console) {
  using Align = Table::Align;
  fmt::print(console.out, "{}\n", to_string(rows.problem));
  Table table({{"kernel"},
               {"data"},
               {"outputs", Align::kRight},
               {"exact", Align::kRight},
               {"differ", Align::kRight},
               {"NaN only", Align::kRight},
               {"unchecked", Align::kRight},
               {"error/bound", Align::kRight},
               {"SQNR dB", Align::kRight},
               {"verdict"}});
  for (const VerifyRow& row : rows.result.rows) {
    const internal::CompareReport& report = row.report;
    const std::string device =
        row.device.kind == MXGEMM_DEVICE_CPU ? "" : fmt::format(" ({})", to_string(row.device));
    table.add_row({row.kernel_id + device, to_string(row.kind),
                   fmt::format("{}{}", row.sampled ? "sample of " : "", report.outputs),
                   fmt::to_string(report.exact_required), fmt::to_string(report.exact_mismatches),
                   fmt::to_string(report.nan_only_checked), fmt::to_string(report.unchecked),
                   number(report.max_error_over_bound, 3), number(report.sqnr_db(), 1),
                   row.passed() ? "pass" : "FAIL"});
  }
  table.print(console.out, console.color);
  for (const VerifyRow& row : rows.result.rows) {
    if (row.passed()) {
      continue;
    }
    fmt::print(console.out, "FAIL {} {}\n", row.kernel_id, to_string(row.kind));
    for (const std::string& failure : row.failures) {
      fmt::print(console.out, "  {}\n", failure);
    }
    fmt::print(console.out, "  again: {}\n", reproduction(rows.problem, row));
  }
  fmt::print(console.out, "\n");
}

void write_row(const Problem& problem, const VerifyRow& row, JsonWriter& json) {
  const internal::CompareReport& report = row.report;
  json.begin_object();
  json.key("problem").string(to_string(problem));
  json.key("device").string(to_string(row.device));
  json.key("kernel").string(row.kernel_id);
  json.key("data").string(to_string(row.kind));
  json.key("seed").size(row.seed);
  json.key("sampled").boolean(row.sampled);
  json.key("outputs").integer(report.outputs);
  json.key("exact_required").integer(report.exact_required);
  json.key("exact_mismatches").integer(report.exact_mismatches);
  json.key("bound_checked").integer(report.bound_checked);
  json.key("bound_violations").integer(report.bound_violations);
  json.key("nan_expected").integer(report.nan_expected);
  json.key("nan_only_checked").integer(report.nan_only_checked);
  json.key("unchecked").integer(report.unchecked);
  json.key("error_over_bound").number(report.max_error_over_bound);
  json.key("sqnr_db").number(report.sqnr_db());
  json.key("passed").boolean(row.passed());
  json.key("failures").begin_array();
  for (const std::string& failure : row.failures) {
    json.string(failure);
  }
  json.end();
  json.key("again").string(reproduction(problem, row));
  json.end();
}

void print_json(const std::vector<ProblemRows>& all, int64_t passed, int64_t failed,
                Console& console) {
  JsonWriter json;
  json.begin_object();
  json.key("version").string(mxgemm_version());
  json.key("rows").begin_array();
  for (const ProblemRows& rows : all) {
    for (const VerifyRow& row : rows.result.rows) {
      write_row(rows.problem, row, json);
    }
  }
  json.end();
  json.key("errors").begin_array();
  for (const ProblemRows& rows : all) {
    if (rows.error) {
      json.begin_object();
      json.key("problem").string(to_string(rows.problem));
      json.key("exit_code").integer(rows.error->code());
      json.key("message").string(rows.error->what());
      json.end();
    }
  }
  json.end();
  json.key("passed").integer(passed);
  json.key("failed").integer(failed);
  json.end();
  fmt::print(console.out, "{}\n", json.text());
}

int exit_code(const std::vector<ProblemRows>& all) {
  bool run_time_failure = false;
  bool failed = false;
  int refused = kExitOk;
  for (const ProblemRows& rows : all) {
    for (const VerifyRow& row : rows.result.rows) {
      run_time_failure = run_time_failure || row.run_time_failure;
      failed = failed || !row.passed();
    }
    if (rows.error) {
      run_time_failure = run_time_failure || rows.error->code() == kExitRunTimeFailure;
      refused = rows.error->code();
    }
  }
  return run_time_failure ? kExitRunTimeFailure : failed ? kExitVerifyFailed : refused;
}

VerifyOptions make_options(const VerifyRequest& request, const std::vector<std::string>& kinds) {
  VerifyOptions options;
  options.devices = parse_devices(request.device);
  options.kernel_id = request.kernel_id;
  options.seed = request.seed;
  options.tamper = request.tamper;
  if (!kinds.empty()) {
    options.kinds.clear();
  }
  for (const std::string& name : kinds) {
    const DataKind kind = parse_data_kind(name);
    if (std::find(options.kinds.begin(), options.kinds.end(), kind) == options.kinds.end()) {
      options.kinds.push_back(kind);
    }
  }
  if (!options.kernel_id.empty()) {
    find_kernel(options.kernel_id);
  }
  return options;
}

}  // namespace

int verify_command(const VerifyRequest& request, Console& console) {
  std::vector<ProblemRows> all;
  std::vector<std::string> kinds = request.kinds;
  for (const std::string& text : request.problems) {
    // `--data exact wide`: the parser of the command line takes the second word for a problem.
    if (!request.kinds.empty() && is_data_kind(text)) {
      kinds.push_back(text);
    } else {
      all.push_back({parse_problem(text), {}, std::nullopt});
    }
  }
  if (all.empty()) {
    throw CommandError(kExitBadCommandLine, "PROBLEM is missing: no problem string is given");
  }
  VerifyOptions options = make_options(request, kinds);
  int64_t passed = 0;
  int64_t failed = 0;
  for (ProblemRows& rows : all) {
    try {
      Progress progress(console, to_string(rows.problem), verify_work(rows.problem, options));
      options.progress = [&](uint64_t done) { progress.advance(done); };
      rows.result = verify_problem(rows.problem, options);
    } catch (const CommandError& error) {
      rows.error = error;
      fmt::print(console.err, "mxgemm verify: {}\n", error.what());
      continue;
    }
    for (const VerifyRow& row : rows.result.rows) {
      (row.passed() ? passed : failed) += 1;
    }
    if (!request.json) {
      print_rows(rows, console);
    }
    if (!console.out.flush()) {
      return exit_code(all);  // nobody reads on
    }
  }
  if (request.json) {
    print_json(all, passed, failed, console);
  } else {
    const auto not_run = std::count_if(
        all.begin(), all.end(), [](const ProblemRows& rows) { return rows.error.has_value(); });
    fmt::print(console.out, "{} rows passed, {} failed{}\n", passed, failed,
               not_run == 0 ? "" : fmt::format("; {} problems were not run", not_run));
  }
  return exit_code(all);
}

void register_verify(Program& program) {
  auto request = std::make_shared<VerifyRequest>();
  CLI::App* command = program.add_command(
      "verify", "Run every kernel that takes a problem and compare it with the exact reference.",
      kExamples, [request](Console& console) { return verify_command(*request, console); });
  command->add_option("PROBLEM", request->problems, "problem strings")->required();
  command->add_option("--device", request->device, "cpu, cuda:N or all")->capture_default_str();
  command->add_option("--kernel", request->kernel_id, "only the kernel with this full id")
      ->check(CLI::Validator(not_empty, ""));
  command->add_option("--seed", request->seed, "seed of the data")
      ->transform(CLI::Validator(take_uint64, ""))
      ->capture_default_str();
  command
      ->add_option("--data", request->kinds,
                   "exact, normal, uniform, ones, wide, edge; several with commas or blanks "
                   "[exact,normal]")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--json", request->json, "print JSON");
}

}  // namespace mxgemm::cli
