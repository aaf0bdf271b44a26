// SPDX-License-Identifier: Apache-2.0
// D = A * B^T in bf16 with wgmma: stands in for a GEMM library of capability 9.0, and uses what
// such libraries use. Runs on a GPU as well:
//
//   nvcc -std=c++20 -gencode arch=compute_90a,code=sm_90a -o gemm_hashes gemm.cu gemm_hashes.cpp
//
//   A  M x K            B  N x K            one cluster: two CTAs, one above the other
//   +------+            +------+            CTA r: rows 64 (2c + r)..., columns 64 j...
//   | 64   | CTA 0      | 64   |            each loads its A tile, and half of the common B tile,
//   +------+            +------+            which goes to both CTAs (multicast)
//   | 64   | CTA 1
//
// Warps 0-3 multiply (one warpgroup), warp 4 loads. A stage of the ring is "full" when 16 KiB have
// arrived, "empty" when the consumers of both CTAs have let go of it: the next B half from either
// CTA lands in both.
//
// Shared memory: 4 stages x (8 KiB A + 8 KiB B), rows of 128 bytes (64 elements), 128B swizzle.
// Any M and N; K a multiple of 8 (rows of 16 bytes for the tensor maps); what lies outside is zero.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "gemm.hpp"

namespace {

constexpr int kTileM = 64;
constexpr int kTileN = 64;
constexpr int kTileK = 64;  // 128 bytes: one row of the 128B swizzle
constexpr int kCtas = 2;
constexpr int kStages = 4;  // more than the two that can be in use at once, so that the ring wraps
constexpr int kTileBytes = kTileM * kTileK * 2;
constexpr int kHalfBytes = kTileBytes / kCtas;
constexpr int kConsumers = 128;
constexpr int kThreads = kConsumers + 32;
constexpr int kAlign = 1024;  // eight rows: the unit of the 128B swizzle
constexpr int kSharedBytes = kStages * 2 * kTileBytes + kAlign;
constexpr int kValues = kTileN / 2;  // of D in a thread

__device__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void init_barrier(uint32_t barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ void arrive_in(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

__device__ void expect_bytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

__device__ void load(uint32_t to, const CUtensorMap* map, int k, int row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
      "l"(map), "r"(k), "r"(row), "r"(barrier)
      : "memory");
}

__device__ void load_for_all(uint32_t to, const CUtensorMap* map, int k, int row,
                             uint32_t barrier) {
  const uint16_t ctas = (1 << kCtas) - 1;
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(map), "r"(k), "r"(row), "r"(barrier), "h"(ctas)
      : "memory");
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                   : "memory");
}

// Start address, 1024 bytes between groups of eight rows, 128B swizzle.
__device__ uint64_t descriptor(uint32_t address) {
  return (uint64_t{address} & 0x3FFFF) >> 4 | uint64_t{1} << 16 | uint64_t{kAlign / 16} << 32 |
         uint64_t{1} << 62;
}

// d += A * B^T for 16 of K.
__device__ void multiply(float (&d)[kValues], uint64_t a, uint64_t b) {
  asm volatile(
      "{\n.reg .pred yes;\nsetp.eq.u32 yes, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, yes, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b));
}

// Waits for all but the kPending most recent groups. `d` is named so that nothing reads it before.
template <int kPending>
__device__ void wait_for_products(float (&d)[kValues]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    asm volatile("" : "+f"(d[i])::"memory");
  }
}

struct Ring {
  uint32_t tiles;
  uint32_t full;   // kStages mbarriers
  uint32_t empty;  // the same

  __device__ uint32_t a(int stage) const { return tiles + stage * 2 * kTileBytes; }
  __device__ uint32_t b(int stage) const { return a(stage) + kTileBytes; }
};

__device__ void produce(const Ring& ring, const CUtensorMap* a, const CUtensorMap* b, int steps,
                        uint32_t rank) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    const uint32_t full = ring.full + 8 * stage;
    // The first round finds every stage empty: the phase before the first one counts as over.
    wait(ring.empty + 8 * stage, (step / kStages + 1) % 2);
    expect_bytes(full, 2 * kTileBytes);
    load(ring.a(stage), a, step * kTileK, blockIdx.x * kTileM, full);
    load_for_all(ring.b(stage) + rank * kHalfBytes, b, step * kTileK,
                 blockIdx.y * kTileN + rank * (kTileN / kCtas), full);
  }
}

__device__ void release(const Ring& ring, int stage) {
  if (threadIdx.x < kCtas) {
    arrive_in(ring.empty + 8 * stage, threadIdx.x);
  }
}

