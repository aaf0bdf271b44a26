// SPDX-License-Identifier: Apache-2.0
// While alive: IEEE arithmetic on this thread, round to nearest even, no flush of subnormals. A
// host program may have set another mode (-ffast-math start-up code does), which worker threads
// inherit.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mxgemm::cpu {

#if defined(__x86_64__)

class FloatEnvironment {
 public:
  FloatEnvironment() : saved_(_mm_getcsr()) { _mm_setcsr(kIeee); }
  ~FloatEnvironment() { _mm_setcsr(saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  static constexpr unsigned kIeee =
      0x1F80;  // MXCSR after reset: exceptions masked, nothing flushed
  unsigned saved_;
};

#elif defined(__aarch64__)

class FloatEnvironment {
 public:
  FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
  }
  ~FloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  uint64_t saved_;
};

#else

class FloatEnvironment {
 public:
  ~FloatEnvironment() {}
};

#endif

}  // namespace mxgemm::cpu
