// SPDX-License-Identifier: Apache-2.0
// NVFP4: one and two levels, given scales, block scales at their ends.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

constexpr double kInf = std::numeric_limits<double>::infinity();

struct NvOptions {
  GlobalScaleMode mode = GlobalScaleMode::kDefault;
  float given = 1.0f;
  float min_block_scale = 0.0f;
  bool saturate = false;
};

// By the first level that gives a result; all levels must agree.
Quantized quantize_nv(std::vector<double> values, const NvOptions& nv) {
  values.resize((values.size() + 15) / 16 * 16);
  QuantizeOptions options =
      options_for(Format::kF32, Format::kNvf4, 1, static_cast<int64_t>(values.size()));
  options.global_scale_mode = nv.mode;
  options.min_block_scale = nv.min_block_scale;
  options.saturate_nonfinite = nv.saturate;
  const Numbers numbers(Format::kF32, values);
  const Quantized result = quantize_numbers(options, numbers, 0, nv.given);
  for (const int32_t isa : levels()) {
    EXPECT_TRUE(quantize_numbers(options, numbers, isa, nv.given).same_bytes(result)) << isa;
  }
  return result;
}

int code(const Quantized& quantized, int64_t k) {
  return code_at(Format::kNvf4, quantized.qdata, k);
}

TEST(Nvf4, TwoLevelScalesComeFromTheTensorsAmax) {
  std::vector<double> values(32, 1.0);
  values[3] = -2688;
  const Quantized result = quantize_nv(values, {});
  EXPECT_EQ(result.global_scale, 1.0f);
  EXPECT_EQ(+result.scale[0], 0x7E);  // 2688 / 6 = 448
  EXPECT_EQ(code(result, 3), 15);
  EXPECT_EQ(code(result, 0), 0);  // 1 / 448
  // 1/6 = 0.16667 lies between the E4M3 neighbours 0.15625 (0x22) and 0.171875 (0x23).
  EXPECT_EQ(+result.scale[1], 0x23);
  EXPECT_EQ(code(result, 16), 7);
}

TEST(Nvf4, OneLevelHasGlobalScaleOne) {
  const Quantized result = quantize_nv({6, -3, 0.25, -0.0}, {.mode = GlobalScaleMode::kOne});
  EXPECT_EQ(result.global_scale, 1.0f);
  EXPECT_EQ(+result.scale[0], 0x38);
  EXPECT_EQ(code(result, 0), 7);
  EXPECT_EQ(code(result, 1), 13);
  EXPECT_EQ(code(result, 2), 0);  // a tie
  EXPECT_EQ(code(result, 3), 8);
}

TEST(Nvf4, OneLevelSaturatesAtTheLargestBlockScale) {
  const Quantized result = quantize_nv({1e6, -2688, 448, 224}, {.mode = GlobalScaleMode::kOne});
  EXPECT_EQ(+result.scale[0], 0x7E);
  EXPECT_EQ(code(result, 0), 7);
  EXPECT_EQ(code(result, 1), 15);
  EXPECT_EQ(code(result, 2), 2);
  EXPECT_EQ(code(result, 3), 1);
}

TEST(Nvf4, AllZeroTensorHasGlobalScaleOneAndZeroScales) {
  const Numbers zeros(Format::kBf16, std::vector<double>(4 * 32, 0.0));
  for (const int32_t isa : levels()) {
    const Quantized result =
        quantize_numbers(options_for(Format::kBf16, Format::kNvf4, 4, 32), zeros, isa);
    EXPECT_EQ(result.global_scale, 1.0f);
    EXPECT_EQ(result.scale, std::vector<uint8_t>(8, 0));
    EXPECT_EQ(result.qdata, std::vector<uint8_t>(64, 0));
    const Numbers decoded = decode(Format::kNvf4, 4, 32, result, Format::kF32);
    for (int k = 0; k < 128; ++k) {
      EXPECT_EQ(decoded.at(k), 0.0);
    }
  }
}

TEST(Nvf4, ZeroBlocksKeepSignsAndTheLeastBlockScale) {
  const Quantized plain = quantize_nv({0.0, -0.0}, {.mode = GlobalScaleMode::kOne});
  EXPECT_EQ(+plain.scale[0], 0x00);
  EXPECT_EQ(code(plain, 1), 8);
  // -0 is a least block scale of 0, not a scale with a sign.
  const Quantized signed_zero =
      quantize_nv({0.0, -0.0}, {.mode = GlobalScaleMode::kOne, .min_block_scale = -0.0f});
  EXPECT_TRUE(signed_zero.same_bytes(plain));
  const Quantized raised =
      quantize_nv({0.0, -0.0}, {.mode = GlobalScaleMode::kOne, .min_block_scale = 0x1p-6f});
  EXPECT_EQ(+raised.scale[0], 0x08);
  EXPECT_EQ(code(raised, 0), 0);
  EXPECT_EQ(code(raised, 1), 8);
}

TEST(Nvf4, AScaleThatRoundsToZeroLeavesSignsOnly) {
  // 2^-10 is half of the smallest E4M3 number: a tie to 0. amax / 6 = 2^-10 for amax = 6 * 2^-10.
  const Quantized tie = quantize_nv({6 * 0x1p-10, -6 * 0x1p-10}, {.mode = GlobalScaleMode::kOne});
  EXPECT_EQ(+tie.scale[0], 0);
  EXPECT_EQ(code(tie, 0), 0);
  EXPECT_EQ(code(tie, 1), 8);
  const Quantized above = quantize_nv({6.5 * 0x1p-10}, {.mode = GlobalScaleMode::kOne});
  EXPECT_EQ(+above.scale[0], 1);
  EXPECT_EQ(code(above, 0), 5);  // 3.25 -> 3
}

