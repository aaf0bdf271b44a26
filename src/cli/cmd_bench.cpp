// SPDX-License-Identifier: Apache-2.0
// `mxgemm bench`: times kernels on problems and named model shapes.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <set>

#include "bench/shapes.hpp"
#include "cli/bench_timing.hpp"
#include "cli/commands.hpp"
#include "cli/device.hpp"
#include "cli/device_peaks.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/option_values.hpp"
#include "cli/problem.hpp"
#include "cli/table.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm bench m512n4096k4096:bf16:mxf4:bf16\n"
    "  mxgemm bench m1n4096k4096:bf16:mxf4:bf16:packed --threads 1 --repeat 100\n"
    "  mxgemm bench m256n256k256:mxf4:mxf4:f32 --kernel all\n"
    "  mxgemm bench --suite gptoss --formats bf16:mxf4:bf16 --json\n"
    "  mxgemm bench --suite llama --device cuda:0\n"
    "\n"
    "On the CPU a run is timed from call to completion, on a GPU as one of a queue of runs that\n"
    "takes at least 2 ms, by events, with the operands in as many copies as exceed twice the L2.\n"
    "B is packed (`packed`) outside the timing. GB/s counts each operand, C, bias and D once; "
    "\"of\n"
    "peak\" is the share of the speed that the vendor's figures allow, and the figure that "
    "limits.\n"
    "`mxgemm verify --help` explains problems.\n";

struct BenchRequest {
  std::vector<std::string> problems;
  std::string suite;
  std::string formats = "mxf4:mxf4:bf16";
  std::string device = "cpu";
  std::string kernel_id;
  int repeat = 0;
  int threads = 0;
  bool warm = false;
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
  Timing timing;
  double bytes = 0.0;
  size_t copies = 1;
  bool cold = false;
  std::optional<Roofline> limit;

  double flops_per_second() const {
    return 2.0 * static_cast<double>(problem.m) * static_cast<double>(problem.n) *
           static_cast<double>(problem.k) / timing.median();
  }
  double bytes_per_second() const { return bytes / timing.median(); }
  // Of the speed that the stated peaks allow; NaN where they are not known.
  double peak_percent() const {
    return limit.has_value() ? 100.0 * limit->seconds / timing.median() : std::nan("");
  }
};

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

Table make_table(const std::vector<Job>& jobs, DeviceId device) {
  using Align = Table::Align;
  size_t problem = 0;
  size_t kernel = 0;
  for (const Job& job : jobs) {
    problem = std::max(problem, to_string(job.problem).size());
    for (const std::string& id : job.kernel_ids) {
      kernel = std::max(kernel, id.size());
    }
  }
  std::vector<Table::Column> columns = {{"problem", Align::kLeft, problem},
                                        {"kernel", Align::kLeft, kernel},
                                        {"median", Align::kRight, 8},
                                        {"min", Align::kRight, 8},
                                        {"max", Align::kRight, 8}};
  if (device.kind == MXGEMM_DEVICE_CPU) {
    columns.insert(columns.end(), {{"GFLOP/s", Align::kRight, 8}, {"GB/s", Align::kRight, 6}});
  } else {
    columns.insert(columns.end(), {{"TFLOP/s", Align::kRight, 7},
                                   {"GB/s", Align::kRight, 6},
                                   {"of peak", Align::kRight, 11}});
  }
  columns.insert(columns.end(), {{"runs", Align::kRight, 4}, {"shape", Align::kLeft, 0}});
  return Table(columns);
}

std::vector<std::string> cells(const BenchRow& row) {
  const std::vector<double>& seconds = row.timing.seconds;
  std::vector<std::string> result = {
      to_string(row.problem), row.kernel_id, format_seconds(row.timing.median()),
      format_seconds(seconds.front()), format_seconds(seconds.back())};
  if (row.device.kind == MXGEMM_DEVICE_CPU) {
    result.push_back(fmt::format("{:.1f}", row.flops_per_second() * 1e-9));
    result.push_back(fmt::format("{:.2f}", row.bytes_per_second() * 1e-9));
  } else {
    result.push_back(fmt::format("{:.1f}", row.flops_per_second() * 1e-12));
    result.push_back(fmt::format("{:.0f}", row.bytes_per_second() * 1e-9));
    result.push_back(row.limit.has_value()
                         ? fmt::format("{:.1f}% {}", row.peak_percent(), row.limit->limit)
                         : "-");
  }
  result.push_back(fmt::to_string(seconds.size()));
  result.push_back(row.name);
  return result;
}

