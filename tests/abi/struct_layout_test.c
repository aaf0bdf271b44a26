/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI is frozen: size of every struct, offset of every field, value of every enumerator. A
 * line may be added at the end of a list; a line that has to change is an incompatible change
 * (MXGEMM_ABI_VERSION). Checked by the compiler, in C. */
#include "mxgemm/mxgemm.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define EXPECT(condition) typedef char JOIN(expectation_, __LINE__)[(condition) ? 1 : -1]
#define FIELD(type, field, offset) EXPECT(offsetof(type, field) == (offset))
#define SIZE(type, bytes) EXPECT(sizeof(type) == (bytes))
#define VALUE(name, number) EXPECT((name) == (number))

FIELD(mxgemm_device_info, struct_size, 0);
FIELD(mxgemm_device_info, device_kind, 4);
FIELD(mxgemm_device_info, device_index, 8);
FIELD(mxgemm_device_info, capability_major, 12);
FIELD(mxgemm_device_info, capability_minor, 16);
FIELD(mxgemm_device_info, isa, 20);
FIELD(mxgemm_device_info, isa_offered, 24);
FIELD(mxgemm_device_info, num_threads, 28);
FIELD(mxgemm_device_info, memory_bytes, 32);
FIELD(mxgemm_device_info, l2_bytes, 40);
FIELD(mxgemm_device_info, name, 48);
FIELD(mxgemm_device_info, arch, 176);
SIZE(mxgemm_device_info, 208);

FIELD(mxgemm_kernel_info, struct_size, 0);
FIELD(mxgemm_kernel_info, device_kind, 4);
FIELD(mxgemm_kernel_info, formats_a, 8);
FIELD(mxgemm_kernel_info, formats_b, 16);
FIELD(mxgemm_kernel_info, formats_d, 24);
FIELD(mxgemm_kernel_info, isa, 32);
FIELD(mxgemm_kernel_info, available, 36);
FIELD(mxgemm_kernel_info, tile_m, 40);
FIELD(mxgemm_kernel_info, tile_n, 44);
FIELD(mxgemm_kernel_info, tile_k, 48);
FIELD(mxgemm_kernel_info, id, 52);
FIELD(mxgemm_kernel_info, reason, 180);
FIELD(mxgemm_kernel_info, allowances, 308);
SIZE(mxgemm_kernel_info, 312);

FIELD(mxgemm_library_info, struct_size, 0);
FIELD(mxgemm_library_info, loaded, 4);
FIELD(mxgemm_library_info, num_kernels, 8);
FIELD(mxgemm_library_info, reserved, 12);
FIELD(mxgemm_library_info, arch, 16);
FIELD(mxgemm_library_info, capabilities, 48);
FIELD(mxgemm_library_info, build_info, 112);
FIELD(mxgemm_library_info, path, 240);
FIELD(mxgemm_library_info, reason, 496);
SIZE(mxgemm_library_info, 752);

FIELD(mxgemm_gemm_desc, struct_size, 0);
FIELD(mxgemm_gemm_desc, flags, 4);
FIELD(mxgemm_gemm_desc, device_kind, 8);
FIELD(mxgemm_gemm_desc, device_index, 12);
FIELD(mxgemm_gemm_desc, m, 16);
FIELD(mxgemm_gemm_desc, n, 24);
FIELD(mxgemm_gemm_desc, k, 32);
FIELD(mxgemm_gemm_desc, format_a, 40);
FIELD(mxgemm_gemm_desc, format_b, 44);
FIELD(mxgemm_gemm_desc, format_d, 48);
FIELD(mxgemm_gemm_desc, format_bias, 52);
FIELD(mxgemm_gemm_desc, scale_layout_a, 56);
FIELD(mxgemm_gemm_desc, scale_layout_b, 60);
FIELD(mxgemm_gemm_desc, activation, 64);
FIELD(mxgemm_gemm_desc, reserved, 68);
SIZE(mxgemm_gemm_desc, 72);

