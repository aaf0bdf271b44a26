// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace mxgemm::test {

// Calls of operator new in this process, the library's included.
extern std::atomic<int> allocations;

}  // namespace mxgemm::test
