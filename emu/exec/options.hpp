// SPDX-License-Identifier: Apache-2.0
// Settings of a launch. EMU_* environment variables give the defaults (specification 10).
#pragma once

#include <cstdint>
#include <string>

#include "exec/register_counts.hpp"

namespace emu {

enum class Policy : uint8_t { plain, random, late, pct, late_pct, early_pct };
enum class MmaModel : uint8_t { hw, exact };

struct Options {
  Policy policy = Policy::plain;
  uint64_t seed = 1;
  uint32_t quantum = 64;           // EMU_Q: instructions of one turn, at most
  uint32_t delay = 4000;           // EMU_DELAY: steps an asynchronous operation may take
  uint32_t resident_clusters = 2;  // EMU_RESIDENT
  uint32_t threads = 1;            // EMU_THREADS
  uint64_t max_steps = 0;          // EMU_MAX_STEPS: 0 = no limit
  uint64_t livelock_steps = 50'000'000;
  MmaModel mma = MmaModel::hw;
  bool approx_jitter = false;       // EMU_APPROX=jitter
  bool lane_split = false;          // EMU_LANE_SPLIT=1
  bool random_poison = false;       // EMU_POISON=random
  bool strict_uninit = true;        // EMU_UNINIT=0 allows loads of never-written shared memory
  bool race_detector = false;       // EMU_RACE=1
  bool abort_on_fault = false;      // EMU_ABORT=1
  bool trace_instructions = false;  // EMU_TRACE has "instr"
  bool trace_launches = false;      // EMU_TRACE has "launch"
  bool trace_api = false;           // EMU_TRACE has "api"
  uint32_t elect_lane = 0;    // EMU_ELECT: which set lane of the mask elect.sync picks (0 = lowest)
  std::string report_file;    // EMU_REPORT
  std::string coverage_file;  // EMU_COVERAGE
  RegisterCounts registers;   // EMU_REGISTERS

  bool adversarial() const { return policy != Policy::plain; }
};

std::string policy_name(Policy policy);

// Reads the environment. A value that is not understood ends the process with a message naming
// variable, value and what is allowed: a test must not run under settings nobody asked for.
Options options_from_environment();
// One setting as the C interface gives it ("EMU_SCHED", "late+pct"); empty, or why it is refused.
std::string set_option(Options& options, const std::string& name, const std::string& value);

}  // namespace emu
