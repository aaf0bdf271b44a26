// SPDX-License-Identifier: Apache-2.0
// Every subcommand, in the order of `mxgemm --help`.
#pragma once

#include "cli/program.hpp"

namespace mxgemm::cli {

void register_info(Program& program);

}  // namespace mxgemm::cli
