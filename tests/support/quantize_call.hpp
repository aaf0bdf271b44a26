// SPDX-License-Identifier: Apache-2.0
// Quantising into a test operand, and reading one back, through the C ABI on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "mxgemm/mxgemm.h"
#include "support/operand.hpp"

namespace mxgemm::test {

// Quantises rows x cols values under `rule` into an operand of the same shape; NVFP4 takes one
// level unless `global_scale` is given, which then receives the library's.
inline void quantize_into(const std::vector<float>& values, int32_t rule, Operand* operand,
                          float* global_scale = nullptr) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = MXGEMM_F32;
  desc.format = static_cast<int32_t>(operand->info().format);
  desc.scale_layout = static_cast<int32_t>(operand->layout());
  desc.rows = operand->rows();
  desc.cols = operand->cols();
  const bool is_nvf4 = operand->info().has_global_scale;
  desc.scale_rule = is_nvf4 ? MXGEMM_SCALE_RULE_DEFAULT : rule;
  desc.global_scale_mode = !is_nvf4                  ? MXGEMM_GLOBAL_SCALE_DEFAULT
                           : global_scale == nullptr ? MXGEMM_GLOBAL_SCALE_ONE
                                                     : MXGEMM_GLOBAL_SCALE_COMPUTE;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = values.data();
  args.src_bytes = values.size() * sizeof(float);
  args.qdata = operand->mutable_data();
  args.qdata_bytes = operand->data().size();
  args.qdata_ld = operand->ld();
  args.scale = operand->mutable_scale();
  args.scale_bytes = operand->scale().size();
  args.scale_ld = operand->scale_ld();
  args.global_scale = global_scale;
  ASSERT_EQ(mxgemm_quantize(&desc, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();
}

// The operand's values in bf16, dense, as codes.
inline std::vector<uint16_t> dequantize_to_bf16(const Operand& operand) {
  std::vector<uint16_t> values(static_cast<size_t>(operand.rows() * operand.cols()));
  mxgemm_operand source = MXGEMM_OPERAND_INIT;
  source.data = operand.data().data();
  source.data_bytes = operand.data().size();
  source.ld = operand.ld();
  source.scale = operand.scale().data();
  source.scale_bytes = operand.scale().size();
  source.scale_ld = operand.scale_ld();
  EXPECT_EQ(mxgemm_dequantize(MXGEMM_DEVICE_CPU, 0, static_cast<int32_t>(operand.info().format),
                              operand.rows(), operand.cols(), &source,
                              static_cast<int32_t>(operand.layout()), 0, MXGEMM_BF16, values.data(),
                              values.size() * 2, operand.cols(), nullptr),
            MXGEMM_OK)
      << mxgemm_last_error();
  return values;
}

}  // namespace mxgemm::test
