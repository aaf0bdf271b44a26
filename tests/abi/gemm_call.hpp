// SPDX-License-Identifier: Apache-2.0
// A small GEMM that is right in every argument, mxf4 x mxf4 -> f32 of ones, for tests that make one
// of them wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "mxgemm/mxgemm.h"

namespace mxgemm::test {

struct GemmCall {
  // Two codes of 1.0, and the scale 2^0.
  static constexpr uint8_t kOnes = 0x22;
  static constexpr uint8_t kScaleOne = 127;
  static constexpr float kPoison = -12345.0f;

  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  std::vector<uint8_t> a;
  std::vector<uint8_t> a_scale;
  std::vector<uint8_t> b;
  std::vector<uint8_t> b_scale;
  std::vector<float> c;
  std::vector<float> d;
  std::vector<float> bias;

  explicit GemmCall(int64_t m = 3, int64_t n = 5, int64_t k = 64) {
    desc.m = m;
    desc.n = n;
    desc.k = k;
    desc.format_a = MXGEMM_MXF4;
    desc.format_b = MXGEMM_MXF4;
    desc.format_d = MXGEMM_F32;
    a.assign(static_cast<size_t>(m * k / 2), kOnes);
    b.assign(static_cast<size_t>(n * k / 2), kOnes);
    a_scale.assign(static_cast<size_t>(m * k / 32), kScaleOne);
    b_scale.assign(static_cast<size_t>(n * k / 32), kScaleOne);
    d.assign(static_cast<size_t>(m * n), kPoison);
    set_operand(&args.a, a, a_scale);
    set_operand(&args.b, b, b_scale);
    args.d = d.data();
    args.d_bytes = d.size() * sizeof(float);
  }
  GemmCall(const GemmCall&) = delete;
  GemmCall& operator=(const GemmCall&) = delete;

  void use_c(float value, float beta) {
    desc.flags |= MXGEMM_USE_C;
    c.assign(d.size(), value);
    args.c = c.data();
    args.c_bytes = c.size() * sizeof(float);
    args.beta = beta;
  }
  void use_bias(float value) {
    desc.format_bias = MXGEMM_F32;
    bias.assign(static_cast<size_t>(desc.n), value);
    args.bias = bias.data();
    args.bias_bytes = bias.size() * sizeof(float);
  }
  mxgemm_status run() { return mxgemm_gemm(&desc, &args, nullptr); }

 private:
  static void set_operand(mxgemm_operand* operand, const std::vector<uint8_t>& data,
                          const std::vector<uint8_t>& scale) {
    operand->data = data.data();
    operand->data_bytes = data.size();
    operand->scale = scale.data();
    operand->scale_bytes = scale.size();
  }
};

}  // namespace mxgemm::test
