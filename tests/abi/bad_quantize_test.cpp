// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of quantising; presets; empty matrices.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "abi/expect_status.hpp"

namespace mxgemm::test {
namespace {

// 3 x 64 ones, f32 -> mxf4 or nvf4.
struct QuantizeCall {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  std::vector<float> src = std::vector<float>(3 * 64, 1.0f);
  std::vector<uint8_t> qdata = std::vector<uint8_t>(3 * 32, 0xEE);
  std::vector<uint8_t> scale = std::vector<uint8_t>(512, 0xEE);
  float global_scale = 1.0f;

  explicit QuantizeCall(int32_t format = MXGEMM_MXF4) {
    desc.format_src = MXGEMM_F32;
    desc.format = format;
    desc.rows = 3;
    desc.cols = 64;
    args.src = src.data();
    args.src_bytes = src.size() * sizeof(float);
    args.qdata = qdata.data();
    args.qdata_bytes = qdata.size();
    args.scale = scale.data();
    args.scale_bytes = scale.size();
    args.global_scale = format == MXGEMM_NVF4 ? &global_scale : nullptr;
  }
  QuantizeCall(const QuantizeCall&) = delete;
  QuantizeCall& operator=(const QuantizeCall&) = delete;
  mxgemm_status run() { return mxgemm_quantize(&desc, &args, nullptr); }
};

TEST(BadQuantize, TheCallItselfIsRight) {
  QuantizeCall mx;
  expect_ok(mx.run());
  EXPECT_EQ(mx.scale[0], 125);  // 1 = 4 * 2^-2
  EXPECT_EQ(mx.qdata[0], 0x66);
  EXPECT_EQ(mx.scale[6], 0xEE) << "past the end";
  QuantizeCall nv(MXGEMM_NVF4);
  expect_ok(nv.run());
  EXPECT_GT(nv.global_scale, 0.0f);
}

// Kind of fault 24.
TEST(Quantize, ZeroSizes) {
  for (const int32_t format : {MXGEMM_MXF4, MXGEMM_NVF4}) {
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{0, 64}, {3, 0}, {0, 0}}) {
      QuantizeCall call(format);
      call.desc.rows = rows;
      call.desc.cols = cols;
      expect_ok(call.run());
      EXPECT_EQ(call.global_scale, 1.0f);  // of no elements
      call.args.src = call.args.qdata = call.args.scale = nullptr;
      call.args.src_bytes = call.args.qdata_bytes = call.args.scale_bytes = 0;
      expect_ok(call.run());
      EXPECT_EQ(call.qdata[0], 0xEE);
      EXPECT_EQ(call.scale[0], 0xEE);
    }
  }
}

TEST(BadQuantize, Structs) {
  QuantizeCall call;
  expect_invalid(mxgemm_quantize(nullptr, &call.args, nullptr), {"desc is NULL"});
  expect_invalid(mxgemm_quantize(&call.desc, nullptr, nullptr), {"args is NULL"});
  expect_invalid(mxgemm_quantize(&call.desc, &call.args, &call), {"stream is", "NULL on the CPU"});
  call.desc.struct_size -= 8;
  expect_invalid(call.run(), {"desc.struct_size", "mxgemm_quantize_desc"});
  QuantizeCall args;
  args.args.struct_size = 1;
  expect_invalid(args.run(), {"args.struct_size is 1", "mxgemm_quantize_args"});
  QuantizeCall reserved;
  reserved.desc.reserved = 1;
  expect_invalid(reserved.run(), {"desc.reserved is 1"});
  reserved.desc.reserved = 0;
  reserved.args.reserved = 1;
  expect_invalid(reserved.run(), {"args.reserved is 1"});
}

TEST(BadQuantize, UnknownEnumValues) {
  struct Case {
    int32_t mxgemm_quantize_desc::*field;
    const char* name;
    const char* allowed;
  };
  const Case cases[] = {
      {&mxgemm_quantize_desc::device_kind, "desc.device_kind", "0 (cpu)"},
      {&mxgemm_quantize_desc::format_src, "desc.format_src", "18 (f32)"},
      {&mxgemm_quantize_desc::format, "desc.format", "2 (nvf4)"},
      {&mxgemm_quantize_desc::scale_layout, "desc.scale_layout", "0 (row_major)"},
      {&mxgemm_quantize_desc::scale_rule, "desc.scale_rule", "6 (mse)"},
      {&mxgemm_quantize_desc::nonfinite, "desc.nonfinite", "1 (saturate)"},
      {&mxgemm_quantize_desc::rounding, "desc.rounding", "1 (stochastic)"},
      {&mxgemm_quantize_desc::global_scale_mode, "desc.global_scale_mode", "3 (given)"},
  };
  for (const Case& item : cases) {
    for (const int32_t value : {-1, 7, 64, INT32_MIN, INT32_MAX}) {
      QuantizeCall call;
      call.desc.*item.field = value;
      expect_invalid(call.run(), {item.name, std::to_string(value).c_str(), item.allowed});
    }
  }
}

