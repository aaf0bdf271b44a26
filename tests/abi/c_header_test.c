/* SPDX-License-Identifier: Apache-2.0 */
/* mxgemm.h as the first and only include of a C99 program that multiplies. */
#include "mxgemm/mxgemm.h"

/* A second time changes nothing. */
#include "mxgemm/mxgemm.h"

#define M 2
#define N 3
#define K 32

static int fail(const char* what) {
  (void)what;
  return 1;
}

int main(void) {
  float a[M * K], d[M * N];
  uint8_t b[N * K / 2], b_scale[N];
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  mxgemm_operand operand = MXGEMM_OPERAND_INIT;
  mxgemm_device_info device = MXGEMM_DEVICE_INFO_INIT;
  mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
  mxgemm_quantize_desc quantize_desc = MXGEMM_QUANTIZE_DESC_INIT;
  mxgemm_quantize_args quantize_args = MXGEMM_QUANTIZE_ARGS_INIT;
  int i;

  for (i = 0; i < M * K; ++i) {
    a[i] = 1.0f;
  }
  for (i = 0; i < N * K / 2; ++i) {
    b[i] = 0x22;
  }
  for (i = 0; i < N; ++i) {
    b_scale[i] = 127;
  }
  if (operand.struct_size != sizeof operand || operand.global_scale != 1.0f || args.alpha != 1.0f ||
      args.beta != 0.0f || args.a.struct_size != sizeof args.a || args.b.global_scale != 1.0f ||
      quantize_desc.struct_size != sizeof quantize_desc ||
      quantize_args.struct_size != sizeof quantize_args || device.struct_size != sizeof device ||
      kernel.struct_size != sizeof kernel) {
    return fail("initialisers");
  }
  desc.m = M;
  desc.n = N;
  desc.k = K;
  desc.format_a = MXGEMM_F32;
  desc.format_b = MXGEMM_MXF4;
  desc.format_d = MXGEMM_F32;
  args.a.data = a;
  args.a.data_bytes = sizeof a;
  args.b.data = b;
  args.b.data_bytes = sizeof b;
  args.b.scale = b_scale;
  args.b.scale_bytes = sizeof b_scale;
  args.d = d;
  args.d_bytes = sizeof d;
  if (mxgemm_gemm(&desc, &args, NULL) != MXGEMM_OK) {
    return fail(mxgemm_last_error());
  }
  for (i = 0; i < M * N; ++i) {
    if (d[i] != (float)K) {
      return fail("product");
    }
  }
  return 0;
}
