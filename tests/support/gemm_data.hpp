// SPDX-License-Identifier: Apache-2.0
// What the tests of GEMM range over: formats, activations, kinds of contents.
#pragma once

#include <vector>

#include "formats/block_format.hpp"
#include "reference/gemm_reference.hpp"
#include "support/random_operand.hpp"

namespace mxgemm::test {

inline constexpr Format kFormatsA[] = {Format::kMxf4,     Format::kNvf4, Format::kMxf8E4m3,
                                       Format::kMxf8E5m2, Format::kBf16, Format::kF16,
                                       Format::kF32};
inline constexpr Format kFormatsB[] = {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3,
                                       Format::kMxf8E5m2};
inline constexpr Format kFormatsD[] = {Format::kBf16, Format::kF16, Format::kF32};
// The first two are exact.
inline constexpr internal::Activation kActivations[] = {
    internal::Activation::kNone, internal::Activation::kRelu, internal::Activation::kGelu,
    internal::Activation::kGeluTanh, internal::Activation::kSilu};

enum class Data { kExact, kNormal, kWide, kEdge };
inline constexpr Data kAllData[] = {Data::kExact, Data::kNormal, Data::kWide, Data::kEdge};
inline constexpr const char* kDataNames[] = {"exact", "normal", "wide", "edge"};

inline void fill(Data data, Operand* operand, Random* random) {
  switch (data) {
    case Data::kExact:
      return fill_exact(operand, random);
    case Data::kNormal:
      return fill_normal(operand, random);
    case Data::kWide:
      // 40 binades in E8M0, all of E4M3.
      return operand->info().format == Format::kNvf4 ? fill_codes(operand, random, 0, 0x7E)
                                                     : fill_codes(operand, random, 107, 147);
    case Data::kEdge:
      return fill_edge(operand, random);
  }
}

// Contents of C and bias.
inline std::vector<double> random_values(Data data, int64_t count, Random* random) {
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) {
    value = data == Data::kExact ? static_cast<double>(random->integer(-8, 8)) : random->normal();
  }
  return values;
}

}  // namespace mxgemm::test
