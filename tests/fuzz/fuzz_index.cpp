// SPDX-License-Identifier: Apache-2.0
// Built and run by tests/fuzz/run_fuzzers.
#include "fuzz/entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mxgemm::fuzz::parse_index(data, size);
  return 0;
}
