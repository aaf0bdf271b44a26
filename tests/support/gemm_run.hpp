// SPDX-License-Identifier: Apache-2.0
// One GEMM through the C ABI, the way a hostile but correct caller makes it: buffers of exactly the
// documented size, NaN in all padding, D poisoned within guard bytes. The result can be compared
// with the reference, whose problem is built from the same members.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "mxgemm/mxgemm.h"
#include "reference/compare.hpp"
#include "support/device_buffer.hpp"
#include "support/operand.hpp"

namespace mxgemm::test {

class GemmRun {
 public:
  GemmRun(const Operand& a, const Operand& b, Format format_d)
      : a_(&a), b_(&b), format_d_(format_d) {}

  // Settings; the defaults are those of the ABI.
  Device device;
  std::string kernel_id;  // "" = chosen
  float alpha = 1.0f;
  float beta =
      0.0f;  // other than 0 reads C; with `c` set and beta 0 C is passed and must not be read
  float global_scale_a = 1.0f;
  float global_scale_b = 1.0f;
  bool scalars_on_device = false;
  std::vector<double> c;     // m x n values, rounded to D's format
  bool in_place = false;     // C is D
  std::vector<double> bias;  // n values, rounded to format_bias
  Format format_bias = Format::kNone;
  internal::Activation activation = internal::Activation::kNone;
  int64_t extra_ldd = 0;
  uint64_t offset = 0;        // bytes by which every data pointer is moved
  uint64_t scale_offset = 0;  // and by which scales are moved further
  bool packed = false;
  bool one_shot = false;  // mxgemm_gemm instead of plan and run
  // A forced kernel that wants aligned data refuses other data, in words; the library's own choice
  // never does.
  bool may_refuse_alignment = false;

  mxgemm_status run() {
    const mxgemm_status status = run_once();
    error_ = mxgemm_last_error();
    return status;
  }
  // Runs, and fails the test unless it succeeds (or refuses, where it may) and leaves every byte
  // around D alone.
  void must_run() {
    refused_ = false;
    const mxgemm_status status = run();
    ASSERT_TRUE(status == MXGEMM_OK || refused_) << error_;
    const internal::GuardReport report =
        internal::check_guard(d_bytes_.data(), d_bytes_.size(), kGuard, format_d_, m(), n(), ldd());
    EXPECT_TRUE(report.pass()) << report.bytes_changed << " bytes changed, the first "
                               << report.where;
  }

  const std::string& error() const { return error_; }
  bool refused() const { return refused_; }
  const std::string& kernel() const { return kernel_; }
  int64_t m() const { return a_->rows(); }
  int64_t n() const { return b_->rows(); }
  int64_t ldd() const { return n() + extra_ldd; }
  internal::OutputView output() const { return {format_d_, d_bytes_.data() + kGuard, ldd()}; }
  uint32_t code_at(int64_t row, int64_t col) const {
    return internal::load_code(format_d_, output().data, row * ldd() + col);
  }
  double at(int64_t row, int64_t col) const {
    return internal::decode_code(format_d_, code_at(row, col));
  }

  internal::ReferenceProblem reference() const {
    internal::ReferenceProblem problem;
    problem.m = m();
    problem.n = n();
    problem.k = a_->cols();
    problem.a = a_->reference();
    problem.b = b_->reference();
    problem.factors = {alpha,
                       global_scale_a,
                       global_scale_b,
                       scalars_on_device,
                       global_on_device(*a_),
                       global_on_device(*b_)};
    problem.beta = beta;
    problem.c = c.empty() ? nullptr : c_codes_.data() + kGuard;
    problem.ldc = ldd();
    problem.bias = bias.empty() ? nullptr : bias_codes_.data();
    problem.format_bias = format_bias;
    problem.activation = activation;
    problem.format_d = format_d_;
    return problem;
  }
  internal::CompareReport compare() const {
    return internal::compare_gemm(reference(), output(), 1);
  }

  mxgemm_gemm_desc desc() const {
    mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
    set_flag(!c.empty(), MXGEMM_USE_C, &desc);
    set_flag(packed, MXGEMM_PACKED_B, &desc);
    set_flag(scalars_on_device, MXGEMM_ALPHA_ON_DEVICE, &desc);
    set_flag(global_on_device(*a_), MXGEMM_GLOBAL_SCALE_A_ON_DEVICE, &desc);
    set_flag(global_on_device(*b_), MXGEMM_GLOBAL_SCALE_B_ON_DEVICE, &desc);
    desc.device_kind = device.kind;
    desc.device_index = device.index;
    desc.m = m();
    desc.n = n();
    desc.k = a_->cols();
    desc.format_a = static_cast<int32_t>(a_->info().format);
    desc.format_b = static_cast<int32_t>(b_->info().format);
    desc.format_d = static_cast<int32_t>(format_d_);
    desc.format_bias = static_cast<int32_t>(bias.empty() ? Format::kNone : format_bias);
    desc.scale_layout_a = static_cast<int32_t>(a_->layout());
    desc.scale_layout_b = static_cast<int32_t>(b_->layout());
    desc.activation = static_cast<int32_t>(activation);
    return desc;
  }

