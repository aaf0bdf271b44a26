// SPDX-License-Identifier: Apache-2.0
// mxgemm for C++20: a header over the C ABI of mxgemm.h, which stays the only binary interface.
// Failures are thrown as mxgemm::Error; memory, plans and events are owned by objects. Shapes: A
// [M, K], B [N, K], D [M, N], all row-major, D = act(alpha * (A . B^T) + bias + beta * C).
//
//   std::vector<float> a(2 * 64, 1.0f), b(3 * 64, 0.5f);
//   const auto qa = mxgemm::quantize(a, 2, 64, mxgemm::Format::kMxf4);
//   const auto qb = mxgemm::quantize(b, 3, 64, mxgemm::Format::kMxf4);
//   const std::vector<float> d = mxgemm::gemm(qa, qb);  // [2, 3]
//
// Functions that return or take std::vector and std::span work on the CPU device; Plan, Buffer,
// Stream and Event work on every device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mxgemm/device.hpp"
#include "mxgemm/mxgemm.h"
#include "mxgemm/types.hpp"

namespace mxgemm {

inline uint64_t qdata_size(Format format, int64_t rows, int64_t cols) {
  uint64_t result = 0;
  detail::check(mxgemm_qdata_size(detail::value(format), rows, cols, &result));
  return result;
}
inline uint64_t scale_size(Format format, ScaleLayout layout, int64_t rows, int64_t cols) {
  uint64_t result = 0;
  detail::check(
      mxgemm_scale_size(detail::value(format), detail::value(layout), rows, cols, &result));
  return result;
}

// A block-scaled matrix [rows, cols] that owns its memory; rows and row-major scales are dense.
struct QuantizedMatrix {
  Format format = Format::kNone;
  ScaleLayout scale_layout = ScaleLayout::kSwizzle32x4x4;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<uint8_t> qdata;
  std::vector<uint8_t> scale;
  float global_scale = 1.0f;  // nvf4
};

// Weights B [rows = N, cols = K] in the form that the kernels of this machine like best.
struct PackedMatrix {
  Format format = Format::kNone;
  int64_t rows = 0;
  int64_t cols = 0;
  Buffer packed;
  float global_scale = 1.0f;
};

// One side of a GEMM in memory that somebody else owns.
struct Operand {
  Format format = Format::kNone;
  ScaleLayout scale_layout = ScaleLayout::kRowMajor;
  int64_t rows = 0;
  int64_t cols = 0;
  bool is_packed = false;
  mxgemm_operand memory = MXGEMM_OPERAND_INIT;

  Operand() = default;
  Operand(const QuantizedMatrix& matrix)  // NOLINT: meant to convert
      : format(matrix.format),
        scale_layout(matrix.scale_layout),
        rows(matrix.rows),
        cols(matrix.cols) {
    memory.data = matrix.qdata.data();
    memory.data_bytes = matrix.qdata.size();
    memory.scale = matrix.scale.data();
    memory.scale_bytes = matrix.scale.size();
    memory.global_scale = matrix.global_scale;
  }
  Operand(const PackedMatrix& matrix)  // NOLINT: meant to convert
      : format(matrix.format), rows(matrix.rows), cols(matrix.cols), is_packed(true) {
    memory.data = matrix.packed.data();
    memory.data_bytes = matrix.packed.size();
    memory.global_scale = matrix.global_scale;
  }
  // Plain numbers [rows, cols], `ld` elements from row to row (0 = dense): an operand A.
  Operand(Elements elements, int64_t num_rows, int64_t num_cols, int64_t ld = 0)
      : format(elements.format), rows(num_rows), cols(num_cols) {
    memory.data = elements.data;
    memory.data_bytes = elements.bytes;
    memory.ld = ld;
  }
};

// ---- Quantising ---------------------------------------------------------------------------------

struct QuantizeOptions {
  Preset preset = Preset::kDefault;
  std::optional<ScaleRule> scale_rule = std::nullopt;  // given, these three win over the preset
  std::optional<Nonfinite> nonfinite = std::nullopt;
  std::optional<float> min_block_scale = std::nullopt;  // nvf4
  ScaleLayout scale_layout = ScaleLayout::kSwizzle32x4x4;
  Rounding rounding = Rounding::kNearestEven;
  GlobalScaleMode global_scale_mode = GlobalScaleMode::kDefault;
  float global_scale = 1.0f;  // nvf4 with kGiven
  uint64_t seed = 0;          // stochastic rounding
  uint64_t offset = 0;
  int64_t src_ld = 0;  // elements from row to row, 0 = dense
};

// Quantises `values` [rows, cols] along the last dimension.
inline QuantizedMatrix quantize(Elements values, int64_t rows, int64_t cols, Format format,
                                const QuantizeOptions& options = {}) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = detail::value(values.format);
  desc.format = detail::value(format);
  detail::check(mxgemm_quantize_preset(detail::value(options.preset), &desc));
  desc.scale_rule = options.scale_rule ? detail::value(*options.scale_rule) : desc.scale_rule;
  desc.nonfinite = options.nonfinite ? detail::value(*options.nonfinite) : desc.nonfinite;
  desc.min_block_scale = options.min_block_scale.value_or(desc.min_block_scale);
  desc.scale_layout = detail::value(options.scale_layout);
  desc.rows = rows;
  desc.cols = cols;
  desc.rounding = detail::value(options.rounding);
  desc.global_scale_mode = detail::value(options.global_scale_mode);
  desc.seed = options.seed;
  desc.offset = options.offset;

