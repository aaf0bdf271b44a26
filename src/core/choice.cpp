// SPDX-License-Identifier: Apache-2.0
#include "core/choice.hpp"

#include <algorithm>

#include "base/require.hpp"
#include "core/backend_call.hpp"
#include "core/cuda_state.hpp"
#include "core/desc.hpp"
#include "core/device.hpp"
#include "core/enums.hpp"

namespace mxgemm::internal {
namespace {

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

// Whether the machine or device lacks what the kernel needs.
std::string target_refusal(const RegisteredKernel& entry, const mxgemm_gemm_desc& desc,
                           const Selection& selection) {
  if (entry.library == nullptr) {
    return isa_reason(entry.kernel->isa, selection.isa);
  }
  if ((desc.flags & MXGEMM_PACKED_B) != 0) {
    return "B is packed; prepared weights are for the CPU";
  }
  return entry.library->device_refusal(selection.capability);
}

std::string kernel_refusal(const mxgemm_kernel& kernel, const mxgemm_gemm_desc& desc) {
  char text[kMessageCapacity] = "";
  const mxgemm_gemm_desc asked = non_empty(desc);
  if (kernel.accepts(&asked, {text, sizeof(text)}) != 0) {
    return "";
  }
  return text[0] != '\0' ? text : "it gives no reason";
}

std::string describe(const mxgemm_data_alignment& alignment) {
  if (alignment.a == alignment.b && alignment.a == alignment.d) {
    return format_text("%d bytes", alignment.a);
  }
  return format_text("%d (A), %d (B) and %d bytes (C, D)", std::max(alignment.a, 1),
                     std::max(alignment.b, 1), std::max(alignment.d, 1));
}

// The best kernel that accepts desc; null if none does.
const RegisteredKernel* best(const KernelGroups& groups, const Selection& selection,
                             const mxgemm_gemm_desc& desc, bool any_alignment) {
  const mxgemm_gemm_desc asked = non_empty(desc);
  for (const std::span<const RegisteredKernel> group : groups.groups) {
    const RegisteredKernel* found = nullptr;
    int32_t found_rank = 0;
    for (const RegisteredKernel& entry : group) {
      if ((!any_alignment && needs_alignment(*entry.kernel)) ||
          !refusal(entry, desc, selection).empty()) {
        continue;
      }
      const int32_t rank = entry.kernel->rank(&asked);
      if (found == nullptr || rank > found_rank) {
        found = &entry;
        found_rank = rank;
      }
    }
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

std::string verdict(const RegisteredKernel& entry, const Choice& choice,
                    const mxgemm_gemm_desc& desc, const Selection& selection) {
  if (&entry == choice.first && needs_alignment(*entry.kernel)) {
    return format_text(
        "chosen for data pointers and row pitches that are multiples of %s; others %s",
        describe(entry.kernel->data_alignment).c_str(),
        choice.fallback == nullptr ? "are refused"
                                   : format_text("go to %s", choice.fallback->id.c_str()).c_str());
  }
  if (&entry == choice.first) {
    return "chosen";
  }
  const std::string reason = refusal(entry, desc, selection);
  return reason.empty() ? "accepts" : reason;
}

}  // namespace

bool needs_alignment(const mxgemm_kernel& kernel) {
  const mxgemm_data_alignment& alignment = kernel.data_alignment;
  return std::max({alignment.a, alignment.b, alignment.d}) > 1;
}

mxgemm_gemm_desc non_empty(const mxgemm_gemm_desc& desc) {
  mxgemm_gemm_desc copy = desc;
  copy.m = std::max<int64_t>(desc.m, 1);
  copy.n = std::max<int64_t>(desc.n, 1);
  return copy;
}

Status current_selection(const mxgemm_gemm_desc& desc, const char* kernel_id,
                         Selection* selection) {
  MXGEMM_TRY(isa_limit(&selection->isa));
  selection->force = forced_kernel();
  if (kernel_id != nullptr && *kernel_id == '\0') {
    std::string ids;
    MXGEMM_TRY(Registry::instance().id_list(&ids));
    return {StatusCode::kInvalidArgument,
            format_text("kernel_id is \"\"; it must be NULL or one of %s", ids.c_str())};
  }
  selection->kernel_id = kernel_id == nullptr ? "" : kernel_id;
  return device_capability(desc.device_kind, desc.device_index, &selection->capability);
}

Status check_selection(const Registry& registry, const Selection& selection) {
  bool known = selection.kernel_id.empty();
  std::string ids;
  if (!known) {
    MXGEMM_TRY(registry.has_id(selection.kernel_id, &known));
  }
  if (!known) {
    MXGEMM_TRY(registry.id_list(&ids));
    return {StatusCode::kInvalidArgument,
            format_text("kernel_id is \"%s\"; it must be NULL or one of %s",
                        selection.kernel_id.c_str(), ids.c_str())};
  }
  known = selection.force.empty();
  if (!known) {
    MXGEMM_TRY(registry.has_arch(selection.force, &known));
  }
  if (!known) {
    MXGEMM_TRY(registry.has_id(selection.force, &known));
  }
  if (!known) {
    MXGEMM_TRY(registry.id_list(&ids));
  }
  MXGEMM_REQUIRE(known,
                 "environment variable MXGEMM_FORCE is \"%s\"; it must be an arch or one of %s",
                 selection.force.c_str(), ids.c_str());
  return {};
}

Status unavailable_reason(const RegisteredKernel& entry, const IsaLimit& isa, std::string* reason) {
  if (entry.library == nullptr) {
    *reason = isa_reason(entry.kernel->isa, isa);
    return {};
  }
  const CudaState* cuda = nullptr;
  MXGEMM_TRY(cuda_state(&cuda));
  reason->clear();
  if (cuda->fake) {
    *reason = "MXGEMM_FAKE_DEVICES is set, and fake devices run nothing";
  } else if (cuda->devices.empty()) {
    *reason = cuda->absence;
  } else if (std::none_of(cuda->devices.begin(), cuda->devices.end(),
                          [&entry](const mxgemm_cuda_device& device) {
                            return entry.library->device_refusal(device.capability).empty();
                          })) {
    *reason = format_text("no device here has compute capability %s",
                          entry.library->capabilities().c_str());
  }
  return {};
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
  ask([&] { return target_refusal(entry, desc, selection); });
  ask([&] { return format_refusal("desc.format_a", desc.format_a, entry.kernel->formats_a); });
  ask([&] { return format_refusal("desc.format_b", desc.format_b, entry.kernel->formats_b); });
  ask([&] { return format_refusal("desc.format_d", desc.format_d, entry.kernel->formats_d); });
  ask([&] { return kernel_refusal(*entry.kernel, desc); });
  return reason;
}

Choice choose(const KernelGroups& groups, const Selection& selection,
              const mxgemm_gemm_desc& desc) {
  Choice choice;
  choice.first = best(groups, selection, desc, true);
  if (choice.first != nullptr && needs_alignment(*choice.first->kernel)) {
    choice.fallback = best(groups, selection, desc, false);
  }
  return choice;
}

std::string explain(const KernelGroups& groups, const Selection& selection,
                    const mxgemm_gemm_desc& desc) {
  const Choice choice = choose(groups, selection, desc);
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& answer) {
    text += format_text("%s%s: %s", text.empty() ? "" : "\n", name.c_str(), answer.c_str());
  };
  for (const std::span<const RegisteredKernel> group : groups.groups) {
    for (const RegisteredKernel& entry : group) {
      add(entry.id, verdict(entry, choice, desc, selection));
    }
  }
  const std::string kind = device_kind_name(desc.device_kind);
  for (const LibraryChoice& choice_refused : groups.refused) {
    add(kind + ":" + choice_refused.library->arch.text, choice_refused.refusal);
  }
  if (text.empty()) {
    add(kind, format_text("there is no library of kernels in %s", groups.folder.c_str()));
  }
  return text;
}

Status explain(const Registry& registry, const Selection& selection, const mxgemm_gemm_desc& desc,
               std::string* text) {
  KernelGroups groups;
  MXGEMM_TRY(registry.groups(desc.device_kind, selection.capability, &groups));
  *text = explain(groups, selection, desc);
  return {};
}

}  // namespace mxgemm::internal
