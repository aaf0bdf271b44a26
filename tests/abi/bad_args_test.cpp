// SPDX-License-Identifier: Apache-2.0
// mxgemm_gemm_args that are wrong in one field: the message names the field, its value and what is
// allowed, and D stays as it was.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"

namespace mxgemm::test {
namespace {

template <typename T>
T* moved(T* pointer, int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + static_cast<uintptr_t>(bytes));
}
template <typename T>
const T* moved(const T* pointer, int64_t bytes) {
  return moved(const_cast<T*>(pointer), bytes);
}

void expect_untouched(const GemmCall& call) {
  for (const float value : call.d) {
    EXPECT_EQ(value, GemmCall::kPoison);
  }
}

TEST(BadArgs, TheCallItselfIsRight) {
  GemmCall call;
  expect_ok(call.run());
  for (const float value : call.d) {
    EXPECT_EQ(value, 64.0f);
  }
  EXPECT_STREQ(mxgemm_last_error(), "");
}

TEST(BadArgs, StructSizes) {
  GemmCall args;
  args.args.struct_size += 8;
  expect_invalid(args.run(), {"args.struct_size", "mxgemm_gemm_args"});
  GemmCall a;
  a.args.a.struct_size = 8;
  expect_invalid(a.run(), {"args.a.struct_size is 8", "64", "mxgemm_operand"});
  GemmCall b;
  b.args.b.struct_size = 0;
  expect_invalid(b.run(), {"args.b.struct_size is 0", "64", "mxgemm_operand"});
  GemmCall reserved;
  reserved.args.reserved = 3;
  expect_invalid(reserved.run(), {"args.reserved is 3", "0"});
  expect_untouched(reserved);
}

TEST(BadArgs, NullBuffers) {
  GemmCall a;
  a.args.a.data = nullptr;
  expect_invalid(a.run(), {"args.a.data is NULL", "96 bytes"});
  GemmCall a_scale;
  a_scale.args.a.scale = nullptr;
  expect_invalid(a_scale.run(), {"args.a.scale is NULL", "6 bytes"});
  GemmCall b;
  b.args.b.data = nullptr;
  expect_invalid(b.run(), {"args.b.data is NULL", "160 bytes"});
  GemmCall b_scale;
  b_scale.args.b.scale = nullptr;
  expect_invalid(b_scale.run(), {"args.b.scale is NULL", "10 bytes"});
  GemmCall d;
  d.args.d = nullptr;
  expect_invalid(d.run(), {"args.d is NULL", "60 bytes"});
  GemmCall c;
  c.use_c(1.0f, 1.0f);
  c.args.c = nullptr;
  expect_invalid(c.run(), {"args.c is NULL", "60 bytes"});
  GemmCall bias;
  bias.use_bias(1.0f);
  bias.args.bias = nullptr;
  expect_invalid(bias.run(), {"args.bias is NULL", "20 bytes"});
  expect_untouched(bias);
}

// Kind of fault 33: one byte too few.
TEST(BadArgs, BuffersTooSmall) {
  GemmCall a;
  a.args.a.data_bytes = 95;
  expect_invalid(a.run(), {"args.a.data_bytes is 95", "at least 96"});
  GemmCall a_scale;
  a_scale.args.a.scale_bytes = 5;
  expect_invalid(a_scale.run(), {"args.a.scale_bytes is 5", "at least 6"});
  GemmCall b;
  b.args.b.data_bytes = 159;
  expect_invalid(b.run(), {"args.b.data_bytes is 159", "at least 160"});
  GemmCall b_scale;
  b_scale.args.b.scale_bytes = 9;
  expect_invalid(b_scale.run(), {"args.b.scale_bytes is 9", "at least 10"});
  GemmCall swizzled;
  swizzled.desc.scale_layout_b = MXGEMM_SCALE_SWIZZLE_32_4_4;
  expect_invalid(swizzled.run(), {"args.b.scale_bytes is 10", "at least 512"});
  GemmCall d;
  d.args.d_bytes = 59;
  expect_invalid(d.run(), {"args.d_bytes is 59", "at least 60"});
  GemmCall strided;
  strided.args.ldd = 6;
  expect_invalid(strided.run(), {"args.d_bytes is 60", "at least 68"});
  GemmCall c;
  c.use_c(1.0f, 1.0f);
  c.args.c_bytes = 0;
  expect_invalid(c.run(), {"args.c_bytes is 0", "at least 60"});
  GemmCall bias;  // of n - 1 elements
  bias.use_bias(1.0f);
  bias.args.bias_bytes = 16;
  expect_invalid(bias.run(), {"args.bias_bytes is 16", "at least 20"});
  expect_untouched(bias);
}

TEST(BadArgs, Alignment) {
  GemmCall d;
  d.args.d = moved(d.args.d, 2);
  expect_invalid(d.run(), {"args.d is", "multiple of 4"});
  GemmCall c;
  c.use_c(1.0f, 1.0f);
  c.args.c = moved(c.args.c, 1);
  expect_invalid(c.run(), {"args.c is", "multiple of 4"});
  GemmCall bias;
  bias.use_bias(1.0f);
  bias.args.bias = moved(bias.args.bias, 1);
  expect_invalid(bias.run(), {"args.bias is", "multiple of 4"});
  GemmCall bf16;
  bf16.desc.format_a = MXGEMM_BF16;
  bf16.args.a.scale = nullptr;
  bf16.args.a.data_bytes = 384;
  bf16.args.a.data = moved(bf16.d.data(), 1);
  expect_invalid(bf16.run(), {"args.a.data is", "multiple of 2"});
  GemmCall alpha;
  alpha.desc.flags |= MXGEMM_ALPHA_ON_DEVICE;
  alpha.args.alpha_ptr = moved(alpha.d.data(), 2);
  expect_invalid(alpha.run(), {"args.alpha_ptr is", "multiple of 4"});
  alignas(256) unsigned char workspace[512];
  GemmCall misaligned;
  misaligned.args.workspace = workspace + 64;
  misaligned.args.workspace_bytes = UINT64_MAX >> 1;
  expect_invalid(misaligned.run(), {"args.workspace is", "multiple of 256"});
  GemmCall packed;
  packed.desc.flags |= MXGEMM_PACKED_B;
  packed.args.b.scale = nullptr;
  packed.args.b.data = workspace + 32;
  packed.args.b.data_bytes = 256;
  expect_invalid(packed.run(), {"args.b.data is", "multiple of 64"});
}

TEST(BadArgs, WorkspaceTooSmall) {
  GemmCall call;
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  uint64_t bytes = 0;
  expect_ok(mxgemm_plan_workspace_size(plan, &bytes));
  ASSERT_GT(bytes, 0u) << "this test needs a kernel with a workspace";
  expect_status(MXGEMM_WORKSPACE_TOO_SMALL, mxgemm_run(plan, &call.args, nullptr),
                {"args.workspace_bytes is 0", std::to_string(bytes).c_str()});
  void* memory = nullptr;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes, &memory));
  call.args.workspace = memory;
  call.args.workspace_bytes = bytes - 1;
  expect_status(MXGEMM_WORKSPACE_TOO_SMALL, mxgemm_run(plan, &call.args, nullptr),
                {"args.workspace_bytes is", std::to_string(bytes).c_str()});
  expect_status(MXGEMM_WORKSPACE_TOO_SMALL, call.run(), {"args.workspace_bytes is"});
  expect_untouched(call);
  call.args.workspace_bytes = bytes;
  expect_ok(mxgemm_run(plan, &call.args, nullptr));
  EXPECT_EQ(call.d[0], 64.0f);
  expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, memory));
  mxgemm_plan_destroy(plan);
}

