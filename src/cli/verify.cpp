// SPDX-License-Identifier: Apache-2.0
#include "cli/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>

#include "cli/program.hpp"
#include "cli/random.hpp"
#include "cli/threads.hpp"
#include "cli/verify_run.hpp"

namespace mxgemm::cli {
namespace {

using internal::CompareReport;
using internal::ExpectedOutput;
using internal::OutputTile;
using internal::OutputView;
using internal::ReferenceProblem;

// One kernel's output, before the reference is asked.
struct Outcome {
  VerifyRow row;
  uint32_t allowances = 0;  // of the kernel: its outputs are judged by them
  bool refuses_arguments = false;
  Image d;
};

std::vector<OutputTile> all_tiles(const Problem& p) {
  constexpr int64_t kTile = internal::kReferenceTile;
  std::vector<OutputTile> tiles;
  for (int64_t m = 0; m < p.m; m += kTile) {
    for (int64_t n = 0; n < p.n; n += kTile) {
      tiles.push_back({m, std::min(m + kTile, p.m), n, std::min(n + kTile, p.n)});
    }
  }
  return tiles;
}

// Small tiles at random places, the four corners first.
std::vector<OutputTile> sampled_tiles(const Problem& p, uint64_t seed) {
  // 4096 outputs of 256 places: at K = 8192 a second of work.
  constexpr int64_t kTile = 4;
  constexpr int kPlaces = 256;
  const RandomStream random(seed, 1000);
  std::vector<OutputTile> tiles;
  for (int i = 0; i < kPlaces; ++i) {
    const auto begin = [&](int64_t extent, int which) {
      const int64_t last = std::max<int64_t>(extent - kTile, 0);
      if (i < 4) {
        return (i >> which) % 2 == 0 ? 0 : last;
      }
      return static_cast<int64_t>(random.bits(static_cast<uint64_t>(2 * i + which)) %
                                  static_cast<uint64_t>(last + 1));
    };
    const int64_t m = begin(p.m, 0);
    const int64_t n = begin(p.n, 1);
    tiles.push_back({m, std::min(m + kTile, p.m), n, std::min(n + kTile, p.n)});
  }
  return tiles;
}

bool is_sampled(const Problem& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) >
         kMaxReferenceProducts;
}

std::vector<OutputTile> checked_tiles(const Problem& p, uint64_t seed) {
  return is_sampled(p) ? sampled_tiles(p, seed) : all_tiles(p);
}

internal::KernelAllowances allowances_of(uint32_t bits) {
  return {(bits & MXGEMM_ALLOW_ZERO_PRODUCTS) != 0, (bits & MXGEMM_ALLOW_LIMITED_SCALES) != 0};
}

// The reference of one tile, computed once for all kernels that declare the same.
class TileReference {
 public:
  TileReference(const ReferenceProblem& problem, const OutputTile& tile)
      : problem_(problem), tile_(tile) {}

  const std::vector<ExpectedOutput>& expected(uint32_t allowances) {
    std::vector<ExpectedOutput>& outputs = by_allowances_[allowances];
    if (outputs.empty()) {
      outputs.resize(
          static_cast<size_t>((tile_.m_end - tile_.m_begin) * (tile_.n_end - tile_.n_begin)));
      problem_.allowances = allowances_of(allowances);
      internal::expected_tile(problem_, tile_, outputs);
    }
    return outputs;
  }

