// SPDX-License-Identifier: Apache-2.0
// D = A * B^T on one device of capability 9.0, from host memory to host memory. A is M x K, B is
// N x K, both bf16 codes with rows of `k` elements, k a multiple of 8; D is M x N f32.
#pragma once

#include <cstdint>

extern "C" {
// The name of the CUDA error, or null.
const char* hopper_gemm(int m, int n, int k, const uint16_t* a, const uint16_t* b, float* d);
}
