// SPDX-License-Identifier: Apache-2.0
#include "core/plan.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/require.hpp"
#include "core/backend_call.hpp"
#include "core/desc.hpp"
#include "core/device.hpp"
#include "core/run_arguments.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {
namespace {

// A failure has the kernel's id before it.
template <typename Function, typename... Arguments>
Status call_kernel(const RegisteredKernel& entry, Function function, Arguments... arguments) {
  const Status status = call_backend(function, arguments...);
  forget_device_error(entry.device_kind, status.code());
  return status.ok() ? status
                     : Status(status.code(),
                              format_text("%s: %s", entry.id.c_str(), status.message().c_str()));
}

Status prepare(const RegisteredKernel& entry, const mxgemm_gemm_desc& desc) {
  const mxgemm_gemm_desc asked = non_empty(desc);
  return call_kernel(entry, entry.kernel->prepare, &asked);
}

Status no_kernel(const KernelGroups& groups, const Selection& selection,
                 const mxgemm_gemm_desc& desc) {
  return {StatusCode::kUnsupported,
          format_text("no kernel accepts %s%s:\n%s", describe(desc).c_str(),
                      describe_device(desc, selection.capability).c_str(),
                      explain(groups, selection, desc).c_str())};
}

// The second kernel must not cost the first: where it cannot be prepared (a driver too old for its
// PTX) the plan does without it and keeps the reason.
void prepare_fallback(const Choice& choice, Plan* plan) {
  if (!needs_alignment(*choice.first->kernel)) {
    return;
  }
  if (choice.fallback == nullptr) {
    plan->no_fallback = "no kernel without that demand takes this problem";
    return;
  }
  const Status status = prepare(*choice.fallback, plan->desc);
  if (status.ok()) {
    plan->fallback = choice.fallback;
  } else {
    plan->no_fallback = status.message();
  }
}

}  // namespace

Status make_plan(const Registry& registry, const Selection& selection, const mxgemm_gemm_desc& desc,
                 Plan* plan) {
  MXGEMM_TRY(check_selection(registry, selection));
  KernelGroups groups;
  MXGEMM_TRY(registry.groups(desc.device_kind, selection.capability, &groups));
  const Choice choice = choose(groups, selection, desc);
  if (choice.first == nullptr) {
    return no_kernel(groups, selection, desc);
  }
  plan->desc = desc;
  plan->entry = choice.first;
  plan->selection = selection;
  bool is_fake = false;
  MXGEMM_TRY(is_fake_device(desc.device_kind, &is_fake));
  if (is_fake) {
    plan->fallback = choice.fallback;
  } else {
    MXGEMM_TRY(prepare(*choice.first, desc));
    prepare_fallback(choice, plan);
  }
  if (desc.device_kind == MXGEMM_DEVICE_CPU) {
    cpu::warm_up();
  }
  plan->workspace_size = current_workspace_size(*plan);
  log_line(LogLevel::kDebug, "plan %s: %s, workspace %llu bytes", describe(desc).c_str(),
           plan->entry->id.c_str(), static_cast<unsigned long long>(plan->workspace_size));
  return {};
}

uint64_t current_workspace_size(const Plan& plan) {
  if (plan.desc.m == 0 || plan.desc.n == 0) {
    return 0;
  }
  const uint64_t first = plan.entry->kernel->workspace_size(&plan.desc);
  return plan.fallback == nullptr
             ? first
             : std::max(first, plan.fallback->kernel->workspace_size(&plan.desc));
}

Status run_plan(const Plan& plan, const mxgemm_gemm_args* args, void* stream) {
  MXGEMM_TRY(check_stream(plan.desc.device_kind, stream));
  MXGEMM_TRY(check_runnable(kDescDevice, plan.desc.device_kind, plan.desc.device_index));
  mxgemm_gemm_args resolved;
  MXGEMM_TRY(resolve_args(plan.desc, args, plan.workspace_size, &resolved));
  if (plan.desc.m == 0 || plan.desc.n == 0) {
    return {};
  }
  MXGEMM_TRY(check_argument_memory(plan.desc, resolved));
  const RegisteredKernel* entry = plan.entry;
  if (const Misaligned found = find_misaligned(plan.desc, resolved, entry->kernel->data_alignment);
      found.argument != nullptr) {
    MXGEMM_TRY(check_fallback(plan, found));
    entry = plan.fallback;
  }
  return call_kernel(*entry, entry->kernel->run, &plan.desc, &resolved, stream);
}

}  // namespace mxgemm::internal
