// SPDX-License-Identifier: Apache-2.0
#include "exec/options.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

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

template <auto kField, uint64_t kLow, uint64_t kHigh>
std::string number(const std::string& value, Options& options) {
  uint64_t parsed = 0;
  const char* end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, parsed);
  if (error != std::errc() || at != end || parsed < kLow || parsed > kHigh) {
    return "a whole number from " + std::to_string(kLow) + " to " + std::to_string(kHigh);
  }
  options.*kField = static_cast<std::remove_reference_t<decltype(options.*kField)>>(parsed);
  return "";
}

std::string set_policy(const std::string& value, Options& options) {
  std::string allowed;
  for (const PolicyName& row : kPolicies) {
    if (value == row.name) {
      options.policy = row.policy;
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

struct Setting {
  const char* name;
  // Empty, or what is allowed.
  std::string (*set)(const std::string& value, Options& options);
};

template <auto kField>
std::string flag(const std::string& value, Options& options) {
  return set_word(value, "0", "1", options.*kField);
}

template <auto kField>
std::string text(const std::string& value, Options& options) {
  options.*kField = value;
  return "";
}

std::string set_mma(const std::string& value, Options& options) {
  bool exact = false;
  std::string allowed = set_word(value, "hw", "exact", exact);
  options.mma = exact ? MmaModel::exact : MmaModel::hw;
  return allowed;
}

constexpr uint64_t kMost = ~uint64_t{0};
constexpr uint64_t kMost32 = 0x7FFFFFFF;
constexpr Setting kSettings[] = {
    {"EMU_SCHED", set_policy},
    {"EMU_SEED", number<&Options::seed, 0, kMost>},
    {"EMU_Q", number<&Options::quantum, 1, 1u << 20>},
    {"EMU_DELAY", number<&Options::delay, 0, kMost32>},
    {"EMU_RESIDENT", number<&Options::resident_clusters, 1, 1u << 16>},
    {"EMU_THREADS", number<&Options::threads, 1, 256>},
    {"EMU_MAX_STEPS", number<&Options::max_steps, 0, kMost>},
    {"EMU_LIVELOCK", number<&Options::livelock_steps, 1, kMost>},
    {"EMU_ELECT", number<&Options::elect_lane, 0, 31>},
    {"EMU_MMA", set_mma},
    {"EMU_APPROX", [](const auto& value,
                      Options& o) { return set_word(value, "round", "jitter", o.approx_jitter); }},
    {"EMU_POISON", [](const auto& value,
                      Options& o) { return set_word(value, "fixed", "random", o.random_poison); }},
    {"EMU_LANE_SPLIT", flag<&Options::lane_split>},
    {"EMU_UNINIT", flag<&Options::strict_uninit>},
    {"EMU_RACE", flag<&Options::race_detector>},
    {"EMU_ABORT", flag<&Options::abort_on_fault>},
    {"EMU_TRACE", set_trace},
    {"EMU_REPORT", text<&Options::report_file>},
    {"EMU_COVERAGE", text<&Options::coverage_file>},
    {"EMU_REGISTERS", [](const auto& value, Options& o) { return o.registers.read(value); }},
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
  for (const Setting& setting : kSettings) {
    if (name == setting.name) {
      const std::string allowed = setting.set(value, options);
      return allowed.empty() ? "" : name + "='" + value + "' is not allowed: " + allowed;
    }
  }
  return "no setting is called '" + name + "'";
}

Options options_from_environment() {
  Options options;
  for (const Setting& setting : kSettings) {
    const char* value = std::getenv(setting.name);
    if (value == nullptr || *value == '\0') {
      continue;
    }
    const std::string complaint = set_option(options, setting.name, value);
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
