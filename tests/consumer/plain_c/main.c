/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies one row of 32 ones by one row of 32 ones, both MXFP4: 32. */
#include <mxgemm/mxgemm.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  unsigned char ones[16], scale = 127; /* code 2 is 1.0, E8M0 byte 127 is 2^0 */
  float d = 0;
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  memset(ones, 0x22, sizeof ones);
  desc.m = desc.n = 1;
  desc.k = 32;
  desc.format_a = desc.format_b = MXGEMM_MXF4;
  desc.format_d = MXGEMM_F32;
  args.a.data = args.b.data = ones;
  args.a.data_bytes = args.b.data_bytes = sizeof ones;
  args.a.scale = args.b.scale = &scale;
  args.a.scale_bytes = args.b.scale_bytes = 1;
  args.d = &d;
  args.d_bytes = sizeof d;
  if (mxgemm_gemm(&desc, &args, NULL) != MXGEMM_OK) {
    fprintf(stderr, "%s\n", mxgemm_last_error());
    return 1;
  }
  printf("%g\n", d);
  return d == 32.0f ? 0 : 1;
}
