// SPDX-License-Identifier: Apache-2.0
// A C call that must fail: its code, and what its message must hold.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "mxgemm/mxgemm.h"

namespace mxgemm::test {

inline void expect_status(mxgemm_status expected, mxgemm_status status,
                          std::initializer_list<const char*> parts) {
  const std::string message = mxgemm_last_error();
  EXPECT_EQ(status, expected) << mxgemm_status_string(status) << ": " << message;
  for (const char* part : parts) {
    EXPECT_NE(message.find(part), std::string::npos)
        << "\"" << message << "\" lacks \"" << part << "\"";
  }
}

inline void expect_invalid(mxgemm_status status, std::initializer_list<const char*> parts) {
  expect_status(MXGEMM_INVALID_ARGUMENT, status, parts);
}

inline void expect_ok(mxgemm_status status) {
  EXPECT_EQ(status, MXGEMM_OK) << mxgemm_status_string(status) << ": " << mxgemm_last_error();
}

}  // namespace mxgemm::test