// Kinds of fault 28 and 31: the block, and sizes beyond 32 and 64 bits.
TEST(BadQuantize, Shapes) {
  QuantizeCall call;
  call.desc.rows = -1;
  expect_invalid(call.run(), {"desc.rows is -1", "at least 0"});
  call.desc.rows = 3;
  call.desc.cols = 40;
  expect_invalid(call.run(), {"desc.cols is 40", "multiple of 32", "mxf4"});
  call.desc.format = MXGEMM_NVF4;
  call.desc.cols = 24;
  expect_invalid(call.run(), {"desc.cols is 24", "multiple of 16", "nvf4"});
  call.desc.format = MXGEMM_MXF4;
  call.desc.cols = 64;
  call.desc.rows = INT64_MAX;
  expect_invalid(call.run(), {"desc.rows is 9223372036854775807", "desc.cols is 64", "2^63 - 1"});
  call.desc.rows = int64_t{1} << 32;  // in f32 2^40 bytes, which the caller does not have
  expect_invalid(call.run(), {"args.src_bytes is 768", "at least 1099511627776"});
}

TEST(BadQuantize, OptionsThatTheFormatDoesNotUse) {
  QuantizeCall rule(MXGEMM_NVF4);
  rule.desc.scale_rule = MXGEMM_SCALE_RULE_FLOOR;
  expect_invalid(rule.run(), {"desc.scale_rule", "nvf4"});
  QuantizeCall mode;
  mode.desc.global_scale_mode = MXGEMM_GLOBAL_SCALE_ONE;
  expect_invalid(mode.run(), {"desc.global_scale_mode", "mxf4"});
  QuantizeCall least;
  least.desc.min_block_scale = 0.5f;
  expect_invalid(least.run(), {"desc.min_block_scale is 0.5", "mxf4"});
  QuantizeCall most(MXGEMM_NVF4);
  most.desc.min_block_scale = 449.0f;
  expect_invalid(most.run(), {"desc.min_block_scale is 449", "448"});
  QuantizeCall seed;
  seed.desc.seed = 1;
  expect_invalid(seed.run(), {"desc.seed is 1"});
  QuantizeCall offset;
  offset.desc.offset = 2;
  expect_invalid(offset.run(), {"desc.offset is 2"});
  QuantizeCall global;
  global.args.global_scale = &global.global_scale;
  expect_invalid(global.run(), {"args.global_scale is", "mxf4 has no global scale"});
  QuantizeCall missing(MXGEMM_NVF4);
  missing.args.global_scale = nullptr;
  expect_invalid(missing.run(), {"args.global_scale is NULL"});
  missing.desc.global_scale_mode = MXGEMM_GLOBAL_SCALE_ONE;
  expect_ok(missing.run());
  QuantizeCall given(MXGEMM_NVF4);
  given.desc.global_scale_mode = MXGEMM_GLOBAL_SCALE_GIVEN;
  given.global_scale = 0.0f;
  expect_invalid(given.run(), {"global_scale is 0", "0"});
}

TEST(BadQuantize, Buffers) {
  QuantizeCall src;
  src.args.src = nullptr;
  expect_invalid(src.run(), {"args.src is NULL", "768 bytes"});
  QuantizeCall bytes;
  bytes.args.src_bytes = 767;
  expect_invalid(bytes.run(), {"args.src_bytes is 767", "at least 768"});
  QuantizeCall aligned;
  aligned.args.src = reinterpret_cast<const char*>(aligned.src.data()) + 1;
  expect_invalid(aligned.run(), {"args.src is", "multiple of 4"});
  QuantizeCall ld;
  ld.args.src_ld = 63;
  expect_invalid(ld.run(), {"args.src_ld is 63", "64 columns"});
  QuantizeCall odd;
  odd.args.qdata_ld = 65;
  expect_invalid(odd.run(), {"args.qdata_ld is 65", "multiple of 2"});
  QuantizeCall qdata;
  qdata.args.qdata_bytes = 95;
  expect_invalid(qdata.run(), {"args.qdata_bytes is 95", "at least 96"});
  QuantizeCall scale;
  scale.desc.scale_layout = MXGEMM_SCALE_SWIZZLE_32_4_4;
  scale.args.scale_bytes = 511;
  expect_invalid(scale.run(), {"args.scale_bytes is 511", "at least 512"});
  scale.args.scale_ld = 2;
  expect_invalid(scale.run(), {"args.scale_ld is 2", "0 with swizzled scales"});
  // Kind of fault 38: output and input share no memory.
  QuantizeCall alias;
  alias.args.qdata = alias.src.data();
  expect_invalid(alias.run(), {"args.qdata at", "overlaps args.src"});
  QuantizeCall both;
  both.args.scale = both.qdata.data() + 90;
  both.args.scale_bytes = 6;
  expect_invalid(both.run(), {"args.scale at", "overlaps args.qdata"});
  EXPECT_EQ(both.qdata[0], 0xEE) << "written before the check";
}

