// SPDX-License-Identifier: Apache-2.0
// Names of GPU architectures as they stand in the names of libraries: "sm80", "sm90a", "sm120f".
// Compute capabilities are 10 * major + minor throughout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mxgemm::internal {

enum class ArchKind { kExact, kFamily, kPlain };  // suffix a, suffix f, none

struct ArchName {
  std::string text;
  int32_t capability = 0;
  ArchKind kind = ArchKind::kPlain;
};

// Empty where `text` is no such name.
std::optional<ArchName> parse_arch_name(std::string_view text);

// Why a library of that name cannot serve devices of `capability`, "" if it may: then its own table
// decides. A comparison of numbers is not enough: code for 10.x does not run on 12.0.
std::string arch_name_refusal(const ArchName& arch, int32_t capability);

// Order of libraries that may serve the same device: exact before family before plain, then the
// nearest to the device, which is the largest.
bool is_preferred(const ArchName& arch, const ArchName& other);

// "12.1".
std::string capability_text(int32_t capability);

}  // namespace mxgemm::internal
