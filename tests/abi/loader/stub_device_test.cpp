// SPDX-License-Identifier: Apache-2.0
// The C ABI on CUDA devices, with a stub in the place of the CUDA runtime. CTest sets:
//   MXGEMM_PLUGIN_DIR=<the whole stubs>   STUB_DEVICES=12.1,9.0,7.5
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "abi/gemm_call.hpp"
#include "abi/loader/counting_new.hpp"
#include "abi/loader/gpu_gemm.hpp"

namespace mxgemm::test {
namespace {

constexpr int32_t kCuda = MXGEMM_DEVICE_CUDA;
constexpr int32_t kCpu = MXGEMM_DEVICE_CPU;

// What a counter of a stub library says ("stub_prepares" of "sm80").
int stub_counter(const std::string& library, const char* counter) {
  const std::string path =
      std::string(std::getenv("MXGEMM_PLUGIN_DIR")) + "/libmxgemm_" + library + ".so";
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  EXPECT_NE(handle, nullptr) << path;
  using Counter = int (*)();
  const auto function =
      handle == nullptr ? nullptr : reinterpret_cast<Counter>(dlsym(handle, counter));
  return function == nullptr ? -1 : function();
}

template <typename T>
T moved(T pointer, int bytes) {
  return reinterpret_cast<T>(reinterpret_cast<uintptr_t>(pointer) + static_cast<uintptr_t>(bytes));
}

TEST(StubDevice, Devices) {
  int32_t count = 0;
  expect_ok(mxgemm_device_count(kCuda, &count));
  EXPECT_EQ(count, 3);
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_ok(mxgemm_device_info_get(kCuda, 1, &info));
  EXPECT_STREQ(info.name, "stub device 1");
  EXPECT_STREQ(info.arch, "sm80");
  EXPECT_EQ(info.num_threads, 101);
  EXPECT_EQ(info.memory_bytes, uint64_t{1} << 34);
  EXPECT_EQ(info.l2_bytes, uint64_t{1} << 20);
  int32_t libraries = 0;
  expect_ok(mxgemm_library_count(&libraries));
  ASSERT_EQ(libraries, 4);
  mxgemm_library_info library = MXGEMM_LIBRARY_INFO_INIT;
  expect_ok(mxgemm_library_info_get(0, &library));
  EXPECT_STREQ(library.arch, "cuda");
  EXPECT_STREQ(library.build_info, "stub runtime");
  EXPECT_EQ(stub_counter("sm80", "stub_inits"), 1) << "host services are handed over once";
}

TEST(StubDevice, KernelsAreAvailableWhereADeviceIs) {
  int32_t count = 0;
  expect_ok(mxgemm_kernel_count(&count));
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
    expect_ok(mxgemm_kernel_info_get(index, &info));
    if (info.device_kind == kCuda) {
      const bool is_100 = std::string(info.id).find("sm100f") != std::string::npos;
      EXPECT_EQ(info.available, is_100 ? 0 : 1) << info.id << ": " << info.reason;
      if (is_100) {
        expect_contains(info.reason, "no device here has compute capability 10.0, 10.3");
      }
    }
  }
}

TEST(StubDevice, MemoryStreamsEvents) {
  void* device = nullptr;
  expect_ok(mxgemm_device_alloc(kCuda, 0, 64, &device));
  const char text[] = "there and back";
  char back[sizeof(text)] = "";
  expect_ok(mxgemm_device_copy(kCuda, 0, device, kCpu, 0, text, sizeof(text), nullptr));
  expect_ok(mxgemm_device_copy(kCpu, 0, back, kCuda, 0, device, sizeof(text), nullptr));
  EXPECT_STREQ(back, text);
  expect_ok(mxgemm_device_copy(kCuda, 0, nullptr, kCpu, 0, nullptr, 0, nullptr));
  expect_ok(mxgemm_device_free(kCuda, 0, device));
  expect_status(MXGEMM_CUDA_ERROR, mxgemm_device_free(kCuda, 0, &back),
                {"cudaErrorInvalidValue", "cudaFree"});
  expect_ok(mxgemm_device_free(kCuda, 0, nullptr));
  expect_ok(mxgemm_device_alloc(kCuda, 0, 0, &device));
  EXPECT_EQ(device, nullptr);
  expect_status(MXGEMM_OUT_OF_MEMORY, mxgemm_device_alloc(kCuda, 0, uint64_t{1} << 60, &device),
                {"cudaErrorMemoryAllocation"});
  EXPECT_EQ(device, nullptr);
  const int before = stub_counter("cuda", "stub_synchronizes");
  expect_ok(mxgemm_device_synchronize(kCuda, 1));
  EXPECT_EQ(stub_counter("cuda", "stub_synchronizes"), before + 1);
  void* stream = nullptr;
  expect_ok(mxgemm_stream_create(kCuda, 1, &stream));
  EXPECT_NE(stream, nullptr);
  mxgemm_event* start = nullptr;
  mxgemm_event* end = nullptr;
  float milliseconds = 0.0f;
  expect_ok(mxgemm_event_create(kCuda, 1, &start));
  expect_ok(mxgemm_event_create(kCuda, 1, &end));
  expect_ok(mxgemm_event_record(start, stream));
  expect_invalid(mxgemm_event_elapsed(start, end, &milliseconds), {"end has not been recorded"});
  expect_ok(mxgemm_event_record(end, stream));
  expect_ok(mxgemm_event_elapsed(start, end, &milliseconds));
  EXPECT_EQ(milliseconds, 1.0f);
  mxgemm_event* other = nullptr;
  expect_ok(mxgemm_event_create(kCpu, 0, &other));
  expect_invalid(mxgemm_event_elapsed(start, other, &milliseconds), {"two devices"});
  for (mxgemm_event* event : {start, end, other}) {
    expect_ok(mxgemm_event_destroy(event));
  }
  expect_ok(mxgemm_stream_destroy(kCuda, 1, stream));
  expect_ok(mxgemm_stream_destroy(kCuda, 1, nullptr));
}

// Kind of fault 42: by the device of the call, in one process.
TEST(StubDevice, EachDeviceRunsItsKernel) {
  for (const int32_t device : {0, 1, 0, 1}) {
    GpuGemm call(device);
    call.poison();
    expect_ok(call.run());
    EXPECT_EQ(call.mark(), device == 0 ? 120 : 80);
    EXPECT_EQ(stub_counter(device == 0 ? "sm120f" : "sm80", "stub_last_device"), device);
  }
  const mxgemm_gemm_desc old = gpu_desc(2);
  mxgemm_plan* plan = nullptr;
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_plan_create(&old, nullptr, &plan),
                {"cuda:2", "compute capability 7.5"});
}

