// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Memory : public EmulatedTest {
 protected:
  static uint8_t* allocate(size_t bytes) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
    return static_cast<uint8_t*>(pointer);
  }
  static std::string last_report() { return emu_last_report(); }
};

TEST_F(Memory, IsAlignedPoisonedAndCounted) {
  size_t free_before = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_before, &total), cudaSuccess);
  uint8_t* const pointer = allocate(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pointer) % 256, 0u);
  std::vector<uint8_t> bytes(1000);
  ASSERT_EQ(cudaMemcpy(bytes.data(), pointer, 1000, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(bytes, std::vector<uint8_t>(1000, 0xD7));
  size_t free_after = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_after, &total), cudaSuccess);
  EXPECT_EQ(free_before - free_after, 1000u);
  EXPECT_EQ(counters().live_allocations, 1u);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(counters().live_allocations, 0u);
}

TEST_F(Memory, NothingIsNull) {
  void* pointer = &pointer;
  EXPECT_EQ(cudaMalloc(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaMalloc(nullptr, 4), cudaErrorInvalidValue);
}

TEST_F(Memory, RunsOut) {
  start("12.0:mem=1M");
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, (1 << 20) + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(pointer, nullptr);
  uint8_t* const half = allocate(1 << 19);
  EXPECT_EQ(cudaMalloc(&pointer, (1 << 19) + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(half), cudaSuccess);  // it is not sticky
  EXPECT_EQ(cudaFree(allocate(1 << 20)), cudaSuccess);
}

TEST_F(Memory, FreeWantsTheStartOfALivePiece) {
  uint8_t* const pointer = allocate(64);
  int local = 0;
  EXPECT_EQ(cudaFree(pointer + 8), cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("start of its allocation"), std::string::npos);
  EXPECT_EQ(cudaFree(&local), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("freed before"), std::string::npos);
}

TEST_F(Memory, CopiesStayInsideTheirAllocations) {
  uint8_t* const pointer = allocate(64);
  std::vector<uint8_t> host(128);
  EXPECT_EQ(cudaMemcpy(host.data(), pointer, 65, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("leaves its allocation of 64 bytes"), std::string::npos);
  EXPECT_EQ(cudaMemcpy(pointer + 60, host.data(), 5, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pointer + 100, host.data(), 5, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("in no allocation"), std::string::npos);
  EXPECT_EQ(cudaMemset(pointer, 0, 65), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, pointer, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(nullptr, pointer, 0, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(host.data(), pointer, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("was freed"), std::string::npos);
}

TEST_F(Memory, CopiesGoTheWayTheySay) {
  uint8_t* const pointer = allocate(64);
  std::vector<uint8_t> host(64);
  EXPECT_EQ(cudaMemcpy(host.data(), pointer, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pointer, host.data(), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pointer, host.data(), 4, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pointer, host.data(), 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(pointer, host.data(), 4, static_cast<cudaMemcpyKind>(5)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy(pointer, host.data(), 4, cudaMemcpyDefault), cudaSuccess);
  cudaFree(pointer);
}

TEST_F(Memory, RowsAreCopiedAndFilledWithPitches) {
  void* matrix = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&matrix, &pitch, 10, 3), cudaSuccess);
  EXPECT_EQ(pitch % 256, 0u);
  ASSERT_EQ(cudaMemset2D(matrix, pitch, 0x11, 10, 3), cudaSuccess);
  std::vector<uint8_t> rows = {1, 2, 3, 4, 5, 6};
  ASSERT_EQ(cudaMemcpy2D(matrix, pitch, rows.data(), 2, 2, 3, cudaMemcpyHostToDevice), cudaSuccess);
  std::vector<uint8_t> back(12);
  ASSERT_EQ(cudaMemcpy2D(back.data(), 4, matrix, pitch, 4, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back, (std::vector<uint8_t>{1, 2, 0x11, 0x11, 3, 4, 0x11, 0x11, 5, 6, 0x11, 0x11}));
  EXPECT_EQ(cudaMemcpy2D(back.data(), 3, matrix, pitch, 4, 3, cudaMemcpyDeviceToHost),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaMemcpy2D(matrix, pitch, back.data(), 4, 4, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  cudaFree(matrix);
}

TEST_F(Memory, PointersSayWhatTheyAre) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  uint8_t* const device = allocate(64);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  PinnedArray<int> pinned(4);
  int registered[4];
  ASSERT_EQ(cudaHostRegister(registered, sizeof(registered), 0), cudaSuccess);
  int plain = 0;
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, device + 63), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, device + 64), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned.data() + 1), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.devicePointer, pinned.data() + 1);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, registered + 2), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &plain), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostUnregister(registered), cudaSuccess);
  cudaFree(device);
}

TEST_F(Memory, HostMemoryIsRegisteredOnce) {
  int values[8];
  EXPECT_EQ(cudaHostRegister(values, sizeof(values), 0), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(values + 2, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  void* device = nullptr;
  EXPECT_EQ(cudaHostGetDevicePointer(&device, values + 1, 0), cudaSuccess);
  EXPECT_EQ(device, values + 1);
  EXPECT_EQ(cudaHostUnregister(values + 1), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostUnregister(values), cudaSuccess);
  EXPECT_EQ(cudaHostUnregister(values), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, values, 0), cudaErrorInvalidValue);
}

TEST_F(Memory, PeerCopiesCheckTheDevicesTheyName) {
  uint8_t* const first = allocate(4);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  uint8_t* const second = allocate(4);
  ASSERT_EQ(cudaMemset(second, 5, 4), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaMemcpyPeer(first, 1, second, 1, 4), cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("lies on device 0, the call says 1"), std::string::npos);
  EXPECT_EQ(cudaMemcpyPeer(first, 0, second, 1, 4), cudaSuccess);
  uint8_t back[4] = {};
  EXPECT_EQ(cudaMemcpy(back, first, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(back[3], 5);
  cudaFree(first);
  cudaFree(second);
}

TEST_F(Memory, AResetTakesWhatTheDeviceHolds) {
  uint8_t* const pointer = allocate(64);
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(counters().live_allocations, 0u);
  EXPECT_EQ(cudaFree(pointer), cudaErrorInvalidValue);
}

TEST_F(Memory, StreamOrderedMemoryIsFreedInStreamOrder) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  void* pointer = nullptr;
  ASSERT_EQ(cudaMallocAsync(&pointer, 16, stream), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(pointer, 9, 16, stream), cudaSuccess);
  uint8_t back[16] = {};
  ASSERT_EQ(cudaMemcpyAsync(back, pointer, 16, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(pointer, stream), cudaSuccess);
  EXPECT_EQ(counters().live_allocations, 1u);  // freeing waits for its turn
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(back[15], 9);
  EXPECT_EQ(counters().live_allocations, 0u);
  cudaStreamDestroy(stream);
}

TEST_F(Memory, PoolsKeepTheirSettings) {
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t current = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, pool);
  uint64_t threshold = UINT64_MAX;
  ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  threshold = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
            cudaSuccess);
  EXPECT_EQ(threshold, UINT64_MAX);
  int reuse = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &reuse), cudaSuccess);
  EXPECT_EQ(reuse, 1);
  void* pointer = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&pointer, 100, pool, nullptr), cudaSuccess);
  uint64_t used = 0;
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 100u);
  EXPECT_EQ(cudaFree(pointer), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaErrorInvalidValue);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 1};
  cudaMemPool_t own = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&own, &properties), cudaSuccess);
  EXPECT_EQ(cudaDeviceSetMemPool(0, own), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceSetMemPool(1, own), cudaSuccess);
  EXPECT_EQ(cudaMallocFromPoolAsync(&pointer, 100, own, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolDestroy(own), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(own), cudaErrorInvalidValue);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 1), cudaSuccess);
  EXPECT_NE(current, own);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 2), cudaErrorInvalidDevice);
}

using MemoryDeathTest = Memory;

TEST_F(MemoryDeathTest, HostCodeThatTouchesDeviceMemoryFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        void* pointer = nullptr;
        cudaMalloc(&pointer, 64);
        std::exit(*static_cast<volatile uint8_t*>(pointer) == 0 ? 0 : 1);
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(MemoryDeathTest, WithoutProtectionItReads) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        emu_set_option("EMU_PROTECT", "0");
        void* pointer = nullptr;
        cudaMalloc(&pointer, 64);
        std::exit(*static_cast<volatile uint8_t*>(pointer) == 0xD7 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace emu::tests
