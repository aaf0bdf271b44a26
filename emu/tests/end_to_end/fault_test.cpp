// SPDX-License-Identifier: Apache-2.0
// Failing allocations, launches, copies and devices through the C ABI: an error that keeps CUDA's
// name, nothing that leaks, and another device that goes on. Runs with EMU_DEVICES=8.6*6: a device
// that has failed for good is not used again.
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/expect_status.hpp"
#include "end_to_end/device_gemm.hpp"

namespace mxgemm::test {
namespace {

// Devices that tests give up, one each.
constexpr int kHealthy = 0;
constexpr int kLaunchFails = 1;
constexpr int kCopyFails = 2;
constexpr int kKernelFaults = 3;
constexpr int kLost = 4;
constexpr int kQuantizerFails = 5;

class Faults : public testing::Test {
 protected:
  void TearDown() override {
    ASSERT_EQ(emu_set_option("EMU_FAULT", ""), 0);
    expect_healthy();
  }
  static void inject(const std::string& fault) {
    ASSERT_EQ(emu_set_option("EMU_FAULT", fault.c_str()), 0) << emu_last_report();
  }
  static std::string at(const char* fault, int device) {
    return std::string(fault) + "@" + std::to_string(device);
  }
  // A device that nobody has broken works as before.
  static void expect_healthy() {
    const DeviceGemm gemm(gpu(kHealthy), a(), b());
    ASSERT_EQ(gemm.run(), MXGEMM_OK) << mxgemm_last_error();
    EXPECT_EQ(gemm.result(), cpu_result(a(), b()));
  }
  static const Operand& a() {
    static const Operand operand = exact_operand(Format::kMxf4, 24, 128, 1);
    return operand;
  }
  static const Operand& b() {
    static const Operand operand = exact_operand(Format::kMxf4, 40, 128, 2);
    return operand;
  }
};

// Exit status of a child after fork: 0 where the GPU is refused in words and the CPU works on.
int run_child(const DeviceGemm& gemm, const Operand& a, const Operand& b) {
  constexpr unsigned kSecondsForAChild = 20;
  alarm(kSecondsForAChild);
  const auto refused = [](mxgemm_status status) {
    return status == MXGEMM_CUDA_ERROR &&
           std::string(mxgemm_last_error()).find("initialization error") != std::string::npos;
  };
  void* memory = nullptr;
  if (!refused(gemm.run()) || !refused(mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, 0, 16, &memory)) ||
      !refused(mxgemm_device_synchronize(MXGEMM_DEVICE_CUDA, 0))) {
    std::fprintf(stderr, "in the child: %s\n", mxgemm_last_error());
    return 1;
  }
  return cpu_result(a, b).empty() ? 2 : 0;
}

TEST_F(Faults, AChildAfterForkIsRefusedAndTheParentGoesOn) {
  const DeviceGemm gemm(gpu(kHealthy), a(), b());
  ASSERT_EQ(gemm.run(), MXGEMM_OK) << mxgemm_last_error();
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    _exit(run_child(gemm, a(), b()));
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(gemm.result(), cpu_result(a(), b()));
}

TEST_F(Faults, AnAllocationThatFailsIsOutOfMemory) {
  const uint64_t before = emulator_counters().live_allocations;
  inject("malloc:2");
  void* pointers[3] = {};
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kHealthy, 64, &pointers[0]));
  expect_status(MXGEMM_OUT_OF_MEMORY,
                mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kHealthy, 64, &pointers[1]),
                {"cudaMalloc", "cudaErrorMemoryAllocation"});
  EXPECT_EQ(pointers[1], nullptr);
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kHealthy, 64, &pointers[2]));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "nothing of ours is left";
  for (void* pointer : {pointers[0], pointers[2]}) {
    expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CUDA, kHealthy, pointer));
  }
  EXPECT_EQ(emulator_counters().live_allocations, before);
}

