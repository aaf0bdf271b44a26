// SPDX-License-Identifier: Apache-2.0
// Moments at which families look at the state they keep. The engine calls these; each is defined
// in the file of the family named in its comment.
#pragma once

#include "exec/machine.hpp"

namespace emu {

// A warp's last lane has exited (asynchronous copies: groups not committed or not waited for).
// Returns the complaint, or "".
std::string check_warp_exit(const Warp& warp);
// All warps of a CTA have exited (tensor memory still allocated, copies under way...).
std::string check_cta_exit(const Cta& cta);
// Cluster barriers: a warp of the cluster has exited.
void cluster_barrier_warp_exited(Cluster& cluster, Warp& warp);
// One line on each mbarrier (phase, pending, expected, tx) for deadlock reports.
std::string describe_mbarrier(const Cta& cta, uint32_t offset);
// One line on outstanding copy groups of the warp, or "".
std::string describe_async(const Warp& warp);

}  // namespace emu
