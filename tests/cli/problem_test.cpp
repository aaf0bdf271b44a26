// SPDX-License-Identifier: Apache-2.0
#include "cli/problem.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program.hpp"

namespace mxgemm::cli {
namespace {

// The message of a refusal; fails the test if the string is accepted or refused with another exit
// code.
std::string refusal(const std::string& text) {
  try {
    parse_problem(text);
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), kExitBadCommandLine) << text;
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << text;
  return "";
}

void expect_refusal(const std::string& text, const std::vector<std::string>& said) {
  const std::string message = refusal(text);
  for (const std::string& part : said) {
    EXPECT_NE(message.find(part), std::string::npos)
        << text << ": '" << part << "' not in: " << message;
  }
}

TEST(ParseProblem, ReadsShapeAndFormats) {
  const Problem p = parse_problem("m133n528k512:mxf4:nvf4:bf16");
  EXPECT_EQ(p.m, 133);
  EXPECT_EQ(p.n, 528);
  EXPECT_EQ(p.k, 512);
  EXPECT_EQ(p.a, Format::kMxf4);
  EXPECT_EQ(p.b, Format::kNvf4);
  EXPECT_EQ(p.d, Format::kBf16);
  EXPECT_EQ(p.scales, ScaleLayout::kSwizzle32x4x4);
  EXPECT_FALSE(p.pad_zero);
  EXPECT_EQ(p.bias, Format::kNone);
  EXPECT_FALSE(p.beta.has_value());
  EXPECT_EQ(p.alpha, 1.0f);
  EXPECT_EQ(p.activation, MXGEMM_ACT_NONE);
}

TEST(ParseProblem, ReadsEveryOption) {
  const Problem p = parse_problem(
      "m5n9k96:f32:mxf8e5m2:f16:scales=rowmajor:pad=zero:bias=f32:beta=-0.5:alpha=2.5:act=silu:"
      "lda=+3:ldb=+1:ldc=+7:ldd=+5:off=4:packed");
  EXPECT_EQ(p.scales, ScaleLayout::kRowMajor);
  EXPECT_TRUE(p.pad_zero);
  EXPECT_EQ(p.bias, Format::kF32);
  EXPECT_EQ(p.beta, -0.5f);
  EXPECT_EQ(p.alpha, 2.5f);
  EXPECT_FALSE(p.alpha_on_device);
  EXPECT_EQ(p.activation, MXGEMM_ACT_SILU);
  EXPECT_EQ(p.extra_lda, 3);
  EXPECT_EQ(p.extra_ldb, 1);
  EXPECT_EQ(p.extra_ldc, 7);
  EXPECT_EQ(p.extra_ldd, 5);
  EXPECT_EQ(p.offset, 4);
  EXPECT_TRUE(p.packed_b);
  EXPECT_TRUE(parse_problem("m1n1k32:mxf4:mxf4:f32:alpha=dev").alpha_on_device);
  EXPECT_EQ(parse_problem("m1n1k32:mxf4:mxf4:f16:bias").bias, Format::kF16);
}

TEST(ParseProblem, TakesMxf8AsMxf8E4m3) {
  EXPECT_EQ(parse_problem("m1n1k32:mxf8:mxf8:f32"), parse_problem("m1n1k32:mxf8e4m3:mxf8e4m3:f32"));
}

TEST(ParseProblem, TakesZeroExtents) {
  EXPECT_EQ(parse_problem("m0n0k0:mxf4:mxf4:f32").m, 0);
  EXPECT_EQ(parse_problem("m17n33k0:mxf4:mxf4:f32:bias").k, 0);
}

TEST(ParseProblem, TakesBetaZeroAsGivingC) {
  const Problem p = parse_problem("m1n1k32:mxf4:mxf4:f32:beta=0");
  ASSERT_TRUE(p.beta.has_value());
  EXPECT_NE(make_desc(p, MXGEMM_DEVICE_CPU, 0).flags & MXGEMM_USE_C, 0u);
}

TEST(ProblemToString, IsCanonicalAndReadsBack) {
  const struct {
    const char* given;
    const char* canonical;
  } kCases[] = {
      {"m1n2k32:mxf4:mxf4:f32", "m1n2k32:mxf4:mxf4:f32"},
      {"m01n2k032:mxf8:mxf8:f32", "m1n2k32:mxf8e4m3:mxf8e4m3:f32"},
      {"m1n2k32:mxf4:mxf4:f32:scales=swizzled:pad=nan:alpha=1:act=none:lda=+0:off=0",
       "m1n2k32:mxf4:mxf4:f32"},
      {"m1n2k32:mxf4:mxf4:f32:bias=f32", "m1n2k32:mxf4:mxf4:f32:bias"},
      {"m1n2k32:mxf4:mxf4:bf16:bias=f32", "m1n2k32:mxf4:mxf4:bf16:bias=f32"},
      {"m1n2k32:mxf4:mxf4:f32:beta=0", "m1n2k32:mxf4:mxf4:f32:beta=0"},
      {"m1n2k32:mxf4:mxf4:f32:beta=1e-3", "m1n2k32:mxf4:mxf4:f32:beta=0.001"},
      {"m1n2k32:bf16:nvf4:f16:packed:off=2:ldd=+5:ldc=+4:ldb=+2:lda=+3:act=gelu_tanh:alpha=dev:"
       "beta=0.5:bias:pad=zero:scales=rowmajor",
       "m1n2k32:bf16:nvf4:f16:scales=rowmajor:pad=zero:bias:beta=0.5:alpha=dev:act=gelu_tanh:"
       "lda=+3:ldb=+2:ldc=+4:ldd=+5:off=2:packed"},
  };
  for (const auto& test : kCases) {
    const Problem problem = parse_problem(test.given);
    EXPECT_EQ(to_string(problem), test.canonical);
    EXPECT_EQ(parse_problem(to_string(problem)), problem) << test.given;
  }
}

TEST(ProblemToString, KeepsEveryBitOfAlphaAndBeta) {
  const Problem problem = parse_problem("m1n1k32:mxf4:mxf4:f32:beta=0.1:alpha=16777217.5");
  EXPECT_EQ(parse_problem(to_string(problem)).beta, 0.1f);
  EXPECT_EQ(parse_problem(to_string(problem)).alpha, 16777218.0f);
}

TEST(ParseProblem, NamesKAndBlockSizeWhereTheyDoNotFit) {
  expect_refusal("m8n8k33:mxf4:mxf4:bf16", {"K", "33", "32", "A (mxf4)"});
  expect_refusal("m8n8k48:nvf4:mxf8:bf16", {"K is 48", "multiples of 32", "B (mxf8e4m3)"});
  expect_refusal("m8n8k24:bf16:nvf4:bf16", {"K is 24", "multiples of 16", "B (nvf4)"});
}

TEST(ParseProblem, RefusesMalformedShapes) {
  expect_refusal("", {"1 of the 4 parts"});
  expect_refusal("m1n1k32", {"1 of the 4 parts"});
  expect_refusal("m1n1k32:mxf4:mxf4", {"3 of the 4 parts"});
  expect_refusal("n1m1k32:mxf4:mxf4:f32", {"'n1m1k32'", "lacks 'm<M>'"});
  expect_refusal("m1k32:mxf4:mxf4:f32", {"'m1k32'", "lacks 'n<N>'"});
  expect_refusal("m1n1:mxf4:mxf4:f32", {"'m1n1'", "lacks 'k<K>'"});
  expect_refusal("M1N1K32:mxf4:mxf4:f32", {"lacks 'm<M>'"});
  expect_refusal("mn1k32:mxf4:mxf4:f32", {"M is ''"});
  expect_refusal("m-1n1k32:mxf4:mxf4:f32", {"M is ''"});
  expect_refusal("m1n1k32x:mxf4:mxf4:f32", {"'x'", "'m1n1k32x'"});
  expect_refusal("m1n1k32 :mxf4:mxf4:f32", {"' ' after K"});
  expect_refusal(":mxf4:mxf4:f32", {"lacks 'm<M>'"});
}

TEST(ParseProblem, RefusesNumbersThatOverflow) {
  expect_refusal("m18446744073709551616n1k32:mxf4:mxf4:f32",
                 {"M is '18446744073709551616'", "0 to"});
  expect_refusal("m1n9223372036854775807k32:mxf4:mxf4:f32", {"N is '9223372036854775807'", "0 to"});
  expect_refusal("m1n1k1099511627808:mxf4:mxf4:f32", {"K is '1099511627808'", "0 to"});
  expect_refusal("m1099511627776n1099511627776k32:mxf4:mxf4:f32",
                 {"C has 1099511627776 x 1099511627776"});
  expect_refusal("m1n1k32:mxf4:mxf4:f32:lda=+99999999999999999999",
                 {"lda is '99999999999999999999'"});
  expect_refusal("m1n1k32:mxf4:mxf4:f32:off=99999999999999999999", {"off is"});
  expect_refusal("m1n1k32:mxf4:mxf4:f32:alpha=1e50", {"alpha is '1e50'", "finite"});
}

TEST(ParseProblem, RefusesUnknownFormats) {
  expect_refusal("m1n1k32:fp4:mxf4:f32", {"A is 'fp4'", "mxf4", "bf16", "mxf8 = mxf8e4m3"});
  expect_refusal("m1n1k32:mxf4:bf16:f32", {"B is 'bf16'", "mxf4, nvf4"});
  expect_refusal("m1n1k32:mxf4:mxf4:mxf4", {"D is 'mxf4'", "bf16, f16, f32"});
  expect_refusal("m1n1k32::mxf4:f32", {"A is ''"});
  expect_refusal("m1n1k32:mxf4::f32", {"B is ''"});
  expect_refusal("m1n1k32:mxf4:mxf4:", {"D is ''"});
  expect_refusal("m1n1k32:MXF4:mxf4:f32", {"A is 'MXF4'"});
}

TEST(ParseProblem, RefusesMalformedOptions) {
  const std::string base = "m1n1k32:mxf4:mxf4:bf16:";
  expect_refusal(base, {"unknown option ''", "scales=swizzled|rowmajor"});
  expect_refusal(base + ":bias", {"unknown option ''"});
  expect_refusal(base + "colour=red", {"unknown option 'colour=red'", "packed"});
  expect_refusal(base + "=", {"unknown option '='"});
  expect_refusal(base + "scales", {"scales is ''", "swizzled, rowmajor"});
  expect_refusal(base + "scales=plain", {"scales is 'plain'"});
  expect_refusal(base + "pad=one", {"pad is 'one'", "nan, zero"});
  expect_refusal(base + "bias=bf16", {"bias is 'bf16'", "f32"});
  expect_refusal(base + "bias=", {"bias is ''"});
  expect_refusal(base + "beta", {"beta is ''"});
  expect_refusal(base + "beta=x", {"beta is 'x'"});
  expect_refusal(base + "beta=1x", {"beta is '1x'"});
  expect_refusal(base + "beta=inf", {"beta is 'inf'", "finite"});
  expect_refusal(base + "alpha=nan", {"alpha is 'nan'", "'dev'"});
  expect_refusal(base + "act=tanh", {"act is 'tanh'", "gelu_tanh, silu"});
  expect_refusal(base + "lda=8", {"lda is '8'", "lda=+8"});
  expect_refusal(base + "ldd=+", {"ldd is ''"});
  expect_refusal(base + "ldd=+-1", {"ldd is '-1'"});
  expect_refusal(base + "off=-1", {"off is '-1'"});
  expect_refusal(base + "off=", {"off is ''"});
  expect_refusal(base + "packed=yes", {"packed is 'yes'"});
}

TEST(ParseProblem, RefusesOptionsGivenTwice) {
  const std::string base = "m1n1k32:mxf4:mxf4:bf16:";
  expect_refusal(base + "bias:bias=f32", {"'bias' is given twice"});
  expect_refusal(base + "beta=1:act=relu:beta=1", {"'beta' is given twice"});
  expect_refusal(base + "packed:packed", {"'packed' is given twice"});
}

TEST(ParseProblem, RefusesWhatDoesNotFitTogether) {
  expect_refusal("m1n1k32:mxf4:mxf4:f32:lda=+3", {"lda is '+3'", "multiples of 2"});
  expect_refusal("m1n1k32:bf16:nvf4:f32:ldb=+1", {"ldb is '+1'", "multiples of 2"});
  expect_refusal("m1n1k32:mxf4:mxf4:f32:ldc=+2", {"ldc is '+2'", "beta"});
  expect_refusal("m1n1k32:bf16:mxf4:f32:off=1", {"off is '1'", "multiples of 2", "A (bf16)"});
  expect_refusal("m1n1k32:mxf4:mxf4:f32:off=2", {"off is '2'", "multiples of 4", "D (f32)"});
  expect_refusal("m1n1k32:mxf4:mxf4:bf16:off=2:bias=f32", {"off is '2'", "bias (f32)"});
}

TEST(ProblemSizes, AreThoseOfTheDocumentedLayouts) {
  const Problem swizzled = parse_problem("m133n528k96:mxf4:nvf4:bf16:ldd=+8");
  EXPECT_EQ(matrix_bytes(swizzled.a, 133, 96, lda(swizzled)), 133u * 48);
  EXPECT_EQ(scale_bytes(swizzled, swizzled.a, 133, lda(swizzled)), 2u * 1 * 512);
  EXPECT_EQ(scale_bytes(swizzled, swizzled.b, 528, ldb(swizzled)), 5u * 2 * 512);
  EXPECT_EQ(matrix_bytes(swizzled.d, 133, 528, ldd(swizzled)), (132u * 536 + 528) * 2);
  const Problem rows = parse_problem("m3n4k64:mxf8:mxf4:f32:scales=rowmajor:lda=+1");
  EXPECT_EQ(scale_row_bytes(rows.a, lda(rows)), 3);
  EXPECT_EQ(scale_bytes(rows, rows.a, 3, lda(rows)), 2u * 3 + 2);
  EXPECT_EQ(scale_bytes(rows, rows.b, 4, ldb(rows)), 4u * 2);
  EXPECT_EQ(matrix_bytes(Format::kF32, 0, 8, 8), 0u);
  EXPECT_EQ(matrix_bytes(Format::kF32, 8, 0, 3), 0u);
}

TEST(ProblemSizes, TellsTooLargeProblemsFromTheMachinesMemory) {
  const Problem problem = parse_problem("m134217728n134217728k32:mxf4:mxf4:f32");
  try {
    require_memory(problem, static_cast<double>(total_bytes(problem)));
    FAIL() << "72 PB accepted";
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), kExitRunTimeFailure);
    EXPECT_NE(std::string(error.what()).find("this machine has"), std::string::npos);
  }
  EXPECT_NO_THROW(require_memory(parse_problem("m1n1k32:mxf4:mxf4:f32"), 100.0));
}

