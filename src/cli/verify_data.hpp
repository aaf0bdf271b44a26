// SPDX-License-Identifier: Apache-2.0
// Operands, C and bias for a problem: what `--data` names, the same bytes for a seed on every
// machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "cli/problem.hpp"
#include "cli/verify_image.hpp"
#include "reference/gemm_reference.hpp"

namespace mxgemm::cli {

enum class DataKind {
  kExact,    // small integers, scales within 3 binades: no order of summation can round
  kNormal,   // Gaussian numbers, quantised
  kUniform,  // [0, 1), quantised
  kOnes,     // all ones
  kWide,     // every finite code, scales over 40 binades
  kEdge,     // scale bytes 0, 1, 253, 254, 255, ±0, subnormal, largest, NaN, Inf
};

inline constexpr const char* kDataKindNames[] = {"exact", "normal", "uniform",
                                                 "ones",  "wide",   "edge"};

inline const char* to_string(DataKind kind) {
  return kDataKindNames[static_cast<int>(kind)];
}
// Throws CommandError (exit code 2) for any other name.
DataKind parse_data_kind(std::string_view name);

struct OperandData {
  Format format = Format::kNone;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t ld = 0;
  Image elements;
  Image scale;           // empty for plain formats
  int64_t scale_ld = 0;  // row-major only
  ScaleLayout layout = ScaleLayout::kRowMajor;
  float global_scale = 1.0f;

  internal::ScaleView scale_view() const;
};

struct ProblemData {
  Problem problem;
  OperandData a;
  OperandData b;
  Image c;  // NaN where beta is 0: it must not be read
  Image bias;
  float alpha = 1.0f;
};

ProblemData make_data(const Problem& problem, DataKind kind, uint64_t seed);

// The same data as the reference takes it; points into `data`.
internal::ReferenceProblem reference_problem(const ProblemData& data);

}  // namespace mxgemm::cli
