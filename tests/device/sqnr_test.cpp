// SPDX-License-Identifier: Apache-2.0
// The field's common acceptance: at least 80 dB between the bf16 output of the low-precision GEMM
// and of the same product of the operands dequantised to bf16, uniform [0, 1) data, scale rule
// floor, one-level NVFP4.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/gemm_run.hpp"
#include "support/places.hpp"
#include "support/quantize_call.hpp"
#include "support/random_operand.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

struct Size {
  int64_t m;
  int64_t k;
  int64_t n;
};

// The sizes of torchao's test but 8192 cubed, which the benchmark has.
constexpr Size kSizes[] = {{128, 128, 128}, {256, 256, 256},    {384, 384, 384}, {512, 512, 512},
                           {768, 768, 768}, {1024, 1024, 1024}, {128, 256, 384}, {256, 384, 512},
                           {129, 256, 384}, {133, 512, 528}};

Operand uniform_operand(Format format, int64_t rows, int64_t cols, Random* random) {
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (float& value : values) {
    value = static_cast<float>(random->uniform());
  }
  Operand operand(format, rows, cols);
  quantize_into(values, MXGEMM_SCALE_RULE_FLOOR, &operand);
  return operand;
}

// Row by row in double, rounded to bf16 at the end.
std::vector<double> dequantized_product(const Operand& a, const Operand& b) {
  const std::vector<uint16_t> a_codes = dequantize_to_bf16(a);
  const std::vector<uint16_t> b_codes = dequantize_to_bf16(b);
  const int64_t n = b.rows();
  const int64_t k = a.cols();
  std::vector<double> b_by_k(static_cast<size_t>(n * k));
  for (int64_t index = 0; index < n * k; ++index) {
    b_by_k[static_cast<size_t>(index % k * n + index / k)] =
        internal::bf16_decode(b_codes[static_cast<size_t>(index)]);
  }
  std::vector<double> d(static_cast<size_t>(a.rows() * n), 0.0);
  for (int64_t m = 0; m < a.rows(); ++m) {
    double* row = &d[static_cast<size_t>(m * n)];
    for (int64_t step = 0; step < k; ++step) {
      const double factor = internal::bf16_decode(a_codes[static_cast<size_t>(m * k + step)]);
      const double* b_row = &b_by_k[static_cast<size_t>(step * n)];
      for (int64_t col = 0; col < n; ++col) {
        row[col] += factor * b_row[col];
      }
    }
    for (int64_t col = 0; col < n; ++col) {
      row[col] = internal::bf16_decode(internal::bf16_encode(row[col]));
    }
  }
  return d;
}

double sqnr_db(const std::vector<double>& reference, const GemmRun& run) {
  double signal = 0.0;
  double noise = 0.0;
  for (int64_t m = 0; m < run.m(); ++m) {
    for (int64_t n = 0; n < run.n(); ++n) {
      const double right = reference[static_cast<size_t>(m * run.n() + n)];
      const double error = run.at(m, n) - right;
      signal += right * right;
      noise += error * error;
    }
  }
  // 2^-800 instead of 0 keeps an exact result finite and far above the limit.
  return 10.0 * std::log10(signal / std::fmax(noise, 0x1p-800));
}

class Sqnr : public testing::TestWithParam<Format> {
 protected:
  void TearDown() override { EXPECT_EQ(mxgemm_set_max_isa(-1), MXGEMM_OK); }
};

INSTANTIATE_TEST_SUITE_P(Formats, Sqnr,
                         testing::Values(Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3),
                         [](const testing::TestParamInfo<Format>& format) {
                           return std::string(internal::format_name(format.param));
                         });

TEST_P(Sqnr, AtLeast80DecibelsAtEverySizeOfTheFieldsTest) {
  Random random(80);
  for (const Size& size : kSizes) {
    if (quick() && size.m > 256) {
      continue;
    }
    const Operand a = uniform_operand(GetParam(), size.m, size.k, &random);
    const Operand b = uniform_operand(GetParam(), size.n, size.k, &random);
    const std::vector<double> reference = dequantized_product(a, b);
    for (const Place& place : places()) {
      ASSERT_EQ(mxgemm_set_max_isa(place.on_cpu() ? place.level : -1), MXGEMM_OK);
      GemmRun run(a, b, Format::kBf16);
      run.device = place.device;
      run.must_run();
      EXPECT_GE(sqnr_db(reference, run), 80.0)
          << place << " " << run.kernel() << " " << size.m << " x " << size.k << " x " << size.n;
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