// Kind of fault 27: what one kernel wants of the arguments is not asked of the caller.
TEST(StubDevice, ArgumentsWithoutAlignmentRunElsewhere) {
  GpuGemm call(0);
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  uint64_t bytes = 0;
  expect_ok(mxgemm_plan_workspace_size(plan, &bytes));
  EXPECT_EQ(bytes, 1024u) << "the larger of the two";
  const int copies = stub_counter("cuda", "stub_copies");
  const int synchronizes = stub_counter("cuda", "stub_synchronizes");
  const int prepares = stub_counter("sm80", "stub_prepares");
  expect_ok(mxgemm_run(plan, &call.args, nullptr));
  EXPECT_EQ(stub_counter("cuda", "stub_copies"), copies);
  EXPECT_EQ(call.mark(), 120);
  call.args.a.data = moved(call.args.a.data, 1);
  expect_ok(mxgemm_run(plan, &call.args, nullptr));
  EXPECT_EQ(call.mark(), 80);
  call.args.a.data = moved(call.args.a.data, 31);
  call.args.ldd = 9;
  call.poison();
  expect_ok(mxgemm_run(plan, &call.args, nullptr));
  EXPECT_EQ(call.mark(), 80);
  call.args.ldd = 16;
  expect_ok(mxgemm_run(plan, &call.args, nullptr));
  EXPECT_EQ(call.mark(), 120);
  EXPECT_EQ(stub_counter("cuda", "stub_synchronizes"), synchronizes);
  EXPECT_EQ(stub_counter("sm80", "stub_prepares"), prepares) << "both were prepared by the plan";
  mxgemm_plan_destroy(plan);

  expect_ok(mxgemm_plan_create(&call.desc, "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128", &plan));
  call.args.d = moved(call.args.d, 2);
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_run(plan, &call.args, nullptr),
                {"args.d is 0x", "multiples of 16 bytes"});
  mxgemm_plan_destroy(plan);
}

TEST(StubDevice, MemoryOfAnotherDeviceIsRefused) {
  GpuGemm here(0);
  GpuGemm there(1);
  const auto refused = [&here](const char* argument) {
    expect_invalid(here.run(),
                   {argument, "in the memory of cuda:1", "that of cuda:0", "desc.device_index"});
  };
  const mxgemm_gemm_args whole = here.args;
  here.args.a.data = there.args.a.data;
  refused("args.a.data is 0x");
  here.args = whole;
  here.args.b.scale = there.args.b.scale;
  refused("args.b.scale is 0x");
  here.args = whole;
  here.args.d = there.args.d;
  refused("args.d is 0x");
  here.args = whole;
  here.args.workspace = there.args.workspace;
  refused("args.workspace is 0x");
  here.args = whole;
  here.desc.flags = MXGEMM_ALPHA_ON_DEVICE;
  here.args.alpha_ptr = static_cast<const float*>(there.buffers[0]);
  refused("args.alpha_ptr is 0x");
  here.args.alpha_ptr = static_cast<const float*>(here.buffers[0]) + 512;
  expect_ok(here.run());
}

