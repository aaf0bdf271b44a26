// SPDX-License-Identifier: Apache-2.0
// Runs a plan of make_plan.py on emulated devices:
//
//     emulated_plan_runner PLAN [PART PARTS]      every PARTS-th line from line PART on, from 0
//
// EMU_DEVICES must be what the plan's first line says. EMULATED_ALL=1 runs every line under the
// whole portfolio of schedules, and those that have it anyway with as many times the seeds of
// early+pct as their SEED says.
#include <dlfcn.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "cli/verify.hpp"

namespace mxgemm::cli {
namespace {

struct Schedule {
  std::string policy;
  int seed = 1;
  bool races = false;
};

// Specification 6.3: no policy alone sees everything that is missing.
std::vector<Schedule> portfolio(int early_times) {
  const struct {
    const char* policy;
    int seeds;
  } rows[] = {{"plain", 1}, {"random", 4},   {"late", 2},
              {"pct", 4},   {"late+pct", 3}, {"early+pct", 3 * early_times}};
  std::vector<Schedule> schedules;
  for (const auto& row : rows) {
    for (int seed = 1; seed <= row.seeds; ++seed) {
      schedules.push_back({row.policy, seed, false});
    }
  }
  return schedules;
}

struct Line {
  std::string text;
  std::string verb;
  int32_t device = 0;
  std::string kernel;
  std::string schedule;
  int seed = 1;
  DataKind data = DataKind::kExact;
  bool in_place = false;
  std::string problem;
};

Line parse_line(const std::string& text) {
  Line line;
  line.text = text;
  std::istringstream words(text);
  words >> line.verb >> line.device >> line.kernel;
  if (line.verb == "run") {
    std::string data;
    words >> line.schedule >> line.seed >> data;
    const size_t plus = data.find('+');
    line.in_place = plus != std::string::npos;
    line.data = parse_data_kind(data.substr(0, plus));
  }
  words >> line.problem;
  if (words.fail() || (line.verb != "run" && line.verb != "refuse")) {
    throw std::runtime_error("a plan has no such line: " + text);
  }
  return line;
}

// The emulator's own interface (emu/runtime/emu.h), which a real CUDA runtime lacks.
void set_option(const char* name, const std::string& value) {
  using SetOption = int (*)(const char*, const char*);
  static void* const runtime = dlopen("libcudart.so.13", RTLD_NOW);  // the one the library uses
  static void* const symbol = runtime == nullptr ? nullptr : dlsym(runtime, "emu_set_option");
  const auto set = reinterpret_cast<SetOption>(symbol);
  if (set == nullptr) {
    throw std::runtime_error("libcudart.so.13 is not the emulator's: set LD_LIBRARY_PATH");
  }
  if (set(name, value.c_str()) != 0) {
    throw std::runtime_error(fmt::format("the emulator refuses {}={}", name, value));
  }
}

class Runner {
 public:
  int failures() const { return failures_; }
  int runs() const { return runs_; }
  int64_t exact_outputs() const { return exact_outputs_; }

  void run(const Line& line) {
    if (line.verb == "refuse") {
      must_refuse(line);
      return;
    }
    const bool all = std::getenv("EMULATED_ALL") != nullptr;
    std::vector<Schedule> schedules;
    if (line.schedule == "race") {
      schedules = {{"random", line.seed, true}};
    } else if (line.schedule == "portfolio" || all) {
      schedules = portfolio(line.schedule == "portfolio" && all ? line.seed : 1);
    } else {
      schedules = {{line.schedule, line.seed, false}};
    }
    for (const Schedule& schedule : schedules) {
      set_option("EMU_SCHED", schedule.policy);
      set_option("EMU_SEED", std::to_string(schedule.seed));
      set_option("EMU_RACE", schedule.races ? "1" : "0");
      must_pass(line, schedule);
    }
  }

 private:
  void fail(const Line& line, const std::string& what) {
    ++failures_;
    fmt::print("FAIL {}\n  {}\n", line.text, what);
  }

  void must_refuse(const Line& line) {
    ++runs_;
    const mxgemm_gemm_desc desc =
        make_desc(parse_problem(line.problem), MXGEMM_DEVICE_CUDA, line.device);
    if (refusal(find_kernel(line.kernel), desc).empty()) {
      fail(line, "it takes the problem: the plan must run it");
    }
  }

  void must_pass(const Line& line, const Schedule& schedule) {
    ++runs_;
    const Problem problem = parse_problem(line.problem);
    VerifyOptions options;
    options.devices = {{MXGEMM_DEVICE_CUDA, line.device}};
    options.kernel_id = line.kernel;
    options.kinds = {line.data};
    options.in_place = line.in_place;
    VerifyResult result;
    try {
      result = verify_problem(problem, options);
    } catch (const CommandError& error) {
      fail(line, error.what());
      return;
    }
    for (const VerifyRow& row : result.rows) {
      if (!row.passed()) {
        fail(line, fmt::format("EMU_SCHED={} EMU_SEED={}: {}", schedule.policy, schedule.seed,
                               fmt::join(row.failures, "\n  ")));
      }
      must_be_exact(line, problem, row);
    }
  }

  // Where the data leaves no order of summation a choice and the activation is exact, every output
  // is compared bit for bit.
  void must_be_exact(const Line& line, const Problem& problem, const VerifyRow& row) {
    exact_outputs_ += row.report.exact_required;
    const bool exact = line.data == DataKind::kExact && problem.activation <= MXGEMM_ACT_RELU;
    if (exact && row.report.exact_required != problem.m * problem.n) {
      fail(line, fmt::format("{} of {} outputs were compared bit for bit",
                             row.report.exact_required, problem.m * problem.n));
    }
  }

  int failures_ = 0;
  int runs_ = 0;
  int64_t exact_outputs_ = 0;
};

std::vector<std::string> read_lines(const char* path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  if (lines.size() < 2) {
    throw std::runtime_error(fmt::format("{} is no plan", path));
  }
  const char* devices = std::getenv("EMU_DEVICES");
  if (devices == nullptr || lines[0] != fmt::format("devices {}", devices)) {
    throw std::runtime_error(fmt::format("EMU_DEVICES must be {}", lines[0]));
  }
  lines.erase(lines.begin());
  return lines;
}

size_t number(const char* text) {
  const std::string_view word = text;
  size_t value = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), value).ptr !=
      word.data() + word.size()) {
    throw std::runtime_error(fmt::format("{} is no number", word));
  }
  return value;
}

int run_plan(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    throw std::runtime_error("usage: emulated_plan_runner PLAN [PART PARTS]");
  }
  const std::vector<std::string> lines = read_lines(argv[1]);
  const size_t part = argc == 4 ? number(argv[2]) : 0;
  const size_t parts = argc == 4 ? number(argv[3]) : 1;
  Runner runner;
  for (size_t i = part; i < lines.size(); i += parts) {
    runner.run(parse_line(lines[i]));
  }
  fmt::print("{} runs, {} failures, {} outputs compared bit for bit\n", runner.runs(),
             runner.failures(), runner.exact_outputs());
  return runner.failures() == 0 && runner.runs() != 0 ? 0 : 1;
}

}  // namespace
}  // namespace mxgemm::cli

int main(int argc, char** argv) {
  try {
    return mxgemm::cli::run_plan(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "emulated_plan_runner: {}\n", error.what());
    return 2;
  }
}
