// SPDX-License-Identifier: Apache-2.0
// The choice of library and kernel by the device of the problem, on fake devices and with stub
// libraries. CTest sets:
//   MXGEMM_FAKE_DEVICES=12.0,9.0,7.5,12.1,10.3,8.6,10.0,10.1,11.0,12.9,13.0,8.0,8.7,8.9
//   MXGEMM_PLUGIN_DIR=<the whole stubs>
#include <gtest/gtest.h>

#include <cstring>

#include "abi/gemm_call.hpp"
#include "abi/loader/gpu_gemm.hpp"

namespace mxgemm::test {
namespace {

constexpr const char* kOf120 = "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128";
constexpr const char* kOf100 = "cuda:sm100f:gemm_mxf4_mxf4_bf16_128x128x128";
constexpr const char* kOf80 = "cuda:sm80:gemm_any_any_any_64x64x32";

// Index of each fake device.
enum : int32_t { k120, k90, k75, k121, k103, k86, k100, k101, k110, k129, k130, k80, k87, k89 };

mxgemm_device_info info_of(int32_t device) {
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, device, &info));
  return info;
}

// Kinds of fault 42 and 47.
TEST(FakeDevices, EachGetsItsLibrary) {
  int32_t count = 0;
  expect_ok(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count));
  EXPECT_EQ(count, 14);
  for (const int32_t device : {k120, k121}) {
    EXPECT_EQ(chosen_kernel(gpu_desc(device)), kOf120) << device;
    EXPECT_STREQ(info_of(device).arch, "sm120f");
  }
  for (const int32_t device : {k100, k103}) {
    EXPECT_EQ(chosen_kernel(gpu_desc(device)), kOf100) << device;
    EXPECT_STREQ(info_of(device).arch, "sm100f");
  }
  for (const int32_t device : {k80, k86, k87, k89, k90, k101, k110, k129, k130}) {
    EXPECT_EQ(chosen_kernel(gpu_desc(device)), kOf80) << device;
    EXPECT_STREQ(info_of(device).arch, "sm80");
  }
  EXPECT_STREQ(info_of(k75).arch, "");
  EXPECT_STREQ(info_of(k121).name, "fake device");
  EXPECT_EQ(info_of(k121).capability_major, 12);
  EXPECT_EQ(info_of(k121).capability_minor, 1);
}

void expect_no_library(int32_t device) {
  const mxgemm_gemm_desc desc = gpu_desc(device);
  mxgemm_plan* plan = nullptr;
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_plan_create(&desc, nullptr, &plan),
                {"no kernel accepts m4n8k128:mxf4:mxf4:bf16", "compute capability 7.5",
                 "cuda:sm80: it is for compute capability 8.0 and newer; the device has 7.5",
                 "cuda:sm100f: ", "cuda:sm120f: "});
  EXPECT_EQ(plan, nullptr);
}

// Kind of fault 43: forth and back in one process.
TEST(FakeDevices, MixedMachine) {
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(chosen_kernel(gpu_desc(k120)), kOf120);
    EXPECT_EQ(chosen_kernel(gpu_desc(k90)), kOf80);
    expect_no_library(k75);
    EXPECT_EQ(chosen_kernel(gpu_desc(k90)), kOf80);
    EXPECT_EQ(chosen_kernel(gpu_desc(k120)), kOf120);
  }
}

TEST(FakeDevices, WhatTheBestLibraryRefusesFallsToTheNext) {
  EXPECT_EQ(chosen_kernel(gpu_desc(k121, 4, 8, 64)), kOf80) << "K is not its multiple";
  EXPECT_EQ(chosen_kernel(gpu_desc(k121, 4, 8, 0)), kOf80) << "K = 0";
  mxgemm_gemm_desc other = gpu_desc(k121);
  other.format_a = MXGEMM_BF16;
  EXPECT_EQ(chosen_kernel(other), kOf80);
}

TEST(FakeDevices, ExplainNamesEveryOne) {
  EXPECT_EQ(explanation(gpu_desc(k121)),
            std::string(kOf120) +
                ": chosen for data pointers and row pitches that are multiples of 16 bytes; others "
                "go to " +
                kOf80 + "\n" + kOf80 +
                ": accepts\n"
                "cuda:sm100f: it is for the family of compute capability 10.0; the device has "
                "12.1");
  const std::string text = explanation(gpu_desc(k121, 4, 8, 64));
  expect_contains(text, std::string(kOf120) + ": K is 64; it must be a multiple of 128 and not 0");
  expect_contains(text, std::string(kOf80) + ": chosen");
  const std::string none = explanation(gpu_desc(k75));
  expect_contains(none, "cuda:sm80: it is for compute capability 8.0 and newer");
}

TEST(FakeDevices, ANamedKernelMustFitTheDevice) {
  EXPECT_EQ(chosen_kernel(gpu_desc(k121), kOf80), kOf80);
  const mxgemm_gemm_desc desc = gpu_desc(k90);
  mxgemm_plan* plan = nullptr;
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_plan_create(&desc, kOf120, &plan),
                {"cuda:sm120f: it is for the family of compute capability 12.0"});
  expect_invalid(mxgemm_plan_create(&desc, "cuda:sm120f:gemm_none", &plan),
                 {"kernel_id is \"cuda:sm120f:gemm_none\"", kOf120, kOf100, kOf80, "cpu:scalar:"});
  // A CPU's problem does not go to a GPU's kernel.
  GemmCall on_cpu;
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_plan_create(&on_cpu.desc, kOf80, &plan), {"kernel_id"});
}

