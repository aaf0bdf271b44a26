// SPDX-License-Identifier: Apache-2.0
// The default floating-point environment for a scope: round to nearest even, subnormals kept. A
// host program may have changed it (a library linked with -ffast-math sets flush-to-zero for the
// whole thread when it is loaded, and worker threads inherit it), and our bytes must not depend on
// that. The work must be a call into another function, so that the compiler cannot move it out of
// the scope. One register: std::fesetenv also sets the x87 one, which nothing here uses and which
// takes half a microsecond.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mxgemm::internal {

#if defined(__x86_64__)

class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(kIeee); }
  ~DefaultFloatEnvironment() { _mm_setcsr(saved_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  static constexpr unsigned kIeee =
      0x1F80;  // MXCSR after reset: exceptions masked, nothing flushed
  unsigned saved_;
};

#elif defined(__aarch64__)

class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
  }
  ~DefaultFloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;

 private:
  uint64_t saved_;
};

#else

class DefaultFloatEnvironment {
 public:
  ~DefaultFloatEnvironment() {}
};

#endif

}  // namespace mxgemm::internal
