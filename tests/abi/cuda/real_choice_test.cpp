// SPDX-License-Identifier: Apache-2.0
// Which kernel of the real libraries each device gets. No GPU is needed; CTest sets:
//   MXGEMM_PLUGIN_DIR=<build>/lib/mxgemm
//   MXGEMM_FAKE_DEVICES=12.0,9.0,7.5,12.1,10.3,8.6,10.0,10.1,11.0,12.9,13.0,8.0,8.7,8.9
#include <gtest/gtest.h>

#include <set>

#include "abi/gemm_call.hpp"
#include "abi/loader/gpu_gemm.hpp"

namespace mxgemm::test {
namespace {

// Index of each fake device.
enum : int32_t { k120, k90, k75, k121, k103, k86, k100, k101, k110, k129, k130, k80, k87, k89 };

mxgemm_gemm_desc problem(int32_t device, int32_t a, int32_t b, int32_t d, int64_t m = 1024,
                         int64_t n = 1024, int64_t k = 1024) {
  mxgemm_gemm_desc desc = gpu_desc(device, m, n, k);
  desc.format_a = a;
  desc.format_b = b;
  desc.format_d = d;
  return desc;
}

// "sm120f" of "cuda:sm120f:gemm_…".
std::string chosen_arch(const mxgemm_gemm_desc& desc) {
  const std::string id = chosen_kernel(desc);
  const size_t first = id.find(':') + 1;
  return id.substr(first, id.find(':', first) - first);
}

// "gemm_…".
std::string chosen_name(const mxgemm_gemm_desc& desc) {
  const std::string id = chosen_kernel(desc);
  return id.substr(id.rfind(':') + 1);
}

// Kinds of fault 42, 43, 46 and 47, with the libraries that are shipped.
TEST(RealLibraries, EachDeviceGetsItsOwn) {
  for (int round = 0; round < 2; ++round) {
    for (const int32_t device : {k120, k121}) {
      EXPECT_EQ(chosen_arch(problem(device, MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16)), "sm120f");
    }
    for (const int32_t device : {k100, k103}) {
      EXPECT_EQ(chosen_arch(problem(device, MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16)), "sm100f");
    }
    for (const int32_t device : {k80, k86, k87, k89, k90, k101, k110, k129, k130}) {
      EXPECT_EQ(chosen_arch(problem(device, MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16)), "sm80");
    }
    const mxgemm_gemm_desc none = problem(k75, MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16);
    mxgemm_plan* plan = nullptr;
    expect_status(MXGEMM_UNSUPPORTED, mxgemm_plan_create(&none, nullptr, &plan),
                  {"compute capability 7.5", "cuda:sm80: ", "cuda:sm100f: ", "cuda:sm120f: "});
  }
}

TEST(RealLibraries, KernelsOf120) {
  const auto chosen = [](int32_t a, int32_t b, int32_t d, uint32_t flags = 0) {
    mxgemm_gemm_desc desc = problem(k121, a, b, d);
    desc.flags = flags;
    return chosen_kernel(desc);
  };
  EXPECT_EQ(chosen(MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16),
            "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128_pingpong");
  EXPECT_EQ(chosen(MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16, MXGEMM_USE_C),
            "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128_coop");
  EXPECT_EQ(chosen(MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_F32),
            "cuda:sm120f:gemm_mxf4_mxf4_f32_128x128x128_coop");
  EXPECT_EQ(chosen(MXGEMM_NVF4, MXGEMM_NVF4, MXGEMM_BF16),
            "cuda:sm120f:gemm_nvf4_nvf4_bf16_128x128x128_pingpong");
  EXPECT_EQ(chosen(MXGEMM_NVF4, MXGEMM_NVF4, MXGEMM_BF16, MXGEMM_USE_C),
            "cuda:sm120f:gemm_nvf4_nvf4_bf16_128x128x128_coop");
  EXPECT_EQ(chosen(MXGEMM_NVF4, MXGEMM_NVF4, MXGEMM_F32),
            "cuda:sm120f:gemm_nvf4_nvf4_f32_128x128x128_coop");
  EXPECT_EQ(chosen(MXGEMM_MXF8E4M3, MXGEMM_MXF8E4M3, MXGEMM_BF16),
            "cuda:sm120f:gemm_mxf8e4m3_mxf8e4m3_bf16_128x128x128_coop");
  EXPECT_EQ(chosen(MXGEMM_MXF8E4M3, MXGEMM_MXF4, MXGEMM_BF16),
            "cuda:sm120f:gemm_mxf8e4m3_mxf4_bf16_128x128x128_coop");
}

TEST(RealLibraries, KernelsOf100ByShape) {
  const auto chosen = [](int32_t a, int32_t b, int64_t m, int64_t n) {
    return chosen_name(problem(k103, a, b, MXGEMM_BF16, m, n));
  };
  EXPECT_EQ(chosen(MXGEMM_MXF4, MXGEMM_MXF4, 64, 4096),
            "gemm_mxf4_mxf4_bf16_64x128x256_1sm_swapped");
  EXPECT_EQ(chosen(MXGEMM_MXF4, MXGEMM_MXF4, 65, 4096), "gemm_mxf4_mxf4_bf16_128x128x256_1sm");
  EXPECT_EQ(chosen(MXGEMM_MXF4, MXGEMM_MXF4, 8192, 8192), "gemm_mxf4_mxf4_bf16_256x128x256_2sm");
  EXPECT_EQ(chosen(MXGEMM_NVF4, MXGEMM_NVF4, 1, 4096), "gemm_nvf4_nvf4_bf16_128x128x256_1sm");
  EXPECT_EQ(chosen(MXGEMM_NVF4, MXGEMM_NVF4, 8192, 8192), "gemm_nvf4_nvf4_bf16_256x128x256_2sm");
  EXPECT_EQ(chosen(MXGEMM_MXF8E4M3, MXGEMM_MXF8E4M3, 8192, 8192),
            "gemm_mxf8e4m3_mxf8e4m3_bf16_256x128x128_2sm");
  EXPECT_EQ(chosen(MXGEMM_MXF8E4M3, MXGEMM_MXF4, 200, 200),
            "gemm_mxf8e4m3_mxf4_bf16_128x128x128_1sm");
  EXPECT_EQ(chosen_name(problem(k100, MXGEMM_NVF4, MXGEMM_NVF4, MXGEMM_F32)),
            "gemm_nvf4_nvf4_f32_128x128x256_1sm");
}

// What CUTLASS's rules forbid goes to a kernel that can, and explain says why.
TEST(RealLibraries, ShapesThatTensorMapsCannotDescribeGoToSm80) {
  const struct {
    int32_t a;
    int32_t b;
    int64_t n;
    int64_t k;
    const char* reason;
  } kCases[] = {
      {MXGEMM_MXF4, MXGEMM_MXF4, 1025, 1024, "N is 1025; it must be a multiple of 8"},
      {MXGEMM_NVF4, MXGEMM_NVF4, 1024, 1040, "K is 1040; it must be a multiple of 32"},
      {MXGEMM_MXF8E4M3, MXGEMM_MXF4, 1024, 1056, "K is 1056; it must be a multiple of 128"},
      {MXGEMM_MXF4, MXGEMM_MXF4, 1024, 0, "K is 0; there is nothing to multiply"},
  };
  for (const auto& each : kCases) {
    for (const int32_t device : {k120, k100}) {
      const mxgemm_gemm_desc desc =
          problem(device, each.a, each.b, MXGEMM_BF16, 512, each.n, each.k);
      EXPECT_EQ(chosen_arch(desc), "sm80") << each.reason;
      expect_contains(explanation(desc), each.reason);
    }
  }
  // The smallest K that each pair can have.
  EXPECT_EQ(chosen_arch(problem(k120, MXGEMM_MXF4, MXGEMM_MXF4, MXGEMM_BF16, 1, 8, 32)), "sm120f");
  EXPECT_EQ(chosen_arch(problem(k120, MXGEMM_MXF8E4M3, MXGEMM_MXF4, MXGEMM_BF16, 1, 8, 128)),
            "sm120f");
}

TEST(RealLibraries, EveryPairOfFormatsHasAKernelOnEveryDevice) {
  for (const int32_t device : {k120, k100, k90, k80}) {
    for (const int32_t b : {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2}) {
      for (const int32_t a : {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2,
                              MXGEMM_BF16, MXGEMM_F16, MXGEMM_F32}) {
        for (const int32_t d : {MXGEMM_BF16, MXGEMM_F16, MXGEMM_F32}) {
          EXPECT_NE(chosen_kernel(problem(device, a, b, d, 33, 7, 96)), "");
        }
      }
    }
  }
}

// A device that only pretends to be there says so before it looks at pointers or a workspace.
TEST(RealLibraries, NothingRunsOnAFakeDevice) {
  for (const int32_t device : {k120, k100, k90}) {
    GemmCall call(4, 8, 128);
    call.desc.device_kind = MXGEMM_DEVICE_CUDA;
    call.desc.device_index = device;
    call.desc.format_d = MXGEMM_BF16;
    call.desc.scale_layout_a = MXGEMM_SCALE_ROW_MAJOR;
    mxgemm_plan* plan = nullptr;
    expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
    uint64_t bytes = 0;
    expect_ok(mxgemm_plan_workspace_size(plan, &bytes));
    if (device != k90) {
      EXPECT_GT(bytes, 0u) << "row-major scales are staged";
    }
    expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_run(plan, &call.args, nullptr),
                  {"a fake device of MXGEMM_FAKE_DEVICES"});
    mxgemm_plan_destroy(plan);
  }
}

TEST(RealLibraries, EveryKernelIsListedAndDeclaresItsRule) {
  int32_t count = 0;
  expect_ok(mxgemm_kernel_count(&count));
  std::set<std::string> archs;
  std::set<std::string> ids;
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
    expect_ok(mxgemm_kernel_info_get(index, &info));
    EXPECT_TRUE(ids.insert(info.id).second) << info.id << " is listed twice";
    if (info.device_kind != MXGEMM_DEVICE_CUDA) {
      EXPECT_EQ(info.allowances, 0u) << info.id;
      continue;
    }
    const std::string id = info.id;
    const std::string arch = id.substr(5, id.rfind(':') - 5);
    archs.insert(arch);
    const bool is_general = id.find("gemm_any_any") != std::string::npos;
    uint32_t expected = MXGEMM_ALLOW_ZERO_PRODUCTS;
    if (arch == "sm80") {
      expected = is_general ? 0u : uint32_t{MXGEMM_ALLOW_LIMITED_SCALES};
    }
    EXPECT_EQ(info.allowances, expected) << id;
  }
  EXPECT_EQ(archs, (std::set<std::string>{"sm100f", "sm120f", "sm80"}));
}

}  // namespace
}  // namespace mxgemm::test
