// SPDX-License-Identifier: Apache-2.0
// Kernels of kernels.cu as the host sees them: functions whose addresses name the kernels.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#ifdef __CUDACC__
#define EMU_TEST_KERNEL __global__
#else
#define EMU_TEST_KERNEL
#endif

// data[i] = data[i] * factor + offset_constant, i < count.
EMU_TEST_KERNEL void scale(float* data, int count, float factor);
// Each thread writes its number in the grid.
EMU_TEST_KERNEL void number_threads(int* out);
// out[0] = architecture of the image that runs (10 x major + minor), 1000 more for an exact one.
EMU_TEST_KERNEL void which_image(int* out);
// Reverses 256 ints of dynamic shared memory.
EMU_TEST_KERNEL void reverse_in_shared(int* data);
// Adds 1 to `total` from every thread.
EMU_TEST_KERNEL void count_up(int* total);
// Rank and size of each CTA's cluster.
EMU_TEST_KERNEL void cluster_ranks(int* out);
// Reads the other CTA's shared memory.
EMU_TEST_KERNEL void exchange_in_cluster(int* out);
// Waits for the grid before this one and then copies what that wrote.
EMU_TEST_KERNEL void second_of_two(const int* from, int* to);
EMU_TEST_KERNEL void first_of_two(int* to);

// Faults.
EMU_TEST_KERNEL void write_beyond(int* data, int index);
EMU_TEST_KERNEL void write_misaligned(char* data);
EMU_TEST_KERNEL void trap();
EMU_TEST_KERNEL void fail_assertion(int value);
EMU_TEST_KERNEL void wait_for_nobody(int* out);
EMU_TEST_KERNEL void say(int value);

extern "C" {
// Through the <<<>>> syntax, the stub and __cudaLaunchKernel.
cudaError_t launch_scale(float* data, int count, float factor, cudaStream_t stream);
// The host's address of the constant `offset`, and of a module variable of four ints.
const void* offset_symbol(void);
const void* table_symbol(void);
// out[0..3] = the table.
void* read_table_kernel(void);
}
