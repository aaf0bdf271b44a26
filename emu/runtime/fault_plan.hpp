// SPDX-License-Identifier: Apache-2.0
// EMU_FAULT: calls that fail on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu::runtime {

enum class Injection { kMalloc, kLaunch, kLaunchOnce, kMemcpy, kLost };

struct Fault {
  Injection kind;
  uint64_t at = 0;  // the call that fails, from 1; of kLost nothing
  int device = -1;  // the only device it is for; -1: any, and calls count per process
  uint64_t calls = 0;
};

class FaultPlan {
 public:
  FaultPlan() = default;
  explicit FaultPlan(std::vector<Fault> faults) : faults_(std::move(faults)) {}

  // Counts one call of this kind on `device`; true when it is the one that fails. The caller holds
  // the runtime's lock.
  bool strikes(Injection kind, int device);
  bool is_lost(int device) const;
  // Counts from the beginning again.
  void restart();

 private:
  std::vector<Fault> faults_;
};

struct FaultList {
  std::vector<Fault> faults;
  std::string error;
};

// "launch-once:1,malloc:3@1,lost@0"; empty text: no faults.
FaultList parse_faults(const std::string& text, int device_count);

}  // namespace emu::runtime
