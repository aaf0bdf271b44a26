// SPDX-License-Identifier: Apache-2.0
// Options that do not go together: each is refused with its name, its value and what is allowed.
#include <gtest/gtest.h>

#include <limits>

#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

void expect_refused(const QuantizeOptions& options, const std::vector<std::string>& words) {
  const Status status = check_quantize_options(options);
  ASSERT_EQ(status.code(), StatusCode::kInvalidArgument) << words.front();
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos)
        << "'" << status.message() << "' lacks '" << word << "'";
  }
}

QuantizeOptions good(Format format) {
  return options_for(Format::kBf16, format, 4, 64);
}

TEST(QuantizeOptions, DefaultsAreAcceptedForEveryFormatAndSource) {
  for (const Format format : kBlockFormats) {
    for (const Format source : kSources) {
      EXPECT_TRUE(check_quantize_options(options_for(source, format, 4, 64)).ok());
      EXPECT_TRUE(check_quantize_options(options_for(source, format, 0, 0)).ok());
    }
  }
}

TEST(QuantizeOptions, EveryOptionIsAcceptedWhereItIsUsed) {
  for (const ScaleRule rule : kAllRules) {
    QuantizeOptions options = good(Format::kMxf8E5m2);
    options.scale_rule = rule;
    options.saturate_nonfinite = true;
    options.stochastic = true;
    options.seed = ~uint64_t{0};
    options.offset = ~uint64_t{0};
    options.scale_layout = ScaleLayout::kSwizzle32x4x4;
    EXPECT_TRUE(check_quantize_options(options).ok());
  }
  for (const float least : {0.0f, -0.0f, 0x1p-6f, 448.0f}) {
    QuantizeOptions options = good(Format::kNvf4);
    options.min_block_scale = least;
    options.global_scale_mode = GlobalScaleMode::kOne;
    EXPECT_TRUE(check_quantize_options(options).ok()) << least;
  }
}

TEST(QuantizeOptions, ColsMustBeAMultipleOfTheBlock) {
  for (const Format format : kMxFormats) {
    for (const int64_t cols : {16, 40}) {
      QuantizeOptions options = good(format);
      options.cols = cols;
      expect_refused(options, {"cols", std::to_string(cols), "32", format_name(format)});
    }
  }
  QuantizeOptions options = good(Format::kNvf4);
  options.cols = 16;
  EXPECT_TRUE(check_quantize_options(options).ok());
  options.cols = 24;
  expect_refused(options, {"cols", "24", "16", "nvf4"});
}

TEST(QuantizeOptions, SizesMustNotBeNegative) {
  QuantizeOptions options = good(Format::kMxf4);
  options.rows = -1;
  expect_refused(options, {"rows", "-1", ">= 0"});
  options.rows = 1;
  options.cols = -32;
  expect_refused(options, {"cols", "-32", ">= 0"});
}

TEST(QuantizeOptions, FormatsMustBeOfTheRightKind) {
  QuantizeOptions options = good(Format::kMxf4);
  options.format_src = Format::kMxf4;
  expect_refused(options, {"format_src", "mxf4", "bf16, f16 or f32"});
  options.format_src = static_cast<Format>(99);
  expect_refused(options, {"format_src", "99"});
  options.format_src = Format::kF32;
  options.format = Format::kBf16;
  expect_refused(options, {"format is 16", "bf16", "mxf4, nvf4"});
  options.format = Format::kNone;
  expect_refused(options, {"format is 0", "none"});
}

TEST(QuantizeOptions, EnumValuesMustExist) {
  QuantizeOptions options = good(Format::kMxf4);
  options.scale_layout = static_cast<ScaleLayout>(2);
  expect_refused(options, {"scale_layout", "2"});
  options = good(Format::kMxf4);
  options.scale_rule = static_cast<ScaleRule>(7);
  expect_refused(options, {"scale_rule", "7", "0 ... 6"});
  options.scale_rule = static_cast<ScaleRule>(-1);
  expect_refused(options, {"scale_rule", "-1"});
  options = good(Format::kNvf4);
  options.global_scale_mode = static_cast<GlobalScaleMode>(4);
  expect_refused(options, {"global_scale_mode", "4", "0 ... 3"});
}

TEST(QuantizeOptions, Nvf4TakesNoScaleRule) {
  for (const ScaleRule rule : kAllRules) {
    QuantizeOptions options = good(Format::kNvf4);
    options.scale_rule = rule;
    expect_refused(options, {"scale_rule", kScaleRuleNames[static_cast<int>(rule)], "nvf4"});
  }
}

TEST(QuantizeOptions, MinBlockScaleIsForNvf4AndLiesIn0To448) {
  for (const Format format : kMxFormats) {
    QuantizeOptions options = good(format);
    options.min_block_scale = 0.5f;
    expect_refused(options, {"min_block_scale", "0.5", format_name(format)});
  }
  for (const float least : {-1.0f, 449.0f, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()}) {
    QuantizeOptions options = good(Format::kNvf4);
    options.min_block_scale = least;
    expect_refused(options, {"min_block_scale", "0 ... 448"});
  }
}

TEST(QuantizeOptions, GlobalScaleModeIsForNvf4) {
  for (const Format format : kMxFormats) {
    for (const GlobalScaleMode mode :
         {GlobalScaleMode::kOne, GlobalScaleMode::kCompute, GlobalScaleMode::kGiven}) {
      QuantizeOptions options = good(format);
      options.global_scale_mode = mode;
      expect_refused(options, {"global_scale_mode", format_name(format)});
    }
  }
}

TEST(QuantizeOptions, SeedAndOffsetAreForStochasticRounding) {
  QuantizeOptions options = good(Format::kMxf4);
  options.seed = 5;
  expect_refused(options, {"seed is 5", "stochastic"});
  options.seed = 0;
  options.offset = 6;
  expect_refused(options, {"offset is 6", "stochastic"});
}

}  // namespace
}  // namespace mxgemm::test
