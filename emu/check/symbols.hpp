// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace emu::check {

// Name of the symbol at `offset` from the start of the loaded file, also of one that is not
// exported; "" where the file has been stripped or cannot be read.
std::string symbol_in_file(const std::string& file, uint64_t offset);

}  // namespace emu::check
