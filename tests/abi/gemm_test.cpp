// SPDX-License-Identifier: Apache-2.0
// Plans, the one-shot call and every option once at a value that shows in the result.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"

namespace mxgemm::test {
namespace {

// Kind of fault 24.
TEST(Gemm, ZeroSizes) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{0, 128}, {64, 0}, {0, 0}}) {
    GemmCall call(m, n, 64);
    expect_ok(call.run());
    mxgemm_plan* plan = nullptr;
    expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
    uint64_t bytes = 1;
    expect_ok(mxgemm_plan_workspace_size(plan, &bytes));
    EXPECT_EQ(bytes, 0u);
    expect_ok(mxgemm_run(plan, &call.args, nullptr));
    mxgemm_plan_destroy(plan);
  }
  GemmCall no_k(3, 5, 0);  // D = bias
  no_k.use_bias(2.0f);
  no_k.args.a.data = no_k.args.b.data = nullptr;
  no_k.args.a.scale = no_k.args.b.scale = nullptr;
  no_k.args.alpha = std::numeric_limits<float>::quiet_NaN();
  expect_ok(no_k.run());
  EXPECT_EQ(no_k.d, std::vector<float>(15, 2.0f));
  GemmCall after;
  expect_ok(after.run());
  EXPECT_EQ(after.d[0], 64.0f);
}

// Kind of fault 39: nothing is silently ignored.
TEST(Gemm, EveryOptionShows) {
  GemmCall alpha(64, 64, 64);
  alpha.args.alpha = 0.5f;
  expect_ok(alpha.run());
  EXPECT_EQ(alpha.d[77], 32.0f);
  GemmCall on_device;
  const float quarter = 0.25f;
  on_device.desc.flags |= MXGEMM_ALPHA_ON_DEVICE;
  on_device.args.alpha_ptr = &quarter;
  on_device.args.alpha = 100.0f;
  expect_ok(on_device.run());
  EXPECT_EQ(on_device.d[7], 16.0f);
  GemmCall c;
  c.use_c(10.0f, 0.5f);
  expect_ok(c.run());
  EXPECT_EQ(c.d[7], 69.0f);
  GemmCall no_beta;  // C is not read
  no_beta.use_c(std::numeric_limits<float>::quiet_NaN(), 0.0f);
  expect_ok(no_beta.run());
  EXPECT_EQ(no_beta.d[7], 64.0f);
  GemmCall relu;
  relu.args.alpha = -1.0f;
  relu.desc.activation = MXGEMM_ACT_RELU;
  expect_ok(relu.run());
  EXPECT_EQ(relu.d[7], 0.0f);
  GemmCall scales;
  scales.a_scale.assign(scales.a_scale.size(), 128);
  scales.b_scale.assign(scales.b_scale.size(), 125);
  expect_ok(scales.run());
  EXPECT_EQ(scales.d[7], 32.0f);
  GemmCall global;
  global.desc.format_a = global.desc.format_b = MXGEMM_NVF4;
  global.a_scale.assign(12, 0x38);
  global.b_scale.assign(20, 0x38);
  global.args.a.scale = global.a_scale.data();
  global.args.a.scale_bytes = 12;
  global.args.b.scale = global.b_scale.data();
  global.args.b.scale_bytes = 20;
  global.args.a.global_scale = 0.5f;
  const float two = 2.0f;
  global.desc.flags |= MXGEMM_GLOBAL_SCALE_B_ON_DEVICE;
  global.args.b.global_scale_ptr = &two;
  global.args.b.global_scale = 77.0f;
  global.args.alpha = 3.0f;
  expect_ok(global.run());
  EXPECT_EQ(global.d[7], 192.0f);
  GemmCall strided;
  strided.d.assign(3 * 8, -1.0f);
  strided.args.d = strided.d.data();
  strided.args.d_bytes = strided.d.size() * sizeof(float);
  strided.args.ldd = 8;
  expect_ok(strided.run());
  EXPECT_EQ(strided.d[8 + 4], 64.0f);
  EXPECT_EQ(strided.d[8 + 5], -1.0f);
}

