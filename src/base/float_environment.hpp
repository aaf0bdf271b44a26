// SPDX-License-Identifier: Apache-2.0
// The default floating-point environment for a scope: round to nearest, subnormals kept. A host
// program may have changed it (a library linked with -ffast-math sets flush-to-zero for the whole
// thread when it is loaded), and our bytes must not depend on that. The work must be a call into
// another function, so that the compiler cannot move it out of the scope.
#pragma once

#include <cfenv>

namespace mxgemm::internal {

class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace mxgemm::internal
