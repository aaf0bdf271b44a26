// SPDX-License-Identifier: Apache-2.0
#include "reference/compare.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "base/math.hpp"
#include "base/status.hpp"

namespace mxgemm::internal {

namespace {

bool is_before(const Mismatch& a, const Mismatch& b) {
  return a.m != b.m ? a.m < b.m : a.n < b.n;
}

void keep_first(const Mismatch& candidate, Mismatch* first) {
  if (candidate.found() && (!first->found() || is_before(candidate, *first))) {
    *first = candidate;
  }
}

const uint8_t* row_start(const OutputView& view, int64_t m) {
  const int64_t element_bytes = view.format == Format::kF32 ? 4 : 2;
  return static_cast<const uint8_t*>(view.data) + m * view.ld * element_bytes;
}

// Verdict on one output, added to the report.
class OutputCheck {
 public:
  OutputCheck(const ExpectedOutput& expected, const Mismatch& place, Format format,
              CompareReport* report)
      : expected_(expected), place_(place), format_(format), report_(*report) {}

  void run() {
    ++report_.outputs;
    count_kind();
    if (place_.actual_code == poison_code(format_)) {
      ++report_.unwritten;
      keep_first(place_, &report_.first_unwritten);
    } else if (expected_.check == CheckKind::kExact) {
      check_exact();
    } else if (expected_.check != CheckKind::kNothing) {
      check_allowed();
    }
  }

 private:
  void count_kind() {
    const bool must_be_nan = expected_.check == CheckKind::kExact ? std::isnan(place_.expected)
                                                                  : expected_.allowed.only_nan();
    report_.exact_required += expected_.check == CheckKind::kExact ? 1 : 0;
    report_.bound_checked += expected_.check == CheckKind::kBound ? 1 : 0;
    report_.nan_only_checked += expected_.check == CheckKind::kNanPlacement ? 1 : 0;
    report_.unchecked += expected_.check == CheckKind::kNothing ? 1 : 0;
    report_.nan_expected += must_be_nan && expected_.check != CheckKind::kNothing ? 1 : 0;
  }

  void check_exact() {
    if (!same_value(format_, place_.actual_code, place_.expected_code)) {
      ++report_.exact_mismatches;
      keep_first(place_, &report_.first_exact_mismatch);
    }
    check_nan(std::isnan(place_.expected), std::isnan(place_.expected));
    add_noise();
  }

  void check_allowed() {
    check_nan(expected_.allowed.only_nan(), expected_.allowed.nan);
    if (expected_.check == CheckKind::kNanPlacement || std::isnan(place_.actual) ||
        expected_.allowed.only_nan()) {
      return;
    }
    const double ratio = error_over_bound(expected_.exact, expected_.bound, expected_.allowed,
                                          format_, place_.actual_code);
    if (!within_rounding(expected_.allowed, format_, place_.actual_code)) {
      ++report_.bound_violations;
      keep_first(place_, &report_.first_bound_violation);
    }
    if (ratio > report_.max_error_over_bound || !report_.worst.found()) {
      report_.max_error_over_bound = ratio;
      report_.worst = place_;
    }
    add_noise();
  }

  void check_nan(bool required, bool permitted) {
    const bool is_nan = std::isnan(place_.actual);
    const bool missing = required && !is_nan;
    const bool unexpected = is_nan && !permitted;
    report_.nan_missing += missing ? 1 : 0;
    report_.nan_unexpected += unexpected ? 1 : 0;
    if (missing || unexpected) {
      keep_first(place_, &report_.first_nan);
    }
  }

  void add_noise() {
    if (std::isfinite(place_.expected) && std::isfinite(place_.actual)) {
      const double error = place_.actual - place_.expected;
      report_.signal += place_.expected * place_.expected;
      report_.noise += error * error;
    }
  }

