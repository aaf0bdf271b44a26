// SPDX-License-Identifier: Apache-2.0
// Comparing a whole output with the reference, or two outputs with each other.
//
// How to check a kernel: fill_poison() the whole buffer that D lies in (row padding and the bytes
// around it included), run, then compare_gemm() for the values and check_guard() for the bytes that
// are not D's. A run in place (C = D) has no poison in D, only around it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "formats/block_format.hpp"
#include "reference/gemm_reference.hpp"

namespace mxgemm::internal {

// The poison: bytes A5 FF repeated. As bf16 and f32 it is a signalling NaN, which no arithmetic
// produces, as f16 a NaN of a payload that no hardware generates; so an output that still holds it
// was not written.
constexpr uint8_t kPoisonBytes[2] = {0xA5, 0xFF};
void fill_poison(void* buffer, uint64_t bytes);
uint32_t poison_code(Format format);

// An output matrix as it lies in memory.
struct OutputView {
  Format format = Format::kF32;  // bf16, f16, f32
  const void* data = nullptr;
  int64_t ld = 0;  // elements
};

// The first place, in row-major order, where a check failed.
struct Mismatch {
  int64_t m = -1;
  int64_t n = -1;
  double expected = 0.0;
  double actual = 0.0;
  uint32_t expected_code = 0;
  uint32_t actual_code = 0;

  bool found() const { return m >= 0; }
};

struct CompareReport {
  int64_t outputs = 0;           // compared
  int64_t exact_required = 0;    // had to be bit-exact
  int64_t exact_mismatches = 0;  // of those, were not
  int64_t bound_checked = 0;     // compared with the error bound
  int64_t bound_violations = 0;
  int64_t nan_only_checked = 0;  // only the placement of NaN was checked
  int64_t unchecked = 0;         // nothing is promised
  int64_t nan_expected = 0;      // had to be NaN
  int64_t nan_missing = 0;       // of those, were not
  int64_t nan_unexpected = 0;    // NaN where none may be
  int64_t unwritten = 0;         // still poison, whatever was expected there
  Mismatch first_exact_mismatch;
  Mismatch first_bound_violation;
  Mismatch first_nan;  // missing or unexpected
  Mismatch first_unwritten;
  double max_error_over_bound = 0.0;
  Mismatch worst;  // where that is
  // Against the exact result rounded once to D's format, over the outputs where both are finite.
  double signal = 0.0;
  double noise = 0.0;

  bool pass() const;
  double sqnr_db() const;  // +Inf without noise, -Inf with noise and no signal
  void merge(const CompareReport& other);
  // One line per kind of failure with coordinates and values; "" after a pass.
  std::string failures() const;
};

// A tile of D against what expected_tile() gave for it: several outputs of one problem share the
// work of the reference.
CompareReport compare_expected(std::span<const ExpectedOutput> expected, const OutputView& d,
                               const OutputTile& tile);
CompareReport compare_tile(const ReferenceProblem& problem, const OutputView& d,
                           const OutputTile& tile);
// All of D, on `num_threads` threads (at least 1).
CompareReport compare_gemm(const ReferenceProblem& problem, const OutputView& d, int num_threads);
// `count` outputs drawn by `seed`, the four corners among them: for problems too large to check
// whole.
CompareReport compare_samples(const ReferenceProblem& problem, const OutputView& d, int64_t count,
                              uint64_t seed);

// Bytes of [buffer, buffer + bytes) that are no element of D and lost their poison. D starts
// `d_offset` (even) bytes in.
struct GuardReport {
  uint64_t bytes_checked = 0;
  uint64_t bytes_changed = 0;
  int64_t first_offset = -1;  // from the start of the buffer
  std::string where;          // "before D", "padding of row 3", "after D"
  bool pass() const { return bytes_changed == 0; }
};
GuardReport check_guard(const void* buffer, uint64_t bytes, uint64_t d_offset, Format format,
                        int64_t m, int64_t n, int64_t ldd);

// Two outputs bit for bit (signs of zeros and NaN payloads count).
struct BitReport {
  int64_t mismatches = 0;
  Mismatch first;
  bool pass() const { return mismatches == 0; }
};
BitReport compare_bits(const OutputView& d, const OutputView& other, int64_t m, int64_t n);

}  // namespace mxgemm::internal
