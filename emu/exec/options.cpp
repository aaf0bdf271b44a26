// SPDX-License-Identifier: Apache-2.0
#include "exec/options.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace emu {
namespace {

struct PolicyName {
  Policy policy;
  const char* name;
};
constexpr PolicyName kPolicies[] = {
    {Policy::plain, "plain"}, {Policy::random, "random"},     {Policy::late, "late"},
    {Policy::pct, "pct"},     {Policy::late_pct, "late+pct"}, {Policy::early_pct, "early+pct"},
};

std::string set_number(const std::string& value, uint64_t low, uint64_t high, uint64_t& out) {
  uint64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || at != end || number < low || number > high) {
    return "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
  }
  out = number;
  return "";
}

template <class T>
std::string set_field(const std::string& value, uint64_t low, uint64_t high, T& field) {
  uint64_t number = 0;
  std::string allowed = set_number(value, low, high, number);
  if (allowed.empty()) {
    field = static_cast<T>(number);
  }
  return allowed;
}

std::string set_policy(const std::string& value, Policy& policy) {
  std::string allowed;
  for (const PolicyName& row : kPolicies) {
    if (value == row.name) {
      policy = row.policy;
      return "";
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(row.name);
  }
  return allowed;
}

std::string set_word(const std::string& value, const char* off, const char* on, bool& field) {
  if (value != off && value != on) {
    return std::string(off) + " or " + on;
  }
  field = value == on;
  return "";
}

std::string set_trace(const std::string& value, Options& options) {
  options.trace_api = options.trace_launches = options.trace_instructions = false;
  size_t begin = 0;
  while (begin <= value.size() && !value.empty()) {
    const size_t comma = std::min(value.find(',', begin), value.size());
    const std::string word = value.substr(begin, comma - begin);
    if (word == "api") {
      options.trace_api = true;
    } else if (word == "launch") {
      options.trace_launches = true;
    } else if (word == "instr") {
      options.trace_instructions = true;
    } else {
      return "a comma list of api, launch, instr";
    }
    begin = comma + 1;
  }
  return "";
}

// What is allowed, when the value is not; nullptr name: unknown setting.
std::string apply(Options& o, const std::string& name, const std::string& value, bool& known) {
  constexpr uint64_t kMost = ~uint64_t{0};
  constexpr uint64_t kMost32 = 0x7FFFFFFF;
  known = true;
  if (name == "EMU_SCHED")
    return set_policy(value, o.policy);
  if (name == "EMU_SEED")
    return set_field(value, 0, kMost, o.seed);
  if (name == "EMU_Q")
    return set_field(value, 1, 1u << 20, o.quantum);
  if (name == "EMU_DELAY")
    return set_field(value, 0, kMost32, o.delay);
  if (name == "EMU_RESIDENT")
    return set_field(value, 1, 1u << 16, o.resident_clusters);
  if (name == "EMU_THREADS")
    return set_field(value, 1, 256, o.threads);
  if (name == "EMU_MAX_STEPS")
    return set_field(value, 0, kMost, o.max_steps);
  if (name == "EMU_LIVELOCK")
    return set_field(value, 1, kMost, o.livelock_steps);
  if (name == "EMU_ELECT")
    return set_field(value, 0, 31, o.elect_lane);
  if (name == "EMU_MMA") {
    bool exact = false;
    std::string allowed = set_word(value, "hw", "exact", exact);
    o.mma = exact ? MmaModel::exact : MmaModel::hw;
    return allowed;
  }
  if (name == "EMU_APPROX")
    return set_word(value, "round", "jitter", o.approx_jitter);
  if (name == "EMU_POISON")
    return set_word(value, "fixed", "random", o.random_poison);
  if (name == "EMU_LANE_SPLIT")
    return set_word(value, "0", "1", o.lane_split);
  if (name == "EMU_UNINIT")
    return set_word(value, "0", "1", o.strict_uninit);
  if (name == "EMU_RACE")
    return set_word(value, "0", "1", o.race_detector);
  if (name == "EMU_ABORT")
    return set_word(value, "0", "1", o.abort_on_fault);
  if (name == "EMU_TRACE")
    return set_trace(value, o);
  if (name == "EMU_REPORT") {
    o.report_file = value;
    return "";
  }
  if (name == "EMU_COVERAGE") {
    o.coverage_file = value;
    return "";
  }
  if (name == "EMU_REGISTERS")
    return o.registers.read(value);
  known = false;
  return "";
}

constexpr const char* kNames[] = {
    "EMU_SCHED",   "EMU_SEED",      "EMU_Q",          "EMU_DELAY",    "EMU_RESIDENT",
    "EMU_THREADS", "EMU_MAX_STEPS", "EMU_LIVELOCK",   "EMU_ELECT",    "EMU_MMA",
    "EMU_APPROX",  "EMU_POISON",    "EMU_LANE_SPLIT", "EMU_UNINIT",   "EMU_RACE",
    "EMU_ABORT",   "EMU_TRACE",     "EMU_REPORT",     "EMU_COVERAGE", "EMU_REGISTERS",
};

}  // namespace

std::string policy_name(Policy policy) {
  for (const PolicyName& row : kPolicies) {
    if (row.policy == policy) {
      return row.name;
    }
  }
  return "unknown";
}

std::string set_option(Options& options, const std::string& name, const std::string& value) {
  bool known = false;
  const std::string allowed = apply(options, name, value, known);
  if (!known) {
    return "no setting is called '" + name + "'";
  }
  return allowed.empty() ? "" : name + "='" + value + "' is not allowed: " + allowed;
}

Options options_from_environment() {
  Options options;
  for (const char* name : kNames) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') {
      continue;
    }
    const std::string complaint = set_option(options, name, value);
    if (!complaint.empty()) {
      std::fprintf(stderr, "emu: %s\n", complaint.c_str());
      std::exit(2);
    }
  }
  if (std::getenv("EMU_SEED") == nullptr && options.adversarial()) {
    options.seed =
        static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    std::fprintf(stderr, "emu: EMU_SEED=%llu\n", static_cast<unsigned long long>(options.seed));
  }
  return options;
}

}  // namespace emu
