// SPDX-License-Identifier: Apache-2.0
// Approximate functions: special values as the instruction set defines them, everything else within
// its bounds, with and without jitter.
#include "num/approximate.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The instruction's results for all of `arguments`, 32 at a time.
std::vector<float> evaluate(const std::string& instruction, std::vector<float> arguments,
                            const Options& options = {}) {
  arguments.resize((arguments.size() + kLanes - 1) / kLanes * kLanes, 1.0f);
  KernelRunner run(kernel(R"(
    .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r0, %r0, 32, %r1;
    mul.wide.u32 %rd0, %r0, 4;
    ld.param.u64 %rd1, [out];
    add.u64 %rd1, %rd1, %rd0;
    ld.global.f32 %f1, [%rd1];
    )" + instruction + R"( %f0, %f1;
    st.global.f32 [%rd1], %f0;)"));
  run.options = options;
  const uint64_t out = run.buffer(arguments);
  const LaunchResult result =
      run.run({out}, {static_cast<uint32_t>(arguments.size() / kLanes), 1, 1}, {kLanes, 1, 1});
  EXPECT_TRUE(result.ok()) << result.fault.report;
  return run.read<float>(out, arguments.size());
}

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

TEST(Approximate, SpecialValues) {
  const struct {
    const char* instruction;
    float argument;
    uint32_t result;
  } cases[] = {
      {"rcp.approx.f32", 0.0f, bits(kInfinity)},
      {"rcp.approx.f32", -0.0f, bits(-kInfinity)},
      {"rcp.approx.f32", -kInfinity, bits(-0.0f)},
      {"rsqrt.approx.f32", -1.0f, num::kF32Nan},
      {"rsqrt.approx.f32", -0.0f, bits(-kInfinity)},
      {"rsqrt.approx.f32", kInfinity, bits(0.0f)},
      {"ex2.approx.f32", -kInfinity, bits(0.0f)},
      {"ex2.approx.f32", kInfinity, bits(kInfinity)},
      {"lg2.approx.f32", 0.0f, bits(-kInfinity)},
      {"lg2.approx.f32", -1.0f, num::kF32Nan},
      {"tanh.approx.f32", kInfinity, bits(1.0f)},
      {"tanh.approx.f32", -kInfinity, bits(-1.0f)},
      {"sqrt.approx.f32", -0.0f, bits(-0.0f)},
      {"rcp.approx.ftz.f32", 1e-40f, bits(kInfinity)},
      {"ex2.approx.ftz.f32", -140.0f, bits(0.0f)},
      {"ex2.approx.f32", -140.0f, bits(0x1p-140f)},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(bits(evaluate(one.instruction, {one.argument})[0]), one.result)
        << one.instruction << " " << one.argument;
    EXPECT_EQ(bits(evaluate(one.instruction, {std::nanf("")})[0]), num::kF32Nan);
  }
}

TEST(Approximate, StaysWithinItsBoundAndJitterMovesIt) {
  struct Function {
    const char* instruction;
    double (*exact)(double);
    double bound;
  };
  const Function functions[] = {
      {"rcp.approx.f32", [](double x) { return 1 / x; }, 0x1p-23},
      {"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0x1.12p-23},
      {"ex2.approx.f32", [](double x) { return std::exp2(x); }, 0x1p-22},
      {"tanh.approx.f32", [](double x) { return std::tanh(x); }, 0x1p-11},
  };
  std::vector<float> arguments;
  for (int i = 1; i <= 512; ++i) {
    arguments.push_back(0.037f * static_cast<float>(i));
  }
  for (const Function& function : functions) {
    for (const bool jitter : {false, true}) {
      Options options;
      options.approx_jitter = jitter;
      const std::vector<float> results = evaluate(function.instruction, arguments, options);
      int moved = 0;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const double exact = function.exact(arguments[i]);
        EXPECT_NEAR(results[i], exact, std::fabs(exact) * function.bound)
            << function.instruction << " " << arguments[i];
        moved += results[i] != static_cast<float>(exact) ? 1 : 0;
      }
      EXPECT_EQ(moved > 100, jitter) << function.instruction;
    }
  }
}

TEST(Approximate, DivisionIsNearlyExact) {
  const std::vector<float> results = evaluate(
      "mov.b32 %f2, 0f40400000; div.full.f32 %f1, %f1, %f2;"
      "mov.b32",
      {1.0f, 2.0f, 1e-30f, kInfinity});
  EXPECT_EQ(results[0], 1.0f / 3.0f);
  EXPECT_EQ(results[1], 2.0f / 3.0f);
  EXPECT_EQ(results[2], 1e-30f / 3.0f);
  EXPECT_EQ(results[3], kInfinity);
}

}  // namespace
}  // namespace emu::test