TEST(FakeDevices, EveryKernelIsListed) {
  int32_t count = 0;
  expect_ok(mxgemm_kernel_count(&count));
  int found = 0;
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
    expect_ok(mxgemm_kernel_info_get(index, &info));
    if (info.device_kind != MXGEMM_DEVICE_CUDA) {
      continue;
    }
    ++found;
    EXPECT_EQ(info.available, 0) << info.id;
    expect_contains(info.reason, "fake devices run nothing");
    const bool is_120 = std::strcmp(info.id, kOf120) == 0;
    EXPECT_EQ(info.allowances, std::strcmp(info.id, kOf80) == 0 ? MXGEMM_ALLOW_LIMITED_SCALES
                                                                : MXGEMM_ALLOW_ZERO_PRODUCTS)
        << "as the library's table has it";
    for (const int32_t device : {k121, k90}) {
      const mxgemm_gemm_desc desc = gpu_desc(device);
      int32_t accepts = -1;
      char reason[256] = "";
      expect_ok(mxgemm_kernel_accepts(index, &desc, &accepts, reason, sizeof(reason), nullptr));
      const bool is_80 = std::strcmp(info.id, kOf80) == 0;
      EXPECT_EQ(accepts, is_80 || (is_120 && device == k121) ? 1 : 0) << info.id << reason;
      EXPECT_EQ(accepts == 1, reason[0] == '\0') << reason;
    }
  }
  EXPECT_EQ(found, 3);
}

TEST(FakeDevices, EveryLibraryIsListed) {
  int32_t count = 0;
  expect_ok(mxgemm_library_count(&count));
  ASSERT_EQ(count, 3) << "the runtime library is not needed";
  const char* const kArchs[] = {"sm120f", "sm100f", "sm80"};
  const char* const kCapabilities[] = {"12.0 to 12.1", "10.0, 10.3", "8.0 and newer"};
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_library_info info = MXGEMM_LIBRARY_INFO_INIT;
    expect_ok(mxgemm_library_info_get(index, &info));
    EXPECT_STREQ(info.arch, kArchs[index]);
    EXPECT_STREQ(info.capabilities, kCapabilities[index]);
    EXPECT_STREQ(info.build_info, "stub compiler");
    EXPECT_EQ(info.loaded, 1);
    EXPECT_EQ(info.num_kernels, 1);
    EXPECT_STREQ(info.reason, "");
    EXPECT_EQ(info.path[0], '/');
  }
  mxgemm_library_info info = MXGEMM_LIBRARY_INFO_INIT;
  expect_invalid(mxgemm_library_info_get(3, &info), {"index is 3"});
  expect_invalid(mxgemm_library_info_get(-1, &info), {"index is -1"});
  expect_invalid(mxgemm_library_info_get(0, nullptr), {"info is NULL"});
  expect_invalid(mxgemm_library_count(nullptr), {"count is NULL"});
  info.struct_size = 4;
  expect_invalid(mxgemm_library_info_get(0, &info), {"info.struct_size is 4"});
}

TEST(FakeDevices, NothingRunsThere) {
  constexpr mxgemm_status kUnavailable = MXGEMM_DEVICE_UNAVAILABLE;
  constexpr int32_t kCuda = MXGEMM_DEVICE_CUDA;
  const char* const kWhy = "a fake device of MXGEMM_FAKE_DEVICES";
  void* pointer = nullptr;
  mxgemm_event* event = nullptr;
  float number = 0.0f;
  expect_status(kUnavailable, mxgemm_device_alloc(kCuda, 0, 16, &pointer),
                {"device_index is 0", kWhy});
  expect_status(kUnavailable, mxgemm_device_free(kCuda, 1, &number), {"device_index is 1", kWhy});
  expect_status(kUnavailable,
                mxgemm_device_copy(kCuda, 2, &number, MXGEMM_DEVICE_CPU, 0, &number, 4, nullptr),
                {"dst_index is 2", kWhy});
  expect_status(kUnavailable, mxgemm_device_synchronize(kCuda, 3), {kWhy});
  expect_status(kUnavailable, mxgemm_stream_create(kCuda, 0, &pointer), {kWhy});
  expect_status(kUnavailable, mxgemm_event_create(kCuda, 0, &event), {kWhy});
  mxgemm_quantize_desc quantize = MXGEMM_QUANTIZE_DESC_INIT;
  quantize.device_kind = kCuda;
  quantize.format_src = MXGEMM_F32;
  quantize.format = MXGEMM_MXF4;
  uint64_t bytes = 0;
  expect_status(kUnavailable, mxgemm_quantize_workspace_size(&quantize, &bytes), {kWhy});
  const mxgemm_quantize_args quantize_args = MXGEMM_QUANTIZE_ARGS_INIT;
  expect_status(kUnavailable, mxgemm_quantize(&quantize, &quantize_args, nullptr), {kWhy});
  const uint8_t scale = 0;
  uint8_t swizzled[512];
  expect_status(kUnavailable,
                mxgemm_swizzle_scales(kCuda, 0, 1, 1, &scale, 1, 0, swizzled, 512, nullptr),
                {kWhy});
  // Said before what is wrong with the arguments: no memory could be right.
  GemmCall call(4, 8, 128);
  call.desc.device_kind = kCuda;
  expect_status(kUnavailable, call.run(), {"desc.device_index is 0", kWhy});
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  expect_status(kUnavailable, mxgemm_run(plan, &call.args, nullptr), {kWhy});
  mxgemm_plan_destroy(plan);
}

TEST(FakeDevices, BeyondTheLast) {
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, 14, &info),
                {"device_index is 14", "the CUDA devices here are 0 to 13"});
  expect_invalid(mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, -1, &info), {"device_index is -1"});
}

TEST(FakeDevices, TheCpuIsAsEver) {
  GemmCall call;
  expect_ok(call.run());
  EXPECT_EQ(call.d[0], 64.0f);
}

}  // namespace
}  // namespace mxgemm::test