TEST(StubDevice, HostMemoryIsRefused) {
  GpuGemm call(0);
  std::vector<uint8_t> host(4096);
  call.args.a.data = host.data();
  expect_invalid(call.run(), {"args.a.data is 0x", "in host memory", "cuda:0"});
  // Without elements it points at nothing.
  GpuGemm empty(0, 0);
  empty.args.a.data = host.data();
  expect_ok(empty.run());
  EXPECT_EQ(empty.mark(), 80);
}

TEST(StubDevice, FailuresNameTheKernelAndLeaveNothingBehind) {
  GpuGemm call(0);
  call.args.alpha = -404.0f;
  const int clears = stub_counter("cuda", "stub_clears");
  expect_status(MXGEMM_CUDA_ERROR, call.run(),
                {"cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128: the launch failed",
                 "cudaErrorLaunchOutOfResources"});
  EXPECT_EQ(stub_counter("cuda", "stub_clears"), clears + 2) << "before the run and after it";
  call.args.alpha = 1.0f;
  expect_ok(call.run());
  mxgemm_plan* plan = nullptr;
  call.desc.activation = MXGEMM_ACT_GELU_TANH;
  expect_status(MXGEMM_CUDA_ERROR, mxgemm_plan_create(&call.desc, nullptr, &plan),
                {"cuda:sm120f:", "cudaErrorUnsupportedPtxVersion"});
}

TEST(StubDevice, ARunAllocatesNothing) {
  GpuGemm call(0);
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  for (const int moved_by : {0, 2}) {  // the first kernel and the second
    call.args.d = moved(call.buffers[4], moved_by);
    const int before = allocations;
    const mxgemm_status status = mxgemm_run(plan, &call.args, nullptr);
    EXPECT_EQ(allocations, before);
    expect_ok(status);
  }
  const int before = allocations;
  mxgemm_plan_destroy(plan);
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  EXPECT_GT(allocations, before) << "the counter counts";
  mxgemm_plan_destroy(plan);
}

TEST(StubDevice, LibrariesLogThroughTheCore) {
  std::string lines;
  const auto receive = [](void* context, int32_t level, const char* message) {
    // Whoever receives a line may call back.
    int32_t count = 0;
    EXPECT_EQ(mxgemm_kernel_count(&count), MXGEMM_OK);
    *static_cast<std::string*>(context) += std::to_string(level) + " " + message + "\n";
  };
  expect_ok(mxgemm_set_log_callback(receive, &lines));
  chosen_kernel(gpu_desc(1));
  expect_ok(mxgemm_set_log_callback(nullptr, nullptr));
  expect_contains(lines, "2 stub sm80 prepares\n");
}

TEST(StubDevice, WorkspaceIsTheCallers) {
  GpuGemm call(0);
  call.args.workspace = nullptr;
  call.args.workspace_bytes = 0;
  expect_status(MXGEMM_WORKSPACE_TOO_SMALL, call.run(), {"the plan needs 1024 bytes"});
}

struct GpuQuantize {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  void* buffers[4] = {};

  explicit GpuQuantize(int32_t device) {
    for (void*& buffer : buffers) {
      expect_ok(mxgemm_device_alloc(kCuda, device, 4096, &buffer));
    }
    desc.device_kind = kCuda;
    desc.device_index = device;
    desc.format_src = MXGEMM_F32;
    desc.format = MXGEMM_MXF4;
    desc.rows = 2;
    desc.cols = 64;
    args.src = buffers[0];
    args.src_bytes = 512;
    args.qdata = buffers[1];
    args.qdata_bytes = 64;
    args.scale = static_cast<uint8_t*>(buffers[2]);
    args.scale_bytes = 4;
    args.workspace = buffers[3];
    args.workspace_bytes = 512;
  }
  ~GpuQuantize() {
    for (void* buffer : buffers) {
      expect_ok(mxgemm_device_free(kCuda, desc.device_index, buffer));
    }
  }
  GpuQuantize(const GpuQuantize&) = delete;
  GpuQuantize& operator=(const GpuQuantize&) = delete;
  mxgemm_status run() { return mxgemm_quantize(&desc, &args, nullptr); }
};

TEST(StubDevice, Quantise) {
  GpuQuantize call(0);
  uint64_t bytes = 0;
  expect_ok(mxgemm_quantize_workspace_size(&call.desc, &bytes));
  EXPECT_EQ(bytes, 512u);
  const int prepares = stub_counter("sm80", "stub_data_prepares");
  expect_ok(call.run());
  EXPECT_EQ(static_cast<uint8_t*>(call.buffers[1])[63], 0x22);
  EXPECT_EQ(call.args.scale[3], 127);
  EXPECT_EQ(stub_counter("sm80", "stub_last_device"), 0);
  EXPECT_EQ(stub_counter("sm80", "stub_data_prepares"), prepares) << "once for a device";
  GpuQuantize second(1);
  expect_ok(second.run());
  expect_ok(second.run());
  EXPECT_EQ(stub_counter("sm80", "stub_data_prepares"), prepares + 1);
  EXPECT_EQ(stub_counter("sm80", "stub_last_device"), 1);
}

