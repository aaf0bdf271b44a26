// SPDX-License-Identifier: Apache-2.0
// What a CUTLASS instance and the rest of its library know of each other. Neither mxgemm.h nor the
// plug-in contract is included here: an instance compiles for more than a minute, and shall not be
// compiled again because they change.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "formats/activation.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

struct BlockScaledOperand {
  const void* data;
  int64_t ld;            // elements from row to row
  const uint8_t* scale;  // swizzled; the padding beside real columns is finite
};

struct BlockScaledProblem {
  int m;
  int n;
  int k;
  BlockScaledOperand a;
  BlockScaledOperand b;
  const void* c;  // nullptr = none, beta is 0 then
  int64_t ldc;
  void* d;
  int64_t ldd;
  const float* bias;  // one value per column; nullptr = none
  // The factors of alpha', multiplied in fp32 from left to right: each a value, or read on the
  // device where there is a pointer.
  float factor[3];
  const float* factor_pointer[3];
  float beta;
  internal::Activation activation;
  void* workspace;
  int device;
  int multiprocessors;
};

// How a launch went, `call` says of what.
struct LaunchResult {
  cudaError_t error = cudaSuccess;
  const char* refusal = nullptr;  // in CUTLASS's words, where it was not the launch that failed
  const char* call = "";
};

struct CutlassInstance {
  const char* name;
  internal::Format format_a;
  internal::Format format_b;
  internal::Format format_d;
  int tile_m;  // of D
  int tile_n;
  int tile_k;
  int alignment_k;       // elements: what K must be a multiple of
  int alignment_n;       // elements: of N, for rows of D
  int data_alignment_a;  // bytes: of pointers and row pitches
  int data_alignment_b;
  int data_alignment_d;  // and C
  bool uses_c;
  int shared_bytes;
  const void* (*function)();  // its stub
  uint64_t (*workspace_bytes)(int m, int n, int k);
  LaunchResult (*launch)(const BlockScaledProblem& problem, cudaStream_t stream);
};

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
