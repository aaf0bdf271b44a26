// SPDX-License-Identifier: Apache-2.0
// What the fuzzers run on each input, and what replay_test.cpp runs on the corpus: each takes any
// bytes as a file, and aborts where a parser takes a file that it should have refused.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxgemm::fuzz {

void parse_safetensors(const uint8_t* data, size_t size);
void parse_index(const uint8_t* data, size_t size);
void parse_npy(const uint8_t* data, size_t size);

}  // namespace mxgemm::fuzz
