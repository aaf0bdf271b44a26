// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_limit.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <vector>

#include "base/math.hpp"

namespace mxgemm::cpu {
namespace {

using internal::ceil_div;

// Enough for any thread count that a quota can ask for; keeps the division below from overflowing
// int32_t.
constexpr int64_t kMaxLimit = 1 << 20;

bool parse_positive(const std::string& text, int64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value > 0;
}

// "max" and -1 mean no quota, and so does everything that is no number: the files are the kernel's,
// not the user's.
int32_t limit_of(const std::string& quota_text, const std::string& period_text) {
  int64_t quota = 0;
  int64_t period = 0;
  if (!parse_positive(quota_text, &quota) || !parse_positive(period_text, &period)) {
    return 0;
  }
  return static_cast<int32_t>(std::min(ceil_div(quota, period), kMaxLimit));
}

// 0 counts as "no limit".
int32_t smaller(int32_t a, int32_t b) {
  return a == 0 || (b != 0 && b < a) ? b : a;
}

int32_t limit_v2(const std::string& folder) {
  std::string quota;
  std::string period;
  std::ifstream(folder + "/cpu.max") >> quota >> period;
  return limit_of(quota, period);
}

int32_t limit_v1(const std::string& folder) {
  std::string quota;
  std::string period;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return limit_of(quota, period);
}

// The limits of `path` below `mount` and of every folder above it. Inside a container the path may
// name folders of the machine that are not visible here; the mount's own folder is then the
// container's group.
int32_t smallest_limit(int32_t (*limit)(const std::string&), const std::string& mount,
                       std::string path) {
  int32_t result = limit(mount);
  if (path.find("..") != std::string::npos) {
    return result;  // a group outside this namespace
  }
  while (path.size() > 1) {
    result = smaller(result, limit(mount + path));
    path.erase(path.rfind('/'));
  }
  return result;
}

struct GroupLine {  // "<hierarchy>:<controllers>:<path>" of /proc/self/cgroup
  std::string controllers;
  std::string path;
};

bool parse_group_line(const std::string& line, GroupLine* group) {
  const size_t first = line.find(':');
  const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos || line.size() == second + 1 || line[second + 1] != '/') {
    return false;
  }
  group->controllers = line.substr(first + 1, second - first - 1);
  group->path = line.substr(second + 1);
  return true;
}

bool has_cpu_controller(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

int32_t affinity_cpu_count() {
  // The kernel refuses a mask smaller than its own; CPU_SETSIZE (1024) does for most machines, the
  // last size for all.
  for (size_t cpus = CPU_SETSIZE; cpus <= 64 * CPU_SETSIZE; cpus *= 4) {
    std::vector<cpu_set_t> mask(cpus / CPU_SETSIZE);
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) {
      return std::max(1, CPU_COUNT_S(bytes, mask.data()));
    }
    if (errno != EINVAL) {
      break;
    }
  }
  return 1;
}

int32_t cgroup_cpu_limit(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  int32_t result = 0;
  std::ifstream file(root + "/proc/self/cgroup");
  GroupLine group;
  for (std::string line; std::getline(file, line);) {
    if (!parse_group_line(line, &group)) {
      continue;
    }
    if (group.controllers.empty()) {
      result = smaller(result, smallest_limit(limit_v2, mount, group.path));
    } else if (has_cpu_controller(group.controllers)) {
      // The folder carries the names of its controllers; most systems also link each name to it.
      result =
          smaller(result, smallest_limit(limit_v1, mount + "/" + group.controllers, group.path));
      result = smaller(result, smallest_limit(limit_v1, mount + "/cpu", group.path));
    }
  }
  return result;
}

int32_t usable_cpus() {
  return smaller(affinity_cpu_count(), cgroup_cpu_limit(""));
}

}  // namespace mxgemm::cpu