  QuantizedMatrix result{format, options.scale_layout, rows, cols, {}, {}, options.global_scale};
  result.qdata.resize(qdata_size(format, rows, cols));
  result.scale.resize(scale_size(format, options.scale_layout, rows, cols));
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = values.data;
  args.src_bytes = values.bytes;
  args.src_ld = options.src_ld;
  args.qdata = result.qdata.data();
  args.qdata_bytes = result.qdata.size();
  args.scale = result.scale.data();
  args.scale_bytes = result.scale.size();
  args.global_scale = format == Format::kNvf4 ? &result.global_scale : nullptr;
  detail::check(mxgemm_quantize(&desc, &args, nullptr));
  return result;
}

// Decodes `src` into `dst` [rows, cols], `dst_ld` elements from row to row (0 = dense).
template <PlainElement T>
void dequantize(const Operand& src, std::span<T> dst, int64_t dst_ld = 0) {
  detail::check(mxgemm_dequantize(MXGEMM_DEVICE_CPU, 0, detail::value(src.format), src.rows,
                                  src.cols, &src.memory, detail::value(src.scale_layout), 0,
                                  detail::value(kFormatOf<T>), dst.data(), dst.size_bytes(), dst_ld,
                                  nullptr));
}
template <PlainElement T = float>
std::vector<T> dequantize(const Operand& src) {
  std::vector<T> result(detail::element_count(src.rows, src.cols));
  dequantize(src, std::span<T>(result));
  return result;
}

// Scales [rows, cols] (cols = K / block), row-major with stride src_ld (0 = dense) -> swizzled, and
// back to dense.
inline std::vector<uint8_t> swizzle_scales(std::span<const uint8_t> src, int64_t rows, int64_t cols,
                                           int64_t src_ld = 0) {
  std::vector<uint8_t> result(detail::swizzled_size(rows, cols));
  detail::check(mxgemm_swizzle_scales(MXGEMM_DEVICE_CPU, 0, rows, cols, src.data(), src.size(),
                                      src_ld, result.data(), result.size(), nullptr));
  return result;
}
inline std::vector<uint8_t> unswizzle_scales(std::span<const uint8_t> src, int64_t rows,
                                             int64_t cols) {
  std::vector<uint8_t> result(detail::element_count(rows, cols));
  detail::check(mxgemm_unswizzle_scales(MXGEMM_DEVICE_CPU, 0, rows, cols, src.data(), src.size(),
                                        result.data(), result.size(), 0, nullptr));
  return result;
}

// Prepares weights B once for many products on this machine.
inline PackedMatrix pack(const Operand& b) {
  uint64_t bytes = 0;
  detail::check(
      mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, detail::value(b.format), b.rows, b.cols, &bytes));
  PackedMatrix result{b.format, b.rows, b.cols, Buffer(bytes), b.memory.global_scale};
  detail::check(mxgemm_pack(MXGEMM_DEVICE_CPU, 0, detail::value(b.format), b.rows, b.cols,
                            &b.memory, detail::value(b.scale_layout), result.packed.data(), bytes,
                            nullptr));
  return result;
}

// ---- GEMM ---------------------------------------------------------------------------------------

// What to compute, without memory; the fields of mxgemm_gemm_desc.
struct Problem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Format format_a = Format::kNone;
  Format format_b = Format::kNone;
  Format format_d = Format::kF32;
  Format format_bias = Format::kNone;
  ScaleLayout scale_layout_a = ScaleLayout::kRowMajor;
  ScaleLayout scale_layout_b = ScaleLayout::kRowMajor;
  Activation activation = Activation::kNone;
  uint32_t flags = 0;  // MXGEMM_USE_C | …
  Device device = {};

  mxgemm_gemm_desc desc() const {
    mxgemm_gemm_desc result = MXGEMM_GEMM_DESC_INIT;
    result.flags = flags;
    result.device_kind = detail::value(device.kind);
    result.device_index = device.index;
    result.m = m;
    result.n = n;
    result.k = k;
    result.format_a = detail::value(format_a);
    result.format_b = detail::value(format_b);
    result.format_d = detail::value(format_d);
    result.format_bias = detail::value(format_bias);
    result.scale_layout_a = detail::value(scale_layout_a);
    result.scale_layout_b = detail::value(scale_layout_b);
    result.activation = detail::value(activation);
    return result;
  }
};

