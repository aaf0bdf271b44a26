// SPDX-License-Identifier: Apache-2.0
#include "core/plan.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/require.hpp"
#include "core/desc.hpp"
#include "core/device.hpp"
#include "core/enums.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {
namespace {

// Room for one sentence of a kernel.
constexpr size_t kMessageCapacity = 512;

// Kernels are promised M, N > 0; an empty problem is asked for as one row or column and never run.
mxgemm_gemm_desc non_empty(const mxgemm_gemm_desc& desc) {
  mxgemm_gemm_desc copy = desc;
  copy.m = std::max<int64_t>(desc.m, 1);
  copy.n = std::max<int64_t>(desc.n, 1);
  return copy;
}

std::string format_refusal(const char* argument, int32_t format, FormatSet accepted) {
  if ((accepted >> format & 1) != 0) {
    return "";
  }
  return format_text("%s is %s; it takes %s", argument, format_name(static_cast<Format>(format)),
                     format_names(accepted).c_str());
}

std::string selection_refusal(const RegisteredKernel& entry, const Selection& selection) {
  if (!selection.kernel_id.empty()) {
    return entry.id == selection.kernel_id
               ? ""
               : format_text("kernel_id is %s", selection.kernel_id.c_str());
  }
  if (selection.force.empty() || entry.id == selection.force ||
      entry.kernel->arch == selection.force) {
    return "";
  }
  return format_text("MXGEMM_FORCE is %s", selection.force.c_str());
}

// The best kernel that accepts desc; nullptr if none does.
const RegisteredKernel* choose(const Registry& registry, const Selection& selection,
                               const mxgemm_gemm_desc& desc) {
  const mxgemm_gemm_desc asked = non_empty(desc);
  const RegisteredKernel* best = nullptr;
  int32_t best_rank = 0;
  for (const RegisteredKernel& entry : registry.kernels()) {
    if (!refusal(entry, desc, selection).empty()) {
      continue;
    }
    const int32_t rank = entry.kernel->rank(&asked);
    if (best == nullptr || rank > best_rank) {
      best = &entry;
      best_rank = rank;
    }
  }
  return best;
}

Status kernel_failure(const RegisteredKernel& entry, int32_t code, const char* message) {
  return {static_cast<StatusCode>(code), format_text("%s: %s", entry.id.c_str(), message)};
}

}  // namespace

Status current_selection(const char* kernel_id, Selection* selection) {
  MXGEMM_TRY(isa_limit(&selection->isa));
  selection->force = forced_kernel();
  MXGEMM_REQUIRE(kernel_id == nullptr || *kernel_id != '\0',
                 "kernel_id is \"\"; it must be NULL or one of %s",
                 Registry::instance().id_list().c_str());
  selection->kernel_id = kernel_id == nullptr ? "" : kernel_id;
  return {};
}

Status check_selection(const Registry& registry, const Selection& selection) {
  MXGEMM_REQUIRE(selection.kernel_id.empty() || registry.find(selection.kernel_id) != nullptr,
                 "kernel_id is \"%s\"; it must be NULL or one of %s", selection.kernel_id.c_str(),
                 registry.id_list().c_str());
  MXGEMM_REQUIRE(selection.force.empty() || registry.find(selection.force) != nullptr ||
                     registry.has_arch(selection.force),
                 "environment variable MXGEMM_FORCE is \"%s\"; it must be an arch or one of %s",
                 selection.force.c_str(), registry.id_list().c_str());
  return {};
}

std::string unavailable_reason(const RegisteredKernel& entry, const IsaLimit& isa) {
  return entry.device_kind == MXGEMM_DEVICE_CPU ? isa_reason(entry.kernel->isa, isa) : "";
}

std::string refusal(const RegisteredKernel& entry, const mxgemm_gemm_desc& desc,
                    const Selection& selection) {
  std::string reason =
      entry.device_kind == desc.device_kind
          ? ""
          : format_text("it runs on %s devices", device_kind_name(entry.device_kind));
  const auto ask = [&reason](auto&& question) {
    if (reason.empty()) {
      reason = question();
    }
  };
  ask([&] { return selection_refusal(entry, selection); });
  ask([&] { return unavailable_reason(entry, selection.isa); });
  ask([&] { return format_refusal("desc.format_a", desc.format_a, entry.kernel->formats_a); });
  ask([&] { return format_refusal("desc.format_b", desc.format_b, entry.kernel->formats_b); });
  ask([&] { return format_refusal("desc.format_d", desc.format_d, entry.kernel->formats_d); });
  ask([&]() -> std::string {
    char text[kMessageCapacity] = "";
    const mxgemm_gemm_desc asked = non_empty(desc);
    if (entry.kernel->accepts(&asked, {text, sizeof(text)}) != 0) {
      return "";
    }
    return text[0] != '\0' ? text : "it gives no reason";
  });
  return reason;
}

Status make_plan(const Registry& registry, const Selection& selection, const mxgemm_gemm_desc& desc,
                 Plan* plan) {
  MXGEMM_TRY(check_selection(registry, selection));
  const RegisteredKernel* entry = choose(registry, selection, desc);
  if (entry == nullptr) {
    return {StatusCode::kUnsupported,
            format_text("no kernel accepts %s:\n%s", describe(desc).c_str(),
                        explain(registry, selection, desc).c_str())};
  }
  const mxgemm_gemm_desc asked = non_empty(desc);
  char message[kMessageCapacity] = "";
  const int32_t code = entry->kernel->prepare(&asked, {message, sizeof(message)});
  if (code != MXGEMM_OK) {
    return kernel_failure(*entry, code, message);
  }
  if (desc.device_kind == MXGEMM_DEVICE_CPU) {
    cpu::warm_up();
  }
  const bool empty = desc.m == 0 || desc.n == 0;
  *plan = {desc, entry, empty ? 0 : entry->kernel->workspace_size(&desc), selection};
  log_line(LogLevel::kDebug, "plan %s: %s, workspace %llu bytes", describe(desc).c_str(),
           entry->id.c_str(), static_cast<unsigned long long>(plan->workspace_size));
  return {};
}

std::string explain(const Registry& registry, const Selection& selection,
                    const mxgemm_gemm_desc& desc) {
  const RegisteredKernel* chosen = choose(registry, selection, desc);
  std::string text;
  for (const RegisteredKernel& entry : registry.kernels()) {
    if (entry.device_kind != desc.device_kind) {
      continue;
    }
    const std::string reason = refusal(entry, desc, selection);
    const char* verdict = &entry == chosen ? "chosen" : reason.empty() ? "accepts" : reason.c_str();
    text += format_text("%s%s: %s", text.empty() ? "" : "\n", entry.id.c_str(), verdict);
  }
  return text;
}

Status run_plan(const Plan& plan, const mxgemm_gemm_args* args, void* stream) {
  MXGEMM_TRY(check_stream(plan.desc.device_kind, stream));
  mxgemm_gemm_args resolved;
  MXGEMM_TRY(resolve_args(plan.desc, args, plan.workspace_size, &resolved));
  if (plan.desc.m == 0 || plan.desc.n == 0) {
    return {};
  }
  char message[kMessageCapacity] = "";
  const int32_t code =
      plan.entry->kernel->run(&plan.desc, &resolved, stream, {message, sizeof(message)});
  return code == MXGEMM_OK ? Status() : kernel_failure(*plan.entry, code, message);
}

}  // namespace mxgemm::internal
