// SPDX-License-Identifier: Apache-2.0
// Numbers given to options. CLI11 wraps "-3" and 2^64 into unsigned numbers, reads "010" as 8, and
// makes infinity of 1e999; what these take is decimal and means what it says.
#pragma once

#include <string>

namespace mxgemm::cli {

// For a CLI::Validator that transforms: the message of what is wrong with `text`, or "" and `text`
// rewritten so that CLI11 reads its value.
std::string take_uint64(std::string& text);
std::string take_finite_float(std::string& text);
// For a check: an empty word is not the same as an option that is not given.
std::string not_empty(std::string& text);

}  // namespace mxgemm::cli
