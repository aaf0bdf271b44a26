// SPDX-License-Identifier: Apache-2.0
// The C ABI on real CUDA devices: memory, streams, events, and what surrounds a run (capture, the
// current device, other people's errors, memory of the wrong place). Exit code 77 = no device here.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "abi/loader/gpu_gemm.hpp"

namespace mxgemm::test {
namespace {

constexpr int32_t kCuda = MXGEMM_DEVICE_CUDA;
constexpr int32_t kCpu = MXGEMM_DEVICE_CPU;

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

void expect_no_error_left() {
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// GpuGemm with operands of ones: D is K everywhere.
struct Ones : GpuGemm {
  explicit Ones(int32_t device) : GpuGemm(device) {
    fill(buffers[0], 0x22);
    fill(buffers[1], 127);
    fill(buffers[2], 0x22);
    fill(buffers[3], 127);
    poison();
  }
  void fill(void* buffer, uint8_t value) const {
    const std::vector<uint8_t> bytes(kRoom, value);
    expect_ok(mxgemm_device_copy(kCuda, desc.device_index, buffer, kCpu, 0, bytes.data(),
                                 bytes.size(), nullptr));
  }
  std::vector<uint16_t> result() const {
    std::vector<uint16_t> d(static_cast<size_t>(desc.m * desc.n));
    expect_ok(mxgemm_device_copy(kCpu, 0, d.data(), kCuda, desc.device_index, buffers[4],
                                 d.size() * 2, nullptr));
    return d;
  }
};

constexpr uint16_t kBf16Of128 = 0x4300;
const std::vector<uint16_t> kExpected(32, kBf16Of128);

TEST(CudaRuntime, Devices) {
  int32_t count = 0;
  expect_ok(mxgemm_device_count(kCuda, &count));
  EXPECT_EQ(count, device_count());
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
    expect_ok(mxgemm_device_info_get(kCuda, index, &info));
    cudaDeviceProp properties;
    ASSERT_EQ(cudaGetDeviceProperties(&properties, index), cudaSuccess);
    EXPECT_STREQ(info.name, properties.name);
    EXPECT_EQ(info.capability_major, properties.major);
    EXPECT_EQ(info.capability_minor, properties.minor);
    EXPECT_EQ(info.num_threads, properties.multiProcessorCount);
    EXPECT_EQ(info.memory_bytes, properties.totalGlobalMem);
    EXPECT_EQ(info.l2_bytes, static_cast<uint64_t>(properties.l2CacheSize));
    std::printf("cuda:%d %s, kernels %s\n", index, info.name, info.arch);
  }
}

TEST(CudaRuntime, MemoryStreamsEvents) {
  for (int32_t device = 0; device < device_count(); ++device) {
    void* memory = nullptr;
    void* stream = nullptr;
    mxgemm_event* start = nullptr;
    mxgemm_event* end = nullptr;
    expect_ok(mxgemm_device_alloc(kCuda, device, 1 << 20, &memory));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
    expect_ok(mxgemm_stream_create(kCuda, device, &stream));
    expect_ok(mxgemm_event_create(kCuda, device, &start));
    expect_ok(mxgemm_event_create(kCuda, device, &end));
    std::vector<uint8_t> bytes(1 << 20);
    for (size_t index = 0; index < bytes.size(); ++index) {
      bytes[index] = static_cast<uint8_t>(index * 7);
    }
    std::vector<uint8_t> back(bytes.size());
    expect_ok(mxgemm_event_record(start, stream));
    expect_ok(
        mxgemm_device_copy(kCuda, device, memory, kCpu, 0, bytes.data(), bytes.size(), stream));
    expect_ok(mxgemm_device_copy(kCpu, 0, back.data(), kCuda, device, memory, back.size(), stream));
    expect_ok(mxgemm_event_record(end, stream));
    EXPECT_EQ(back, bytes);
    float milliseconds = -1.0f;
    expect_ok(mxgemm_event_elapsed(start, end, &milliseconds));
    EXPECT_GT(milliseconds, 0.0f);
    expect_ok(mxgemm_device_synchronize(kCuda, device));
    expect_ok(mxgemm_event_destroy(start));
    expect_ok(mxgemm_event_destroy(end));
    expect_ok(mxgemm_stream_destroy(kCuda, device, stream));
    expect_ok(mxgemm_device_free(kCuda, device, memory));
  }
}

TEST(CudaRuntime, FailuresLeaveNothingBehind) {
  void* memory = nullptr;
  expect_status(MXGEMM_OUT_OF_MEMORY, mxgemm_device_alloc(kCuda, 0, uint64_t{1} << 50, &memory),
                {"cudaMalloc", "cudaErrorMemoryAllocation"});
  EXPECT_EQ(memory, nullptr);
  expect_no_error_left();
  char on_host = 0;
  expect_status(MXGEMM_CUDA_ERROR, mxgemm_device_free(kCuda, 0, &on_host),
                {"cudaFree", "cudaErrorInvalidValue"});
  expect_no_error_left();
  expect_ok(mxgemm_device_alloc(kCuda, 0, 16, &memory));
  expect_ok(mxgemm_device_free(kCuda, 0, memory));
}

TEST(CudaRun, OnesOnEveryDeviceAndTheCurrentOneStays) {
  for (int current = 0; current < device_count(); ++current) {
    ASSERT_EQ(cudaSetDevice(current), cudaSuccess);
    for (int32_t device = 0; device < device_count(); ++device) {
      Ones call(device);
      expect_ok(call.run());
      EXPECT_EQ(call.result(), kExpected);
      int after = -1;
      EXPECT_EQ(cudaGetDevice(&after), cudaSuccess);
      EXPECT_EQ(after, current);
    }
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

// Kind of fault 53. The whole run, its look at the pointers included, stands inside the strictest
// capture.
TEST(CudaRun, InsideACapture) {
  Ones call(0);
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  void* stream = nullptr;
  expect_ok(mxgemm_stream_create(kCuda, 0, &stream));
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(cuda_stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  expect_ok(mxgemm_run(plan, &call.args, stream));
  ASSERT_EQ(cudaStreamEndCapture(cuda_stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_NE(call.result(), kExpected) << "captured, not run";
  for (int replay = 0; replay < 3; ++replay) {
    call.poison();
    ASSERT_EQ(cudaGraphLaunch(executable, cuda_stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(cuda_stream), cudaSuccess);
    EXPECT_EQ(call.result(), kExpected);
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  expect_ok(mxgemm_stream_destroy(kCuda, 0, stream));
  mxgemm_plan_destroy(plan);
}

// Kind of fault 52, from the other side.
TEST(CudaRun, AnErrorOfTheCallerIsNotOurs) {
  Ones call(0);
  void* memory = nullptr;
  ASSERT_NE(cudaMalloc(&memory, size_t{1} << 50), cudaSuccess);
  ASSERT_NE(cudaPeekAtLastError(), cudaSuccess) << "it lies in wait";
  expect_ok(call.run());
  EXPECT_EQ(call.result(), kExpected);
}

TEST(CudaRun, PinnedAndManagedMemory) {
  Ones call(0);
  void* pinned = nullptr;
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, GpuGemm::kRoom), cudaSuccess);
  std::memset(pinned, 0x22, GpuGemm::kRoom);
  call.args.a.data = pinned;
  // Not every device has managed memory; the emulator's have none.
  const cudaError_t made = cudaMallocManaged(&managed, GpuGemm::kRoom);
  if (made == cudaErrorNotSupported) {
    cudaGetLastError();
  } else {
    ASSERT_EQ(made, cudaSuccess);
    std::memset(managed, 0x22, GpuGemm::kRoom);
    call.args.b.data = managed;
  }
  expect_ok(call.run());
  EXPECT_EQ(call.result(), kExpected);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

TEST(CudaRun, OrdinaryHostMemory) {
  int reaches_host = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&reaches_host, cudaDevAttrPageableMemoryAccess, 0), cudaSuccess);
  Ones call(0);
  const std::vector<uint8_t> host(GpuGemm::kRoom, 0x22);
  call.args.a.data = host.data();
  if (reaches_host != 0) {
    expect_ok(call.run());
    EXPECT_EQ(call.result(), kExpected);
  } else {
    expect_invalid(call.run(), {"args.a.data is 0x", "in host memory", "cuda:0"});
  }
  expect_no_error_left();
}

TEST(CudaRun, MemoryOfAnotherDevice) {
  if (device_count() < 2) {
    GTEST_SKIP() << "one device; the stub tests do this with two";
  }
  Ones here(0);
  const Ones there(1);
  here.args.b.data = there.args.b.data;
  expect_invalid(here.run(), {"args.b.data is 0x", "in the memory of cuda:1", "that of cuda:0"});
  expect_no_error_left();
}

}  // namespace
}  // namespace mxgemm::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (mxgemm::test::device_count() == 0) {
    std::printf("no CUDA device here\n");
    return 77;
  }
  return RUN_ALL_TESTS();
}
