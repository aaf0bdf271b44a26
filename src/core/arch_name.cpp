// SPDX-License-Identifier: Apache-2.0
#include "core/arch_name.hpp"

#include <charconv>

#include "base/status.hpp"

namespace mxgemm::internal {
namespace {

// cp.async and bf16 mma, which every kernel of ours needs, came with 8.0.
constexpr int32_t kFloor = 80;
// "120": a name with more digits is nobody's.
constexpr size_t kMaxDigits = 4;

int32_t major_of(int32_t capability) {
  return capability / 10;
}

}  // namespace

std::optional<ArchName> parse_arch_name(std::string_view text) {
  constexpr std::string_view kPrefix = "sm";
  if (!text.starts_with(kPrefix)) {
    return std::nullopt;
  }
  ArchName arch;
  arch.text = text;
  std::string_view digits = text.substr(kPrefix.size());
  if (digits.ends_with('a') || digits.ends_with('f')) {
    arch.kind = digits.back() == 'a' ? ArchKind::kExact : ArchKind::kFamily;
    digits.remove_suffix(1);
  }
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, arch.capability);
  const bool is_number = error == std::errc() && stop == end && digits.size() <= kMaxDigits &&
                         digits.front() != '0' && digits.front() != '-';
  return is_number && arch.capability >= 10 ? std::optional(arch) : std::nullopt;
}

std::string arch_name_refusal(const ArchName& arch, int32_t capability) {
  const std::string own = capability_text(arch.capability);
  const std::string device = capability_text(capability);
  if (arch.kind == ArchKind::kExact && arch.capability != capability) {
    return format_text("it is for compute capability %s alone; the device has %s", own.c_str(),
                       device.c_str());
  }
  if (arch.kind == ArchKind::kFamily &&
      (major_of(arch.capability) != major_of(capability) || arch.capability > capability)) {
    return format_text("it is for the family of compute capability %s; the device has %s",
                       own.c_str(), device.c_str());
  }
  if (arch.kind == ArchKind::kPlain && arch.capability < kFloor) {
    return format_text("architectures below sm%d are not used", kFloor);
  }
  if (arch.kind == ArchKind::kPlain && arch.capability > capability) {
    return format_text("it is for compute capability %s and newer; the device has %s", own.c_str(),
                       device.c_str());
  }
  return "";
}

bool is_preferred(const ArchName& arch, const ArchName& other) {
  return arch.kind != other.kind ? arch.kind < other.kind : arch.capability > other.capability;
}

std::string capability_text(int32_t capability) {
  return format_text("%d.%d", capability / 10, capability % 10);
}

}  // namespace mxgemm::internal
