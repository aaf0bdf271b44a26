// SPDX-License-Identifier: Apache-2.0
// Kernels against the reference: what `mxgemm verify` and tests/device run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/problem.hpp"
#include "cli/verify_data.hpp"
#include "cli/verify_image.hpp"
#include "reference/compare.hpp"

namespace mxgemm::cli {

class DeviceProblem;

// Above this many products, 2 to 40 seconds of one core by the data, only a sample of tiles is
// compared (every output is still looked at for poison, and every byte around D).
constexpr double kMaxReferenceProducts = 2e9;

// Sees a kernel's run before it is checked; a test changes `d`, or an input on the device, to see
// the check fail.
using Tamper =
    std::function<void(const std::string& kernel_id, const DeviceProblem& run, Image& d)>;

struct VerifyOptions {
  std::vector<DeviceId> devices = {DeviceId{}};
  std::string kernel_id;  // empty: every kernel that accepts the problem
  std::vector<DataKind> kinds = {DataKind::kExact, DataKind::kNormal};
  uint64_t seed = 1;
  // Of tests: where inputs lie, whether D is C, and what happens between run and check.
  Placement placement = Placement::kGuarded;
  bool in_place = false;
  Tamper tamper;
  uint32_t allowances = 0;  // as if every kernel declared these bits, too
  // Called with units of verify_work() that are done, from one thread at a time.
  std::function<void(uint64_t done)> progress;
};

// One kernel with one kind of data.
struct VerifyRow {
  std::string kernel_id;
  DeviceId device;
  DataKind kind = DataKind::kExact;
  uint64_t seed = 0;
  bool ran = true;
  bool run_time_failure = false;  // it did not run, for a reason that exit code 4 tells
  bool sampled =
      false;  // only `report.outputs` of the problem's outputs were compared with the reference
  internal::CompareReport report;
  std::vector<std::string> failures;  // one line each; empty: passed

  bool passed() const { return failures.empty(); }
};

struct VerifyResult {
  std::vector<VerifyRow> rows;
  // "<kernel id>: <reason>" of kernels that do not take the problem.
  std::vector<std::string> refusals;
};

// Throws CommandError where something other than a kernel's numbers fails; exit code 3 where no
// kernel takes the problem.
VerifyResult verify_problem(const Problem& problem, const VerifyOptions& options);

// Units of work in verify_problem, for a progress bar.
uint64_t verify_work(const Problem& problem, const VerifyOptions& options);

// The command line that runs this row alone.
std::string reproduction(const Problem& problem, const VerifyRow& row);

}  // namespace mxgemm::cli