void write_row(const BenchRow& row, JsonWriter& json) {
  json.begin_object();
  json.key("problem").string(to_string(row.problem));
  json.key("shape").string(row.name);
  json.key("device").string(to_string(row.device));
  json.key("kernel").string(row.kernel_id);
  json.key("runs").size(row.timing.seconds.size());
  json.key("launches_per_run").integer(row.timing.launches);
  json.key("copies").size(row.copies);
  json.key("l2_cold").boolean(row.cold);
  json.key("median_seconds").number(row.timing.median());
  json.key("min_seconds").number(row.timing.seconds.front());
  json.key("max_seconds").number(row.timing.seconds.back());
  json.key("gflops").number(row.flops_per_second() * 1e-9);
  json.key("bytes").number(row.bytes);
  json.key("gbytes_per_second").number(row.bytes_per_second() * 1e-9);
  json.key("peak_percent").number(row.peak_percent());
  json.key("peak_limit").string(row.limit.has_value() ? row.limit->limit : "");
  json.end();
}

void write_peaks(const DevicePeaks* peaks, JsonWriter& json) {
  json.key("peaks");
  if (peaks == nullptr) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("bf16_tflops").number(peaks->bf16_tflops);
  json.key("fp8_tflops").number(peaks->fp8_tflops);
  json.key("fp4_tflops").number(peaks->fp4_tflops);
  json.key("memory_gbytes_per_second").number(peaks->memory_gbytes);
  json.key("source").string(peaks->source);
  json.end();
}

void print_json(const std::vector<BenchRow>& rows, DeviceId device, Console& console) {
  const mxgemm_device_info info = device_info(device);
  JsonWriter json;
  json.begin_object();
  json.key("version").string(mxgemm_version());
  json.key("device_name").string(info.name);
  json.key("threads").integer(info.num_threads);
  json.key("l2_bytes").size(info.l2_bytes);
  write_peaks(find_peaks(info.name), json);
  json.key("rows").begin_array();
  for (const BenchRow& row : rows) {
    write_row(row, json);
  }
  json.end().end();
  fmt::print(console.out, "{}\n", json.text());
}

// What was timed on, and against which peaks.
void print_device(DeviceId device, Console& console) {
  const mxgemm_device_info info = device_info(device);
  if (device.kind == MXGEMM_DEVICE_CPU) {
    fmt::print(console.err, "{}, {} threads\n", info.name, info.num_threads);
    return;
  }
  fmt::print(console.err, "{}, {} multiprocessors, L2 {}; ", info.name, info.num_threads,
             format_bytes(static_cast<double>(info.l2_bytes)));
  if (const DevicePeaks* peaks = find_peaks(info.name); peaks != nullptr) {
    fmt::print(console.err, "stated peaks: bf16 {:g}, fp8 {:g}, fp4 {:g} TFLOP/s, {:g} GB/s ({})\n",
               peaks->bf16_tflops, peaks->fp8_tflops, peaks->fp4_tflops, peaks->memory_gbytes,
               peaks->source);
  } else {
    fmt::print(console.err, "no peaks of it are known\n");
  }
}

int bench(const BenchRequest& request, Console& console) {
  std::vector<Job> jobs = make_jobs(request);
  const DeviceId device = parse_device(request.device);
  check(mxgemm_set_num_threads(request.threads), "--threads");
  check(mxgemm_device_synchronize(device.kind, device.index));  // says so where nothing runs
  choose_kernels(request, device, jobs);
  const Table table = make_table(jobs, device);
  if (!request.json) {
    print_device(device, console);
    table.print_title(console.out, console.color);
  }
  const DevicePeaks* peaks = find_peaks(device_info(device).name);
  std::vector<BenchRow> rows;
  for (const Job& job : jobs) {
    require_memory(job.problem, 3.0 * static_cast<double>(total_bytes(job.problem)));
    const ProblemData data = make_data(job.problem, DataKind::kNormal, 1);
    const double bytes = moved_bytes(job.problem, device);
    RotatingProblem on_device(data, device, bytes, request.warm);
    for (const std::string& id : job.kernel_ids) {
      const Plan plan(on_device.desc(), id);
      BenchRow& row = rows.emplace_back();
      row.name = job.name;
      row.problem = job.problem;
      row.device = device;
      row.kernel_id = id;
      row.bytes = bytes;
      row.copies = on_device.copies();
      row.cold = on_device.cold();
      row.timing = time_runs(on_device, plan, request.repeat);
      if (peaks != nullptr) {
        row.limit = roofline(*peaks, job.problem, bytes);
      }
      if (!request.json) {
        table.print_row(console.out, cells(row));
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
  command->add_flag("--warm", request->warm,
                    "GPU: one copy of the operands, which may stay in the L2 between runs");
  command->add_flag("--json", request->json, "print JSON");
}

}  // namespace mxgemm::cli
