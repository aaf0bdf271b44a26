// SPDX-License-Identifier: Apache-2.0
// Files of tensor copies: what copy_vectors.py expects, and what a GPU did.
#pragma once

#include <string>
#include <vector>

#include "copy.hpp"

namespace emu::tests {

// Throws std::runtime_error with file and line for what it does not understand.
std::vector<Copy> read_copies(const std::string& path);
// `bytes` are written where they are not empty. `comment` has lines.
void write_copies(const std::string& path, const std::string& comment,
                  const std::vector<Copy>& copies);

// FNV-1a, 64 bits.
uint64_t hash_of(const std::vector<uint8_t>& bytes);

// How the result differs from what is expected, or "". Where there are bytes to compare with and
// the copy fills with NaN, one NaN is as good as another.
std::string difference(const Copy& expected, const CopyResult& got);

}  // namespace emu::tests
