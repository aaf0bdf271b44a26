// SPDX-License-Identifier: Apache-2.0
// The verify command without its command line, so that tests can give it what no command line can.
#pragma once

#include <string>
#include <vector>

#include "cli/program.hpp"
#include "cli/verify.hpp"

namespace mxgemm::cli {

struct VerifyRequest {
  std::vector<std::string> problems;
  std::string device = "all";
  std::string kernel_id;
  std::vector<std::string> kinds;  // empty: exact and normal
  uint64_t seed = 1;
  bool json = false;
  Tamper tamper;  // as in VerifyOptions
};

// What main returns: 4 if something could not run, else 1 if a row failed, else 3 if a problem has
// no kernel here, else 0.
int verify_command(const VerifyRequest& request, Console& console);

}  // namespace mxgemm::cli
