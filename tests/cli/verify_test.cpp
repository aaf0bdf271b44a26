// SPDX-License-Identifier: Apache-2.0
// `verify` can fail: every kind of wrong result that it looks for, put into a right run, is found.
#include "cli/verify.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>

#include "cli/cmd_verify.hpp"
#include "cli/verify_run.hpp"

namespace mxgemm::cli {
namespace {

// 16 outputs of a row lie 20 elements apart, so there is padding to write into.
constexpr const char* kProblem = "m5n16k64:mxf4:nvf4:f32:ldd=+4";

// The only row of the scalar kernel on that problem, with `change` made before the check.
VerifyRow row_after(DataKind kind, const Tamper& change, const char* problem = kProblem) {
  VerifyOptions options;
  options.kinds = {kind};
  options.kernel_id = "cpu:scalar:gemm_any_any_any_16x16x32";
  options.tamper = change;
  const VerifyResult result = verify_problem(parse_problem(problem), options);
  EXPECT_EQ(result.rows.size(), 1u);
  return result.rows.front();
}

float element(const Image& d, int64_t m, int64_t n) {
  float value = 0.0f;
  std::memcpy(&value, d.payload() + (m * 20 + n) * 4, 4);
  return value;
}

void set_element(Image& d, int64_t m, int64_t n, float value) {
  std::memcpy(d.payload() + (m * 20 + n) * 4, &value, 4);
}

void expect_failure(const VerifyRow& row, const std::string& said) {
  EXPECT_FALSE(row.passed());
  const std::string all = fmt::format("{}", fmt::join(row.failures, "\n"));
  EXPECT_NE(all.find(said), std::string::npos) << "'" << said << "' not in: " << all;
}

TEST(Verify, PassesWhatIsRight) {
  const VerifyRow row = row_after(DataKind::kExact, nullptr);
  EXPECT_TRUE(row.passed());
  EXPECT_EQ(row.report.outputs, 80);
  EXPECT_EQ(row.report.exact_required, 80);
  EXPECT_EQ(row.report.exact_mismatches, 0);
}

TEST(Verify, FindsOneBitOfOneExactOutput) {
  const VerifyRow row =
      row_after(DataKind::kExact, [](const std::string&, const DeviceProblem&, Image& d) {
        d.payload()[(3 * 20 + 7) * 4] ^= 1;
      });
  expect_failure(row, "not bit-exact: 1, first at D[3,7]");
  EXPECT_EQ(row.report.exact_mismatches, 1);
}

TEST(Verify, FindsAnOutputBeyondItsBound) {
  // f32 operands: nothing is bit-exact here, so only the bound can tell.
  const char* problem = "m5n16k64:f32:mxf4:f32:ldd=+4";
  const auto shifted = [](float factor) {
    return [factor](const std::string&, const DeviceProblem&, Image& d) {
      set_element(d, 4, 15, element(d, 4, 15) * factor);
    };
  };
  const VerifyRow row = row_after(DataKind::kNormal, shifted(1.01f), problem);
  expect_failure(row, "beyond the error bound: 1, first at D[4,15]");
  EXPECT_GT(row.report.max_error_over_bound, 1.0);
  EXPECT_TRUE(row_after(DataKind::kNormal, shifted(1.0f), problem).passed());
}

TEST(Verify, FindsNanAndItsAbsence) {
  const VerifyRow nan =
      row_after(DataKind::kNormal, [](const std::string&, const DeviceProblem&, Image& d) {
        set_element(d, 0, 0, __builtin_nanf(""));
      });
  expect_failure(nan, "NaN where none is expected, or none where one is: 1, first at D[0,0]");
  // Edge data has NaN in some rows; a finite output there is as wrong.
  int64_t replaced = 0;
  const VerifyRow finite = row_after(
      DataKind::kEdge,
      [&](const std::string&, const DeviceProblem&, Image& d) {
        for (int64_t m = 0; m < 64; ++m) {
          for (int64_t n = 0; n < 16; ++n) {
            if (element(d, m, n) != element(d, m, n)) {
              set_element(d, m, n, 1.0f);
              ++replaced;
            }
          }
        }
      },
      "m64n16k64:mxf4:nvf4:f32:ldd=+4");
  EXPECT_GT(replaced, 0);
  EXPECT_EQ(finite.report.nan_expected, replaced);
  expect_failure(finite, fmt::format("or none where one is: {}", replaced));
}

TEST(Verify, FindsOutputsThatWereNotWritten) {
  const VerifyRow row =
      row_after(DataKind::kNormal, [](const std::string&, const DeviceProblem& run, Image& d) {
        std::memcpy(d.payload() + 4, run.initial_d().payload() + 4, 4);
      });
  expect_failure(row, "not written: 1, first at D[0,1]");
}

TEST(Verify, FindsBytesOutsideD) {
  const auto flipped = [](int64_t at) {
    return [at](const std::string&, const DeviceProblem&, Image& d) { d.payload()[at] ^= 0x10; };
  };
  constexpr int64_t kEnd = (4 * 20 + 16) * 4;
  expect_failure(row_after(DataKind::kExact, flipped(-1)), "before D (byte -1)");
  expect_failure(row_after(DataKind::kExact, flipped(kEnd)), "after D");
  expect_failure(row_after(DataKind::kExact, flipped(2 * 20 * 4 + 16 * 4)), "padding of row 2");
  expect_failure(row_after(DataKind::kExact, flipped(kEnd + kGuardBytes - 1)), "after D");
}

TEST(Verify, FindsInputsThatChanged) {
  using Pick = const void* (*)(const mxgemm_gemm_args&);
  const struct {
    const char* name;
    Pick pick;
  } kInputs[] = {
      {"A's elements", [](const mxgemm_gemm_args& a) { return a.a.data; }},
      {"A's scales", [](const mxgemm_gemm_args& a) -> const void* { return a.a.scale; }},
      {"B's elements", [](const mxgemm_gemm_args& a) { return a.b.data; }},
      {"B's scales", [](const mxgemm_gemm_args& a) -> const void* { return a.b.scale; }},
      {"C", [](const mxgemm_gemm_args& a) { return a.c; }},
      {"bias", [](const mxgemm_gemm_args& a) { return a.bias; }},
      {"alpha", [](const mxgemm_gemm_args& a) -> const void* { return a.alpha_ptr; }},
  };
  for (const auto& input : kInputs) {
    const VerifyRow row = row_after(
        DataKind::kNormal,
        [&](const std::string&, const DeviceProblem& run, Image&) {
          auto* bytes = static_cast<uint8_t*>(const_cast<void*>(input.pick(run.args())));
          bytes[3] ^= 1;
        },
        "m5n16k64:mxf4:nvf4:f32:bias:beta=1:alpha=dev");
    expect_failure(row, fmt::format("{} changed, first at byte 3", input.name));
  }
}

TEST(Verify, FindsAPackedOperandThatChanged) {
  const VerifyRow row = row_after(
      DataKind::kNormal,
      [](const std::string&, const DeviceProblem& run, Image&) {
        static_cast<uint8_t*>(const_cast<void*>(run.args().b.data))[9] ^= 1;
      },
      "m5n16k64:bf16:nvf4:f32:packed");
  expect_failure(row, "the packed B changed, first at byte 9");
}

TEST(Verify, JudgesAKernelByWhatItDeclares) {
  VerifyOptions options;
  options.kinds = {DataKind::kEdge};  // scale bytes at both ends
  options.kernel_id = "cpu:scalar:gemm_any_any_any_16x16x32";
  const Problem problem = parse_problem("m64n16k64:mxf8:mxf8:f32");
  const VerifyRow strict = verify_problem(problem, options).rows.front();
  EXPECT_TRUE(strict.passed());
  EXPECT_EQ(strict.report.nan_only_checked, 0) << "a CPU kernel declares nothing";
  options.allowances = MXGEMM_ALLOW_LIMITED_SCALES;
  const VerifyRow limited = verify_problem(problem, options).rows.front();
  EXPECT_TRUE(limited.passed());
  EXPECT_GT(limited.report.nan_only_checked, 0);
  EXPECT_EQ(limited.report.nan_expected, strict.report.nan_expected);
}

TEST(Verify, SamplesProblemsThatAreTooLargeForTheReference) {
  // 2.01e9 products; one output that was not written lies outside any sample of 4096 almost surely.
  VerifyOptions options;
  options.kinds = {DataKind::kOnes};
  options.kernel_id = "";
  options.tamper = [](const std::string&, const DeviceProblem& run, Image& d) {
    std::memcpy(d.payload() + 4 * 123457, run.initial_d().payload() + 4 * 123457, 4);
  };
  const Problem problem = parse_problem("m2048n3072k320:mxf4:mxf4:f32");
  EXPECT_EQ(verify_work(problem, options), 256u);
  const Kernel best = all_kernels().front();
  options.kernel_id = best.info.id;
  const VerifyResult result = verify_problem(problem, options);
  const VerifyRow& row = result.rows.front();
  EXPECT_TRUE(row.sampled);
  EXPECT_EQ(row.report.outputs, 4096);
  expect_failure(row, "not written: 1 outputs");
}

// The command with a change in every run, as the program would print it.
struct Printed {
  int code;
  std::string out;
  std::string err;
};

Printed command(const VerifyRequest& request) {
  std::ostringstream out;
  std::ostringstream err;
  Console console{out, err};
  const int code = verify_command(request, console);
  return {code, out.str(), err.str()};
}

VerifyRequest failing_request() {
  VerifyRequest request;
  request.problems = {"m2n3k32:mxf4:mxf4:bf16:act=relu"};
  request.kinds = {"exact"};
  request.seed = 7;
  request.tamper = [](const std::string&, const DeviceProblem&, Image& d) {
    d.payload()[1] ^= 0x40;
  };
  return request;
}

TEST(VerifyCommand, ExitsWith1AndTellsHowToRepeatAFailure) {
  const Printed printed = command(failing_request());
  EXPECT_EQ(printed.code, kExitVerifyFailed);
  EXPECT_NE(printed.out.find("FAIL cpu:scalar:gemm_any_any_any_16x16x32 exact\n"),
            std::string::npos)
      << printed.out;
  EXPECT_NE(printed.out.find("D[0,0]"), std::string::npos);
  EXPECT_NE(printed.out.find("again: mxgemm verify m2n3k32:mxf4:mxf4:bf16:act=relu --device cpu "
                             "--kernel cpu:scalar:gemm_any_any_any_16x16x32 --data exact --seed 7"),
            std::string::npos);
  EXPECT_NE(printed.out.find("0 rows passed"), std::string::npos);
}

TEST(VerifyCommand, PrintsFailuresAsJson) {
  VerifyRequest request = failing_request();
  request.json = true;
  const Printed printed = command(request);
  EXPECT_EQ(printed.code, kExitVerifyFailed);
  EXPECT_NE(printed.out.find("\"passed\":false"), std::string::npos) << printed.out;
  EXPECT_NE(printed.out.find("\"exact_mismatches\":1"), std::string::npos);
  EXPECT_NE(printed.out.find("\"failures\":[\"not bit-exact"), std::string::npos);
}

TEST(VerifyCommand, CountsAKernelThatDoesNotRunAsFailed) {
  // An exception of this kind is what a failing run throws.
  VerifyRequest request = failing_request();
  request.tamper = [](const std::string&, const DeviceProblem&, Image&) {
    throw CommandError(kExitRunTimeFailure, "CUDA_ERROR: the device fell off the bus");
  };
  Printed printed = command(request);
  EXPECT_EQ(printed.code, kExitRunTimeFailure);
  EXPECT_NE(printed.out.find("did not run: CUDA_ERROR: the device fell off"), std::string::npos);
  request.tamper = [](const std::string&, const DeviceProblem&, Image&) {
    throw CommandError(kExitBadCommandLine, "args.a.data is misaligned");
  };
  printed = command(request);
  EXPECT_EQ(printed.code, kExitVerifyFailed);
}

}  // namespace
}  // namespace mxgemm::cli