TEST(StubDevice, QuantiseChecksItsMemory) {
  GpuQuantize call(0);
  GpuQuantize other(1);
  call.args.workspace_bytes = 511;
  expect_status(MXGEMM_WORKSPACE_TOO_SMALL, call.run(), {"workspace_bytes is 511", "says 512"});
  call.args.workspace_bytes = 512;
  call.args.workspace = nullptr;
  expect_status(MXGEMM_WORKSPACE_TOO_SMALL, call.run(), {"says 512"});
  call.args.workspace = moved(call.buffers[3], 128);
  expect_invalid(call.run(), {"args.workspace is", "256"});
  call.args.workspace = call.buffers[0];
  expect_invalid(call.run(), {"args.workspace", "overlaps args.src"});
  call.args.workspace = call.buffers[3];
  call.args.src = other.args.src;
  expect_invalid(call.run(), {"args.src is 0x", "in the memory of cuda:1"});
  call.args.src = call.buffers[0];
  call.desc.nonfinite = MXGEMM_NONFINITE_SATURATE;
  expect_status(MXGEMM_CUDA_ERROR, call.run(), {"cuda:sm80: ", "cudaErrorInvalidValue"});
  call.desc.nonfinite = MXGEMM_NONFINITE_NAN;
  expect_ok(call.run());
}

TEST(StubDevice, WhatOnlyTheCpuHas) {
  GpuQuantize call(0);
  uint64_t bytes = 0;
  call.desc.scale_rule = MXGEMM_SCALE_RULE_MSE;
  expect_status(MXGEMM_UNSUPPORTED, call.run(), {"desc.scale_rule is 6 (mse)", "only the CPU"});
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_quantize_workspace_size(&call.desc, &bytes), {"mse"});
  call.desc.scale_rule = MXGEMM_SCALE_RULE_DEFAULT;
  call.desc.rounding = MXGEMM_ROUND_STOCHASTIC;
  expect_status(MXGEMM_UNSUPPORTED, call.run(), {"desc.rounding is 1 (stochastic)"});
  expect_status(MXGEMM_UNSUPPORTED, mxgemm_pack_size(kCuda, 0, MXGEMM_MXF4, 8, 64, &bytes),
                {"only the CPU has prepared weights"});
  GpuGemm packed(0);
  packed.desc.flags = MXGEMM_PACKED_B;
  expect_status(MXGEMM_UNSUPPORTED, packed.run(), {"prepared weights are for the CPU"});
  GpuQuantize old(2);
  expect_status(MXGEMM_UNSUPPORTED, old.run(),
                {"no library can quantise on cuda:2 (compute capability 7.5)", "cuda:sm80: it is"});
}

TEST(StubDevice, OtherDataFunctions) {
  GpuQuantize call(0);
  mxgemm_operand src = MXGEMM_OPERAND_INIT;
  src.data = call.buffers[1];
  src.data_bytes = 64;
  src.scale = call.args.scale;
  src.scale_bytes = 4;
  expect_ok(mxgemm_dequantize(kCuda, 0, MXGEMM_MXF4, 2, 64, &src, MXGEMM_SCALE_ROW_MAJOR, 0,
                              MXGEMM_F32, call.buffers[0], 4096, 70, nullptr));
  EXPECT_EQ(static_cast<float*>(call.buffers[0])[0], 70.0f);
  // The best library of cuda:0 has no such functions: the next one is asked.
  expect_ok(mxgemm_swizzle_scales(kCuda, 0, 2, 2, call.args.scale, 4, 0,
                                  static_cast<uint8_t*>(call.buffers[3]), 512, nullptr));
  EXPECT_EQ(static_cast<uint8_t*>(call.buffers[3])[0], 2);
  expect_status(MXGEMM_UNSUPPORTED,
                mxgemm_unswizzle_scales(kCuda, 0, 2, 2, static_cast<uint8_t*>(call.buffers[3]), 512,
                                        call.args.scale, 4, 0, nullptr),
                {"unswizzle", "cuda:sm80: it lacks the function"});
  std::vector<uint8_t> host(512);
  expect_invalid(
      mxgemm_swizzle_scales(kCuda, 0, 2, 2, call.args.scale, 4, 0, host.data(), 512, nullptr),
      {"dst is 0x", "host memory"});
}

}  // namespace
}  // namespace mxgemm::test