TEST(BadArgs, OverlapOfDWithInputs) {
  GemmCall a;
  a.args.a.data = moved(a.d.data(), 56);
  expect_invalid(a.run(), {"args.d at", "overlaps args.a.data"});
  GemmCall a_scale;
  a_scale.args.a.scale = reinterpret_cast<const uint8_t*>(a_scale.d.data()) + 59;
  expect_invalid(a_scale.run(), {"args.d at", "overlaps args.a.scale"});
  GemmCall b;
  b.args.d = b.b.data();
  expect_invalid(b.run(), {"args.d at", "overlaps args.b.data"});
  GemmCall b_scale;
  b_scale.args.b.scale = reinterpret_cast<const uint8_t*>(b_scale.d.data()) + 8;
  expect_invalid(b_scale.run(), {"args.d at", "overlaps args.b.scale"});
  GemmCall bias;
  bias.use_bias(1.0f);
  bias.args.bias = bias.d.data() + 14;
  expect_invalid(bias.run(), {"args.d at", "overlaps args.bias"});
  GemmCall alpha;
  alpha.desc.flags |= MXGEMM_ALPHA_ON_DEVICE;
  alpha.args.alpha_ptr = &alpha.d[3];
  expect_invalid(alpha.run(), {"args.d at", "overlaps args.alpha_ptr"});
  expect_untouched(alpha);
}