FIELD(mxgemm_operand, struct_size, 0);
FIELD(mxgemm_operand, global_scale, 4);
FIELD(mxgemm_operand, data, 8);
FIELD(mxgemm_operand, data_bytes, 16);
FIELD(mxgemm_operand, ld, 24);
FIELD(mxgemm_operand, scale, 32);
FIELD(mxgemm_operand, scale_bytes, 40);
FIELD(mxgemm_operand, scale_ld, 48);
FIELD(mxgemm_operand, global_scale_ptr, 56);
SIZE(mxgemm_operand, 64);

FIELD(mxgemm_gemm_args, struct_size, 0);
FIELD(mxgemm_gemm_args, alpha, 4);
FIELD(mxgemm_gemm_args, beta, 8);
FIELD(mxgemm_gemm_args, reserved, 12);
FIELD(mxgemm_gemm_args, alpha_ptr, 16);
FIELD(mxgemm_gemm_args, a, 24);
FIELD(mxgemm_gemm_args, b, 88);
FIELD(mxgemm_gemm_args, c, 152);
FIELD(mxgemm_gemm_args, c_bytes, 160);
FIELD(mxgemm_gemm_args, ldc, 168);
FIELD(mxgemm_gemm_args, d, 176);
FIELD(mxgemm_gemm_args, d_bytes, 184);
FIELD(mxgemm_gemm_args, ldd, 192);
FIELD(mxgemm_gemm_args, bias, 200);
FIELD(mxgemm_gemm_args, bias_bytes, 208);
FIELD(mxgemm_gemm_args, workspace, 216);
FIELD(mxgemm_gemm_args, workspace_bytes, 224);
SIZE(mxgemm_gemm_args, 232);

FIELD(mxgemm_quantize_desc, struct_size, 0);
FIELD(mxgemm_quantize_desc, device_kind, 4);
FIELD(mxgemm_quantize_desc, device_index, 8);
FIELD(mxgemm_quantize_desc, format_src, 12);
FIELD(mxgemm_quantize_desc, format, 16);
FIELD(mxgemm_quantize_desc, scale_layout, 20);
FIELD(mxgemm_quantize_desc, rows, 24);
FIELD(mxgemm_quantize_desc, cols, 32);
FIELD(mxgemm_quantize_desc, scale_rule, 40);
FIELD(mxgemm_quantize_desc, nonfinite, 44);
FIELD(mxgemm_quantize_desc, rounding, 48);
FIELD(mxgemm_quantize_desc, global_scale_mode, 52);
FIELD(mxgemm_quantize_desc, min_block_scale, 56);
FIELD(mxgemm_quantize_desc, reserved, 60);
FIELD(mxgemm_quantize_desc, seed, 64);
FIELD(mxgemm_quantize_desc, offset, 72);
SIZE(mxgemm_quantize_desc, 80);

FIELD(mxgemm_quantize_args, struct_size, 0);
FIELD(mxgemm_quantize_args, reserved, 4);
FIELD(mxgemm_quantize_args, src, 8);
FIELD(mxgemm_quantize_args, src_bytes, 16);
FIELD(mxgemm_quantize_args, src_ld, 24);
FIELD(mxgemm_quantize_args, qdata, 32);
FIELD(mxgemm_quantize_args, qdata_bytes, 40);
FIELD(mxgemm_quantize_args, qdata_ld, 48);
FIELD(mxgemm_quantize_args, scale, 56);
FIELD(mxgemm_quantize_args, scale_bytes, 64);
FIELD(mxgemm_quantize_args, scale_ld, 72);
FIELD(mxgemm_quantize_args, global_scale, 80);
FIELD(mxgemm_quantize_args, workspace, 88);
FIELD(mxgemm_quantize_args, workspace_bytes, 96);
SIZE(mxgemm_quantize_args, 104);