  const ExpectedOutput& expected_;
  const Mismatch& place_;
  Format format_;
  CompareReport& report_;
};

void check_output(const ExpectedOutput& expected, const OutputView& d, int64_t m, int64_t n,
                  CompareReport* report) {
  Mismatch place;
  place.m = m;
  place.n = n;
  place.actual_code = load_code(d.format, row_start(d, m), n);
  place.actual = decode_code(d.format, place.actual_code);
  // A bound's ideal output is the exact result rounded once; a bit-exact output is the rounded fp32
  // chain.
  place.expected_code =
      expected.check == CheckKind::kExact ? expected.d_code : encode_code(d.format, expected.exact);
  place.expected = decode_code(d.format, place.expected_code);
  OutputCheck(expected, place, d.format, report).run();
}

std::string describe(const char* what, int64_t count, const Mismatch& first) {
  if (count == 0) {
    return "";
  }
  return format_text(
      "%s: %lld, first at D[%lld,%lld] = %.9g (bits 0x%x), expected %.9g (bits 0x%x)\n", what,
      static_cast<long long>(count), static_cast<long long>(first.m),
      static_cast<long long>(first.n), first.actual, first.actual_code, first.expected,
      first.expected_code);
}

}  // namespace

void fill_poison(void* buffer, uint64_t bytes) {
  auto* bytes_out = static_cast<uint8_t*>(buffer);
  for (uint64_t index = 0; index < bytes; ++index) {
    bytes_out[index] = kPoisonBytes[index % 2];
  }
}

uint32_t poison_code(Format format) {
  constexpr uint32_t kHalf = kPoisonBytes[0] | kPoisonBytes[1] << 8;
  return format == Format::kF32 ? kHalf << 16 | kHalf : kHalf;
}

bool CompareReport::pass() const {
  return exact_mismatches == 0 && bound_violations == 0 && nan_missing == 0 &&
         nan_unexpected == 0 && unwritten == 0;
}

double CompareReport::sqnr_db() const {
  if (noise == 0.0) {
    return std::numeric_limits<double>::infinity();
  }
  return 10.0 * std::log10(signal / noise);
}

void CompareReport::merge(const CompareReport& other) {
  outputs += other.outputs;
  exact_required += other.exact_required;
  exact_mismatches += other.exact_mismatches;
  bound_checked += other.bound_checked;
  bound_violations += other.bound_violations;
  nan_only_checked += other.nan_only_checked;
  unchecked += other.unchecked;
  nan_expected += other.nan_expected;
  nan_missing += other.nan_missing;
  nan_unexpected += other.nan_unexpected;
  unwritten += other.unwritten;
  keep_first(other.first_exact_mismatch, &first_exact_mismatch);
  keep_first(other.first_bound_violation, &first_bound_violation);
  keep_first(other.first_nan, &first_nan);
  keep_first(other.first_unwritten, &first_unwritten);
  const bool is_worse =
      other.max_error_over_bound > max_error_over_bound ||
      (other.max_error_over_bound == max_error_over_bound && is_before(other.worst, worst));
  if (other.worst.found() && (!worst.found() || is_worse)) {
    max_error_over_bound = other.max_error_over_bound;
    worst = other.worst;
  }
  signal += other.signal;
  noise += other.noise;
}

std::string CompareReport::failures() const {
  return describe("not bit-exact", exact_mismatches, first_exact_mismatch) +
         describe("beyond the error bound", bound_violations, first_bound_violation) +
         describe("NaN where none is expected, or none where one is", nan_missing + nan_unexpected,
                  first_nan) +
         describe("not written", unwritten, first_unwritten);
}

CompareReport compare_expected(std::span<const ExpectedOutput> expected, const OutputView& d,
                               const OutputTile& tile) {
  CompareReport report;
  size_t index = 0;
  for (int64_t m = tile.m_begin; m < tile.m_end; ++m) {
    for (int64_t n = tile.n_begin; n < tile.n_end; ++n) {
      check_output(expected[index], d, m, n, &report);
      ++index;
    }
  }
  return report;
}

CompareReport compare_tile(const ReferenceProblem& problem, const OutputView& d,
                           const OutputTile& tile) {
  const int64_t columns = std::max<int64_t>(tile.n_end - tile.n_begin, 0);
  const int64_t rows = std::max<int64_t>(tile.m_end - tile.m_begin, 0);
  std::vector<ExpectedOutput> expected(static_cast<size_t>(rows * columns));
  expected_tile(problem, tile, expected);
  return compare_expected(expected, d, tile);
}

CompareReport compare_gemm(const ReferenceProblem& problem, const OutputView& d, int num_threads) {
  const int64_t tile_columns = ceil_div(problem.n, kReferenceTile);
  const int64_t tiles = ceil_div(problem.m, kReferenceTile) * tile_columns;
  // A report per tile, merged in order, so that the sums do not depend on the threads.
  std::vector<CompareReport> reports(static_cast<size_t>(tiles));
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t tile = next++; tile < tiles; tile = next++) {
      const int64_t m = tile / tile_columns * kReferenceTile;
      const int64_t n = tile % tile_columns * kReferenceTile;
      const OutputTile extent{m, std::min(m + kReferenceTile, problem.m), n,
                              std::min(n + kReferenceTile, problem.n)};
      reports[static_cast<size_t>(tile)] = compare_tile(problem, d, extent);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int64_t index = 1; index < std::min<int64_t>(num_threads, tiles); ++index) {
      threads.emplace_back(work);
    }
    work();
  }
  CompareReport total;
  for (const CompareReport& report : reports) {
    total.merge(report);
  }
  return total;
}

