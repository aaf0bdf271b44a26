// SPDX-License-Identifier: Apache-2.0
// How long a run takes: on the CPU from call to completion, on a GPU as one of a queue of runs,
// between two events.
#pragma once

#include <memory>
#include <vector>

#include "cli/device.hpp"
#include "cli/verify_run.hpp"

namespace mxgemm::cli {

// The problem in several copies, which runs take by turns: with more bytes in them than twice the
// L2, what a run reads has left the cache since it was read last, as weights have in a model.
class RotatingProblem {
 public:
  // `bytes`: of one copy. `warm`: one copy, whatever the cache.
  RotatingProblem(const ProblemData& data, DeviceId device, double bytes, bool warm);

  DeviceId device() const { return copies_.front()->device(); }
  const mxgemm_gemm_desc& desc() const { return copies_.front()->desc(); }
  size_t copies() const { return copies_.size(); }
  // Whether the copies exceed twice the L2.
  bool cold() const { return cold_; }

  void prepare(const Plan& plan);
  void launch_next(const Plan& plan);

 private:
  std::vector<std::unique_ptr<DeviceProblem>> copies_;
  size_t next_ = 0;
  bool cold_ = false;
};

struct Timing {
  std::vector<double> seconds;  // per run of the kernel, sorted
  int launches = 1;             // in each of these measurements
  double median() const;
};

// `repeat` measurements; 0: enough of them for a stable median.
Timing time_runs(RotatingProblem& problem, const Plan& plan, int repeat);

}  // namespace mxgemm::cli
