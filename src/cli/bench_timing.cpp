// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_timing.hpp"

#include <algorithm>
#include <cmath>

#include "cli/program.hpp"

namespace mxgemm::cli {
namespace {

// Problems so small that even these do not fill twice the L2 are bound by the launch, not by
// memory; each copy is some ten allocations.
constexpr double kMaxCopies = 512;

// A measurement on a GPU: long against what events resolve and against the wait for the first
// launch, and short enough for many of them. The queue of a stream takes about a thousand.
constexpr double kMeasurementSeconds = 2e-3;
constexpr double kMaxLaunches = 500;

// Two events of the library; on a CPU a clock.
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

  // Seconds that each of `launches` runs in a row takes.
  double seconds(RotatingProblem& problem, const Plan& plan, int launches) {
    check(mxgemm_event_record(start_, nullptr));
    for (int i = 0; i < launches; ++i) {
      problem.launch_next(plan);
    }
    check(mxgemm_event_record(end_, nullptr));
    float milliseconds = 0.0f;
    check(mxgemm_event_elapsed(start_, end_, &milliseconds));
    return milliseconds * 1e-3 / launches;
  }

 private:
  mxgemm_event* start_ = nullptr;
  mxgemm_event* end_ = nullptr;
};

}  // namespace

RotatingProblem::RotatingProblem(const ProblemData& data, DeviceId device, double bytes,
                                 bool warm) {
  const auto cache = 2.0 * static_cast<double>(device_info(device).l2_bytes);
  double count = 1;
  if (!warm && cache > 0 && bytes > 0) {
    count = std::min(std::floor(cache / bytes) + 1, kMaxCopies);
  }
  cold_ = cache > 0 && count * bytes > cache;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    copies_.push_back(std::make_unique<DeviceProblem>(data, device, Placement::kGuarded, false));
  }
}

void RotatingProblem::prepare(const Plan& plan) {
  copies_.front()->prepare(plan);
  // One workspace for all: it stays in the cache, as a model's does.
  for (size_t i = 1; i < copies_.size(); ++i) {
    copies_[i]->use_workspace_of(*copies_.front());
  }
}

void RotatingProblem::launch_next(const Plan& plan) {
  copies_[next_]->launch(plan);
  next_ = next_ + 1 == copies_.size() ? 0 : next_ + 1;
}

double Timing::median() const {
  const size_t half = seconds.size() / 2;
  return seconds.size() % 2 != 0 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

Timing time_runs(RotatingProblem& problem, const Plan& plan, int repeat) {
  // Without `repeat`: measurements for about a third of a second, three where one takes longer.
  constexpr double kEnough = 0.3;
  constexpr size_t kMinMeasurements = 3;
  constexpr size_t kMaxMeasurements = 1000;
  constexpr double kWarmUp = 0.05;
  problem.prepare(plan);
  Stopwatch stopwatch(problem.device());
  Timing timing;
  double spent = 0.0;
  double shortest = HUGE_VAL;
  do {
    const double seconds = stopwatch.seconds(problem, plan, 1);
    shortest = std::min(shortest, seconds);
    spent += seconds;
  } while (spent > 0.0 && spent < kWarmUp);
  if (problem.device().kind == MXGEMM_DEVICE_CUDA) {
    timing.launches = static_cast<int>(
        std::clamp(std::ceil(kMeasurementSeconds / std::max(shortest, 1e-9)), 1.0, kMaxLaunches));
  }
  spent = 0.0;
  const auto finished = [&] {
    const size_t done = timing.seconds.size();
    return repeat > 0 ? done == static_cast<size_t>(repeat)
                      : done >= kMaxMeasurements || (done >= kMinMeasurements && spent >= kEnough);
  };
  while (!finished()) {
    timing.seconds.push_back(stopwatch.seconds(problem, plan, timing.launches));
    spent += timing.seconds.back() * timing.launches;
  }
  std::sort(timing.seconds.begin(), timing.seconds.end());
  return timing;
}

}  // namespace mxgemm::cli
