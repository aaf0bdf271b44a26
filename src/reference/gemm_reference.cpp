// SPDX-License-Identifier: Apache-2.0
#include "reference/gemm_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/math.hpp"
#include "reference/exact_dot.hpp"
#include "reference/expectation.hpp"

namespace mxgemm::internal {

namespace {

// Groups of K decoded at a time: 64 rows of A and of B then take 64 * 2 * 64 * 220 bytes = 1.8 MB.
constexpr int64_t kGroupsAtOnce = 64;

bool is_fp4(Format format) {
  return format == Format::kMxf4 || format == Format::kNvf4;
}

// Decoded groups [group_begin, group_end) of rows [row_begin, row_end), row after row.
void decode_rows(const ReferenceOperand& operand, int64_t row_begin, int64_t row_end,
                 int64_t group_begin, int64_t group_end, int64_t k,
                 std::vector<DecodedGroup>* out) {
  out->resize(static_cast<size_t>((row_end - row_begin) * (group_end - group_begin)));
  size_t index = 0;
  for (int64_t row = row_begin; row < row_end; ++row) {
    for (int64_t group = group_begin; group < group_end; ++group) {
      decode_group(operand, row, group, k, &(*out)[index++]);
    }
  }
}

// Dot products of a tile, row-major.
std::vector<DotAccumulator> accumulate(const ReferenceProblem& problem, const OutputTile& tile) {
  const int64_t rows = tile.m_end - tile.m_begin;
  const int64_t columns = tile.n_end - tile.n_begin;
  const int64_t groups = ceil_div(problem.k, kGroup);
  const bool both_fp4 = is_fp4(problem.a.format) && is_fp4(problem.b.format);
  std::vector<DotAccumulator> dots(static_cast<size_t>(rows * columns));
  std::vector<DecodedGroup> a;
  std::vector<DecodedGroup> b;
  for (int64_t begin = 0; begin < groups; begin += kGroupsAtOnce) {
    const int64_t end = std::min(groups, begin + kGroupsAtOnce);
    const auto count = static_cast<size_t>(end - begin);
    decode_rows(problem.a, tile.m_begin, tile.m_end, begin, end, problem.k, &a);
    decode_rows(problem.b, tile.n_begin, tile.n_end, begin, end, problem.k, &b);
    for (size_t output = 0; output < dots.size(); ++output) {
      const DecodedGroup* a_row = &a[output / static_cast<size_t>(columns) * count];
      const DecodedGroup* b_row = &b[output % static_cast<size_t>(columns) * count];
      for (size_t group = 0; group < count; ++group) {
        dots[output].add_group(a_row[group], b_row[group], problem.allowances, both_fp4);
      }
    }
  }
  return dots;
}

}  // namespace

float folded_alpha(const AlphaFactors& factors) {
  const bool on_device[] = {factors.alpha_on_device, factors.global_scale_a_on_device,
                            factors.global_scale_b_on_device};
  const float value[] = {factors.alpha, factors.global_scale_a, factors.global_scale_b};
  double host = 1.0;
  for (int index = 0; index < 3; ++index) {
    host = on_device[index] ? host : host * static_cast<double>(value[index]);
  }
  float folded = static_cast<float>(f32_decode(f32_encode(host)));
  for (int index = 0; index < 3; ++index) {
    folded = on_device[index] ? folded * value[index] : folded;
  }
  return folded;
}

void expected_tile(const ReferenceProblem& problem, const OutputTile& tile,
                   std::span<ExpectedOutput> out) {
  if (tile.m_begin >= tile.m_end || tile.n_begin >= tile.n_end) {
    return;
  }
  const std::vector<DotAccumulator> dots = accumulate(problem, tile);
  const float alpha = folded_alpha(problem.factors);
  size_t index = 0;
  for (int64_t m = tile.m_begin; m < tile.m_end; ++m) {
    for (int64_t n = tile.n_begin; n < tile.n_end; ++n) {
      out[index] = expectation(problem, alpha, dots[index], m, n);
      ++index;
    }
  }
}

ExpectedOutput expected_at(const ReferenceProblem& problem, int64_t m, int64_t n) {
  ExpectedOutput out;
  expected_tile(problem, {m, m + 1, n, n + 1}, {&out, 1});
  return out;
}

}  // namespace mxgemm::internal
