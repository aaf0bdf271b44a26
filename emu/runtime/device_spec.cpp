// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_spec.hpp"

#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>

namespace emu::runtime {
namespace {

struct Known {
  int capability;
  int shared_optin;
  int shared_per_multiprocessor;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  int l2_mib;
  bool clusters;
};

constexpr Known kKnown[] = {
    {80, 166912, 167936, 2048, 32, 40, false},  {86, 101376, 102400, 1536, 16, 6, false},
    {89, 101376, 102400, 1536, 24, 72, false},  {90, 232448, 233472, 2048, 32, 50, true},
    {100, 232448, 233472, 2048, 32, 126, true}, {103, 232448, 233472, 2048, 32, 126, true},
    {120, 101376, 102400, 1536, 24, 96, true},  {121, 101376, 102400, 1536, 24, 96, true},
};

// More in one machine than any has; a slip such as 12.0*1000 is caught by it.
constexpr size_t kMostDevices = 64;

std::string known_capabilities() {
  std::string text;
  for (const Known& known : kKnown) {
    text += (text.empty() ? "" : ", ") + std::to_string(known.capability / 10) + "." +
            std::to_string(known.capability % 10);
  }
  return text;
}

std::string grammar() {
  return "allowed: a comma list of CAPABILITY[*COUNT][:sms=N][:mem=N[K|M|G]], CAPABILITY one of " +
         known_capabilities();
}

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

std::optional<uint64_t> bytes(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const size_t suffix = std::string_view("KMG").find(text.back());
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<uint64_t> value = number(text);
  constexpr uint64_t kMost = uint64_t{1} << 46;  // what an address has room for
  if (!value || *value == 0 || *value > (kMost >> shift)) {
    return std::nullopt;
  }
  return *value << shift;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::optional<DeviceSpec> known_device(std::string_view text) {
  for (const Known& known : kKnown) {
    if (text ==
        std::to_string(known.capability / 10) + "." + std::to_string(known.capability % 10)) {
      DeviceSpec spec;
      spec.capability = known.capability;
      spec.shared_per_block_optin = known.shared_optin;
      spec.shared_per_multiprocessor = known.shared_per_multiprocessor;
      spec.threads_per_multiprocessor = known.threads_per_multiprocessor;
      spec.blocks_per_multiprocessor = known.blocks_per_multiprocessor;
      spec.l2_bytes = known.l2_mib << 20;
      spec.cluster_launch = known.clusters;
      return spec;
    }
  }
  return std::nullopt;
}

bool set_option(std::string_view option, DeviceSpec* spec) {
  constexpr std::string_view kMultiprocessors = "sms=";
  constexpr std::string_view kMemory = "mem=";
  if (option.starts_with(kMultiprocessors)) {
    const std::optional<uint64_t> value = number(option.substr(kMultiprocessors.size()));
    constexpr uint64_t kMost = 1024;
    if (!value || *value == 0 || *value > kMost) {
      return false;
    }
    spec->multiprocessors = static_cast<int>(*value);
    return true;
  }
  if (option.starts_with(kMemory)) {
    const std::optional<uint64_t> value = bytes(option.substr(kMemory.size()));
    spec->memory_bytes = value.value_or(0);
    return value.has_value();
  }
  return false;
}

// Appends what `item` names; false when it names nothing.
bool add_item(std::string_view item, std::vector<DeviceSpec>* devices) {
  const std::vector<std::string_view> parts = split(item, ':');
  const std::vector<std::string_view> counted = split(parts[0], '*');
  const std::optional<uint64_t> count =
      counted.size() == 1 ? std::optional<uint64_t>(1) : number(counted[1]);
  std::optional<DeviceSpec> spec = known_device(counted[0]);
  if (!spec || counted.size() > 2 || !count || *count == 0 || *count > kMostDevices) {
    return false;
  }
  for (size_t index = 1; index < parts.size(); ++index) {
    if (!set_option(parts[index], &*spec)) {
      return false;
    }
  }
  devices->insert(devices->end(), *count, *spec);
  return devices->size() <= kMostDevices;
}

}  // namespace

std::string DeviceSpec::name(int index) const {
  return "Emulated " + std::to_string(major()) + "." + std::to_string(minor()) + " device " +
         std::to_string(index);
}

DeviceFacts device_facts(const DeviceSpec& spec, int index) {
  DeviceFacts facts;
  facts.index = index;
  facts.capability = static_cast<uint32_t>(spec.capability);
  facts.multiprocessors = static_cast<uint32_t>(spec.multiprocessors);
  facts.max_threads_per_multiprocessor = static_cast<uint32_t>(spec.threads_per_multiprocessor);
  facts.max_ctas_per_multiprocessor = static_cast<uint32_t>(spec.blocks_per_multiprocessor);
  facts.shared_per_multiprocessor = static_cast<uint32_t>(spec.shared_per_multiprocessor);
  facts.shared_optin = static_cast<uint32_t>(spec.shared_per_block_optin);
  return facts;
}

DeviceList parse_devices(const std::string& text) {
  DeviceList list;
  for (const std::string_view item : split(text, ',')) {
    if (!add_item(item, &list.devices)) {
      list.devices.clear();
      list.error =
          "EMU_DEVICES is '" + text + "', wrong at '" + std::string(item) + "'; " + grammar();
      return list;
    }
  }
  return list;
}

}  // namespace emu::runtime
