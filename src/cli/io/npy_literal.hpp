// SPDX-License-Identifier: Apache-2.0
// The Python literal in the header of an npy file.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "cli/io/dtype.hpp"

namespace mxgemm::cli {

struct NpyLiteral {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// Takes what numpy writes and what Python reads as the same: either quote, blanks, any order of the
// three keys, a comma at the end. Each key must be there once, and no other.
Status parse_npy_literal(std::string_view text, NpyLiteral* literal);

}  // namespace mxgemm::cli