TEST(ProblemDesc, CarriesEveryChoice) {
  const Problem p =
      parse_problem("m5n9k96:nvf4:mxf8:f16:pad=zero:bias=f32:beta=1:alpha=dev:act=relu");
  const mxgemm_gemm_desc desc = make_desc(p, MXGEMM_DEVICE_CUDA, 3);
  EXPECT_EQ(desc.struct_size, sizeof(desc));
  EXPECT_EQ(desc.device_kind, MXGEMM_DEVICE_CUDA);
  EXPECT_EQ(desc.device_index, 3);
  EXPECT_EQ(desc.format_a, MXGEMM_NVF4);
  EXPECT_EQ(desc.format_b, MXGEMM_MXF8E4M3);
  EXPECT_EQ(desc.format_d, MXGEMM_F16);
  EXPECT_EQ(desc.format_bias, MXGEMM_F32);
  EXPECT_EQ(desc.activation, MXGEMM_ACT_RELU);
  EXPECT_EQ(desc.scale_layout_a, MXGEMM_SCALE_SWIZZLE_32_4_4);
  EXPECT_EQ(desc.flags, MXGEMM_USE_C | MXGEMM_ALPHA_ON_DEVICE | MXGEMM_GLOBAL_SCALE_A_ON_DEVICE |
                            MXGEMM_SCALE_PADDING_ZERO_A | MXGEMM_SCALE_PADDING_ZERO_B);
  // Row-major scales have no padding to promise anything about; a packed B has no scales of its
  // own.
  EXPECT_EQ(
      make_desc(parse_problem("m1n1k32:mxf4:mxf4:f32:scales=rowmajor:pad=zero:packed"), 0, 0).flags,
      static_cast<uint32_t>(MXGEMM_PACKED_B));
}

}  // namespace
}  // namespace mxgemm::cli