// Every allocation of a whole call, one after another.
TEST_F(Faults, AGemmWhoseNthAllocationFailsLeaksNothing) {
  const auto call = [] {
    const mxgemm_gemm_desc desc = describe(a(), b(), gpu(kHealthy));
    mxgemm_plan* plan = nullptr;
    mxgemm_status status = mxgemm_plan_create(&desc, nullptr, &plan);
    void* memory = nullptr;
    if (status == MXGEMM_OK) {
      status = mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kHealthy, 4096, &memory);
    }
    if (memory != nullptr) {
      expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CUDA, kHealthy, memory));
    }
    mxgemm_plan_destroy(plan);
    return status;
  };
  const uint64_t before = emulator_counters().live_allocations;
  mxgemm_status status = MXGEMM_OUT_OF_MEMORY;
  int failed = 0;
  for (int nth = 1; status != MXGEMM_OK; ++nth) {
    ASSERT_LT(nth, 20);
    inject("malloc:" + std::to_string(nth));
    status = call();
    failed += status == MXGEMM_OUT_OF_MEMORY;
    EXPECT_EQ(emulator_counters().live_allocations, before) << nth;
  }
  EXPECT_GE(failed, 1);
}

TEST_F(Faults, ALaunchThatFailsOnceNamesKernelAndError) {
  const DeviceGemm gemm(gpu(kHealthy), a(), b());
  const uint64_t before = emulator_counters().live_allocations;
  const std::string kernel = gemm.kernel();
  inject("launch-once:1");
  expect_status(MXGEMM_CUDA_ERROR, gemm.run(), {kernel.c_str(), "cudaErrorLaunchOutOfResources"});
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "nothing of ours is left";
  EXPECT_EQ(emulator_counters().live_allocations, before);
  EXPECT_EQ(emulator_counters().pending, 0u);
  ASSERT_EQ(gemm.run(), MXGEMM_OK) << mxgemm_last_error();
  EXPECT_EQ(gemm.result(), cpu_result(a(), b()));
}

// A split GEMM launches twice; either may fail.
TEST_F(Faults, EveryLaunchOfASplitGemmMayFail) {
  const Operand wide_a = exact_operand(Format::kMxf4, 8, 512, 3);
  const Operand wide_b = exact_operand(Format::kMxf4, 72, 512, 4);
  const DeviceGemm gemm(gpu(kHealthy), wide_a, wide_b);
  const std::string kernel = gemm.kernel();
  mxgemm_status status = MXGEMM_CUDA_ERROR;
  int failed = 0;
  for (int nth = 1; status != MXGEMM_OK; ++nth) {
    ASSERT_LT(nth, 10);
    inject("launch-once:" + std::to_string(nth));
    status = gemm.run();
    if (status != MXGEMM_OK) {
      ++failed;
      expect_status(MXGEMM_CUDA_ERROR, status, {kernel.c_str(), "cudaErrorLaunchOutOfResources"});
    }
  }
  EXPECT_GE(failed, 1);
  EXPECT_EQ(gemm.result(), cpu_result(wide_a, wide_b));
}

TEST_F(Faults, ALaunchThatFailsForGoodTakesItsDeviceAlone) {
  inject(at("launch:1", kLaunchFails));
  auto* const gemm = new DeviceGemm(gpu(kLaunchFails), a(), b());  // its device cannot free it
  expect_status(MXGEMM_CUDA_ERROR, gemm->run(), {gemm->kernel().c_str(), "cudaErrorLaunchFailure"});
  expect_status(MXGEMM_CUDA_ERROR, gemm->run(), {"cudaErrorLaunchFailure"});
  expect_status(MXGEMM_CUDA_ERROR, gemm->synchronize(), {"cudaErrorLaunchFailure"});
  void* pointer = nullptr;
  expect_status(MXGEMM_CUDA_ERROR,
                mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kLaunchFails, 64, &pointer),
                {"cudaErrorLaunchFailure"});
}

