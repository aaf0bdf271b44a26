// SPDX-License-Identifier: Apache-2.0
// build/bin/fuzz_safetensors -max_len=4096 -runs=1000000 FOUND_DIR tests/fuzz/corpus/safetensors
#include "fuzz/entries.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mxgemm::fuzz::parse_safetensors(data, size);
  return 0;
}