TEST(Nvf4, MinBlockScaleRaisesSmallBlocksOnly) {
  std::vector<double> values(32, 0x1p-10);
  values[16] = 6;
  const Quantized result =
      quantize_nv(values, {.mode = GlobalScaleMode::kOne, .min_block_scale = 0x1p-6f});
  EXPECT_EQ(+result.scale[0], 0x08);
  EXPECT_EQ(code(result, 0), 0);  // 2^-4
  EXPECT_EQ(+result.scale[1], 0x38);
}

TEST(Nvf4, GlobalScaleStaysNormalForTinyTensors) {
  const Quantized result = quantize_nv({0x1p-126, 0x1p-149}, {});
  EXPECT_EQ(result.global_scale, 0x1p-126f);
  EXPECT_EQ(+result.scale[0], 0x23);
  EXPECT_EQ(code(result, 0), 7);
  const Quantized large = quantize_nv({0x1.FFFFFEp127, -0x1.FFFFFEp127}, {});
  EXPECT_EQ(large.global_scale, 0x1.FFFFFEp127f / 2688.0f);
  EXPECT_EQ(+large.scale[0], 0x7E);
  EXPECT_EQ(code(large, 1), 15);
}

TEST(Nvf4, GivenGlobalScaleIsUsedAsItIs) {
  const Quantized result = quantize_nv({12, 1}, {.mode = GlobalScaleMode::kGiven, .given = 0.5f});
  EXPECT_EQ(result.global_scale, 0.5f);
  EXPECT_EQ(+result.scale[0], 0x48);  // 12 / 6 / 0.5 = 4
  EXPECT_EQ(code(result, 0), 7);
  EXPECT_EQ(code(result, 1), 1);
}

// With a subnormal given scale times a small block scale the fp32 divisor is 0: no NaN may come of
// it.
TEST(Nvf4, AVanishingDivisorSaturatesNumbersAndKeepsZeros) {
  const NvOptions options{
      .mode = GlobalScaleMode::kGiven, .given = 0x1p-149f, .min_block_scale = 0x1p-6f};
  const Quantized result = quantize_nv({0x1p-149, -0x1p-149, 0.0, -0.0}, options);
  EXPECT_EQ(+result.scale[0], 0x08);
  EXPECT_EQ(code(result, 0), 7);
  EXPECT_EQ(code(result, 1), 15);
  EXPECT_EQ(code(result, 2), 0);
  EXPECT_EQ(code(result, 3), 8);
}

TEST(Nvf4, NonFiniteBlocksDoNotMoveTheGlobalScale) {
  std::vector<double> values(48, 1.0);
  values[0] = -kInf;
  values[20] = std::numeric_limits<double>::quiet_NaN();
  values[40] = 2688;
  const Quantized nan = quantize_nv(values, {});
  EXPECT_EQ(nan.global_scale, 1.0f);
  EXPECT_EQ(nan.scale, (std::vector<uint8_t>{0x7F, 0x7F, 0x7E}));
  EXPECT_EQ(code(nan, 0), 0);
  EXPECT_EQ(code(nan, 16), 0);
  const Quantized saturated = quantize_nv(values, {.saturate = true});
  EXPECT_EQ(saturated.global_scale, 1.0f);
  EXPECT_EQ(saturated.scale, (std::vector<uint8_t>{0x7E, 0x7F, 0x7E}));
  EXPECT_EQ(code(saturated, 0), 15);
  EXPECT_EQ(code(saturated, 1), 0);
}

TEST(Nvf4, ATensorWithoutFiniteNumbersHasGlobalScaleOne) {
  const Quantized result = quantize_nv(std::vector<double>(16, kInf), {});
  EXPECT_EQ(result.global_scale, 1.0f);
  EXPECT_EQ(+result.scale[0], 0x7F);
}

TEST(Nvf4, GivenGlobalScaleMustBeFiniteAndPositive) {
  for (const float given : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    QuantizeOptions options = options_for(Format::kF32, Format::kNvf4, 1, 16);
    options.global_scale_mode = GlobalScaleMode::kGiven;
    const Quantized result =
        quantize_numbers(options, Numbers(Format::kF32, std::vector<double>(16, 1.0)), 0, given);
    EXPECT_EQ(result.status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(result.status.message().find("global_scale"), std::string::npos);
    EXPECT_NE(result.status.message().find("finite and > 0"), std::string::npos);
  }
}

TEST(Nvf4, GlobalScaleNeedsAPlaceUnlessItIsOne) {
  std::vector<float> row(16, 1.0f);
  std::vector<uint8_t> qdata(8);
  uint8_t scale = 0;
  const QuantizeBuffers buffers{row.data(), 16, qdata.data(), 8, &scale, 1, nullptr};
  QuantizeOptions options = options_for(Format::kF32, Format::kNvf4, 1, 16);
  options.global_scale_mode = GlobalScaleMode::kOne;
  EXPECT_TRUE(quantize(options, buffers, nullptr, {}).ok());
  EXPECT_EQ(scale, 0x23);
  for (const GlobalScaleMode mode :
       {GlobalScaleMode::kDefault, GlobalScaleMode::kCompute, GlobalScaleMode::kGiven}) {
    options.global_scale_mode = mode;
    const Status status = quantize(options, buffers, nullptr, {});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("global_scale is NULL"), std::string::npos);
  }
}

}  // namespace
}  // namespace mxgemm::test
