/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core knows of a backend: the contract between it and every kernel, the CPU's included,
 * and between it and the libraries that it loads. Pure C, because C is all that crosses the border
 * of a library. Core and libraries ship together and must have the same version; this header may
 * therefore change freely, but for the first three fields of the two tables, by which that is found
 * out.
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
struct mxgemm_operand;
struct mxgemm_quantize_desc;
struct mxgemm_quantize_args;

/* Raised by every change of what stands below. */
#define MXGEMM_PLUGIN_ABI_VERSION 3u

/* Where a backend leaves its message; always zero-terminated. */
typedef struct mxgemm_message {
  char* text;
  size_t capacity;
} mxgemm_message;

/* ---- Kernels */

/* What the data pointer of a matrix and its row pitch in bytes must be multiples of; 0 or 1 = no
 * demand beyond the element's. */
typedef struct mxgemm_data_alignment {
  int32_t a;
  int32_t b;
  int32_t d; /* and C */
} mxgemm_data_alignment;

/* One GEMM kernel. Functions are noexcept and return an mxgemm_status; the core puts the kernel's
 * id before their messages. `desc` and `args` have been validated by the core (shapes, enums,
 * sizes, alignment to the element, aliasing), zero leading dimensions are filled in, and M, N > 0:
 * the core asks about an empty problem as if it had one row or column, and never runs it. */
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
  /* Only the arguments of a run tell, hence data for the core and no question of `accepts`: the
   * plan keeps a second kernel, one without such a demand, for runs whose arguments do not
   * qualify. */
  mxgemm_data_alignment data_alignment;
  uint32_t
      allowances; /* bits of mxgemm_kernel_info.allowances: by what rule its results are judged */
  uint32_t reserved;
  /* 1 if this kernel computes `desc`; else 0 and the reason in `why`. Formats, arch and device have
   * been checked. */
  int32_t (*accepts)(const struct mxgemm_gemm_desc* desc, mxgemm_message why);
  /* Rank among the kernels of one library (or of the CPU) that accept `desc`: the highest is
   * chosen, the first in the table among equals. A better library's kernels come first whatever
   * their rank. */
  int32_t (*rank)(const struct mxgemm_gemm_desc* desc);
  uint64_t (*workspace_size)(const struct mxgemm_gemm_desc* desc);
  /* Once per plan: whatever `run` must not do itself. */
  int32_t (*prepare)(const struct mxgemm_gemm_desc* desc, mxgemm_message error);
  int32_t (*run)(const struct mxgemm_gemm_desc* desc, const struct mxgemm_gemm_args* args,
                 void* stream, mxgemm_message error);
} mxgemm_kernel;

/* ---- Block-scaled data on a GPU: quantising, decoding, scale layouts */

/* Checked, leading dimensions filled in, rows, cols > 0. */
typedef struct mxgemm_dequantize_call {
  uint32_t struct_size;
  int32_t device_index;
  int32_t format;
  int32_t format_dst;
  int32_t scale_layout;
  int32_t global_scale_on_device; /* 1: read src->global_scale_ptr, 0: src->global_scale */
  int64_t rows;
  int64_t cols;
  const struct mxgemm_operand* src;
  void* dst;
  int64_t dst_ld; /* elements */
} mxgemm_dequantize_call;

/* One layout of rows x cols scales to the other. Checked, rows, cols > 0. */
typedef struct mxgemm_swizzle_call {
  uint32_t struct_size;
  int32_t device_index;
  int64_t rows;
  int64_t cols;
  const uint8_t* src;
  uint8_t* dst;
  int64_t ld; /* bytes from row to row of the row-major side */
} mxgemm_swizzle_call;

/* Any pointer may be NULL: the next library that serves the device is asked, and if none has it the
 * call is UNSUPPORTED. As in a kernel, nothing here allocates or synchronises but `prepare`. */
typedef struct mxgemm_data_functions {
  uint32_t struct_size;
  uint32_t reserved;
  /* Before the first of these calls on a device: loads what the others launch, so that they may
   * stand inside a capture. */
  int32_t (*prepare)(int32_t device_index, mxgemm_message error);
  /* Scale rule mse and stochastic rounding, which only the CPU has, do not come here. rows or cols
   * may be 0: then only a global scale is left to write, 1. */
  uint64_t (*quantize_workspace_size)(const struct mxgemm_quantize_desc* desc);
  int32_t (*quantize)(const struct mxgemm_quantize_desc* desc,
                      const struct mxgemm_quantize_args* args, void* stream, mxgemm_message error);
  int32_t (*dequantize)(const mxgemm_dequantize_call* call, void* stream, mxgemm_message error);
  int32_t (*swizzle)(const mxgemm_swizzle_call* call, void* stream, mxgemm_message error);
  int32_t (*unswizzle)(const mxgemm_swizzle_call* call, void* stream, mxgemm_message error);
} mxgemm_data_functions;

/* ---- The table of a GPU architecture's library */

/* What the core does for a library; lives as long as the process. */
typedef struct mxgemm_host_services {
  uint32_t struct_size;
  uint32_t reserved;
  /* `level`: 0 error, 1 warning, 2 information, 3 debug. Never from `run`, nor from `init`, where
   * the core holds a lock that whoever receives the line might want. */
  void (*log)(int32_t level, const char* message);
} mxgemm_host_services;