 private:
  // Bytes of poison on either side of D: a whole tile row of the widest kernel.
  static constexpr uint64_t kGuard = 256;

  // An operand on the device.
  struct Placed {
    Placed(Device device, const Operand& operand, uint64_t offset, uint64_t scale_offset)
        : data(device, operand.data().data(), operand.data().size(), offset),
          scale(device, operand.scale().data(), operand.scale().size(), offset + scale_offset) {}
    DeviceBuffer data;
    DeviceBuffer scale;
  };

  static mxgemm_operand describe(const Operand& operand, const Placed& placed) {
    mxgemm_operand out = MXGEMM_OPERAND_INIT;
    out.data = placed.data.data();
    out.data_bytes = placed.data.bytes();
    out.ld = operand.ld();
    if (operand.has_scale()) {
      out.scale = placed.scale.data();
      out.scale_bytes = placed.scale.bytes();
      out.scale_ld = operand.scale_ld();
    }
    return out;
  }

  static void set_flag(bool condition, uint32_t flag, mxgemm_gemm_desc* desc) {
    desc->flags |= condition ? flag : 0u;
  }

  bool global_on_device(const Operand& operand) const {
    return scalars_on_device && operand.info().has_global_scale;
  }

  uint64_t element_bytes() const { return format_d_ == Format::kF32 ? 4 : 2; }
  uint64_t d_size() const {
    return m() == 0 || n() == 0 ? 0
                                : static_cast<uint64_t>((m() - 1) * ldd() + n()) * element_bytes();
  }

  void encode(Format format, double value, uint8_t* out) const {
    const uint32_t code = internal::encode_code(format, value);
    std::memcpy(out, &code, format == Format::kF32 ? 4 : 2);
  }

  // Poison all over, C's values in C.
  void fill_host_buffers() {
    d_bytes_.assign(d_size() + 2 * kGuard, 0);
    internal::fill_poison(d_bytes_.data(), d_bytes_.size());
    c_codes_ = d_bytes_;
    for (int64_t row = 0; !c.empty() && row < m(); ++row) {
      for (int64_t col = 0; col < n(); ++col) {
        const uint64_t position =
            kGuard + static_cast<uint64_t>(row * ldd() + col) * element_bytes();
        encode(format_d_, c[static_cast<size_t>(row * n() + col)], &c_codes_[position]);
      }
    }
    const uint64_t bias_bytes = format_bias == Format::kF32 ? 4 : 2;
    bias_codes_.assign(bias.size() * bias_bytes, 0);
    for (size_t col = 0; col < bias.size(); ++col) {
      encode(format_bias, bias[col], &bias_codes_[col * bias_bytes]);
    }
  }

  mxgemm_status run_once() {
    fill_host_buffers();
    const Placed a(device, *a_, offset, scale_offset);
    const Placed b(device, *b_, offset, scale_offset);
    const DeviceBuffer bias_buffer(device, bias_codes_.data(), bias_codes_.size(), offset);
    const DeviceBuffer c_buffer(device, c_codes_.data() + kGuard,
                                c.empty() || in_place ? 0 : d_size(), offset);
    const std::vector<uint8_t>& before = in_place ? c_codes_ : d_bytes_;
    const DeviceBuffer d_buffer(device, before.data(), before.size(), offset);
    const float scalars[] = {alpha, global_scale_a, global_scale_b};
    const DeviceBuffer scalar_buffer(device, scalars, sizeof(scalars));

    mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
    args.a = describe(*a_, a);
    args.b = describe(*b_, b);
    args.alpha = alpha;
    args.beta = beta;
    args.a.global_scale = global_scale_a;
    args.b.global_scale = global_scale_b;
    if (scalars_on_device) {
      const auto* values = reinterpret_cast<const float*>(scalar_buffer.data());
      args.alpha = NAN;  // is not to be looked at
      args.alpha_ptr = values;
      args.a.global_scale_ptr = global_on_device(*a_) ? values + 1 : nullptr;
      args.b.global_scale_ptr = global_on_device(*b_) ? values + 2 : nullptr;
    }
    args.d = d_size() == 0 ? nullptr : d_buffer.data() + kGuard;
    args.d_bytes = d_size();
    args.ldd = ldd();
    if (!c.empty()) {
      args.c = in_place ? args.d : c_buffer.data();
      args.c_bytes = d_size();
      args.ldc = ldd();
    }
    args.bias = bias.empty() ? nullptr : bias_buffer.data();
    args.bias_bytes = bias_buffer.bytes();

    std::optional<DeviceBuffer> packed_buffer;
    if (packed) {
      const mxgemm_status status = pack(b, &packed_buffer);
      if (status != MXGEMM_OK) {
        return status;
      }
      args.b = MXGEMM_OPERAND_INIT;
      args.b.data = packed_buffer->data();
      args.b.data_bytes = packed_buffer->bytes();
      args.b.global_scale = global_scale_b;
      if (global_on_device(*b_)) {
        args.b.global_scale_ptr = reinterpret_cast<const float*>(scalar_buffer.data()) + 2;
      }
    }
    const mxgemm_status status = one_shot ? call_once(args) : plan_and_run(args);
    d_bytes_ = d_buffer.download();
    return status;
  }

