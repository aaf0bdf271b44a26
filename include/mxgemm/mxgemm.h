/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mxgemm: matrix multiplication in 4- and 8-bit block-scaled formats. The C ABI.
 *
 *   D = act(alpha * gA * gB * (A . B^T) + bias + beta * C)
 *
 * A is M x K, B is stored N x K, C and D are M x N, all row-major; rows may be strided (`ld`, in
 * elements). A block-scaled operand carries one scale byte per block of K (32 elements in MX
 * formats, 16 in NVFP4). What every number must be: docs/formats.md. A tour: docs/c-api.md.
 *
 * What holds for every function and struct:
 *
 * - Every function returns a status; nothing throws. After a failure mxgemm_last_error() gives a
 *   message that names the argument, its value and what is allowed.
 * - Every struct starts with `struct_size`, which the caller sets to sizeof: use the *_INIT macros.
 *   Any other value is MXGEMM_INVALID_ARGUMENT. Enum-typed fields are int32_t, so that the layout
 *   does not depend on the compiler.
 * - Sizes in bytes are uint64_t, element counts and leading dimensions int64_t.
 * - Text results go to (buffer, capacity); *needed receives the length with its terminating zero
 *   (needed may be NULL). A buffer that is too small receives a truncated, zero-terminated text,
 *   and the call still succeeds; buffer may be NULL if capacity is 0.
 * - Every function may be called from any thread. Plans are immutable and may be shared.
 * - `stream` is a cudaStream_t / CUstream as an opaque pointer (NULL = the default stream). It must
 *   be NULL on the CPU, where every call completes before it returns.
 * - What a call writes may not overlap anything else that it is given.
 */
#ifndef MXGEMM_MXGEMM_H
#define MXGEMM_MXGEMM_H

#include <stddef.h>
#include <stdint.h>

#include "mxgemm/version.h"

#if defined(MXGEMM_STATIC)
#define MXGEMM_API
#elif defined(__GNUC__)
#define MXGEMM_API __attribute__((visibility("default")))
#else
#define MXGEMM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised by every incompatible change of this header. */
#define MXGEMM_ABI_VERSION 1

typedef enum mxgemm_status {
  MXGEMM_OK = 0,
  MXGEMM_INVALID_ARGUMENT = 1,   /* the message names argument, value and what is allowed */
  MXGEMM_UNSUPPORTED = 2,        /* valid, but no kernel accepts it here; every reason is listed */
  MXGEMM_DEVICE_UNAVAILABLE = 3, /* no such device, or it cannot be used on this machine */
  MXGEMM_OUT_OF_MEMORY = 4,
  MXGEMM_WORKSPACE_TOO_SMALL = 5,
  MXGEMM_CUDA_ERROR = 6,
  MXGEMM_PLUGIN_ERROR = 7,
  MXGEMM_IO_ERROR = 8,
  MXGEMM_INTERNAL = 9
} mxgemm_status;

/* Number formats of operands and outputs; docs/formats.md defines them. */
typedef enum mxgemm_format {
  MXGEMM_FORMAT_NONE = 0,
  /* 4-bit elements lie two to a byte, the one with the even k in the low nibble. */
  MXGEMM_MXF4 = 1, /* E2M1 elements, blocks of 32, E8M0 scales */
  MXGEMM_NVF4 = 2, /* E2M1 elements, blocks of 16, E4M3 scales, fp32 global scale (multiplier) */
  MXGEMM_MXF8E4M3 = 3, /* E4M3 elements, blocks of 32, E8M0 scales */
  MXGEMM_MXF8E5M2 = 4, /* E5M2 elements, blocks of 32, E8M0 scales */
  /* 5 to 15 are reserved for block-scaled formats to come. */
  MXGEMM_BF16 = 16,
  MXGEMM_F16 = 17,
  MXGEMM_F32 = 18
} mxgemm_format;

typedef enum mxgemm_scale_layout {
  MXGEMM_SCALE_ROW_MAJOR = 0,     /* rows x (K / block) bytes, row stride scale_ld */
  MXGEMM_SCALE_SWIZZLE_32_4_4 = 1 /* 128 x 4 tiles of 512 bytes; docs/scale-layout.md */
} mxgemm_scale_layout;

