// SPDX-License-Identifier: Apache-2.0
// `mxgemm bench`: times kernels on problems and named model shapes.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

#include "bench/shapes.hpp"
#include "cli/commands.hpp"
#include "cli/device.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/option_values.hpp"
#include "cli/problem.hpp"
#include "cli/table.hpp"
#include "cli/verify_run.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm bench m512n4096k4096:bf16:mxf4:bf16\n"
    "  mxgemm bench m1n4096k4096:bf16:mxf4:bf16:packed --threads 1 --repeat 100\n"
    "  mxgemm bench m256n256k256:mxf4:mxf4:f32 --kernel all\n"
    "  mxgemm bench --suite gptoss --formats bf16:mxf4:bf16 --json\n"
    "\n"
    "A run is timed from call to completion, after a warm-up; B is packed (`packed`) outside the\n"
    "timing. GB/s counts each operand, C, bias and D once. `mxgemm verify --help` explains "
    "problems.\n";

struct BenchRequest {
  std::vector<std::string> problems;
  std::string suite;
  std::string formats = "mxf4:mxf4:bf16";
  std::string device = "cpu";
  std::string kernel_id;
  int repeat = 0;
  int threads = 0;
  bool json = false;
};

struct Job {
  std::string name;  // "gptoss/qkv", "" for problems from the command line
  Problem problem;
  std::vector<std::string> kernel_ids;
};

struct BenchRow {
  std::string name;
  Problem problem;
  DeviceId device;
  std::string kernel_id;
  std::vector<double> seconds;  // sorted
  double bytes = 0.0;

  double median() const {
    const size_t half = seconds.size() / 2;
    return seconds.size() % 2 != 0 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
  }
  double flops() const {
    return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
           static_cast<double>(problem.k);
  }
};

