/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core knows of a kernel: the contract between it and every backend, the CPU's table
 * included. Pure C, so that a backend may live in a library of its own. Core and backends ship
 * together and must have the same version; this header may therefore change freely.
 */
#ifndef MXGEMM_PLUGIN_ABI_H
#define MXGEMM_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mxgemm_gemm_desc; /* mxgemm.h */
struct mxgemm_gemm_args;

/* Where a backend leaves its message; always zero-terminated. */
typedef struct mxgemm_message {
  char* text;
  size_t capacity;
} mxgemm_message;

/* One GEMM kernel. Functions are noexcept and return an mxgemm_status. `desc` and `args` have been
 * validated by the core (shapes, enums, sizes, alignment to the element, aliasing), zero leading
 * dimensions are filled in, and M, N > 0: the core asks about an empty problem as if it had one row
 * or column, and never runs it. */
typedef struct mxgemm_kernel {
  uint32_t struct_size;
  int32_t isa;        /* lowest mxgemm_isa it needs; 0 on GPUs */
  const char* arch;   /* "scalar", "avx2", "avx512", "sm120f", … */
  const char* name;   /* by the grammar of docs/kernel-names.md */
  uint64_t formats_a; /* bit f set: format value f accepted */
  uint64_t formats_b;
  uint64_t formats_d;
  int32_t tile_m;
  int32_t tile_n;
  int32_t tile_k;
  int32_t reserved;
  /* 1 if this kernel computes `desc`; else 0 and the reason in `why`. Formats, arch and device have
   * been checked. */
  int32_t (*accepts)(const struct mxgemm_gemm_desc* desc, mxgemm_message why);
  /* Rank among kernels that accept `desc`: the highest is chosen, the first in the table among
   * equals. */
  int32_t (*rank)(const struct mxgemm_gemm_desc* desc);
  uint64_t (*workspace_size)(const struct mxgemm_gemm_desc* desc);
  /* Once per plan: whatever `run` must not do itself. */
  int32_t (*prepare)(const struct mxgemm_gemm_desc* desc, mxgemm_message error);
  int32_t (*run)(const struct mxgemm_gemm_desc* desc, const struct mxgemm_gemm_args* args,
                 void* stream, mxgemm_message error);
} mxgemm_kernel;

#ifdef __cplusplus
}
#endif

#endif
