// SPDX-License-Identifier: Apache-2.0
// A GEMM problem with its buffers, run through one kernel of the CPU's table and compared with the
// reference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "formats/activation.hpp"
#include "formats/block_format.hpp"
#include "mxgemm/mxgemm.h"
#include "reference/compare.hpp"
#include "reference/gemm_reference.hpp"

namespace mxgemm::cpu {

enum class Data {
  kExact,   // small integers, scales within 3 binades: no sum can round
  kNormal,  // any finite code, scales within 8 binades
  kWide,    // any finite code, any scale but NaN
  kEdge,    // scales 0, 1, 253, 254, NaN; zeros of both signs, NaN and Inf among the elements
};

struct GemmOptions {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 32;
  Format a = Format::kMxf4;
  Format b = Format::kMxf4;
  Format d = Format::kF32;
  Data data = Data::kExact;
  ScaleLayout layout_a = ScaleLayout::kSwizzle32x4x4;
  ScaleLayout layout_b = ScaleLayout::kSwizzle32x4x4;
  Format bias = Format::kNone;
  float alpha = 1.0f;
  float beta = 0.0f;
  bool use_c = false;
  bool in_place = false;  // C = D
  bool scalars_behind_pointers = false;
  bool packed = false;
  int64_t row_padding = 0;  // elements added to every row
  int64_t offset = 0;  // bytes by which every buffer is moved, a multiple of the largest element
  internal::Activation activation = internal::Activation::kNone;
  uint64_t seed = 1;

  std::string text() const;
};

class GemmCase {
 public:
  explicit GemmCase(const GemmOptions& options);

  static bool accepts(const mxgemm_kernel& kernel, const GemmOptions& options);

  // Runs and checks values and guard bytes; "" or what is wrong.
  std::string run(const mxgemm_kernel& kernel);
  // Runs only. `workspace_bytes` = 0: what the kernel asks for.
  int32_t multiply(const mxgemm_kernel& kernel, uint64_t workspace_bytes = 0);

  mxgemm_gemm_desc& desc() { return desc_; }
  mxgemm_gemm_args& args() { return args_; }
  internal::ReferenceProblem& reference() { return reference_; }
  internal::CompareReport report() const { return report_; }
  const std::vector<uint8_t>& d_bytes() const { return d_; }

 private:
  void make_operand(Format format, int64_t rows, ScaleLayout layout, mxgemm_operand& operand,
                    internal::ReferenceOperand& reference, uint64_t seed);
  void make_epilogue();
  void pack_b();
  uint8_t* keep(std::vector<uint8_t> bytes);

  GemmOptions options_;
  std::vector<std::vector<uint8_t>> buffers_;
  std::vector<uint8_t> d_;
  std::vector<uint8_t> d_before_;
  std::vector<uint8_t> workspace_;
  mxgemm_gemm_desc desc_ = MXGEMM_GEMM_DESC_INIT;
  mxgemm_gemm_args args_ = MXGEMM_GEMM_ARGS_INIT;
  internal::ReferenceProblem reference_;
  internal::CompareReport report_;
  float alpha_value_ = 1.0f;
  float global_a_ = 1.0f;
  float global_b_ = 1.0f;
};

// Kernels that this machine can run and that take the operands of `options`.
std::vector<const mxgemm_kernel*> kernels_for(const GemmOptions& options);

// Runs the problem through every kernel that takes it; one EXPECT each.
void expect_right(const GemmOptions& options);

}  // namespace mxgemm::cpu
