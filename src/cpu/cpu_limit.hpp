// SPDX-License-Identifier: Apache-2.0
// How many CPUs this process may keep busy: its affinity mask, and the CPU quota of its control
// group, which in a container is often far below the number of CPUs that the machine shows.
#pragma once

#include <cstdint>
#include <string>

namespace mxgemm::cpu {

// CPUs in the affinity mask of the calling thread, at least 1. Threads that it starts inherit the
// mask.
int32_t affinity_cpu_count();

// Smallest quota of the process's control group and the groups around it, in whole CPUs, rounded
// up; 0 = no quota. Understands versions 1 and 2 at their usual places under `root` ("" for the
// machine itself).
int32_t cgroup_cpu_limit(const std::string& root);

// The smaller of both, at least 1.
int32_t usable_cpus();

}  // namespace mxgemm::cpu
