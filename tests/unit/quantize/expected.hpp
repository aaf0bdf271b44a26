// SPDX-License-Identifier: Apache-2.0
// A quantiser written from the words of docs/formats.md, sharing nothing with src: element values
// are listed, the nearest code is found by comparing with midpoints, scales by trying exponents.
// Every comparison is exact in double.
#pragma once

#include <cstdint>
#include <vector>

#include "quantize/quantize.hpp"

namespace mxgemm::test {

struct ExpectedBlock {
  uint8_t scale = 0;
  std::vector<uint8_t> codes;
};

// Magnitudes of the codes without sign, ascending: the index is the code.
const std::vector<double>& magnitudes(internal::Format format);
// Nearest code, ties to even, saturating, with sign; `value` may be infinite.
uint8_t nearest_code(internal::Format format, double value);

// The E8M0 exponent before clamping that `rule` (not mse) gives for a finite amax > 0.
int exponent_of_rule(internal::ScaleRule rule, internal::Format format, double amax);

ExpectedBlock expected_mx_block(internal::Format format, internal::ScaleRule rule, bool saturate,
                                const std::vector<double>& x);
ExpectedBlock expected_nvf4_block(bool saturate, float global_scale, float min_block_scale,
                                  const std::vector<double>& x);
// Of the finite ones among x.
float expected_global_scale(const std::vector<double>& x);

}  // namespace mxgemm::test
