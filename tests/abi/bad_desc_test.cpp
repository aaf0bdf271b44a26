// SPDX-License-Identifier: Apache-2.0
// A mxgemm_gemm_desc that is wrong in one field: the message names the field, its value and what is
// allowed.
#include <gtest/gtest.h>

#include <cstdint>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"

namespace mxgemm::test {
namespace {

TEST(BadDesc, NullPointers) {
  GemmCall call;
  expect_invalid(mxgemm_gemm(nullptr, &call.args, nullptr), {"desc", "NULL"});
  expect_invalid(mxgemm_gemm(&call.desc, nullptr, nullptr), {"args", "NULL"});
  mxgemm_plan* plan = nullptr;
  expect_invalid(mxgemm_plan_create(nullptr, nullptr, &plan), {"desc", "NULL"});
  expect_invalid(mxgemm_plan_create(&call.desc, nullptr, nullptr), {"plan", "NULL"});
  expect_invalid(mxgemm_run(nullptr, &call.args, nullptr), {"plan", "NULL"});
  expect_invalid(mxgemm_explain(nullptr, nullptr, 0, nullptr), {"desc", "NULL"});
}

TEST(BadDesc, StructSizeOfAnotherVersion) {
  for (const uint32_t size : {0u, static_cast<uint32_t>(sizeof(mxgemm_gemm_desc)) - 8,
                              static_cast<uint32_t>(sizeof(mxgemm_gemm_desc)) + 8, UINT32_MAX}) {
    GemmCall call;
    call.desc.struct_size = size;
    expect_invalid(call.run(),
                   {"desc.struct_size", std::to_string(size).c_str(), "72", "mxgemm_gemm_desc"});
  }
}

TEST(BadDesc, ReservedAndFlags) {
  GemmCall reserved;
  reserved.desc.reserved = 7;
  expect_invalid(reserved.run(), {"desc.reserved is 7", "0"});
  GemmCall flags;
  flags.desc.flags = 1u << 7 | 1u << 31;
  expect_invalid(flags.run(), {"desc.flags is 0x80000080", "0x80000080 are unknown", "0x7f"});
  GemmCall scale_a;
  scale_a.desc.flags = MXGEMM_GLOBAL_SCALE_A_ON_DEVICE;
  expect_invalid(scale_a.run(), {"desc.flags", "MXGEMM_GLOBAL_SCALE_A_ON_DEVICE", "mxf4"});
  GemmCall scale_b;
  scale_b.desc.flags = MXGEMM_GLOBAL_SCALE_B_ON_DEVICE;
  expect_invalid(scale_b.run(), {"desc.flags", "MXGEMM_GLOBAL_SCALE_B_ON_DEVICE", "mxf4"});
}

TEST(BadDesc, UnknownEnumValues) {
  struct Case {
    int32_t mxgemm_gemm_desc::*field;
    const char* name;
    const char* allowed;
  };
  const Case cases[] = {
      {&mxgemm_gemm_desc::device_kind, "desc.device_kind", "1 (cuda)"},
      {&mxgemm_gemm_desc::format_a, "desc.format_a", "18 (f32)"},
      {&mxgemm_gemm_desc::format_b, "desc.format_b", "4 (mxf8e5m2)"},
      {&mxgemm_gemm_desc::format_d, "desc.format_d", "16 (bf16)"},
      {&mxgemm_gemm_desc::format_bias, "desc.format_bias", "18 (f32)"},
      {&mxgemm_gemm_desc::scale_layout_a, "desc.scale_layout_a", "1 (swizzle_32_4_4)"},
      {&mxgemm_gemm_desc::scale_layout_b, "desc.scale_layout_b", "1 (swizzle_32_4_4)"},
      {&mxgemm_gemm_desc::activation, "desc.activation", "4 (silu)"},
  };
  for (const Case& item : cases) {
    for (const int32_t value : {-1, 5, 15, 19, 64, 1 << 20, INT32_MIN, INT32_MAX}) {
      GemmCall call;
      call.desc.*item.field = value;
      expect_invalid(call.run(), {item.name, std::to_string(value).c_str(), item.allowed});
    }
  }
}

TEST(BadDesc, FormatsInTheWrongPlace) {
  GemmCall plain_b;
  plain_b.desc.format_b = MXGEMM_BF16;
  expect_invalid(plain_b.run(), {"desc.format_b is 16 (bf16)", "1 (mxf4), 2 (nvf4)"});
  GemmCall scaled_d;
  scaled_d.desc.format_d = MXGEMM_MXF4;
  expect_invalid(scaled_d.run(), {"desc.format_d is 1 (mxf4)", "16 (bf16), 17 (f16), 18 (f32)"});
  GemmCall no_a;
  no_a.desc.format_a = MXGEMM_FORMAT_NONE;
  expect_invalid(no_a.run(), {"desc.format_a is 0 (none)"});
  GemmCall bias;
  bias.desc.format_d = MXGEMM_BF16;
  bias.desc.format_bias = MXGEMM_F16;
  expect_invalid(bias.run(), {"desc.format_bias is 17 (f16)", "16 (bf16", "18 (f32)"});
}

TEST(BadDesc, DimensionsBelowZero) {
  GemmCall call;
  call.desc.m = -1;
  expect_invalid(call.run(), {"desc.m is -1", "at least 0"});
  call.desc.m = 3;
  call.desc.n = INT64_MIN;
  expect_invalid(call.run(), {"desc.n is -9223372036854775808", "at least 0"});
  call.desc.n = 5;
  call.desc.k = -32;
  expect_invalid(call.run(), {"desc.k is -32", "at least 0"});
}

// Kind of fault 28.
TEST(BadDesc, KNotAMultipleOfTheBlock) {
  GemmCall mx;
  mx.desc.k = 33;
  expect_invalid(mx.run(), {"desc.k is 33", "multiple of 32", "mxf4"});
  GemmCall nv;
  nv.desc.format_a = nv.desc.format_b = MXGEMM_NVF4;
  nv.desc.k = 24;
  expect_invalid(nv.run(), {"desc.k is 24", "multiple of 16", "nvf4"});
  GemmCall mixed;  // a multiple of one block only
  mixed.desc.format_a = MXGEMM_NVF4;
  mixed.desc.k = 48;
  expect_invalid(mixed.run(), {"desc.k is 48", "multiple of 32", "mxf4"});
}

TEST(BadDesc, SizesThatOverflow) {
  const int64_t large = int64_t{1} << 62;
  GemmCall call;
  call.desc.m = large;
  call.desc.k = 64;
  expect_invalid(call.run(), {"desc.m is 4611686018427387904", "desc.k is 64", "2^63 - 1"});
  call.desc.m = 3;
  call.desc.n = large;
  expect_invalid(call.run(), {"desc.n is 4611686018427387904", "desc.k is 64", "2^63 - 1"});
  call.desc.n = large;
  call.desc.m = large;
  call.desc.k = 0;
  expect_invalid(call.run(), {"desc.m is 4611686018427387904", "desc.n is", "2^63 - 1"});
  // m and n near 2^63 with nothing to multiply: no overflow on the way to "D is NULL".
  call.desc.m = INT64_MAX - 1;
  call.desc.n = 1;
  expect_invalid(call.run(), {"2^63 - 1"});
}

TEST(BadDesc, Devices) {
  GemmCall cuda;
  cuda.desc.device_kind = MXGEMM_DEVICE_CUDA;
  cuda.desc.device_index = 1000;  // more than any machine has
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, cuda.run(),
                {"desc.device_kind is 1 (cuda)", "desc.device_index is 1000", "CUDA device"});
  GemmCall second;
  second.desc.device_index = 1;
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, second.run(), {"desc.device_index is 1", "0"});
  GemmCall negative;
  negative.desc.device_index = -1;
  expect_invalid(negative.run(), {"desc.device_index is -1", "at least 0"});
  // What is wrong in itself is said before what is missing here.
  cuda.desc.k = 33;
  expect_invalid(cuda.run(), {"desc.k is 33"});
}

TEST(BadDesc, KernelIds) {
  GemmCall call;
  mxgemm_plan* plan = reinterpret_cast<mxgemm_plan*>(&call);
  expect_invalid(mxgemm_plan_create(&call.desc, "cpu:avx9:gemm", &plan),
                 {"kernel_id is \"cpu:avx9:gemm\"", "cpu:scalar:gemm_any_any_any"});
  EXPECT_EQ(plan, nullptr);
  expect_invalid(mxgemm_plan_create(&call.desc, "", &plan), {"kernel_id is \"\"", "NULL"});
}

}  // namespace
}  // namespace mxgemm::test
