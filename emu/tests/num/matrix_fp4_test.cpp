// SPDX-License-Identifier: Apache-2.0
// The 4-bit kinds with K = 64 against a second formulation of the hardware model.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "num/matrix.hpp"
#include "tests/num/matrix_model.hpp"

namespace emu::num {
namespace {

constexpr int kRows = 16;
constexpr int kColumns = 8;

struct Fp4Problem {
  std::vector<float> a = std::vector<float>(kRows * kFp4K);
  std::vector<float> b = std::vector<float>(kColumns * kFp4K);
  std::vector<SplitScale> a_scale = std::vector<SplitScale>(kRows * kFp4Groups, split_ue8m0(127));
  std::vector<SplitScale> b_scale =
      std::vector<SplitScale>(kColumns * kFp4Groups, split_ue8m0(127));
  std::vector<uint32_t> d = std::vector<uint32_t>(kRows * kColumns);

  void run(MmaModel model) {
    multiply_fp4({kRows, kColumns, a.data(), b.data(), a_scale.data(), b_scale.data()}, model,
                 d.data());
  }
};

TEST(MatrixFp4, WorkedAccumulation) {
  const struct {
    float c, group, hardware, exact;
  } cases[] = {{16777214, 0.75f, 16777214, 16777215},
               {-16777214, 0.75f, -16777213, -16777213},
               {0x1p24f, 0x1p-12f, 0x1p24f, 0x1p24f}};
  for (const auto& one : cases) {
    for (const MmaModel model : {MmaModel::kHardware, MmaModel::kExact}) {
      Fp4Problem p;
      const bool tiny = one.group < 0.5f;
      p.a[0] = tiny ? 1.0f : 0.5f;
      p.b[0] = tiny ? 1.0f : 1.5f;
      if (tiny) {
        p.a_scale[0] = split_ue8m0(127 - 12);
      }
      p.d[0] = bits_of(one.c);
      p.run(model);
      EXPECT_EQ(float_of(p.d[0]), model == MmaModel::kHardware ? one.hardware : one.exact);
    }
  }
}

TEST(MatrixFp4, HardwareModelWithBothKindsOfScales) {
  std::mt19937_64 random(11);
  for (const bool ue8m0 : {true, false}) {
    Fp4Problem p;
    const auto scale = [&](double& value) {
      const auto code = static_cast<uint8_t>(ue8m0 ? 117 + random() % 20 : random() % 0x7F);
      value = ue8m0 ? decode_ue8m0(code) : decode_ue4m3(code);
      return ue8m0 ? split_ue8m0(code) : split_ue4m3(code);
    };
    std::vector<double> a_value(p.a_scale.size()), b_value(p.b_scale.size());
    for (size_t i = 0; i < p.a_scale.size(); ++i) {
      p.a_scale[i] = scale(a_value[i]);
    }
    for (size_t i = 0; i < p.b_scale.size(); ++i) {
      p.b_scale[i] = scale(b_value[i]);
    }
    for (float& value : p.a) {
      value = e2m1_values()[random() % 16];
    }
    for (float& value : p.b) {
      value = e2m1_values()[random() % 16];
    }
    for (uint32_t& c : p.d) {
      c = bits_of(std::ldexp(static_cast<float>(random() % 2000) - 1000.0f,
                             static_cast<int>(random() % 40) - 20));
    }
    const std::vector<uint32_t> c = p.d;
    p.run(MmaModel::kHardware);
    const auto scale_exponent = [&](double value) {
      return ue8m0 ? std::ilogb(value) : factor_exponent(kE4m3, value == 0 ? 0x1p-9 : value);
    };
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kColumns; ++n) {
        const double start = float_of(c[m * kColumns + n]);
        std::vector<ModelTerm> terms = {{start, factor_exponent(kF32, start)}};
        for (int group = 0; group < kFp4Groups; ++group) {
          double sum = 0;
          for (int i = 16 * group; i < 16 * group + 16; ++i) {
            sum += double{p.a[m * kFp4K + i]} * p.b[i * kLaneColumns + n];
          }
          const double sa = a_value[m * kFp4Groups + group];
          const double sb = b_value[n * kFp4Groups + group];
          terms.push_back({sum * sa * sb, scale_exponent(sa) + scale_exponent(sb)});
        }
        ASSERT_EQ(float_of(p.d[m * kColumns + n]), model_sum(terms, kFp4Fraction, 23));
      }
    }
  }
}

TEST(MatrixFp4, NanScaleReachesItsRowOrColumnOnly) {
  for (const MmaModel model : {MmaModel::kHardware, MmaModel::kExact}) {
    Fp4Problem p;
    p.a_scale[4 * kFp4Groups + 3] = split_ue8m0(255);
    p.b_scale[6 * kFp4Groups] = split_ue4m3(0xFF);
    p.d[0] = 0xFF800000;
    p.run(model);
    for (int m = 0; m < kRows; ++m) {
      for (int n = 0; n < kColumns; ++n) {
        const uint32_t otherwise = m + n == 0 ? 0xFF800000u : 0u;
        EXPECT_EQ(p.d[m * kColumns + n], m == 4 || n == 6 ? kF32Nan : otherwise);
      }
    }
  }
}

}  // namespace
}  // namespace emu::num
