// SPDX-License-Identifier: Apache-2.0
// A caller whose thread rounds upwards, or takes subnormals for zero, gets the same answers and
// bytes, and keeps its mode.
#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <vector>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mxgemm::test {
namespace {

class CallerMode {
 public:
  CallerMode() {
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    before_ = _mm_getcsr();
    _mm_setcsr(before_ | kFlushAndTakeForZero);
#endif
  }
  ~CallerMode() {
    EXPECT_EQ(std::fegetround(), FE_UPWARD) << "the caller's mode was not restored";
#if defined(__x86_64__)
    EXPECT_EQ(_mm_getcsr() & kFlushAndTakeForZero, kFlushAndTakeForZero);
    _mm_setcsr(before_);
#endif
    std::fesetround(FE_TONEAREST);
  }
  CallerMode(const CallerMode&) = delete;
  CallerMode& operator=(const CallerMode&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kFlushAndTakeForZero = 0x8040;
  unsigned before_ = 0;
#endif
};

mxgemm_status in_caller_mode(GemmCall& call) {
  const CallerMode mode;
  return call.run();
}

struct NvfCall : GemmCall {
  NvfCall() {
    desc.format_a = desc.format_b = MXGEMM_NVF4;
    a_scale.assign(3 * 4, 0x38);
    b_scale.assign(5 * 4, 0x38);
    args.a.scale = a_scale.data();
    args.a.scale_bytes = a_scale.size();
    args.b.scale = b_scale.data();
    args.b.scale_bytes = b_scale.size();
  }
};

constexpr float kSubnormal = 0x1p-140f;

// (alpha * gA) * gB has more than 24 bits, rounded here to nearest and there upwards.
TEST(CallerMode, ScaleOfTheProductIsRoundedToNearest) {
  for (const float alpha : {1.1f, 1.3f, 1.7f, -1.9f}) {
    NvfCall call;
    call.args.alpha = alpha;
    call.args.a.global_scale = 1.000123f;
    call.args.b.global_scale = 0.777f;
    expect_ok(call.run());
    const std::vector<float> expected = call.d;
    expect_ok(in_caller_mode(call));
    EXPECT_EQ(call.d, expected) << alpha;
    call.desc.flags |= MXGEMM_GLOBAL_SCALE_B_ON_DEVICE;
    call.args.b.global_scale_ptr = &call.args.b.global_scale;
    expect_ok(call.run());
    const std::vector<float> behind_pointer = call.d;
    expect_ok(in_caller_mode(call));
    EXPECT_EQ(call.d, behind_pointer) << alpha;
  }
}

TEST(CallerMode, SubnormalGlobalScaleIsGreaterThanZero) {
  NvfCall call;
  call.args.a.global_scale = kSubnormal;
  call.args.b.global_scale = 0x1p100f;
  expect_ok(in_caller_mode(call));
  EXPECT_EQ(call.d[0], 64 * 0x1p-40f);
}

TEST(CallerMode, SubnormalBetaIsNotZero) {
  GemmCall call;
  call.use_c(0x1p120f, kSubnormal);
  expect_ok(in_caller_mode(call));
  EXPECT_EQ(call.d[0], 64 + 0x1p-20f);
  GemmCall without_c;
  without_c.args.beta = kSubnormal;
  expect_invalid(in_caller_mode(without_c), {"args.beta is", "must be 0"});
}

TEST(CallerMode, QuantizesWithASubnormalGlobalScale) {
  std::vector<float> src(16, 6 * 0x1p-134f);
  std::vector<uint8_t> qdata(8);
  uint8_t scale = 0;
  float global_scale = kSubnormal;
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = MXGEMM_F32;
  desc.format = MXGEMM_NVF4;
  desc.rows = 1;
  desc.cols = 16;
  desc.global_scale_mode = MXGEMM_GLOBAL_SCALE_GIVEN;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = src.data();
  args.src_bytes = src.size() * sizeof(float);
  args.qdata = qdata.data();
  args.qdata_bytes = qdata.size();
  args.scale = &scale;
  args.scale_bytes = 1;
  args.global_scale = &global_scale;
  {
    const CallerMode mode;
    expect_ok(mxgemm_quantize(&desc, &args, nullptr));
  }
  EXPECT_EQ(scale, 0x68) << "2^6 in E4M3";
  EXPECT_EQ(qdata[0], 0x77);
}

}  // namespace
}  // namespace mxgemm::test