// Times single runs with the library's events, on a CPU a clock.
class Stopwatch {
 public:
  explicit Stopwatch(DeviceId device) {
    check(mxgemm_event_create(device.kind, device.index, &start_));
    check(mxgemm_event_create(device.kind, device.index, &end_));
  }
  ~Stopwatch() {
    mxgemm_event_destroy(start_);
    mxgemm_event_destroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  double seconds(const DeviceProblem& problem, const Plan& plan) {
    check(mxgemm_event_record(start_, nullptr));
    problem.launch(plan);
    check(mxgemm_event_record(end_, nullptr));
    float milliseconds = 0.0f;
    check(mxgemm_event_elapsed(start_, end_, &milliseconds));
    return milliseconds * 1e-3;
  }

 private:
  mxgemm_event* start_ = nullptr;
  mxgemm_event* end_ = nullptr;
};

std::vector<double> time_runs(DeviceProblem& problem, const Plan& plan, int repeat) {
  // Without --repeat: enough runs for a stable median within about a third of a second, three where
  // one takes longer.
  constexpr double kEnough = 0.3;
  constexpr size_t kMinRuns = 3;
  constexpr size_t kMaxRuns = 1000;
  constexpr double kWarmUp = 0.05;
  problem.prepare(plan);
  Stopwatch stopwatch(problem.device());
  double spent = 0.0;
  do {
    spent += stopwatch.seconds(problem, plan);
  } while (spent > 0.0 && spent < kWarmUp);
  std::vector<double> seconds;
  spent = 0.0;
  const auto finished = [&] {
    if (repeat > 0) {
      return seconds.size() == static_cast<size_t>(repeat);
    }
    return seconds.size() >= kMaxRuns || (seconds.size() >= kMinRuns && spent >= kEnough);
  };
  while (!finished()) {
    seconds.push_back(stopwatch.seconds(problem, plan));
    spent += seconds.back();
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

std::vector<Job> make_jobs(const BenchRequest& request) {
  std::vector<Job> jobs;
  for (const std::string& text : request.problems) {
    jobs.push_back({"", parse_problem(text), {}});
  }
  std::set<std::string> suites;
  for (const bench::Shape& shape : bench::kShapes) {
    suites.insert(shape.suite);
    if (request.suite == shape.suite) {
      jobs.push_back(
          {fmt::format("{}/{}", shape.suite, shape.name),
           parse_problem(fmt::format("m{}n{}k{}:{}", shape.m, shape.n, shape.k, request.formats)),
           {}});
    }
  }
  if (!request.suite.empty() && suites.count(request.suite) == 0) {
    throw CommandError(kExitBadCommandLine, fmt::format("--suite is '{}', allowed are {}",
                                                        request.suite, fmt::join(suites, ", ")));
  }
  if (jobs.empty()) {
    throw CommandError(
        kExitBadCommandLine,
        fmt::format("nothing to time: give problem strings or --suite {}", fmt::join(suites, "|")));
  }
  return jobs;
}

// Settles each job's kernels before anything is timed, so that a problem which nothing takes is
// known at once.
void choose_kernels(const BenchRequest& request, DeviceId device, std::vector<Job>& jobs) {
  for (Job& job : jobs) {
    const mxgemm_gemm_desc desc = make_desc(job.problem, device.kind, device.index);
    if (request.kernel_id != "all") {
      if (!request.kernel_id.empty()) {
        find_kernel(request.kernel_id);
      }
      job.kernel_ids = {Plan(desc, request.kernel_id).name()};
      continue;
    }
    for (const Kernel& kernel : all_kernels()) {
      if (kernel.info.device_kind == device.kind && refusal(kernel, desc).empty()) {
        job.kernel_ids.emplace_back(kernel.info.id);
      }
    }
    if (job.kernel_ids.empty()) {
      Plan(desc, "");  // throws the list of reasons
    }
  }
}

double moved_bytes(const Problem& problem, DeviceId device) {
  double bytes = static_cast<double>(total_bytes(problem));
  if (problem.packed_b) {
    uint64_t packed = 0;
    check(mxgemm_pack_size(device.kind, device.index, static_cast<int32_t>(problem.b), problem.n,
                           problem.k, &packed));
    bytes += static_cast<double>(packed) -
             static_cast<double>(matrix_bytes(problem.b, problem.n, problem.k, ldb(problem)) +
                                 scale_bytes(problem, problem.b, problem.n, ldb(problem)));
  }
  return bytes;
}

Table make_table(const std::vector<Job>& jobs) {
  using Align = Table::Align;
  size_t problem = 0;
  size_t kernel = 0;
  for (const Job& job : jobs) {
    problem = std::max(problem, to_string(job.problem).size());
    for (const std::string& id : job.kernel_ids) {
      kernel = std::max(kernel, id.size());
    }
  }
  return Table({{"problem", Align::kLeft, problem},
                {"kernel", Align::kLeft, kernel},
                {"median", Align::kRight, 8},
                {"min", Align::kRight, 8},
                {"max", Align::kRight, 8},
                {"GFLOP/s", Align::kRight, 8},
                {"GB/s", Align::kRight, 6},
                {"runs", Align::kRight, 4},
                {"shape", Align::kLeft, 0}});
}

std::vector<std::string> cells(const BenchRow& row) {
  return {to_string(row.problem),
          row.kernel_id,
          format_seconds(row.median()),
          format_seconds(row.seconds.front()),
          format_seconds(row.seconds.back()),
          fmt::format("{:.1f}", row.flops() / row.median() * 1e-9),
          fmt::format("{:.2f}", row.bytes / row.median() * 1e-9),
          fmt::to_string(row.seconds.size()),
          row.name};
}

void write_row(const BenchRow& row, JsonWriter& json) {
  json.begin_object();
  json.key("problem").string(to_string(row.problem));
  json.key("shape").string(row.name);
  json.key("device").string(to_string(row.device));
  json.key("kernel").string(row.kernel_id);
  json.key("runs").size(row.seconds.size());
  json.key("median_seconds").number(row.median());
  json.key("min_seconds").number(row.seconds.front());
  json.key("max_seconds").number(row.seconds.back());
  json.key("gflops").number(row.flops() / row.median() * 1e-9);
  json.key("bytes").number(row.bytes);
  json.key("gbytes_per_second").number(row.bytes / row.median() * 1e-9);
  json.end();
}

void print_json(const std::vector<BenchRow>& rows, DeviceId device, Console& console) {
  const mxgemm_device_info info = device_info(device);
  JsonWriter json;
  json.begin_object();
  json.key("version").string(mxgemm_version());
  json.key("device_name").string(info.name);
  json.key("threads").integer(info.num_threads);
  json.key("rows").begin_array();
  for (const BenchRow& row : rows) {
    write_row(row, json);
  }
  json.end().end();
  fmt::print(console.out, "{}\n", json.text());
}

DeviceId one_device(const std::string& text) {
  if (text == "all") {
    throw CommandError(kExitBadCommandLine, "--device is 'all', allowed are cpu and cuda:N");
  }
  return parse_devices(text).front();
}

int bench(const BenchRequest& request, Console& console) {
  std::vector<Job> jobs = make_jobs(request);
  const DeviceId device = one_device(request.device);
  check(mxgemm_set_num_threads(request.threads), "--threads");
  choose_kernels(request, device, jobs);
  const Table table = make_table(jobs);
  if (!request.json) {
    const mxgemm_device_info info = device_info(device);
    fmt::print(console.err, "{}, {} threads\n", info.name, info.num_threads);
    table.print_title(console.out, console.color);
  }
  std::vector<BenchRow> rows;
  for (const Job& job : jobs) {
    require_memory(job.problem, 3.0 * static_cast<double>(total_bytes(job.problem)));
    const ProblemData data = make_data(job.problem, DataKind::kNormal, 1);
    DeviceProblem on_device(data, device, Placement::kGuarded, false);
    for (const std::string& id : job.kernel_ids) {
      const Plan plan(on_device.desc(), id);
      rows.push_back({job.name, job.problem, device, id, time_runs(on_device, plan, request.repeat),
                      moved_bytes(job.problem, device)});
      if (!request.json) {
        table.print_row(console.out, cells(rows.back()));
      }
      if (!console.out.flush()) {
        return kExitOk;  // nobody reads on
      }
    }
  }
  if (request.json) {
    print_json(rows, device, console);
  }
  return kExitOk;
}

}  // namespace

void register_bench(Program& program) {
  auto request = std::make_shared<BenchRequest>();
  CLI::App* command =
      program.add_command("bench", "Time kernels on problems or on named model shapes.", kExamples,
                          [request](Console& console) { return bench(*request, console); });
  command->add_option("PROBLEM", request->problems, "problem strings");
  command->add_option("--suite", request->suite, "shapes: square, llama, gptoss or torchao");
  command
      ->add_option("--formats", request->formats, "<A>:<B>:<D>[:option]... of the suite's problems")
      ->capture_default_str();
  command->add_option("--device", request->device, "cpu or cuda:N")->capture_default_str();
  command
      ->add_option("--kernel", request->kernel_id,
                   "full id of a kernel, or all; without it the library chooses")
      ->check(CLI::Validator(not_empty, ""));
  command->add_option("--repeat", request->repeat, "timed runs; 0: about a third of a second")
      ->transform(CLI::Validator(take_uint64, ""))
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  command->add_option("--threads", request->threads, "threads of the CPU backend; 0: its default")
      ->transform(CLI::Validator(take_uint64, ""))
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_flag("--json", request->json, "print JSON");
}

}  // namespace mxgemm::cli
