// SPDX-License-Identifier: Apache-2.0
#include "runtime/fault_plan.hpp"

#include <charconv>
#include <optional>
#include <string_view>

namespace emu::runtime {
namespace {

struct Name {
  std::string_view text;
  Injection kind;
};

constexpr Name kNames[] = {{"malloc", Injection::kMalloc},
                           {"launch", Injection::kLaunch},
                           {"launch-once", Injection::kLaunchOnce},
                           {"memcpy", Injection::kMemcpy},
                           {"lost", Injection::kLost}};

template <typename Number>
bool read_number(std::string_view text, Number* value) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return fault == std::errc() && end == text.data() + text.size() && !text.empty();
}

std::optional<Fault> parse_fault(std::string_view item, int device_count) {
  Fault fault{Injection::kLost};
  const size_t at = item.find('@');
  if (at != std::string_view::npos) {
    if (!read_number(item.substr(at + 1), &fault.device) || fault.device < 0 ||
        fault.device >= device_count) {
      return std::nullopt;
    }
    item = item.substr(0, at);
  }
  const size_t colon = item.find(':');
  for (const Name& name : kNames) {
    if (item.substr(0, colon) != name.text) {
      continue;
    }
    fault.kind = name.kind;
    if (fault.kind == Injection::kLost) {
      return colon == std::string_view::npos ? std::optional(fault) : std::nullopt;
    }
    const bool counted = colon != std::string_view::npos &&
                         read_number(item.substr(colon + 1), &fault.at) && fault.at > 0;
    return counted ? std::optional(fault) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

bool FaultPlan::strikes(Injection kind, int device) {
  bool result = false;
  for (Fault& fault : faults_) {
    if (fault.kind == kind && (fault.device < 0 || fault.device == device)) {
      result |= ++fault.calls == fault.at;
    }
  }
  return result;
}

void FaultPlan::restart() {
  for (Fault& fault : faults_) {
    fault.calls = 0;
  }
}

bool FaultPlan::is_lost(int device) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == Injection::kLost && (fault.device < 0 || fault.device == device)) {
      return true;
    }
  }
  return false;
}

FaultList parse_faults(const std::string& text, int device_count) {
  FaultList list;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = rest.find(',');
    const std::string_view item = rest.substr(0, end);
    const std::optional<Fault> fault = parse_fault(item, device_count);
    if (!fault) {
      list.faults.clear();
      list.error =
          "EMU_FAULT is '" + text + "', wrong at '" + std::string(item) +
          "'; allowed: a comma list of malloc:N, launch:N, launch-once:N, memcpy:N (N from "
          "1) and lost, each with @D for device D alone (there are " +
          std::to_string(device_count) + " devices)";
      return list;
    }
    list.faults.push_back(*fault);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return list;
}

}  // namespace emu::runtime
