// SPDX-License-Identifier: Apache-2.0
// Work in child processes. After a fault on a device every call of the process fails; so that it
// costs nothing else, a fresh process goes on behind it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace emu::tests {

struct Outcome {
  enum Kind : char {
    kDone = 'd',
    kFailed = 'e',  // could not be run
    kFault = 'f',   // ended with the device lost to the process, or with the process
  };
  Kind kind = kFailed;
  std::string data;  // what the work gave, or why not
};

// work(0)...work(count - 1), in order of the items. At most `processes` run at a time, each for a
// share of the items, and are left behind after a fault. A process that gives no answer for a time
// is killed, and the item at hand takes that for its fault. The caller must not have called CUDA.
std::vector<Outcome> isolated(size_t count, size_t processes,
                              const std::function<Outcome(size_t)>& work);

}  // namespace emu::tests
