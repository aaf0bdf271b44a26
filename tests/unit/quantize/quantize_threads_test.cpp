// SPDX-License-Identifier: Apache-2.0
// The same bytes from any number of threads in any order. A test of its own, so that it can run
// under ThreadSanitizer.
#include <gtest/gtest.h>

#include <cmath>

#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

// Numbers of all sizes, the largest somewhere in the middle.
Numbers spread(int64_t count) {
  Numbers numbers(Format::kBf16, count);
  for (int64_t k = 0; k < count; ++k) {
    numbers.set(k, std::sin(static_cast<double>(k)) * (k == count / 2 + 1 ? 1e6 : 1.0));
  }
  return numbers;
}

TEST(QuantizeThreads, BytesDoNotDependOnThreadsOrOrder) {
  for (const Format format : kBlockFormats) {
    for (const ScaleLayout layout : {ScaleLayout::kRowMajor, ScaleLayout::kSwizzle32x4x4}) {
      for (const bool stochastic : {false, true}) {
        const Numbers numbers = spread(300 * 1056);
        QuantizeOptions options = options_for(Format::kBf16, format, 300, 1056);
        options.scale_layout = layout;
        options.stochastic = stochastic;
        options.seed = stochastic ? 77 : 0;
        const Quantized serial = quantize_numbers(options, numbers, levels().back());
        ASSERT_TRUE(serial.status.ok());
        for (int32_t threads : {1, 2, 5}) {
          const Quantized parallel =
              quantize_numbers(options, numbers, levels().back(), 1.0f, backward_threads(&threads));
          EXPECT_TRUE(parallel.same_bytes(serial)) << format_name(format) << " " << threads;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
