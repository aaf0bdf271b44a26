// SPDX-License-Identifier: Apache-2.0
#include "core/one_shot.hpp"

#include <algorithm>
#include <memory>

#include "base/require.hpp"
#include "core/buffers.hpp"
#include "core/memory.hpp"
#include "core/plan_cache.hpp"

namespace mxgemm::internal {
namespace {

// Workspace of one thread: grows to the largest that it has needed and goes with the thread.
class ThreadWorkspace {
 public:
  ThreadWorkspace() = default;
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;
  ~ThreadWorkspace() { host_free(data_); }

  Status get(uint64_t bytes, void** data) {
    if (bytes > bytes_) {
      host_free(data_);
      data_ = nullptr;
      bytes_ = 0;
      MXGEMM_TRY(host_alloc(bytes, &data_));
      bytes_ = bytes;
    }
    *data = data_;
    return {};
  }

 private:
  void* data_ = nullptr;
  uint64_t bytes_ = 0;
};

thread_local ThreadWorkspace thread_workspace;

}  // namespace

Status run_one_shot(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args* args, void* stream) {
  MXGEMM_TRY(check_not_null("args", args));
  MXGEMM_TRY(
      check_struct_size("args.struct_size", args->struct_size, sizeof(*args), "mxgemm_gemm_args"));
  std::shared_ptr<const Plan> plan;
  MXGEMM_TRY(plan_cache().get(desc, &plan));
  if (desc.device_kind != MXGEMM_DEVICE_CPU || args->workspace != nullptr ||
      plan->workspace_size == 0) {
    return run_plan(*plan, args, stream);
  }
  // Asked for anew: the number of threads may have grown since the plan was made.
  const uint64_t wanted = std::max(plan->workspace_size, current_workspace_size(*plan));
  mxgemm_gemm_args with_workspace = *args;
  MXGEMM_TRY(thread_workspace.get(wanted, &with_workspace.workspace));
  with_workspace.workspace_bytes = wanted;
  return run_plan(*plan, &with_workspace, stream);
}

}  // namespace mxgemm::internal
