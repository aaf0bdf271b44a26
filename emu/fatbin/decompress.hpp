// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace emu::fatbin {

// Whether this build can read zstd.
bool has_zstd();

// The `exact_bytes` bytes that `frame` holds; throws Error where that is not so.
std::string decompress_zstd(std::span<const uint8_t> frame, uint64_t exact_bytes,
                            const std::string& origin);

}  // namespace emu::fatbin