 private:
  ReferenceProblem problem_;
  OutputTile tile_;
  std::map<uint32_t, std::vector<ExpectedOutput>> by_allowances_;
};

// Compares every outcome with the reference.
void compare(const ProblemData& data, const std::vector<OutputTile>& tiles,
             std::vector<Outcome>& outcomes, const VerifyOptions& options, bool sampled) {
  const ReferenceProblem reference = reference_problem(data);
  // A report per tile and outcome, merged in order, so that the sums do not depend on the threads.
  std::vector<std::vector<CompareReport>> reports(tiles.size());
  std::mutex progress_lock;
  parallel_for(static_cast<int64_t>(tiles.size()), host_threads(), [&](int64_t index) {
    const OutputTile& tile = tiles[static_cast<size_t>(index)];
    TileReference of_tile(reference, tile);
    for (const Outcome& outcome : outcomes) {
      if (!outcome.row.ran) {
        reports[static_cast<size_t>(index)].emplace_back();
        continue;
      }
      const OutputView view{data.problem.d, outcome.d.payload(), ldd(data.problem)};
      reports[static_cast<size_t>(index)].push_back(
          compare_expected(of_tile.expected(outcome.allowances), view, tile));
    }
    if (options.progress) {
      const std::lock_guard lock(progress_lock);
      options.progress(1);
    }
  });
  for (size_t i = 0; i < outcomes.size(); ++i) {
    for (const auto& of_tile : reports) {
      outcomes[i].row.report.merge(of_tile[i]);
    }
    outcomes[i].row.sampled = sampled;
  }
}

// Outputs that still hold poison, wherever they lie.
void check_written(const Problem& p, Outcome& outcome) {
  const uint32_t poison = internal::poison_code(p.d);
  int64_t unwritten = 0;
  for (int64_t m = 0; m < p.m; ++m) {
    for (int64_t n = 0; n < p.n; ++n) {
      const int64_t at = m * ldd(p) + n;
      unwritten += internal::load_code(p.d, outcome.d.payload(), at) == poison ? 1 : 0;
    }
  }
  if (unwritten > 0) {
    outcome.row.failures.push_back(fmt::format("not written: {} outputs", unwritten));
  }
}

void check_guards(const Problem& p, Outcome& outcome) {
  const Image& d = outcome.d;
  const internal::GuardReport guard =
      internal::check_guard(d.bytes.data(), d.bytes.size(), d.payload_begin, p.d, p.m, p.n, ldd(p));
  if (!guard.pass()) {
    outcome.row.failures.push_back(
        fmt::format("bytes that are not D's changed: {}, first {} (byte {})", guard.bytes_changed,
                    guard.where, guard.first_offset - static_cast<int64_t>(d.payload_begin)));
  }
}

void run_plan(DeviceProblem& on_device, const VerifyOptions& options, Outcome& outcome) {
  const std::string& id = outcome.row.kernel_id;
  const Plan plan(on_device.desc(), id);
  if (plan.name() != id) {
    outcome.row.failures.push_back(
        fmt::format("the plan of this kernel is called {}", plan.name()));
  }
  on_device.run(plan);
  outcome.d = on_device.result();
  if (options.tamper) {
    options.tamper(id, on_device, outcome.d);
  }
  for (const std::string& changed : on_device.changed_inputs()) {
    outcome.row.failures.push_back(changed);
  }
}

Outcome run_kernel(DeviceProblem& on_device, const Kernel& kernel, const VerifyOptions& options) {
  Outcome outcome;
  outcome.allowances = kernel.info.allowances | options.allowances;
  outcome.row.kernel_id = kernel.info.id;
  outcome.row.device = on_device.device();
  outcome.row.seed = options.seed;
  try {
    run_plan(on_device, options, outcome);
  } catch (const CommandError& error) {
    outcome.row.ran = false;
    // Kernels of GPUs may want aligned data, which only the arguments tell.
    outcome.refuses_arguments =
        error.code() == kExitUnsupported && outcome.row.device.kind == MXGEMM_DEVICE_CUDA;
    outcome.row.run_time_failure = error.code() == kExitRunTimeFailure;
    outcome.row.failures.push_back(fmt::format("did not run: {}", error.what()));
  }
  return outcome;
}

// Splits the comparators' report into lines.
void add_failures(VerifyRow& row, bool in_place) {
  CompareReport report = row.report;
  // In place D held C: a value of C that happens to be the poison is no fault, and there is no
  // poison to find.
  report.unwritten = in_place ? 0 : report.unwritten;
  std::istringstream lines(report.failures());
  for (std::string line; std::getline(lines, line);) {
    row.failures.push_back(line);
  }
}

std::vector<Kernel> accepting(const Problem& problem, DeviceId device, const VerifyOptions& options,
                              VerifyResult& result) {
  std::vector<Kernel> candidates;
  if (options.kernel_id.empty()) {
    candidates = all_kernels();
  } else {
    candidates = {find_kernel(options.kernel_id)};
  }
  const mxgemm_gemm_desc desc = make_desc(problem, device.kind, device.index);
  // What is wrong for every kernel at once (MXGEMM_FORCE, say) ends the command; it is no failed
  // row.
  check(mxgemm_explain(&desc, nullptr, 0, nullptr));
  std::vector<Kernel> accepted;
  for (const Kernel& kernel : candidates) {
    if (kernel.info.device_kind != device.kind) {
      continue;
    }
    const std::string reason = refusal(kernel, desc);
    if (reason.empty()) {
      accepted.push_back(kernel);
    } else {
      result.refusals.push_back(fmt::format("{}: {}", kernel.info.id, reason));
    }
  }
  return accepted;
}

// One line for each GPU library whose kernels cannot say why they refuse: it was not loaded.
std::string refused_libraries(const VerifyOptions& options) {
  std::string lines;
  if (std::any_of(options.devices.begin(), options.devices.end(),
                  [](DeviceId device) { return device.kind == MXGEMM_DEVICE_CUDA; })) {
    for (const mxgemm_library_info& library : all_libraries()) {
      if (library.loaded == 0) {
        lines += fmt::format("\n  cuda:{}: not loaded: {}", library.arch, library.reason);
      }
    }
  }
  return lines;
}

[[noreturn]] void refuse_all(const Problem& problem, const VerifyOptions& options,
                             const VerifyResult& result) {
  std::string reasons;
  for (const std::string& refusal : result.refusals) {
    reasons += "\n  " + refusal;
  }
  reasons += refused_libraries(options);
  throw CommandError(kExitUnsupported, fmt::format("no kernel takes {}{}", to_string(problem),
                                                   reasons.empty() ? "" : ":" + reasons));
}

void verify_kind(const Problem& problem, DataKind kind,
                 const std::vector<std::vector<Kernel>>& kernels, const VerifyOptions& options,
                 VerifyResult& result) {
  const ProblemData data = make_data(problem, kind, options.seed);
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < options.devices.size(); ++i) {
    if (kernels[i].empty()) {
      continue;
    }
    DeviceProblem on_device(data, options.devices[i], options.placement, options.in_place);
    for (const Kernel& kernel : kernels[i]) {
      outcomes.push_back(run_kernel(on_device, kernel, options));
    }
  }
  const bool sampled = is_sampled(problem);
  compare(data, checked_tiles(problem, options.seed), outcomes, options, sampled);
  for (Outcome& outcome : outcomes) {
    outcome.row.kind = kind;
    if (outcome.refuses_arguments) {
      result.refusals.push_back(
          fmt::format("{}: {}", outcome.row.kernel_id, fmt::join(outcome.row.failures, "; ")));
      continue;
    }
    if (outcome.row.ran) {
      add_failures(outcome.row, options.in_place);
      if (sampled && !options.in_place) {
        check_written(problem, outcome);
      }
      check_guards(problem, outcome);
    }
    result.rows.push_back(std::move(outcome.row));
  }
}

}  // namespace

