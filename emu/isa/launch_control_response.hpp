// SPDX-License-Identifier: Apache-2.0
// The 16-byte answer of clusterlaunchcontrol.try_cancel. Opaque to kernels, so the layout is ours.
#pragma once

#include <array>
#include <cstdint>

namespace emu {

struct LaunchControlResponse {
  bool canceled = false;
  std::array<uint32_t, 3> ctaid{};  // of the first CTA of the cancelled cluster
};

struct ResponseBits {
  uint64_t low = 0;
  uint64_t high = 0;
};

// low: x, y. high: z, and in the upper half a mark that tells a response from poison. Failure is
// all zeros: kernels write such a response themselves to end the work of other warps.
inline constexpr uint32_t kCanceledMark = 0x434C4301;

constexpr ResponseBits encode_response(const LaunchControlResponse& r) {
  if (!r.canceled) {
    return {};
  }
  return {r.ctaid[0] | uint64_t{r.ctaid[1]} << 32, r.ctaid[2] | uint64_t{kCanceledMark} << 32};
}

struct DecodedResponse {
  LaunchControlResponse response;
  bool valid = false;  // false: these 16 bytes are no response
};

constexpr DecodedResponse decode_response(const ResponseBits& bits) {
  const auto mark = static_cast<uint32_t>(bits.high >> 32);
  DecodedResponse decoded;
  decoded.valid = mark == kCanceledMark || (bits.low == 0 && bits.high == 0);
  decoded.response = {mark == kCanceledMark,
                      {static_cast<uint32_t>(bits.low), static_cast<uint32_t>(bits.low >> 32),
                       static_cast<uint32_t>(bits.high)}};
  return decoded;
}

}  // namespace emu