VALUE(MXGEMM_OK, 0);
VALUE(MXGEMM_INVALID_ARGUMENT, 1);
VALUE(MXGEMM_UNSUPPORTED, 2);
VALUE(MXGEMM_DEVICE_UNAVAILABLE, 3);
VALUE(MXGEMM_OUT_OF_MEMORY, 4);
VALUE(MXGEMM_WORKSPACE_TOO_SMALL, 5);
VALUE(MXGEMM_CUDA_ERROR, 6);
VALUE(MXGEMM_PLUGIN_ERROR, 7);
VALUE(MXGEMM_IO_ERROR, 8);
VALUE(MXGEMM_INTERNAL, 9);

VALUE(MXGEMM_FORMAT_NONE, 0);
VALUE(MXGEMM_MXF4, 1);
VALUE(MXGEMM_NVF4, 2);
VALUE(MXGEMM_MXF8E4M3, 3);
VALUE(MXGEMM_MXF8E5M2, 4);
VALUE(MXGEMM_BF16, 16);
VALUE(MXGEMM_F16, 17);
VALUE(MXGEMM_F32, 18);

VALUE(MXGEMM_SCALE_ROW_MAJOR, 0);
VALUE(MXGEMM_SCALE_SWIZZLE_32_4_4, 1);

VALUE(MXGEMM_ACT_NONE, 0);
VALUE(MXGEMM_ACT_RELU, 1);
VALUE(MXGEMM_ACT_GELU, 2);
VALUE(MXGEMM_ACT_GELU_TANH, 3);
VALUE(MXGEMM_ACT_SILU, 4);

VALUE(MXGEMM_DEVICE_CPU, 0);
VALUE(MXGEMM_DEVICE_CUDA, 1);

VALUE(MXGEMM_ISA_SCALAR, 0);
VALUE(MXGEMM_ISA_AVX2, 1);
VALUE(MXGEMM_ISA_AVX512, 2);
VALUE(MXGEMM_ISA_AMX, 3);

VALUE(MXGEMM_USE_C, 1);
VALUE(MXGEMM_ALPHA_ON_DEVICE, 2);
VALUE(MXGEMM_GLOBAL_SCALE_A_ON_DEVICE, 4);
VALUE(MXGEMM_GLOBAL_SCALE_B_ON_DEVICE, 8);
VALUE(MXGEMM_SCALE_PADDING_ZERO_A, 16);
VALUE(MXGEMM_SCALE_PADDING_ZERO_B, 32);
VALUE(MXGEMM_PACKED_B, 64);

VALUE(MXGEMM_SCALE_RULE_DEFAULT, 0);
VALUE(MXGEMM_SCALE_RULE_FLOOR, 1);
VALUE(MXGEMM_SCALE_RULE_CEIL, 2);
VALUE(MXGEMM_SCALE_RULE_EVEN, 3);
VALUE(MXGEMM_SCALE_RULE_RCEIL, 4);
VALUE(MXGEMM_SCALE_RULE_NEAREST, 5);
VALUE(MXGEMM_SCALE_RULE_MSE, 6);

VALUE(MXGEMM_NONFINITE_NAN, 0);
VALUE(MXGEMM_NONFINITE_SATURATE, 1);

VALUE(MXGEMM_ROUND_NEAREST_EVEN, 0);
VALUE(MXGEMM_ROUND_STOCHASTIC, 1);

VALUE(MXGEMM_GLOBAL_SCALE_DEFAULT, 0);
VALUE(MXGEMM_GLOBAL_SCALE_ONE, 1);
VALUE(MXGEMM_GLOBAL_SCALE_COMPUTE, 2);
VALUE(MXGEMM_GLOBAL_SCALE_GIVEN, 3);

VALUE(MXGEMM_PRESET_DEFAULT, 0);
VALUE(MXGEMM_PRESET_OCP, 1);
VALUE(MXGEMM_PRESET_TORCHAO, 2);
VALUE(MXGEMM_PRESET_CUDA, 3);

VALUE(MXGEMM_ABI_VERSION, 1);

/* The promises of the integer types that the layout stands on. */
SIZE(void*, 8);
SIZE(float, 4);
SIZE(size_t, 8);

int main(void) {
  return 0;
}