  mxgemm_status pack(const Placed& b, std::optional<DeviceBuffer>* out) const {
    uint64_t bytes = 0;
    const auto format = static_cast<int32_t>(b_->info().format);
    mxgemm_status status =
        mxgemm_pack_size(device.kind, device.index, format, b_->rows(), b_->cols(), &bytes);
    if (status == MXGEMM_OK) {
      out->emplace(device, bytes);
      const mxgemm_operand operand = describe(*b_, b);
      status = mxgemm_pack(device.kind, device.index, format, b_->rows(), b_->cols(), &operand,
                           static_cast<int32_t>(b_->layout()), (*out)->data(), bytes, nullptr);
    }
    return status;
  }

  // On the CPU without a workspace, which the library then has itself.
  mxgemm_status call_once(mxgemm_gemm_args args) const {
    const mxgemm_gemm_desc problem = desc();
    uint64_t bytes = 0;
    if (device.kind != MXGEMM_DEVICE_CPU) {
      mxgemm_plan* plan = nullptr;
      EXPECT_EQ(mxgemm_plan_create(&problem, nullptr, &plan), MXGEMM_OK) << mxgemm_last_error();
      EXPECT_EQ(mxgemm_plan_workspace_size(plan, &bytes), MXGEMM_OK) << mxgemm_last_error();
      mxgemm_plan_destroy(plan);
    }
    const DeviceBuffer workspace(device, bytes);
    args.workspace = workspace.data();
    args.workspace_bytes = bytes;
    const mxgemm_status status = mxgemm_gemm(&problem, &args, nullptr);
    const std::string message = mxgemm_last_error();
    EXPECT_EQ(mxgemm_device_synchronize(device.kind, device.index), MXGEMM_OK)
        << mxgemm_last_error();
    if (status != MXGEMM_OK) {
      ADD_FAILURE() << message;
    }
    return status;
  }

  mxgemm_status plan_and_run(mxgemm_gemm_args args) {
    const mxgemm_gemm_desc problem = desc();
    mxgemm_plan* plan = nullptr;
    mxgemm_status status =
        mxgemm_plan_create(&problem, kernel_id.empty() ? nullptr : kernel_id.c_str(), &plan);
    if (status != MXGEMM_OK) {
      return status;
    }
    char name[128] = "";
    EXPECT_EQ(mxgemm_plan_name(plan, name, sizeof(name), nullptr), MXGEMM_OK)
        << mxgemm_last_error();
    kernel_ = name;
    uint64_t workspace_bytes = 0;
    EXPECT_EQ(mxgemm_plan_workspace_size(plan, &workspace_bytes), MXGEMM_OK) << mxgemm_last_error();
    void* workspace = nullptr;
    EXPECT_EQ(mxgemm_device_alloc(device.kind, device.index, workspace_bytes, &workspace),
              MXGEMM_OK)
        << mxgemm_last_error();
    args.workspace = workspace;
    args.workspace_bytes = workspace_bytes;
    status = mxgemm_run(plan, &args, nullptr);
    const std::string message = mxgemm_last_error();
    EXPECT_EQ(mxgemm_device_synchronize(device.kind, device.index), MXGEMM_OK)
        << mxgemm_last_error();
    EXPECT_EQ(mxgemm_device_free(device.kind, device.index, workspace), MXGEMM_OK)
        << mxgemm_last_error();
    mxgemm_plan_destroy(plan);
    refused_ = may_refuse_alignment && status == MXGEMM_UNSUPPORTED &&
               message.find(kernel_ + " needs multiples of ") != std::string::npos;
    if (status != MXGEMM_OK && !refused_) {
      ADD_FAILURE() << kernel_ << ": " << message;
    }
    return status;
  }

  const Operand* a_;
  const Operand* b_;
  Format format_d_;
  std::vector<uint8_t> d_bytes_;  // guard, D, guard
  std::vector<uint8_t> c_codes_;  // the same layout
  std::vector<uint8_t> bias_codes_;
  std::string error_;
  std::string kernel_;
  bool refused_ = false;
};

}  // namespace mxgemm::test