typedef enum mxgemm_activation {
  MXGEMM_ACT_NONE = 0,
  MXGEMM_ACT_RELU = 1,
  MXGEMM_ACT_GELU = 2,      /* x * Phi(x), the erf form */
  MXGEMM_ACT_GELU_TANH = 3, /* its tanh approximation */
  MXGEMM_ACT_SILU = 4       /* x / (1 + exp(-x)) */
} mxgemm_activation;

typedef enum mxgemm_device_kind {
  MXGEMM_DEVICE_CPU = 0,
  MXGEMM_DEVICE_CUDA = 1
} mxgemm_device_kind;

/* Levels of the CPU backend, each including those before it. */
typedef enum mxgemm_isa {
  MXGEMM_ISA_SCALAR = 0,
  MXGEMM_ISA_AVX2 = 1,   /* AVX2 + FMA + F16C */
  MXGEMM_ISA_AVX512 = 2, /* AVX-512 F, BW, DQ, VL, VNNI, VBMI */
  MXGEMM_ISA_AMX = 3     /* AMX tiles, BF16 and INT8 */
} mxgemm_isa;

/* ---- Library --------------------------------------------------------------------------------- */

/* "0.1.0". */
MXGEMM_API const char* mxgemm_version(void);
/* MXGEMM_ABI_VERSION of the loaded library. */
MXGEMM_API uint32_t mxgemm_abi_version(void);
/* "INVALID_ARGUMENT" for MXGEMM_INVALID_ARGUMENT, …; "UNKNOWN_STATUS" for other values. */
MXGEMM_API const char* mxgemm_status_string(mxgemm_status status);
/* Message of the last failed call on this thread ("" after a success); valid until the next call on
 * this thread. */
MXGEMM_API const char* mxgemm_last_error(void);

/* `level`: 0 error, 1 warning, 2 information, 3 debug. `message` lives only during the call. */
typedef void (*mxgemm_log_fn)(void* context, int32_t level, const char* message);
/* Installs the receiver of log lines; NULL restores the default (stderr, by MXGEMM_VERBOSE). */
MXGEMM_API mxgemm_status mxgemm_set_log_callback(mxgemm_log_fn callback, void* context);

/* ---- Devices and kernels --------------------------------------------------------------------- */

typedef struct mxgemm_device_info {
  uint32_t struct_size;
  int32_t device_kind;
  int32_t device_index;
  int32_t capability_major; /* CUDA compute capability; 0 on the CPU */
  int32_t capability_minor;
  int32_t isa;         /* mxgemm_isa in use, CPU only */
  int32_t isa_offered; /* highest mxgemm_isa of CPU, OS and this build, CPU only */
  int32_t num_threads; /* threads the CPU backend uses; multiprocessors on CUDA */
  uint64_t memory_bytes;
  uint64_t l2_bytes; /* second-level cache of a GPU; 0 on the CPU, or where it is not known */
  char name[128];
  char arch[32]; /* "avx512", "sm120f", … : the middle part of full kernel ids */
} mxgemm_device_info;
/* clang-format off */
#define MXGEMM_DEVICE_INFO_INIT \
  {sizeof(mxgemm_device_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}}
/* clang-format on */

/* Number of devices of that kind: 1 for the CPU, 0 for CUDA where no driver or no device is found
 * (a success). */
MXGEMM_API mxgemm_status mxgemm_device_count(int32_t device_kind, int32_t* count);
MXGEMM_API mxgemm_status mxgemm_device_info_get(int32_t device_kind, int32_t device_index,
                                                mxgemm_device_info* info);

/* What the arithmetic of a kernel is allowed beyond what holds for every other (docs/formats.md):
 * bits of mxgemm_kernel_info.allowances. */
enum {
  /* Block-scaled instructions: products that are 0 count in the error bound, for two FP4 operands
   * 16 that are all 0 with the product of their two scales, else each with 2^-118 times that. */
  MXGEMM_ALLOW_ZERO_PRODUCTS = 1u << 0,
  /* Operands are expanded to bf16: beyond certain scales (3 to 246 for E4M3, 10 to 239 for E5M2, 0
   * to 252 for E2M1) a product may be flushed to 0 or clamped to the largest finite value. */
  MXGEMM_ALLOW_LIMITED_SCALES = 1u << 1
};