// Kind of fault 40: bias and output keep all their bits.
TEST(Gemm, F32BiasAndOutput) {
  for (const float bias : {1.00390625f, 3 * 0x1p-18f}) {
    GemmCall call(3, 5, 32);
    call.use_bias(bias);
    expect_ok(call.run());
    EXPECT_EQ(call.d[3], 32.0f + bias);
    call.desc.format_d = MXGEMM_BF16;  // of the same bias, rounded once at the end
    call.use_bias(1.00390625f);
    expect_ok(call.run());
    uint16_t code = 0;
    std::memcpy(&code, call.d.data(), sizeof(code));
    EXPECT_EQ(code, 0x4204);  // 33.0
  }
}

// Kinds of fault 26, 27 and 29: shapes of real models.
TEST(Gemm, ShapesOfModels) {
  GemmCall gpt_oss(3, 2880, 2880);
  expect_ok(gpt_oss.run());
  EXPECT_EQ(gpt_oss.d, std::vector<float>(3 * 2880, 2880.0f));
  GemmCall large_k(1, 40, 9216);
  expect_ok(large_k.run());
  EXPECT_EQ(large_k.d, std::vector<float>(40, 9216.0f));
  GemmCall nv(1, 1856, 2688);
  nv.desc.format_a = nv.desc.format_b = MXGEMM_NVF4;
  nv.desc.scale_layout_b = MXGEMM_SCALE_SWIZZLE_32_4_4;
  nv.a_scale.assign(168, 0x38);
  nv.b_scale.assign(322560, 0x38);
  nv.args.a.scale = nv.a_scale.data();
  nv.args.a.scale_bytes = nv.a_scale.size();
  nv.args.b.scale = nv.b_scale.data();
  nv.args.b.scale_bytes = nv.b_scale.size();
  expect_ok(nv.run());
  EXPECT_EQ(nv.d, std::vector<float>(1856, 2688.0f));
}

TEST(Plan, ByNameAndExplained) {
  GemmCall call;
  int32_t count = 0;
  expect_ok(mxgemm_kernel_count(&count));
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
    expect_ok(mxgemm_kernel_info_get(index, &info));
    int32_t accepts = -1;
    char reason[256] = "unset";
    size_t needed = 0;
    expect_ok(mxgemm_kernel_accepts(index, &call.desc, &accepts, reason, sizeof(reason), &needed));
    EXPECT_EQ(needed, std::strlen(reason) + 1);
    EXPECT_EQ(accepts == 1, reason[0] == '\0') << info.id << ": " << reason;
    mxgemm_plan* plan = nullptr;
    const mxgemm_status status = mxgemm_plan_create(&call.desc, info.id, &plan);
    EXPECT_EQ(status == MXGEMM_OK, accepts == 1) << info.id << ": " << mxgemm_last_error();
    if (status != MXGEMM_OK) {
      // Kernels of other devices than the problem's are not among those that are asked.
      const bool is_asked = info.device_kind == call.desc.device_kind;
      expect_status(MXGEMM_UNSUPPORTED, status, {info.id, is_asked ? reason : "kernel_id is"});
      continue;
    }
    char name[128];
    expect_ok(mxgemm_plan_name(plan, name, sizeof(name), nullptr));
    EXPECT_STREQ(name, info.id);
    char text[4096];
    expect_ok(mxgemm_plan_explain(plan, text, sizeof(text), nullptr));
    EXPECT_NE(std::string(text).find(std::string(info.id) + ": chosen"), std::string::npos) << text;
    mxgemm_plan_destroy(plan);
  }
  mxgemm_plan_destroy(nullptr);
}