/* Capabilities first…last, each 10 * major + minor. */
typedef struct mxgemm_capability_range {
  int32_t first;
  int32_t last;
} mxgemm_capability_range;

/* Returned by mxgemm_plugin, the only exported function of libmxgemm_sm*.so. */
typedef struct mxgemm_plugin_table {
  uint32_t abi_version; /* MXGEMM_PLUGIN_ABI_VERSION */
  uint32_t struct_size;
  const char* version;                         /* must equal the core's mxgemm_version() */
  const char* arch;                            /* "sm120f", as in the file's name */
  const char* build_info;                      /* compiler, CUTLASS, flags: for people */
  const mxgemm_capability_range* capabilities; /* devices that it accepts: the authority */
  int32_t num_capabilities;
  int32_t num_kernels;
  const mxgemm_kernel* const* kernels; /* best first */
  const mxgemm_data_functions* data;   /* NULL = none */
  /* Called once, before anything else of the table; may be NULL. */
  void (*init)(const mxgemm_host_services* services);
} mxgemm_plugin_table;

#define MXGEMM_PLUGIN_SYMBOL "mxgemm_plugin"
typedef const mxgemm_plugin_table* (*mxgemm_plugin_function)(void);

/* ---- The table of libmxgemm_cuda.so: devices, memory, streams, events */

typedef struct mxgemm_cuda_device {
  uint32_t struct_size;
  int32_t capability; /* 10 * major + minor */
  int32_t multiprocessors;
  int32_t pageable_memory_access; /* 1: kernels may read and write ordinary host memory */
  uint64_t memory_bytes;
  uint64_t shared_memory_bytes; /* most that one CTA may ask for */
  uint64_t l2_bytes;
  char name[128];
} mxgemm_cuda_device;

typedef enum mxgemm_cuda_memory {
  MXGEMM_CUDA_MEMORY_PAGEABLE = 0, /* host memory that CUDA knows nothing of */
  MXGEMM_CUDA_MEMORY_PINNED = 1,
  MXGEMM_CUDA_MEMORY_DEVICE = 2,
  MXGEMM_CUDA_MEMORY_MANAGED = 3
} mxgemm_cuda_memory;

typedef struct mxgemm_cuda_pointer {
  const void* pointer;
  int32_t memory; /* out: mxgemm_cuda_memory */
  int32_t device; /* out: whose memory it is, for MXGEMM_CUDA_MEMORY_DEVICE */
} mxgemm_cuda_pointer;

/* Returned by mxgemm_cuda_runtime, the only exported function of libmxgemm_cuda.so. Functions are
 * noexcept, return an mxgemm_status and leave the current device as it was; messages keep the name
 * of the CUDA error and of the failing call. After a failure the thread's last CUDA error is
 * cleared, so that the next call does not report it again. */
typedef struct mxgemm_cuda_runtime_table {
  uint32_t abi_version; /* MXGEMM_PLUGIN_ABI_VERSION */
  uint32_t struct_size;
  const char* version;    /* must equal the core's mxgemm_version() */
  const char* build_info; /* for people */
  /* DEVICE_UNAVAILABLE where there is no driver or no device. Makes no context. */
  int32_t (*device_count)(int32_t* count, mxgemm_message error);
  int32_t (*device_info)(int32_t device, mxgemm_cuda_device* info, mxgemm_message error);
  int32_t (*alloc)(int32_t device, uint64_t bytes, void** pointer, mxgemm_message error);
  int32_t (*free)(int32_t device, void* pointer, mxgemm_message error);
  /* A device of -1 is the host. Ordered on `stream`, complete on return. */
  int32_t (*copy)(int32_t dst_device, void* dst, int32_t src_device, const void* src,
                  uint64_t bytes, void* stream, mxgemm_message error);
  int32_t (*synchronize)(int32_t device, mxgemm_message error);
  int32_t (*stream_create)(int32_t device, void** stream, mxgemm_message error);
  int32_t (*stream_destroy)(int32_t device, void* stream, mxgemm_message error);
  int32_t (*event_create)(int32_t device, void** event, mxgemm_message error);
  int32_t (*event_record)(int32_t device, void* event, void* stream, mxgemm_message error);
  /* Waits for `end`. */
  int32_t (*event_elapsed)(int32_t device, void* start, void* end, float* milliseconds,
                           mxgemm_message error);
  int32_t (*event_destroy)(int32_t device, void* event, mxgemm_message error);
  /* Where each pointer points. Neither allocates nor synchronises, and may stand inside a capture;
   * asked before every run. */
  int32_t (*query_pointers)(int32_t device, mxgemm_cuda_pointer* pointers, int32_t count,
                            mxgemm_message error);
  /* Forgets a failure that an earlier call on this thread has left behind, whoever made it: a
   * launch is checked by the thread's last error and must not be blamed for it. */
  void (*clear_error)(void);
} mxgemm_cuda_runtime_table;

#define MXGEMM_CUDA_RUNTIME_SYMBOL "mxgemm_cuda_runtime"

#ifdef __cplusplus
}
#endif

#endif
