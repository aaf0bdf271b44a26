// SPDX-License-Identifier: Apache-2.0
// Where the tests run. CTest sets the variables: both in cross builds, whose programs an emulator
// runs, the first also where AddressSanitizer makes them slow.
#pragma once

#include <cstdlib>

namespace mxgemm::test {

inline bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0' && *text != '0';
}

// MXGEMM_TEST_QUICK=1: everything runs many times slower than usual, so that tests which take long
// take smaller sizes.
inline bool quick() {
  return is_set("MXGEMM_TEST_QUICK");
}

template <typename T>
T test_size(T whole, T small) {
  return quick() ? small : whole;
}

// MXGEMM_TEST_EMULATED=1: what the emulator itself cannot do is not tested.
inline bool emulated() {
  return is_set("MXGEMM_TEST_EMULATED");
}

}  // namespace mxgemm::test