VerifyResult verify_problem(const Problem& problem, const VerifyOptions& options) {
  VerifyResult result;
  std::vector<std::vector<Kernel>> kernels;
  size_t count = 0;
  for (DeviceId device : options.devices) {
    kernels.push_back(accepting(problem, device, options, result));
    count += kernels.back().size();
  }
  if (count == 0) {
    refuse_all(problem, options, result);
  }
  // Host and device hold the operands, each kernel one D, and D's check a copy.
  const double output_bytes =
      static_cast<double>(matrix_bytes(problem.d, problem.m, problem.n, ldd(problem)));
  require_memory(problem, 2.0 * static_cast<double>(total_bytes(problem)) +
                              static_cast<double>(count) * output_bytes);
  for (DataKind kind : options.kinds) {
    verify_kind(problem, kind, kernels, options, result);
  }
  if (result.rows.empty()) {
    refuse_all(problem, options, result);
  }
  return result;
}

uint64_t verify_work(const Problem& problem, const VerifyOptions& options) {
  return checked_tiles(problem, options.seed).size() * options.kinds.size();
}

std::string reproduction(const Problem& problem, const VerifyRow& row) {
  return fmt::format("mxgemm verify {} --device {} --kernel {} --data {} --seed {}",
                     to_string(problem), to_string(row.device), row.kernel_id, to_string(row.kind),
                     row.seed);
}

}  // namespace mxgemm::cli