// One line per kernel: chosen, accepts, or why it refuses.
inline std::string explain(const Problem& problem) {
  const mxgemm_gemm_desc desc = problem.desc();
  return detail::text([&](char* buffer, size_t capacity, size_t* needed) {
    return mxgemm_explain(&desc, buffer, capacity, needed);
  });
}

// A problem and the kernel chosen for it; immutable, may be shared by threads.
class Plan {
 public:
  // `kernel_id` is a full id; "" = choose.
  explicit Plan(const Problem& problem, const std::string& kernel_id = {}) {
    const mxgemm_gemm_desc desc = problem.desc();
    mxgemm_plan* handle = nullptr;
    detail::check(
        mxgemm_plan_create(&desc, kernel_id.empty() ? nullptr : kernel_id.c_str(), &handle));
    handle_.reset(handle);
  }

  std::string name() const {
    return detail::text([this](char* buffer, size_t capacity, size_t* needed) {
      return mxgemm_plan_name(handle_.get(), buffer, capacity, needed);
    });
  }
  std::string explain() const {
    return detail::text([this](char* buffer, size_t capacity, size_t* needed) {
      return mxgemm_plan_explain(handle_.get(), buffer, capacity, needed);
    });
  }
  uint64_t workspace_size() const {
    uint64_t result = 0;
    detail::check(mxgemm_plan_workspace_size(handle_.get(), &result));
    return result;
  }
  void run(const mxgemm_gemm_args& args, void* stream = nullptr) const {
    detail::check(mxgemm_run(handle_.get(), &args, stream));
  }

 private:
  struct Destroy {
    void operator()(mxgemm_plan* plan) const noexcept { mxgemm_plan_destroy(plan); }
  };
  std::unique_ptr<mxgemm_plan, Destroy> handle_;
};

struct GemmOptions {
  float alpha = 1.0f;
  float beta = 0.0f;
  Elements c = {};  // [M, N] of D's type; given, beta * C is added
  int64_t ldc = 0;
  int64_t ldd = 0;
  Elements bias = {};  // [N], of D's type or float
  Activation activation = Activation::kNone;
};

// D [M, N] = act(alpha * (A . B^T) + bias + beta * C) on the CPU.
template <PlainElement T>
void gemm(const Operand& a, const Operand& b, std::span<T> d, const GemmOptions& options = {}) {
  Problem problem;
  problem.m = a.rows;
  problem.n = b.rows;
  problem.k = a.cols;
  problem.format_a = a.format;
  problem.format_b = b.format;
  problem.format_d = kFormatOf<T>;
  problem.format_bias = options.bias.format;
  problem.scale_layout_a = a.scale_layout;
  problem.scale_layout_b = b.scale_layout;
  problem.activation = options.activation;
  if (options.c.format != Format::kNone) {
    problem.flags |= MXGEMM_USE_C;
  }
  if (b.is_packed) {
    problem.flags |= MXGEMM_PACKED_B;
  }
  if (a.cols != b.cols) {
    throw Error(Status::kInvalidArgument, "a has " + std::to_string(a.cols) + " columns and b " +
                                              std::to_string(b.cols) + "; both must have K");
  }
  if (a.is_packed) {
    throw Error(Status::kInvalidArgument, "a is packed; only b may be");
  }
  if (options.c.format != Format::kNone && options.c.format != kFormatOf<T>) {
    throw Error(Status::kInvalidArgument,
                "options.c has another element type than d; it must have the same");
  }
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.alpha = options.alpha;
  args.beta = options.beta;
  args.a = a.memory;
  args.b = b.memory;
  args.c = options.c.data;
  args.c_bytes = options.c.bytes;
  args.ldc = options.ldc;
  args.d = d.data();
  args.d_bytes = d.size_bytes();
  args.ldd = options.ldd;
  args.bias = options.bias.data;
  args.bias_bytes = options.bias.bytes;
  const mxgemm_gemm_desc desc = problem.desc();
  detail::check(mxgemm_gemm(&desc, &args, nullptr));
}
template <PlainElement T = float>
std::vector<T> gemm(const Operand& a, const Operand& b, const GemmOptions& options = {}) {
  std::vector<T> result(detail::element_count(a.rows, b.rows));
  gemm(a, b, std::span<T>(result), options);
  return result;
}

}  // namespace mxgemm
