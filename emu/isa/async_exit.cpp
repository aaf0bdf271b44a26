// SPDX-License-Identifier: Apache-2.0
// What must be over when a warp or a CTA ends, and how it is described while it is not.
#include <string>

#include "exec/hooks.hpp"
#include "isa/async_state.hpp"
#include "isa/cta_control.hpp"
#include "isa/tcgen05.hpp"
#include "isa/wgmma.hpp"

namespace emu {
namespace {

constexpr uint32_t kWarpgroup = 4;

// setmaxnreg belongs to all four warps of a warpgroup.
std::string registers_fault(const Cta& cta) {
  const CtaControl* control = cta_control_if_any(cta);
  if (control == nullptr) {
    return {};
  }
  for (size_t warp = 0; warp < control->registers.size(); ++warp) {
    const size_t first = warp / kWarpgroup * kWarpgroup;
    if (control->registers[warp].changes != control->registers[first].changes) {
      return "warps " + std::to_string(first) + " and " + std::to_string(warp) +
             " of one warpgroup executed different numbers of setmaxnreg";
    }
  }
  return {};
}

std::string describe_pipes(const CtaTensor& tensor) {
  std::string text;
  for (const auto& [issuer, pipe] : tensor.pipes) {
    if (!pipe->entries.empty()) {
      text += "; warp " + std::to_string(std::get<0>(issuer)) + " issued " +
              std::to_string(pipe->entries.size()) + " tcgen05 operations that have not begun";
    }
  }
  return text;
}

}  // namespace

std::string check_warp_exit(const Warp& warp) {
  std::string complaint = wgmma_exit_complaint(warp);
  if (!complaint.empty()) {
    return complaint;
  }
  const AsyncState* state = async_state_if_any(warp);
  if (state == nullptr) {
    return {};
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!state->bulk[lane].open_is_empty()) {
      return "lane " + std::to_string(lane) +
             " exits with bulk stores that no cp.async.bulk.commit_group has committed";
    }
  }
  return {};
}

std::string check_cta_exit(const Cta& cta) {
  const auto* tensor = static_cast<const CtaTensor*>(cta.tmem.get());
  if (cta.pending_async != 0) {
    std::string text = std::to_string(cta.pending_async) +
                       " asynchronous operations still use the memory of a CTA that exits";
    for (const std::unique_ptr<Warp>& warp : cta.warps) {
      const std::string groups = describe_async(*warp);
      if (!groups.empty()) {
        text += "; warp " + std::to_string(warp->index) + ", " + groups;
      }
    }
    return text + (tensor == nullptr ? "" : describe_pipes(*tensor));
  }
  if (tensor != nullptr && tensor->memory.any_allocated()) {
    return "the CTA exits with allocated tensor memory";
  }
  return registers_fault(cta);
}

std::string describe_async(const Warp& warp) {
  const AsyncState* state = async_state_if_any(warp);
  if (state == nullptr) {
    return {};
  }
  std::string text;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint64_t bulk = state->bulk[lane].unfinished();
    const uint64_t copy = state->copy[lane].unfinished();
    if (bulk + copy != 0) {
      text += (text.empty() ? "lane " : ", lane ") + std::to_string(lane) + ": " +
              std::to_string(bulk) + " bulk and " + std::to_string(copy) +
              " cp.async operations not complete";
    }
  }
  return text;
}

}  // namespace emu
