// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of the emulated runtime. Compiled to PTX of several architectures, without
// machine code.
#include <cassert>
#include <cstdio>

#include "kernels.hpp"

__constant__ float offset = 0.5f;
__device__ int table[4] = {1, 2, 3, 4};

__global__ void scale(float* data, int count, float factor) {
  const int index = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) {
    data[index] = data[index] * factor + offset;
  }
}

__global__ void number_threads(int* out) {
  const unsigned in_cta = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned cta = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned number = cta * blockDim.x * blockDim.y * blockDim.z + in_cta;
  out[number] = static_cast<int>(number);
}

__global__ void which_image(int* out) {
#if defined(__CUDA_ARCH_SPECIFIC__)
  out[0] = __CUDA_ARCH__ / 10 + 1000;
#elif defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
  out[0] = __CUDA_ARCH__ / 10 + 2000;
#elif defined(__CUDA_ARCH__)
  out[0] = __CUDA_ARCH__ / 10;
#endif
}

__global__ void reverse_in_shared(int* data) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void count_up(int* total) {
  atomicAdd(total, 1);
}

__global__ void cluster_ranks(int* out) {
#if __CUDA_ARCH__ >= 900
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  out[2 * blockIdx.x] = static_cast<int>(rank);
  out[2 * blockIdx.x + 1] = static_cast<int>(size);
#endif
}

__global__ void exchange_in_cluster(int* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ int mine;
  unsigned rank, address, other;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) {
    mine = 100 + static_cast<int>(rank);
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  address = static_cast<unsigned>(__cvta_generic_to_shared(&mine));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(address), "r"(rank ^ 1));
  int value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(other));
  out[blockIdx.x] = value;
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
}

__global__ void first_of_two(int* to) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  to[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
}

__global__ void second_of_two(const int* from, int* to) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  to[threadIdx.x] = from[threadIdx.x];
}

__global__ void write_beyond(int* data, int index) {
  data[index] = 1;
}

__global__ void write_misaligned(char* data) {
  *reinterpret_cast<int*>(data + 1) = 1;
}

__global__ void trap() {
  __trap();
}

__global__ void fail_assertion(int value) {
  assert(value == 0);
}

__global__ void wait_for_nobody(int* out) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  out[0] = 1;
}

__global__ void say(int value) {
  printf("the value is %d\n", value);
}

__global__ void read_table(int* out) {
  out[threadIdx.x] = table[threadIdx.x];
}

extern "C" {

cudaError_t launch_scale(float* data, int count, float factor, cudaStream_t stream) {
  scale<<<(count + 127) / 128, 128, 0, stream>>>(data, count, factor);
  return cudaGetLastError();
}

const void* offset_symbol(void) {
  return &offset;
}
const void* table_symbol(void) {
  return &table;
}
void* read_table_kernel(void) {
  return reinterpret_cast<void*>(read_table);
}

}  // extern "C"
