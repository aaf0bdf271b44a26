// SPDX-License-Identifier: Apache-2.0
// The work of all streams as one graph: an item runs once everything it needs has run. Nothing
// runs by itself: host threads that wait run it, in an order that the policy chooses.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "exec/launch.hpp"

namespace emu::runtime {

enum class TaskKind { kKernel, kCopy, kSet, kHost, kEmpty, kRecord };

struct Outcome {
  cudaError_t error = cudaSuccess;
  uint64_t steps = 0;  // what it cost, in interpreted warp instructions
  std::string report;  // with an error: the whole story
};

// Kernels that run as one item: each but the first may begin before its predecessor has ended.
struct KernelChain {
  std::vector<LaunchRequest> requests;
};

// What one item does, apart from when. A captured task runs as often as its graph is launched.
struct Task {
  TaskKind kind = TaskKind::kEmpty;
  std::string what;  // for messages
  int device = 0;
  std::function<Outcome()> run;        // null: nothing
  std::shared_ptr<KernelChain> chain;  // of kernels: what `run` launches
  // Runs even after its device failed: bookkeeping, and what gives memory back.
  bool always = false;
};

struct Work {
  Task task;
  std::vector<std::shared_ptr<Work>> needs;  // emptied once it has run
  enum class State { kPending, kRunning, kDone } state = State::kPending;
  uint64_t finished_at = 0;  // on the emulated clock
  uint64_t visited = 0;      // by which search
};
using WorkPtr = std::shared_ptr<Work>;

enum class StreamPolicy { kLate, kEager, kRandom };
std::optional<StreamPolicy> parse_stream_policy(const std::string& text);

class Executor {
 public:
  // Asked before a task runs: the error that its device is in already. Told after it has run.
  struct Callbacks {
    std::function<bool(int device)> has_failed;
    std::function<void(int device, const Outcome&)> failed;
    std::function<void(bool)> open_memory;  // true: device memory becomes accessible
  };
  using Lock = std::unique_lock<std::mutex>;

  Executor(Callbacks callbacks, StreamPolicy policy, uint64_t seed)
      : callbacks_(std::move(callbacks)), policy_(policy), random_(seed) {}

  void set_policy(StreamPolicy policy) { policy_ = policy; }
  void set_seed(uint64_t seed) { random_.seed(seed); }

  // All of these want the runtime's lock held; they let go of it while a task runs.
  WorkPtr submit(Lock& lock, Task task, std::vector<WorkPtr> needs);
  void wait(Lock& lock, const std::vector<WorkPtr>& targets);
  void wait_device(Lock& lock, int device);
  void wait_all(Lock& lock);
  // Until no task runs: then the books of device memory may change.
  void wait_idle(Lock& lock);
  // What a query does besides asking. A loop of queries must end some time, hence now and then it
  // runs one item that `target` needs.
  void nudge(Lock& lock, const WorkPtr& target);
  // Under the random policy any call may find that something has run.
  void drift(Lock& lock);

  size_t pending_count() const { return pending_.size(); }
  uint64_t clock() const { return clock_; }

 private:
  std::vector<WorkPtr> pending_closure(const std::vector<WorkPtr>& targets);
  static bool is_ready(const Work& work);
  // Runs one ready item of `candidates`, or waits for one that runs in another thread.
  void run_one(Lock& lock, const std::vector<WorkPtr>& candidates);
  void run(Lock& lock, const WorkPtr& work);

  Callbacks callbacks_;
  StreamPolicy policy_;
  std::mt19937_64 random_;
  std::vector<WorkPtr> pending_;
  std::condition_variable changed_;
  bool busy_ = false;  // one task at a time: device memory is one
  uint64_t clock_ = 0;
  uint64_t searches_ = 0;
};

}  // namespace emu::runtime