TEST(BadQuantize, Presets) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  expect_invalid(mxgemm_quantize_preset(MXGEMM_PRESET_OCP, nullptr), {"desc is NULL"});
  expect_invalid(mxgemm_quantize_preset(MXGEMM_PRESET_OCP, &desc), {"desc.format is 0 (none)"});
  desc.format = MXGEMM_MXF4;
  expect_invalid(mxgemm_quantize_preset(4, &desc), {"preset is 4", "3 (cuda)"});
  desc.format = MXGEMM_NVF4;
  expect_invalid(mxgemm_quantize_preset(MXGEMM_PRESET_OCP, &desc), {"preset is 1 (ocp)", "nvf4"});
  desc.struct_size = 4;
  expect_invalid(mxgemm_quantize_preset(MXGEMM_PRESET_CUDA, &desc), {"desc.struct_size is 4"});
}

TEST(Quantize, PresetsSetTheirOptions) {
  struct Case {
    int32_t preset;
    int32_t format;
    int32_t scale_rule;
    int32_t nonfinite;
    float min_block_scale;
  };
  const Case cases[] = {
      {MXGEMM_PRESET_DEFAULT, MXGEMM_MXF4, MXGEMM_SCALE_RULE_DEFAULT, MXGEMM_NONFINITE_NAN, 0.0f},
      {MXGEMM_PRESET_OCP, MXGEMM_MXF4, MXGEMM_SCALE_RULE_FLOOR, MXGEMM_NONFINITE_NAN, 0.0f},
      {MXGEMM_PRESET_TORCHAO, MXGEMM_MXF8E4M3, MXGEMM_SCALE_RULE_FLOOR, MXGEMM_NONFINITE_NAN, 0.0f},
      {MXGEMM_PRESET_CUDA, MXGEMM_MXF8E5M2, MXGEMM_SCALE_RULE_RCEIL, MXGEMM_NONFINITE_SATURATE,
       0.0f},
      {MXGEMM_PRESET_DEFAULT, MXGEMM_NVF4, MXGEMM_SCALE_RULE_DEFAULT, MXGEMM_NONFINITE_NAN, 0.0f},
      {MXGEMM_PRESET_TORCHAO, MXGEMM_NVF4, MXGEMM_SCALE_RULE_DEFAULT, MXGEMM_NONFINITE_NAN,
       0x1p-6f},
      {MXGEMM_PRESET_CUDA, MXGEMM_NVF4, MXGEMM_SCALE_RULE_DEFAULT, MXGEMM_NONFINITE_SATURATE, 0.0f},
  };
  for (const Case& item : cases) {
    mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
    desc.format = item.format;
    desc.scale_rule = MXGEMM_SCALE_RULE_MSE;
    desc.min_block_scale = 3.0f;
    expect_ok(mxgemm_quantize_preset(item.preset, &desc));
    EXPECT_EQ(desc.scale_rule, item.scale_rule) << item.preset << " " << item.format;
    EXPECT_EQ(desc.nonfinite, item.nonfinite) << item.preset << " " << item.format;
    EXPECT_EQ(desc.min_block_scale, item.min_block_scale) << item.preset << " " << item.format;
  }
}

TEST(BadQuantize, WorkspaceSize) {
  QuantizeCall call;
  uint64_t bytes = 77;
  expect_ok(mxgemm_quantize_workspace_size(&call.desc, &bytes));
  EXPECT_EQ(bytes, 0u);
  expect_invalid(mxgemm_quantize_workspace_size(&call.desc, nullptr), {"bytes is NULL"});
  call.desc.device_kind = MXGEMM_DEVICE_CUDA;
  call.desc.device_index = 1000;  // more than any machine has
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_quantize_workspace_size(&call.desc, &bytes),
                {"desc.device_index is 1000", "CUDA device"});
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, call.run(), {"desc.device_index is 1000"});
}

}  // namespace
}  // namespace mxgemm::test
