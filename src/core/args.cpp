// SPDX-License-Identifier: Apache-2.0
#include <cinttypes>
#include <string>

#include "base/require.hpp"
#include "core/desc.hpp"
#include "core/operand.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {
namespace {

constexpr OperandNames kNamesA = MXGEMM_OPERAND_NAMES("args.a");
constexpr OperandNames kNamesB = MXGEMM_OPERAND_NAMES("args.b");
constexpr BufferNames kNamesC = {"args.c", "args.c_bytes", "args.ldc"};
constexpr BufferNames kNamesD = {"args.d", "args.d_bytes", "args.ldd"};
constexpr BufferNames kNamesBias = {"args.bias", "args.bias_bytes", nullptr};
constexpr BufferNames kNamesWorkspace = {"args.workspace", "args.workspace_bytes", nullptr};

// What a workspace is aligned to: a whole number of cache lines on every device.
constexpr uint64_t kWorkspaceAlignment = 256;

struct Regions {
  OperandRegions a;
  OperandRegions b;
  Region alpha;
  Region bias;
  Region c;
  Region d;
  Region workspace;
};

bool has_flag(const mxgemm_gemm_desc& desc, uint32_t flag) {
  return (desc.flags & flag) != 0;
}

Status check_alpha(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args, Region* region) {
  if (!has_flag(desc, MXGEMM_ALPHA_ON_DEVICE)) {
    MXGEMM_REQUIRE(args.alpha_ptr == nullptr,
                   "args.alpha_ptr is %p; it must be NULL without MXGEMM_ALPHA_ON_DEVICE",
                   static_cast<const void*>(args.alpha_ptr));
    return {};
  }
  return check_buffer({"args.alpha_ptr", "", nullptr}, args.alpha_ptr, sizeof(float), sizeof(float),
                      alignof(float), region);
}

Status check_operands(const mxgemm_gemm_desc& desc, mxgemm_gemm_args* args, Regions* regions) {
  const OperandShape a = {find_format(static_cast<Format>(desc.format_a)), desc.scale_layout_a,
                          desc.m, desc.k, has_flag(desc, MXGEMM_GLOBAL_SCALE_A_ON_DEVICE)};
  MXGEMM_TRY(check_operand(kNamesA, a, &args->a, &regions->a));
  const OperandShape b = {find_format(static_cast<Format>(desc.format_b)), desc.scale_layout_b,
                          desc.n, desc.k, has_flag(desc, MXGEMM_GLOBAL_SCALE_B_ON_DEVICE)};
  if (!has_flag(desc, MXGEMM_PACKED_B)) {
    return check_operand(kNamesB, b, &args->b, &regions->b);
  }
  MXGEMM_TRY(check_packed_operand(kNamesB, b, args->b, &regions->b));
  if (desc.device_kind != MXGEMM_DEVICE_CPU) {
    return {};
  }
  const Status packed =
      cpu::check_packed(args->b.data, args->b.data_bytes, b.format->format, desc.n, desc.k);
  return packed.ok() ? packed : Status(packed.code(), "args." + packed.message());
}

Status check_outputs(const mxgemm_gemm_desc& desc, mxgemm_gemm_args* args, Regions* regions) {
  const MatrixShape shape = {desc.m, desc.n,
                             find_format(static_cast<Format>(desc.format_d))->element_bits};
  MXGEMM_TRY(check_matrix(kNamesD, shape, args->d, args->d_bytes, &args->ldd, &regions->d));
  if (has_flag(desc, MXGEMM_USE_C)) {
    return check_matrix(kNamesC, shape, args->c, args->c_bytes, &args->ldc, &regions->c);
  }
  MXGEMM_REQUIRE(args->c == nullptr,
                 "args.c is %p; it must be NULL without MXGEMM_USE_C in desc.flags", args->c);
  MXGEMM_REQUIRE(args->beta == 0.0f,
                 "args.beta is %g; it must be 0 without MXGEMM_USE_C in desc.flags",
                 static_cast<double>(args->beta));
  return {};
}

Status check_bias(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args, Region* region) {
  if (desc.format_bias == MXGEMM_FORMAT_NONE) {
    MXGEMM_REQUIRE(args.bias == nullptr,
                   "args.bias is %p; it must be NULL where desc.format_bias is 0 (none)",
                   args.bias);
    return {};
  }
  const int bits = find_format(static_cast<Format>(desc.format_bias))->element_bits;
  const std::optional<int64_t> needed = matrix_bytes({1, desc.n, bits}, desc.n);
  MXGEMM_REQUIRE(needed, "desc.n is %" PRId64 "; its bias exceeds 2^63 - 1 bytes", desc.n);
  return check_buffer(kNamesBias, args.bias, args.bias_bytes, static_cast<uint64_t>(*needed),
                      static_cast<uint64_t>(bits / 8), region);
}

Status check_workspace(const mxgemm_gemm_args& args, uint64_t needed, Region* region) {
  if (args.workspace_bytes < needed || (args.workspace == nullptr && needed > 0)) {
    return {StatusCode::kWorkspaceTooSmall,
            format_text("args.workspace is %p and args.workspace_bytes is %" PRIu64
                        "; the plan needs %" PRIu64 " bytes",
                        args.workspace, args.workspace_bytes, needed)};
  }
  // A kernel may use all of it.
  return check_buffer(kNamesWorkspace, args.workspace, args.workspace_bytes, args.workspace_bytes,
                      kWorkspaceAlignment, region);
}

Status check_aliasing(const mxgemm_gemm_args& args, const Regions& regions) {
  const Region* const inputs[] = {&regions.a.data, &regions.a.scale, &regions.a.global_scale,
                                  &regions.b.data, &regions.b.scale, &regions.b.global_scale,
                                  &regions.alpha,  &regions.bias};
  for (const Region* input : inputs) {
    MXGEMM_TRY(check_disjoint(regions.d, *input));
    MXGEMM_TRY(check_disjoint(regions.workspace, *input));
  }
  MXGEMM_TRY(check_disjoint(regions.workspace, regions.d));
  MXGEMM_TRY(check_disjoint(regions.workspace, regions.c));
  MXGEMM_REQUIRE((args.c == args.d && args.ldc == args.ldd) || !overlaps(regions.d, regions.c),
                 "args.c at %p (args.ldc %" PRId64 ") overlaps args.d at %p (args.ldd %" PRId64
                 "); it must be exactly args.d with the same leading dimension, or not overlap it",
                 args.c, args.ldc, args.d, args.ldd);
  return {};
}

}  // namespace

Status resolve_args(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args* args,
                    uint64_t workspace_size, mxgemm_gemm_args* resolved) {
  MXGEMM_TRY(check_not_null("args", args));
  MXGEMM_TRY(
      check_struct_size("args.struct_size", args->struct_size, sizeof(*args), "mxgemm_gemm_args"));
  *resolved = *args;
  MXGEMM_REQUIRE(resolved->reserved == 0, "args.reserved is %" PRIu32 "; it must be 0",
                 resolved->reserved);
  Regions regions;
  MXGEMM_TRY(check_alpha(desc, *resolved, &regions.alpha));
  MXGEMM_TRY(check_operands(desc, resolved, &regions));
  MXGEMM_TRY(check_outputs(desc, resolved, &regions));
  MXGEMM_TRY(check_bias(desc, *resolved, &regions.bias));
  MXGEMM_TRY(check_workspace(*resolved, workspace_size, &regions.workspace));
  return check_aliasing(*resolved, regions);
}

}  // namespace mxgemm::internal