typedef struct mxgemm_kernel_info {
  uint32_t struct_size;
  int32_t device_kind;
  uint64_t formats_a; /* bit f is set where format value f is accepted */
  uint64_t formats_b;
  uint64_t formats_d;
  int32_t isa;       /* lowest mxgemm_isa it needs, CPU only */
  int32_t available; /* 1 if it can run on this machine */
  int32_t tile_m;
  int32_t tile_n;
  int32_t tile_k;
  char id[128];        /* full id, "cpu:avx512:gemm_mxf4_mxf4_any_8x32x32" */
  char reason[128];    /* why it is not available, else "" */
  uint32_t allowances; /* MXGEMM_ALLOW_ZERO_PRODUCTS | … */
} mxgemm_kernel_info;
/* clang-format off */
#define MXGEMM_KERNEL_INFO_INIT \
  {sizeof(mxgemm_kernel_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, 0}
/* clang-format on */

/* Every GEMM kernel of every library, best first per device kind; loads all GPU libraries. */
MXGEMM_API mxgemm_status mxgemm_kernel_count(int32_t* count);
MXGEMM_API mxgemm_status mxgemm_kernel_info_get(int32_t index, mxgemm_kernel_info* info);

typedef struct mxgemm_library_info {
  uint32_t struct_size;
  int32_t loaded; /* 1 if it is in use, 0 if it was refused */
  int32_t num_kernels;
  int32_t reserved;
  char arch[32];         /* "sm120f", …; "cuda" for the one of devices and memory */
  char capabilities[64]; /* compute capabilities that it serves, "12.0 to 12.1" */
  char build_info[128];  /* compiler and its target */
  char path[256];
  char reason[256]; /* why it was refused, or finds no device; else "" */
} mxgemm_library_info;
/* clang-format off */
#define MXGEMM_LIBRARY_INFO_INIT \
  {sizeof(mxgemm_library_info), 0, 0, 0, {0}, {0}, {0}, {0}, {0}}
/* clang-format on */

/* Every GPU library found beside this one, loaded or refused. Loads those that are not loaded yet;
 * otherwise a library is loaded when a device that it serves is first used. */
MXGEMM_API mxgemm_status mxgemm_library_count(int32_t* count);
MXGEMM_API mxgemm_status mxgemm_library_info_get(int32_t index, mxgemm_library_info* info);

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* Bytes of `rows` x `cols` dense elements of `format`. cols must be a multiple of the block of a
 * block-scaled format. */
MXGEMM_API mxgemm_status mxgemm_qdata_size(int32_t format, int64_t rows, int64_t cols,
                                           uint64_t* bytes);
/* Bytes of the scales of `rows` x `cols` elements: rows * (cols / block) row-major and dense, or
 * ceil(rows / 128) * ceil(cols / block / 4) * 512 swizzled. 0 for bf16, f16, f32. */
MXGEMM_API mxgemm_status mxgemm_scale_size(int32_t format, int32_t scale_layout, int64_t rows,
                                           int64_t cols, uint64_t* bytes);

/* ---- GEMM ------------------------------------------------------------------------------------ */

/* Bits of mxgemm_gemm_desc.flags. */
enum {
  /* beta * C is added; without it args.c must be NULL and args.beta 0. */
  MXGEMM_USE_C = 1u << 0,
  /* args.alpha_ptr is read on the device, args.alpha is not. */
  MXGEMM_ALPHA_ON_DEVICE = 1u << 1,
  /* The same for args.?.global_scale_ptr and args.?.global_scale; nvf4 only. */
  MXGEMM_GLOBAL_SCALE_A_ON_DEVICE = 1u << 2,
  MXGEMM_GLOBAL_SCALE_B_ON_DEVICE = 1u << 3,
  /* The caller's promise: all padding bytes of the swizzled scales are 0x00. */
  MXGEMM_SCALE_PADDING_ZERO_A = 1u << 4,
  MXGEMM_SCALE_PADDING_ZERO_B = 1u << 5,
  /* args.b.data was made by mxgemm_pack; args.b.scale must be NULL, ld and scale_ld 0. */
  MXGEMM_PACKED_B = 1u << 6
};

/* What to compute: no pointers, so that a plan may be made before any memory exists. */
typedef struct mxgemm_gemm_desc {
  uint32_t struct_size;
  uint32_t flags; /* MXGEMM_USE_C | … */
  int32_t device_kind;
  int32_t device_index;
  int64_t m;           /* >= 0 */
  int64_t n;           /* >= 0 */
  int64_t k;           /* >= 0, a multiple of the block size of both operands */
  int32_t format_a;    /* any block-scaled format, or bf16, f16, f32 */
  int32_t format_b;    /* any block-scaled format */
  int32_t format_d;    /* bf16, f16, f32; C has the same */
  int32_t format_bias; /* MXGEMM_FORMAT_NONE = no bias, format_d, or f32; one value per column n */
  int32_t scale_layout_a;
  int32_t scale_layout_b; /* ignored with MXGEMM_PACKED_B */
  int32_t activation;
  int32_t reserved; /* 0 */
} mxgemm_gemm_desc;
#define MXGEMM_GEMM_DESC_INIT \
  { sizeof(mxgemm_gemm_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct mxgemm_operand {
  uint32_t struct_size;
  float global_scale;   /* nvf4 only, finite and > 0; 1 for every other format */
  const void* data;     /* aligned to its element; may be NULL where it has no elements */
  uint64_t data_bytes;  /* size of the buffer, checked */
  int64_t ld;           /* elements from row to row, 0 = dense; a multiple of 2 in 4-bit formats */
  const uint8_t* scale; /* NULL for bf16, f16, f32 */
  uint64_t scale_bytes;
  int64_t scale_ld; /* bytes from row to row of row-major scales, 0 = dense; 0 where swizzled */
  const float* global_scale_ptr; /* with MXGEMM_GLOBAL_SCALE_?_ON_DEVICE; else NULL */
} mxgemm_operand;
#define MXGEMM_OPERAND_INIT \
  { sizeof(mxgemm_operand), 1.0f, NULL, 0, 0, NULL, 0, 0, NULL }

typedef struct mxgemm_gemm_args {
  uint32_t struct_size;
  float alpha; /* default 1 */
  float beta;  /* default 0: C is not read */
  uint32_t reserved;
  const float* alpha_ptr; /* with MXGEMM_ALPHA_ON_DEVICE; else NULL */
  mxgemm_operand a;
  mxgemm_operand b;
  const void* c; /* exactly d (in place, same ld), or not overlapping it */
  uint64_t c_bytes;
  int64_t ldc;
  void* d;
  uint64_t d_bytes;
  int64_t ldd;
  const void* bias;
  uint64_t bias_bytes;
  void* workspace; /* on the device, 256-byte aligned, at least mxgemm_plan_workspace_size */
  uint64_t workspace_bytes;
} mxgemm_gemm_args;
#define MXGEMM_GEMM_ARGS_INIT                                                                      \
  {                                                                                                \
    sizeof(mxgemm_gemm_args), 1.0f, 0.0f, 0, NULL, MXGEMM_OPERAND_INIT, MXGEMM_OPERAND_INIT, NULL, \
        0, 0, NULL, 0, 0, NULL, 0, NULL, 0                                                         \
  }

typedef struct mxgemm_plan mxgemm_plan;

/* Chooses a kernel for `desc`, or takes the one named by the full id `kernel_id` (NULL = choose;
 * MXGEMM_FORCE in the environment also narrows the choice). UNSUPPORTED lists each candidate's
 * reason. */
MXGEMM_API mxgemm_status mxgemm_plan_create(const mxgemm_gemm_desc* desc, const char* kernel_id,
                                            mxgemm_plan** plan);
/* NULL is allowed. No run of the plan may be in flight. */
MXGEMM_API void mxgemm_plan_destroy(mxgemm_plan* plan);
/* Full id of the kernel, "cpu:avx512:…". */
MXGEMM_API mxgemm_status mxgemm_plan_name(const mxgemm_plan* plan, char* buffer, size_t capacity,
                                          size_t* needed);
MXGEMM_API mxgemm_status mxgemm_plan_workspace_size(const mxgemm_plan* plan, uint64_t* bytes);
/* One line per kernel of the device: "chosen", "accepts", or why it refuses. */
MXGEMM_API mxgemm_status mxgemm_plan_explain(const mxgemm_plan* plan, char* buffer, size_t capacity,
                                             size_t* needed);
/* The same for a problem that may have no kernel at all. */
MXGEMM_API mxgemm_status mxgemm_explain(const mxgemm_gemm_desc* desc, char* buffer, size_t capacity,
                                        size_t* needed);
/* Whether kernel `index` (of mxgemm_kernel_count) accepts `desc`; the reason, if not, goes to
 * `buffer` ("" if it does). */
MXGEMM_API mxgemm_status mxgemm_kernel_accepts(int32_t index, const mxgemm_gemm_desc* desc,
                                               int32_t* accepts, char* buffer, size_t capacity,
                                               size_t* needed);
/* Runs a plan. Never allocates or synchronises; on CUDA it may stand inside a stream capture.
 * Memory that belongs to another device, or host memory that the device does not reach, is
 * INVALID_ARGUMENT. A plan whose kernel wants aligned data has a second kernel for runs whose
 * pointers or row pitches are not (mxgemm_plan_explain names it); where there is none, as with a
 * forced kernel, such a run is UNSUPPORTED. */
MXGEMM_API mxgemm_status mxgemm_run(const mxgemm_plan* plan, const mxgemm_gemm_args* args,
                                    void* stream);
/* Plan (from a bounded cache) and run in one call. On the CPU the workspace may be NULL: the
 * calling thread then keeps one of its own. On CUDA the caller must supply it. */
MXGEMM_API mxgemm_status mxgemm_gemm(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args,
                                     void* stream);

/* ---- Prepared weights ------------------------------------------------------------------------ */

/* Bytes of the packed form of an N x K operand B. The form is opaque, self-describing and
 * versioned: it is valid for the device kind and library version that made it; a run refuses any
 * other, as it refuses one of another shape or format. */
MXGEMM_API mxgemm_status mxgemm_pack_size(int32_t device_kind, int32_t device_index, int32_t format,
                                          int64_t n, int64_t k, uint64_t* bytes);
/* Packs `b` (with its scales; a global scale stays an argument of the run). `packed` is 64-byte
 * aligned. */
MXGEMM_API mxgemm_status mxgemm_pack(int32_t device_kind, int32_t device_index, int32_t format,
                                     int64_t n, int64_t k, const mxgemm_operand* b,
                                     int32_t scale_layout, void* packed, uint64_t packed_bytes,
                                     void* stream);

/* ---- Quantising ------------------------------------------------------------------------------ */

/* How an E8M0 scale follows from a block's amax; docs/formats.md. */
typedef enum mxgemm_scale_rule {
  MXGEMM_SCALE_RULE_DEFAULT = 0, /* even for MX formats; the only value allowed for nvf4 */
  MXGEMM_SCALE_RULE_FLOOR = 1,
  MXGEMM_SCALE_RULE_CEIL = 2,
  MXGEMM_SCALE_RULE_EVEN = 3,
  MXGEMM_SCALE_RULE_RCEIL = 4,
  MXGEMM_SCALE_RULE_NEAREST = 5,
  MXGEMM_SCALE_RULE_MSE = 6 /* CPU only */
} mxgemm_scale_rule;

typedef enum mxgemm_nonfinite {
  MXGEMM_NONFINITE_NAN = 0,     /* a block with +-Inf becomes NaN */
  MXGEMM_NONFINITE_SATURATE = 1 /* +-Inf becomes the largest code under the largest scale */
} mxgemm_nonfinite;

typedef enum mxgemm_rounding {
  MXGEMM_ROUND_NEAREST_EVEN = 0,
  MXGEMM_ROUND_STOCHASTIC = 1 /* Philox4x32-10 by seed and offset; CPU only */
} mxgemm_rounding;

/* nvf4 only; DEFAULT for every other format. */
typedef enum mxgemm_global_scale_mode {
  MXGEMM_GLOBAL_SCALE_DEFAULT = 0, /* COMPUTE */
  MXGEMM_GLOBAL_SCALE_ONE = 1,     /* one level: g = 1 */
  MXGEMM_GLOBAL_SCALE_COMPUTE = 2, /* from the tensor's amax, written to args.global_scale */
  /* Read from args.global_scale; must be finite and > 0. On a GPU it is not checked, for nothing
   * waits to look at device memory: another value gives bytes without a meaning. */
  MXGEMM_GLOBAL_SCALE_GIVEN = 3
} mxgemm_global_scale_mode;

typedef enum mxgemm_preset {
  MXGEMM_PRESET_DEFAULT = 0, /* even, nan */
  MXGEMM_PRESET_OCP = 1,     /* floor, nan; not for nvf4 */
  MXGEMM_PRESET_TORCHAO = 2, /* floor, nan; nvf4: min_block_scale 2^-6 */
  MXGEMM_PRESET_CUDA = 3     /* rceil, saturate; nvf4: saturate */
} mxgemm_preset;

typedef struct mxgemm_quantize_desc {
  uint32_t struct_size;
  int32_t device_kind;
  int32_t device_index;
  int32_t format_src;   /* bf16, f16, f32 */
  int32_t format;       /* a block-scaled format */
  int32_t scale_layout; /* of the scales that are written; swizzled padding is written as 0x00 */
  int64_t rows;         /* >= 0 */
  int64_t cols;         /* >= 0, a multiple of the block size */
  int32_t scale_rule;   /* mxgemm_scale_rule */
  int32_t nonfinite;    /* mxgemm_nonfinite */
  int32_t rounding;     /* mxgemm_rounding */
  int32_t global_scale_mode; /* mxgemm_global_scale_mode */
  float min_block_scale;     /* nvf4 only, 0 … 448; 0 elsewhere */
  uint32_t reserved;
  uint64_t seed;   /* stochastic rounding only; 0 elsewhere */
  uint64_t offset; /* first Philox counter; stochastic rounding only; 0 elsewhere */
} mxgemm_quantize_desc;
#define MXGEMM_QUANTIZE_DESC_INIT \
  { sizeof(mxgemm_quantize_desc), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0f, 0, 0, 0 }

typedef struct mxgemm_quantize_args {
  uint32_t struct_size;
  uint32_t reserved;
  const void* src;
  uint64_t src_bytes;
  int64_t src_ld; /* elements, 0 = dense */
  void* qdata;
  uint64_t qdata_bytes;
  int64_t qdata_ld; /* elements, 0 = dense; a multiple of 2 in 4-bit formats */
  uint8_t* scale;
  uint64_t scale_bytes;
  int64_t scale_ld; /* bytes, row-major only, 0 = dense */
  /* nvf4 only, on the device: written (ONE: 1, COMPUTE: g) or read (GIVEN); may be NULL with ONE.
   */
  float* global_scale;
  void* workspace; /* CUDA only: mxgemm_quantize_workspace_size bytes */
  uint64_t workspace_bytes;
} mxgemm_quantize_args;
#define MXGEMM_QUANTIZE_ARGS_INIT \
  { sizeof(mxgemm_quantize_args), 0, NULL, 0, 0, NULL, 0, 0, NULL, 0, 0, NULL, NULL, 0 }

/* Sets the options of `desc` (scale_rule, nonfinite, min_block_scale) that `preset` means for
 * desc->format. Options set afterwards win. */
MXGEMM_API mxgemm_status mxgemm_quantize_preset(int32_t preset, mxgemm_quantize_desc* desc);
MXGEMM_API mxgemm_status mxgemm_quantize_workspace_size(const mxgemm_quantize_desc* desc,
                                                        uint64_t* bytes);
/* Quantises rows x cols numbers along the last dimension. The same input gives the same bytes on
 * every device. */
MXGEMM_API mxgemm_status mxgemm_quantize(const mxgemm_quantize_desc* desc,
                                         const mxgemm_quantize_args* args, void* stream);

/* Decodes the rows x cols elements of `src` (format `format`) to `format_dst` (bf16, f16, f32):
 * element x block scale x global scale, rounded once. The global scale is read as in a GEMM; with
 * `global_scale_on_device` != 0 from its pointer. */
MXGEMM_API mxgemm_status mxgemm_dequantize(int32_t device_kind, int32_t device_index,
                                           int32_t format, int64_t rows, int64_t cols,
                                           const mxgemm_operand* src, int32_t scale_layout,
                                           int32_t global_scale_on_device, int32_t format_dst,
                                           void* dst, uint64_t dst_bytes, int64_t dst_ld,
                                           void* stream);

/* rows x cols scale bytes (cols = K / block), row-major with stride src_ld (0 = dense) -> swizzled,
 * padding 0x00. */
MXGEMM_API mxgemm_status mxgemm_swizzle_scales(int32_t device_kind, int32_t device_index,
                                               int64_t rows, int64_t cols, const uint8_t* src,
                                               uint64_t src_bytes, int64_t src_ld, uint8_t* dst,
                                               uint64_t dst_bytes, void* stream);
/* The inverse; padding is not looked at. */
MXGEMM_API mxgemm_status mxgemm_unswizzle_scales(int32_t device_kind, int32_t device_index,
                                                 int64_t rows, int64_t cols, const uint8_t* src,
                                                 uint64_t src_bytes, uint8_t* dst,
                                                 uint64_t dst_bytes, int64_t dst_ld, void* stream);

/* ---- Memory, streams, events --------------------------------------------------------------------
 */
/* For plain C callers without CUDA headers. On the CPU: malloc, memcpy, no stream, a clock. */

/* 256-byte aligned; *pointer is NULL for 0 bytes. */
MXGEMM_API mxgemm_status mxgemm_device_alloc(int32_t device_kind, int32_t device_index,
                                             uint64_t bytes, void** pointer);
/* NULL is allowed. */
MXGEMM_API mxgemm_status mxgemm_device_free(int32_t device_kind, int32_t device_index,
                                            void* pointer);
/* Copies between two places that may each be on the host (kind CPU) or on a device; ordered on
 * `stream`, complete on return. */
MXGEMM_API mxgemm_status mxgemm_device_copy(int32_t dst_kind, int32_t dst_index, void* dst,
                                            int32_t src_kind, int32_t src_index, const void* src,
                                            uint64_t bytes, void* stream);
MXGEMM_API mxgemm_status mxgemm_device_synchronize(int32_t device_kind, int32_t device_index);
/* On the CPU *stream is NULL, the value that every call there wants. On CUDA the stream does not
 * wait for the default stream, nor the reverse. */
MXGEMM_API mxgemm_status mxgemm_stream_create(int32_t device_kind, int32_t device_index,
                                              void** stream);
MXGEMM_API mxgemm_status mxgemm_stream_destroy(int32_t device_kind, int32_t device_index,
                                               void* stream);

typedef struct mxgemm_event mxgemm_event;
MXGEMM_API mxgemm_status mxgemm_event_create(int32_t device_kind, int32_t device_index,
                                             mxgemm_event** event);
MXGEMM_API mxgemm_status mxgemm_event_record(mxgemm_event* event, void* stream);
/* Milliseconds between two recorded events of one device; waits for `end`. */
MXGEMM_API mxgemm_status mxgemm_event_elapsed(mxgemm_event* start, mxgemm_event* end,
                                              float* milliseconds);
/* NULL is allowed. */
MXGEMM_API mxgemm_status mxgemm_event_destroy(mxgemm_event* event);

/* ---- CPU backend ----------------------------------------------------------------------------- */

/* Threads the CPU backend uses, the caller's included; 0 = default (affinity and cgroup quota).
 * Results do not depend on it. */
MXGEMM_API mxgemm_status mxgemm_set_num_threads(int32_t num_threads);
MXGEMM_API mxgemm_status mxgemm_get_num_threads(int32_t* num_threads);

/* Calls body(argument, i) once for each i in [0, count), on any threads, and returns when all have
 * returned. */
typedef void (*mxgemm_parallel_for_fn)(void* context, int64_t count,
                                       void (*body)(void* argument, int64_t index), void* argument);
/* Replaces the library's thread pool; NULL restores it. */
MXGEMM_API mxgemm_status mxgemm_set_parallel_for(mxgemm_parallel_for_fn parallel_for,
                                                 void* context);

/* Highest level (mxgemm_isa) that the CPU backend may use from now on, -1 = what MXGEMM_MAX_ISA
 * says, else the highest offered. A level that the CPU, the OS or this build lacks is UNSUPPORTED.
 * Plans made before keep their kernel. */
MXGEMM_API mxgemm_status mxgemm_set_max_isa(int32_t isa);

#ifdef __cplusplus
}
#endif

#endif