TEST(BadArgs, OverlapOfTheWorkspace) {
  void* memory = nullptr;
  const uint64_t bytes = uint64_t{64} << 20;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes, &memory));
  auto* middle = reinterpret_cast<uint8_t*>(memory) + bytes / 2;
  GemmCall d;
  d.args.workspace = memory;
  d.args.workspace_bytes = bytes;
  d.args.d = middle;
  expect_invalid(d.run(), {"args.workspace at", "overlaps args.d"});
  GemmCall a;
  a.args.workspace = memory;
  a.args.workspace_bytes = bytes;
  a.args.a.data = middle;
  expect_invalid(a.run(), {"args.workspace at", "overlaps args.a.data"});
  GemmCall c;
  c.use_c(1.0f, 1.0f);
  c.args.workspace = memory;
  c.args.workspace_bytes = bytes;
  c.args.c = middle;
  expect_invalid(c.run(), {"args.workspace at", "overlaps args.c"});
  expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, memory));
}

TEST(BadArgs, CIsDOrApartFromIt) {
  GemmCall shifted;
  shifted.use_c(1.0f, 1.0f);
  std::vector<float> memory(64, 1.0f);
  shifted.args.c = memory.data();
  shifted.args.c_bytes = 64 * sizeof(float);
  shifted.args.d = memory.data() + 5;
  expect_invalid(shifted.run(), {"args.c at", "overlaps args.d", "exactly args.d"});
  shifted.args.d = memory.data();
  shifted.args.d_bytes = 64 * sizeof(float);
  shifted.args.ldd = 7;
  expect_invalid(shifted.run(), {"args.c at", "args.ldc 5", "args.ldd 7"});
  shifted.args.ldc = 7;
  expect_ok(shifted.run());
  EXPECT_EQ(memory[0], 65.0f);
  EXPECT_EQ(memory[6], 1.0f) << "between two rows";
  // Column slices of one matrix share no byte.
  shifted.args.c = memory.data() + 5;
  shifted.args.c_bytes = 59 * sizeof(float);
  shifted.args.ldc = shifted.args.ldd = 12;
  expect_ok(shifted.run());
}

