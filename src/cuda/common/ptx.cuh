// SPDX-License-Identifier: Apache-2.0
// The instructions of compute capability 8.0 that C++ has no words for, one function each.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- Asynchronous copies, global to shared memory

// Copies the first `valid_bytes` of kBytes (4, 8, 16; both addresses aligned to it) and zeroes the
// rest. With valid_bytes 0 the source is not touched.
template <int kBytes>
__device__ __forceinline__ void copy_async(uint32_t destination, const void* source,
                                           int valid_bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination), "l"(source),
               "n"(kBytes), "r"(valid_bytes)
               : "memory");
}

// Copies all kBytes, or zeroes them where `exists` is false. Through L1, so that a row's next piece
// in the same sector comes from there; kStreamed (16 bytes only) past L1, for data that a CTA reads
// once.
template <int kBytes, bool kStreamed>
__device__ __forceinline__ void copy_async_whole(uint32_t destination, const void* source,
                                                 bool exists) {
  if constexpr (kStreamed && kBytes == 16) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.u32 p, %2, 0;\n"
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, p;\n}" ::"r"(destination),
        "l"(source), "r"(static_cast<uint32_t>(exists))
        : "memory");
  } else {
    asm volatile(
        "{\n.reg .pred p;\nsetp.eq.u32 p, %2, 0;\n"
        "cp.async.ca.shared.global [%0], [%1], %3, p;\n}" ::"r"(destination),
        "l"(source), "r"(static_cast<uint32_t>(exists)), "n"(kBytes)
        : "memory");
  }
}

// Brings the line of an address to L2.
__device__ __forceinline__ void prefetch_to_l2(const void* address) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

// To L1 as well.
__device__ __forceinline__ void prefetch_to_l1(const void* address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
}

__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most kPending of this thread's groups are under way.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// ---- Tensor cores

// d[16 x 8] += a[16 x 16] . b[16 x 8], bf16 in, fp32 sums. With g = lane / 4, t = lane % 4:
//   a: rows g and g + 8, k 2t, 2t+1 (a0, a1) and 2t+8, 2t+9 (a2, a3)    b: column g, the same k
//   d: row g, columns 2t, 2t+1 (d0, d1); row g + 8 (d2, d3)
__device__ __forceinline__ void multiply_add(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                             uint32_t a3, uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// ---- Arithmetic

// Two bf16 products, each rounded once, subnormals kept. (mul.bf16x2 needs 9.0; adding -0 keeps
// every product as it is, its sign of zero included.)
__device__ __forceinline__ uint32_t multiply_bf16x2(uint32_t a, uint32_t b) {
  uint32_t result;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(0x80008000u));
  return result;
}

// The smaller of two bf16, twice; NaN where one of them is NaN.
__device__ __forceinline__ uint32_t min_bf16x2(uint32_t a, uint32_t b) {
  uint32_t result;
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
  return result;
}

// Byte i of the result is the one of {b, a} (a the lower four) that nibble i of `selector`, 0…7,
// names. The upper half of `selector` does not count.
__device__ __forceinline__ uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

// ---- Numbers to and from 16 bits

__device__ __forceinline__ uint32_t bf16_bits(float value) {
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

__device__ __forceinline__ uint32_t f16_bits(float value) {
  return __half_as_ushort(__float2half_rn(value));
}

__device__ __forceinline__ float bf16_value(uint32_t bits) {
  return __uint_as_float(bits << 16);
}

__device__ __forceinline__ float f16_value(uint32_t bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