__device__ void consume(const Ring& ring, int steps, float (&d)[kValues]) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    wait(ring.full + 8 * stage, step / kStages % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    const uint64_t a = descriptor(ring.a(stage));
    const uint64_t b = descriptor(ring.b(stage));
#pragma unroll
    for (int k = 0; k < kTileK / 16; ++k) {
      multiply(d, a + 2 * k, b + 2 * k);  // 32 bytes along K
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    // The group before this one is complete: all warps are through with its stage.
    wait_for_products<1>(d);
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (step > 0) {
      release(ring, (step - 1) % kStages);
    }
  }
  wait_for_products<0>(d);
}

__device__ void store(float* out, int m, int n, const float (&d)[kValues]) {
  const int lane = threadIdx.x % 32;
  const int row0 = blockIdx.x * kTileM + threadIdx.x / 32 * 16 + lane / 4;
  const int column0 = blockIdx.y * kTileN + 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    const int row = row0 + 8 * (i % 4 / 2);
    const int column = column0 + 8 * (i / 4) + i % 2;
    if (row < m && column < n) {
      out[int64_t{row} * n + column] = d[i];
    }
  }
}

__global__ void __cluster_dims__(kCtas, 1, 1) __launch_bounds__(kThreads)
    hopper_gemm_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                       float* out, int m, int n, int k) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ uint8_t memory[];
  __shared__ uint64_t barriers[2 * kStages];
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  Ring ring;
  ring.tiles = (shared_address(memory) + kAlign - 1) / kAlign * kAlign;
  ring.full = shared_address(barriers);
  ring.empty = ring.full + 8 * kStages;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      init_barrier(ring.full + 8 * stage, 1);
      init_barrier(ring.empty + 8 * stage, kCtas);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  const int steps = (k + kTileK - 1) / kTileK;
  if (threadIdx.x == kConsumers) {
    produce(ring, &a, &b, steps, rank);
  } else if (threadIdx.x < kConsumers) {
    float d[kValues] = {};
    consume(ring, steps, d);
    store(out, m, n, d);
  }
  __syncwarp();
  cluster_sync();  // neither CTA's memory goes while the other may still signal in it
#endif
}

using EncodeTiled = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                 const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                 const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                 CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

cudaError_t encode(CUtensorMap* map, const void* data, int rows, int k, int box_rows) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
  if (error != cudaSuccess || function == nullptr) {
    return error != cudaSuccess ? error : cudaErrorNotSupported;
  }
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(k), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(k) * 2};
  const cuuint32_t box[] = {kTileK, static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result = reinterpret_cast<EncodeTiled>(function)(
      map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data), extents, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

// Device memory that goes with the scope.
struct DeviceBytes {
  void* data = nullptr;
  ~DeviceBytes() { cudaFree(data); }
  cudaError_t fill(const void* from, size_t bytes) {
    const cudaError_t error = cudaMalloc(&data, bytes);
    return error != cudaSuccess || from == nullptr
               ? error
               : cudaMemcpy(data, from, bytes, cudaMemcpyHostToDevice);
  }
};

cudaError_t run(int m, int n, int k, const uint16_t* host_a, const uint16_t* host_b,
                float* host_d) {
  DeviceBytes a;
  DeviceBytes b;
  DeviceBytes d;
  CUtensorMap map_a;
  CUtensorMap map_b;
  const size_t d_bytes = size_t(m) * n * sizeof(float);
  cudaError_t error = a.fill(host_a, size_t(m) * k * 2);
  error = error != cudaSuccess ? error : b.fill(host_b, size_t(n) * k * 2);
  error = error != cudaSuccess ? error : d.fill(nullptr, d_bytes);
  error = error != cudaSuccess ? error : encode(&map_a, a.data, m, k, kTileM);
  error = error != cudaSuccess ? error : encode(&map_b, b.data, n, k, kTileN / kCtas);
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(hopper_gemm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 kSharedBytes);
  }
  if (error == cudaSuccess) {
    const unsigned row_tiles = (m + kTileM - 1) / kTileM;
    const dim3 grid((row_tiles + kCtas - 1) / kCtas * kCtas, (n + kTileN - 1) / kTileN);
    hopper_gemm_kernel<<<grid, kThreads, kSharedBytes>>>(map_a, map_b, static_cast<float*>(d.data),
                                                         m, n, k);
    error = cudaGetLastError();
  }
  return error != cudaSuccess ? error : cudaMemcpy(host_d, d.data, d_bytes, cudaMemcpyDeviceToHost);
}

}  // namespace

const char* hopper_gemm(int m, int n, int k, const uint16_t* a, const uint16_t* b, float* d) {
  const cudaError_t error = run(m, n, k, a, b, d);
  return error == cudaSuccess ? nullptr : cudaGetErrorName(error);
}
