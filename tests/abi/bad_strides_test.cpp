// SPDX-License-Identifier: Apache-2.0
// Leading dimensions of mxgemm_gemm_args that are wrong, or harmless though they look wrong.
#include <gtest/gtest.h>

#include <cstdint>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"

namespace mxgemm::test {
namespace {

TEST(BadStrides, LeadingDimensions) {
  struct Case {
    int64_t value;
    const char* part;
  };
  for (const Case& item :
       {Case{63, "63"}, Case{-64, "-64"}, Case{INT64_MIN, "-9223372036854775808"}}) {
    GemmCall a;
    a.args.a.ld = item.value;
    expect_invalid(a.run(), {"args.a.ld is", item.part, "at least the 64 columns"});
  }
  GemmCall odd;
  odd.args.b.ld = 65;
  expect_invalid(odd.run(), {"args.b.ld is 65", "multiple of 2"});
  GemmCall d;
  d.args.ldd = 4;  // rows of D would overlap each other
  expect_invalid(d.run(), {"args.ldd is 4", "at least the 5 columns"});
  GemmCall scale;
  scale.args.a.scale_ld = 1;
  expect_invalid(scale.run(), {"args.a.scale_ld is 1", "at least the 2 columns"});
  GemmCall swizzled;
  swizzled.desc.scale_layout_a = MXGEMM_SCALE_SWIZZLE_32_4_4;
  swizzled.a_scale.resize(512);
  swizzled.args.a.scale = swizzled.a_scale.data();
  swizzled.args.a.scale_bytes = 512;
  swizzled.args.a.scale_ld = 4;
  expect_invalid(swizzled.run(), {"args.a.scale_ld is 4", "must be 0 with swizzled scales"});
  GemmCall c;
  c.use_c(1.0f, 1.0f);
  c.args.ldc = 1;
  expect_invalid(c.run(), {"args.ldc is 1", "at least the 5 columns"});
}

TEST(BadStrides, LeadingDimensionsThatOverflow) {
  for (const int64_t ld : {INT64_MAX - 1, int64_t{1} << 62}) {
    GemmCall a;
    a.args.a.ld = ld;
    expect_invalid(a.run(), {"args.a.ld is", "2^63 - 1"});
    GemmCall d;
    d.args.ldd = ld;
    expect_invalid(d.run(), {"args.ldd is", "2^63 - 1"});
    GemmCall scale;
    scale.args.b.scale_ld = ld;
    expect_invalid(scale.run(), {"args.b.scale_ld is", "2^63 - 1"});
  }
  // The size fits, the end of the buffer does not.
  GemmCall end;
  end.args.d_bytes = UINT64_MAX;
  end.args.ldd = int64_t{1} << 59;
  end.args.d = reinterpret_cast<float*>(UINTPTR_MAX - 3);
  expect_invalid(end.run(), {"args.d is", "exceed the address space"});
}

// One row leads nowhere: its leading dimension may be anything, and is not turned into bytes.
TEST(BadStrides, LeadingDimensionOfOneRow) {
  for (const int64_t ld : {INT64_MAX - 1, int64_t{1} << 62, int64_t{1} << 61}) {
    GemmCall call(1, 5, 64);
    call.use_c(1.0f, 1.0f);
    call.args.a.ld = call.args.a.scale_ld = call.args.ldc = call.args.ldd = ld;
    expect_ok(call.run());
    EXPECT_EQ(call.d[4], 65.0f);
    call.args.c = static_cast<const float*>(call.args.d) + 1;
    call.args.c_bytes = 5 * sizeof(float);
    expect_invalid(call.run(), {"args.c at", "overlaps args.d"});
    call.args.c = call.args.d;
    call.args.ldc = 0;
    expect_ok(call.run());
    EXPECT_EQ(call.d[4], 129.0f) << "in place";
  }
}

}  // namespace
}  // namespace mxgemm::test
