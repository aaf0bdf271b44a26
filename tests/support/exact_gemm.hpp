// SPDX-License-Identifier: Apache-2.0
// GEMMs of small integers with D in fp32: every kernel of every device must give the CPU's bits.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mxgemm/mxgemm.h"
#include "support/device_buffer.hpp"
#include "support/operand.hpp"
#include "support/random_operand.hpp"

namespace mxgemm::test {

inline Operand exact_operand(Format format, int64_t rows, int64_t cols, uint64_t seed) {
  Random random(seed);
  Operand operand(format, rows, cols);
  fill_exact(&operand, &random);
  return operand;
}

inline mxgemm_gemm_desc describe(const Operand& a, const Operand& b, Device device) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.device_kind = device.kind;
  desc.device_index = device.index;
  desc.m = a.rows();
  desc.n = b.rows();
  desc.k = a.cols();
  desc.format_a = static_cast<int32_t>(a.info().format);
  desc.format_b = static_cast<int32_t>(b.info().format);
  desc.format_d = MXGEMM_F32;
  desc.scale_layout_a = static_cast<int32_t>(a.layout());
  desc.scale_layout_b = static_cast<int32_t>(b.layout());
  return desc;
}

// The operand with its bytes where a device has them.
inline mxgemm_operand operand_at(const Operand& operand, const void* data, const void* scale) {
  mxgemm_operand out = MXGEMM_OPERAND_INIT;
  out.data = data;
  out.data_bytes = operand.data().size();
  out.ld = operand.ld();
  if (operand.has_scale()) {
    out.scale = static_cast<const uint8_t*>(scale);
    out.scale_bytes = operand.scale().size();
    out.scale_ld = operand.scale_ld();
  }
  return out;
}

// The CPU's D of the same bytes.
inline std::vector<float> cpu_result(const Operand& a, const Operand& b) {
  const mxgemm_gemm_desc desc = describe(a, b, Device{});
  std::vector<float> d(static_cast<size_t>(a.rows() * b.rows()));
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.a = operand_at(a, a.data().data(), a.scale().data());
  args.b = operand_at(b, b.data().data(), b.scale().data());
  args.d = d.data();
  args.d_bytes = d.size() * sizeof(float);
  EXPECT_EQ(mxgemm_gemm(&desc, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();
  return d;
}

inline std::vector<float> download_floats(const DeviceBuffer& buffer) {
  const std::vector<uint8_t> bytes = buffer.download();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace mxgemm::test