TEST_F(Faults, ACopyThatFailsTakesItsDeviceAlone) {
  void* pointer = nullptr;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kCopyFails, 64, &pointer));
  inject(at("memcpy:1", kCopyFails));
  const std::vector<uint8_t> bytes(64, 1);
  expect_status(MXGEMM_CUDA_ERROR,
                mxgemm_device_copy(MXGEMM_DEVICE_CUDA, kCopyFails, pointer, MXGEMM_DEVICE_CPU, 0,
                                   bytes.data(), bytes.size(), nullptr),
                {"cudaErrorLaunchFailure"});
  expect_status(MXGEMM_CUDA_ERROR, mxgemm_device_free(MXGEMM_DEVICE_CUDA, kCopyFails, pointer),
                {"cudaErrorLaunchFailure"});
}

// An error inside of a kernel comes out at the next wait and stays.
TEST_F(Faults, AStickyErrorIsReportedByEveryLaterCall) {
  auto* const gemm = new DeviceGemm(gpu(kKernelFaults), a(), b());  // its device cannot free it
  // The operand's memory is gone before the kernel reads it.
  void* gone = nullptr;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kKernelFaults, 1 << 16, &gone));
  ASSERT_EQ(cudaSetDevice(kKernelFaults), cudaSuccess);
  gemm->args.a.data = gone;
  ASSERT_EQ(gemm->run(), MXGEMM_OK) << mxgemm_last_error();
  cudaStream_t other;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(gone, other), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  expect_status(MXGEMM_CUDA_ERROR, gemm->synchronize(), {"cudaErrorIllegalAddress"});
  expect_status(MXGEMM_CUDA_ERROR, gemm->run(), {"cudaErrorIllegalAddress"});
  void* pointer = nullptr;
  expect_status(MXGEMM_CUDA_ERROR,
                mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kKernelFaults, 64, &pointer),
                {"cudaErrorIllegalAddress"});
  EXPECT_EQ(cudaSetDevice(kHealthy), cudaSuccess);
}

TEST_F(Faults, ALostDeviceIsReportedAndTheOthersGoOn) {
  inject(at("lost", kLost));
  int32_t count = 0;
  expect_ok(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count));
  EXPECT_EQ(count, 6);
  void* pointer = nullptr;
  expect_status(MXGEMM_CUDA_ERROR, mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, kLost, 64, &pointer),
                {"cudaErrorDevicesUnavailable"});
  const mxgemm_gemm_desc desc = describe(a(), b(), gpu(kLost));
  mxgemm_plan* plan = nullptr;
  const mxgemm_status status = mxgemm_plan_create(&desc, nullptr, &plan);
  EXPECT_NE(status, MXGEMM_OK);
  EXPECT_NE(std::string(mxgemm_last_error()).find("cudaErrorDevicesUnavailable"), std::string::npos)
      << mxgemm_last_error();
  expect_healthy();
}

TEST_F(Faults, AQuantizerThatFailsSaysSo) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = MXGEMM_F32;
  desc.format = MXGEMM_MXF4;
  desc.device_kind = MXGEMM_DEVICE_CUDA;
  desc.device_index = kQuantizerFails;
  desc.scale_rule = MXGEMM_SCALE_RULE_FLOOR;
  desc.rows = 8;
  desc.cols = 64;
  const DeviceBuffer source(gpu(kQuantizerFails), 8 * 64 * 4);
  const DeviceBuffer data(gpu(kQuantizerFails), 8 * 32);
  const DeviceBuffer scale(gpu(kQuantizerFails), 8 * 2);
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = source.data();
  args.src_bytes = source.bytes();
  args.qdata = data.data();
  args.qdata_bytes = data.bytes();
  args.scale = scale.data();
  args.scale_bytes = scale.bytes();
  expect_ok(mxgemm_quantize(&desc, &args, nullptr));
  inject(at("launch-once:1", kQuantizerFails));
  expect_status(MXGEMM_CUDA_ERROR, mxgemm_quantize(&desc, &args, nullptr),
                {"cudaErrorLaunchOutOfResources"});
  expect_ok(mxgemm_quantize(&desc, &args, nullptr));
  expect_ok(mxgemm_device_synchronize(MXGEMM_DEVICE_CUDA, kQuantizerFails));
}

}  // namespace
}  // namespace mxgemm::test
