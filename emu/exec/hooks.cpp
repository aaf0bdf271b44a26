// SPDX-License-Identifier: Apache-2.0
// What the asynchronous families say at the moments of hooks.hpp.
#include "exec/hooks.hpp"

namespace emu {

std::string check_warp_exit(const Warp&) { return ""; }

std::string check_cta_exit(const Cta& cta) {
  return cta.pending_async == 0 ? ""
                                : std::to_string(cta.pending_async) +
                                      " asynchronous operations still use the CTA's memory";
}

void cluster_barrier_warp_exited(Cluster&, Warp&) {}

std::string describe_mbarrier(const Cta&, uint32_t offset) {
  return "mbarrier at " + std::to_string(offset);
}

std::string describe_async(const Warp&) { return ""; }

}  // namespace emu