TEST(Plan, TextResults) {
  GemmCall call;
  size_t needed = 0;
  expect_ok(mxgemm_explain(&call.desc, nullptr, 0, &needed));
  ASSERT_GT(needed, 10u);
  std::string text(needed, 'x');
  expect_ok(mxgemm_explain(&call.desc, text.data(), text.size(), &needed));
  EXPECT_EQ(text.back(), '\0');
  EXPECT_NE(text.find(": chosen"), std::string::npos);
  char few[6] = "xxxxx";
  expect_ok(mxgemm_explain(&call.desc, few, sizeof(few), &needed));  // cut, ended by zero
  EXPECT_EQ(std::string(few), text.substr(0, 5));
  EXPECT_EQ(needed, text.size());
  expect_invalid(mxgemm_explain(&call.desc, nullptr, 5, &needed), {"buffer is NULL", "5"});
  expect_invalid(mxgemm_plan_name(nullptr, few, 5, &needed), {"plan is NULL"});
  expect_invalid(mxgemm_plan_explain(nullptr, few, 5, &needed), {"plan is NULL"});
  expect_invalid(mxgemm_plan_workspace_size(nullptr, nullptr), {"plan is NULL"});
  int32_t accepts = 0;
  expect_invalid(mxgemm_kernel_accepts(999, &call.desc, &accepts, few, 5, &needed),
                 {"index is 999"});
  expect_invalid(mxgemm_kernel_accepts(0, &call.desc, nullptr, few, 5, &needed),
                 {"accepts is NULL"});
}

TEST(Plan, KeepsItsKernelWhenTheLimitFalls) {
  GemmCall call;
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  char before[128];
  expect_ok(mxgemm_plan_name(plan, before, sizeof(before), nullptr));
  expect_ok(mxgemm_set_max_isa(MXGEMM_ISA_SCALAR));
  char after[128];
  expect_ok(mxgemm_plan_name(plan, after, sizeof(after), nullptr));
  EXPECT_STREQ(before, after);
  char text[4096];
  expect_ok(mxgemm_plan_explain(plan, text, sizeof(text), nullptr));
  EXPECT_NE(std::string(text).find(std::string(before) + ": chosen"), std::string::npos) << text;
  expect_ok(mxgemm_explain(&call.desc, text, sizeof(text), nullptr));
  const std::string now = text;
  const size_t chosen = now.find(": chosen");
  ASSERT_NE(chosen, std::string::npos);
  EXPECT_NE(now.substr(0, chosen).rfind("cpu:scalar:"), std::string::npos) << now;
  expect_ok(call.run());
  EXPECT_EQ(call.d[0], 64.0f);
  expect_ok(mxgemm_set_max_isa(-1));
  mxgemm_plan_destroy(plan);
}

TEST(Packed, GivesTheSameProduct) {
  GemmCall call(5, 37, 96);
  for (size_t index = 0; index < call.b.size(); ++index) {
    call.b[index] = static_cast<uint8_t>(index * 37 + index / 11);
  }
  expect_ok(call.run());
  const std::vector<float> expected = call.d;
  uint64_t bytes = 0;
  expect_ok(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF4, 37, 96, &bytes));
  void* packed = nullptr;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes, &packed));
  expect_ok(mxgemm_pack(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF4, 37, 96, &call.args.b,
                        MXGEMM_SCALE_ROW_MAJOR, packed, bytes, nullptr));
  call.d.assign(call.d.size(), GemmCall::kPoison);
  call.desc.flags |= MXGEMM_PACKED_B;
  call.args.b.data = packed;
  call.args.b.data_bytes = bytes;
  call.args.b.scale = nullptr;
  call.args.b.scale_bytes = 0;
  expect_ok(call.run());
  EXPECT_EQ(call.d, expected);
  // Of another shape, another format, cut short, changed.
  GemmCall other(5, 38, 96);
  other.desc.flags |= MXGEMM_PACKED_B;
  other.args.b = call.args.b;
  expect_invalid(other.run(), {"args.b.data"});
  call.desc.format_b = MXGEMM_MXF8E4M3;
  expect_invalid(call.run(), {"args.b.data"});
  call.desc.format_b = MXGEMM_MXF4;
  call.args.b.data_bytes = bytes - 1;
  expect_invalid(call.run(), {"args.b.data"});
  call.args.b.data_bytes = bytes;
  std::memset(packed, 0xFF, 8);
  expect_invalid(call.run(), {"args.b.data"});
  expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, packed));
}

}  // namespace
}  // namespace mxgemm::test
