// SPDX-License-Identifier: Apache-2.0
// Size of a test that takes long. MXGEMM_TEST_QUICK=1 is set where a test runs many times slower
// than usual, under an emulator of another processor.
#pragma once

#include <cstdlib>

namespace mxgemm::test {

inline bool quick() {
  static const bool value = [] {
    const char* text = std::getenv("MXGEMM_TEST_QUICK");
    return text != nullptr && *text != '\0' && *text != '0';
  }();
  return value;
}

template <typename T>
T test_size(T whole, T small) {
  return quick() ? small : whole;
}

}  // namespace mxgemm::test