TEST(BadArgs, ArgumentsThatTheDescDoesNotAllow) {
  GemmCall c;
  c.c.assign(15, 1.0f);
  c.args.c = c.c.data();
  expect_invalid(c.run(), {"args.c is", "NULL without MXGEMM_USE_C"});
  GemmCall beta;
  beta.args.beta = 0.5f;
  expect_invalid(beta.run(), {"args.beta is 0.5", "0 without MXGEMM_USE_C"});
  GemmCall nan_beta;
  nan_beta.args.beta = std::numeric_limits<float>::quiet_NaN();
  expect_invalid(nan_beta.run(), {"args.beta is nan"});
  GemmCall bias;
  bias.bias.assign(5, 1.0f);
  bias.args.bias = bias.bias.data();
  expect_invalid(bias.run(), {"args.bias is", "NULL where desc.format_bias is 0"});
  GemmCall alpha;
  alpha.args.alpha_ptr = &alpha.args.alpha;
  expect_invalid(alpha.run(), {"args.alpha_ptr is", "NULL without MXGEMM_ALPHA_ON_DEVICE"});
  GemmCall no_alpha;
  no_alpha.desc.flags |= MXGEMM_ALPHA_ON_DEVICE;
  expect_invalid(no_alpha.run(), {"args.alpha_ptr is NULL"});
  GemmCall plain;
  plain.desc.format_a = MXGEMM_F32;
  std::vector<float> values(3 * 64, 1.0f);
  plain.args.a.data = values.data();
  plain.args.a.data_bytes = values.size() * sizeof(float);
  expect_invalid(plain.run(), {"args.a.scale is", "NULL, for f32 has no block scales"});
  plain.args.a.scale = nullptr;
  plain.args.a.scale_ld = 2;
  expect_invalid(plain.run(), {"args.a.scale_ld is 2", "f32 has no block scales"});
  plain.args.a.scale_ld = 0;
  expect_ok(plain.run());
  GemmCall stream;
  expect_invalid(mxgemm_gemm(&stream.desc, &stream.args, &stream),
                 {"stream is", "NULL on the CPU"});
}

TEST(BadArgs, GlobalScales) {
  GemmCall mx;
  mx.args.a.global_scale = 2.0f;
  expect_invalid(mx.run(), {"args.a.global_scale is 2", "must be 1", "mxf4"});
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -0.0f, -1.0f, infinity, -infinity, std::nanf("")}) {
    GemmCall nv;
    nv.desc.format_b = MXGEMM_NVF4;
    nv.b_scale.assign(5 * 4, 0x38);
    nv.args.b.scale = nv.b_scale.data();
    nv.args.b.scale_bytes = nv.b_scale.size();
    nv.args.b.global_scale = value;
    expect_invalid(nv.run(), {"args.b.global_scale is", "finite and greater than 0"});
    nv.args.b.global_scale = 0.5f;
    expect_ok(nv.run());
    EXPECT_EQ(nv.d[0], 32.0f);
  }
  GemmCall pointer;
  pointer.args.a.global_scale_ptr = &pointer.args.alpha;
  expect_invalid(pointer.run(), {"args.a.global_scale_ptr is", "must be NULL"});
  GemmCall missing;
  missing.desc.format_b = MXGEMM_NVF4;
  missing.desc.flags |= MXGEMM_GLOBAL_SCALE_B_ON_DEVICE;
  missing.b_scale.assign(5 * 4, 0x38);
  missing.args.b.scale = missing.b_scale.data();
  missing.args.b.scale_bytes = missing.b_scale.size();
  expect_invalid(missing.run(), {"args.b.global_scale_ptr is NULL"});
}

TEST(BadArgs, PackedB) {
  alignas(64) unsigned char nothing[256] = {};
  GemmCall scale;
  scale.desc.flags |= MXGEMM_PACKED_B;
  expect_invalid(scale.run(), {"args.b.scale is", "must be NULL"});
  scale.args.b.scale = nullptr;
  scale.args.b.ld = 64;
  expect_invalid(scale.run(), {"args.b.ld is 64", "must be 0"});
  scale.args.b.ld = 0;
  scale.args.b.data = nothing;
  scale.args.b.data_bytes = sizeof(nothing);
  expect_invalid(scale.run(), {"args.b.data"});
  scale.args.b.data_bytes = 0;
  expect_invalid(scale.run(), {"args.b.data"});
  scale.args.b.data = nullptr;
  expect_invalid(scale.run(), {"args.b.data is NULL"});
}

}  // namespace
}  // namespace mxgemm::test
