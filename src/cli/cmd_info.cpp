// SPDX-License-Identifier: Apache-2.0
// `mxgemm info`: version, devices, kernels.
#include <fmt/ostream.h>

#include "cli/commands.hpp"

namespace mxgemm::cli {

void register_info(Program& program) {
  program.add_command("info", "Show version, devices and kernels.", "  mxgemm info\n",
                      [](Console& console) {
                        fmt::print(console.out, "mxgemm {}\n", mxgemm_version());
                        return kExitOk;
                      });
}

}  // namespace mxgemm::cli