CompareReport compare_samples(const ReferenceProblem& problem, const OutputView& d, int64_t count,
                              uint64_t seed) {
  CompareReport report;
  if (problem.m <= 0 || problem.n <= 0) {
    return report;
  }
  std::mt19937_64 random(seed);
  for (int64_t index = 0; index < count; ++index) {
    int64_t m = static_cast<int64_t>(random() % static_cast<uint64_t>(problem.m));
    int64_t n = static_cast<int64_t>(random() % static_cast<uint64_t>(problem.n));
    if (index < 4) {
      m = (index & 1) != 0 ? problem.m - 1 : 0;
      n = (index & 2) != 0 ? problem.n - 1 : 0;
    }
    check_output(expected_at(problem, m, n), d, m, n, &report);
  }
  return report;
}

GuardReport check_guard(const void* buffer, uint64_t bytes, uint64_t d_offset, Format format,
                        int64_t m, int64_t n, int64_t ldd) {
  const uint64_t element_bytes = format == Format::kF32 ? 4 : 2;
  const uint64_t row_bytes = static_cast<uint64_t>(n) * element_bytes;
  const uint64_t stride = static_cast<uint64_t>(ldd) * element_bytes;
  const bool is_empty = m == 0 || n == 0;
  const uint64_t d_end =
      is_empty ? d_offset : d_offset + static_cast<uint64_t>(m - 1) * stride + row_bytes;
  const auto* data = static_cast<const uint8_t*>(buffer);
  GuardReport report;
  for (uint64_t offset = 0; offset < bytes; ++offset) {
    const bool inside = offset >= d_offset && offset < d_end;
    const bool is_element = inside && (offset - d_offset) % stride < row_bytes;
    if (!is_element) {
      ++report.bytes_checked;
      if (data[offset] != kPoisonBytes[offset % 2]) {
        ++report.bytes_changed;
        if (report.first_offset < 0) {
          report.first_offset = static_cast<int64_t>(offset);
          report.where =
              inside              ? format_text("padding of row %llu",
                                                static_cast<unsigned long long>((offset - d_offset) / stride))
              : offset < d_offset ? "before D"
                                  : "after D";
        }
      }
    }
  }
  return report;
}

BitReport compare_bits(const OutputView& d, const OutputView& other, int64_t m, int64_t n) {
  BitReport report;
  for (int64_t row = 0; row < m; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      const uint32_t code = load_code(d.format, row_start(d, row), column);
      const uint32_t other_code = load_code(other.format, row_start(other, row), column);
      if (code != other_code) {
        ++report.mismatches;
        if (!report.first.found()) {
          report.first = {row,
                          column,
                          decode_code(other.format, other_code),
                          decode_code(d.format, code),
                          other_code,
                          code};
        }
      }
    }
  }
  return report;
}

}  // namespace mxgemm::internal
