/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core knows of a kernel: the contract between it and every backend, the CPU's table included. Pure C, so that a
 * backend may live in a library of its own. Core and backends ship together and must have the same version; this header
 * may therefore change freely.
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

/* One GEMM kernel. Functions are noexcept and return an mxgemm_status; `desc` and `args` have been validated by the core
 * (shapes, enums, sizes, alignment to the element, aliasing), their zero leading dimensions filled in, M, N > 0. */
typedef struct mxgemm_kernel {
  uint32_t struct_size;
  int32_t isa;       /* lowest mxgemm_isa it needs; 0 on GPUs */
  const char* arch;  /* "scalar", "avx2", "avx512", "sm120f", … */
  const char* name;  /* by the grammar of docs/kernel-names.md */
  uint64_t formats_a; /* bit f set: format value f accepted */
  uint64_t formats_b;
  uint64_t formats_d;
  int32_t tile_m;
  int32_t tile_n;
  int32_t tile_k;
  /* Data pointers of A, B, C, D and their row pitches in bytes must be multiples of this; 1 = no demand beyond the
   * element's. Only the arguments of a run tell, hence data for the core and no question of `accepts`: the plan keeps a
   * second kernel for runs whose arguments do not qualify. */
  int32_t data_alignment;
  /* 1 if this kernel computes `desc`; else 0 and the reason in `why`. Formats, arch and device have been checked. */
  int32_t (*accepts)(const struct mxgemm_gemm_desc* desc, mxgemm_message why);
  /* Rank among kernels that accept `desc`: the highest is chosen, the first in the table among equals. */
  int32_t (*rank)(const struct mxgemm_gemm_desc* desc);
  uint64_t (*workspace_size)(const struct mxgemm_gemm_desc* desc);
  /* Once per plan: whatever `run` must not do itself. */
  int32_t (*prepare)(const struct mxgemm_gemm_desc* desc, mxgemm_message error);
  int32_t (*run)(const struct mxgemm_gemm_desc* desc, const struct mxgemm_gemm_args* args, void* stream,
                 mxgemm_message error);
} mxgemm_kernel;

/* Capabilities first…last, each 10 * major + minor. */
typedef struct mxgemm_capability_range {
  int32_t first;
  int32_t last;
} mxgemm_capability_range;

/* What a GPU library offers; returned by its only exported function, mxgemm_plugin. */
typedef struct mxgemm_plugin_table {
  uint32_t abi_version; /* MXGEMM_PLUGIN_ABI_VERSION */
  uint32_t struct_size;
  const char* version;    /* must equal the core's mxgemm_version() */
  const char* arch;       /* "sm120f" */
  const char* build_info; /* compiler, CUTLASS, flags: for people */
  const mxgemm_capability_range* capabilities; /* devices that it accepts: the authority */
  int32_t num_capabilities;
  int32_t num_kernels;
  const mxgemm_kernel* const* kernels; /* best first */
} mxgemm_plugin_table;

#define MXGEMM_PLUGIN_ABI_VERSION 1u
#define MXGEMM_PLUGIN_SYMBOL "mxgemm_plugin"
typedef const mxgemm_plugin_table* (*mxgemm_plugin_function)(void);

#ifdef __cplusplus
}
#endif

#endif
