// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of the calls on block-scaled data: quantise, dequantise, swizzle, pack, sizes.
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
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_quantize_workspace_size(&call.desc, &bytes),
                {"no CUDA backend"});
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, call.run(), {"no CUDA backend"});
}

struct DequantizeCall {
  mxgemm_operand src = MXGEMM_OPERAND_INIT;
  std::vector<uint8_t> qdata = std::vector<uint8_t>(3 * 32, 0x22);
  std::vector<uint8_t> scale = std::vector<uint8_t>(3 * 2, 127);
  std::vector<float> dst = std::vector<float>(3 * 64, -1.0f);
  int32_t format = MXGEMM_MXF4;
  int64_t rows = 3;
  int64_t cols = 64;
  int32_t layout = MXGEMM_SCALE_ROW_MAJOR;
  int32_t on_device = 0;
  int32_t format_dst = MXGEMM_F32;
  int64_t dst_ld = 0;

  DequantizeCall() {
    src.data = qdata.data();
    src.data_bytes = qdata.size();
    src.scale = scale.data();
    src.scale_bytes = scale.size();
  }
  mxgemm_status run(const mxgemm_operand* operand) {
    return mxgemm_dequantize(MXGEMM_DEVICE_CPU, 0, format, rows, cols, operand, layout, on_device,
                             format_dst, dst.data(), dst.size() * sizeof(float), dst_ld, nullptr);
  }
  mxgemm_status run() { return run(&src); }
};

TEST(Dequantize, GlobalScalesAndZeroSizes) {
  DequantizeCall nv;
  nv.format = MXGEMM_NVF4;
  nv.scale.assign(3 * 4, 0x38);
  nv.src.scale = nv.scale.data();
  nv.src.scale_bytes = nv.scale.size();
  nv.src.global_scale = 0.5f;
  expect_ok(nv.run());
  EXPECT_EQ(nv.dst[100], 0.5f);
  const float two = 2.0f;
  nv.src.global_scale_ptr = &two;
  expect_invalid(nv.run(), {"src.global_scale_ptr is", "must be NULL"});
  nv.on_device = 1;
  expect_ok(nv.run());
  EXPECT_EQ(nv.dst[100], 2.0f);
  nv.src.global_scale_ptr = nullptr;
  expect_invalid(nv.run(), {"src.global_scale_ptr is NULL"});
  DequantizeCall empty;
  empty.rows = 0;
  expect_ok(empty.run());
  EXPECT_EQ(empty.dst[0], -1.0f);
}

TEST(BadDequantize, EveryArgument) {
  DequantizeCall call;
  expect_ok(call.run());
  EXPECT_EQ(call.dst[191], 1.0f);
  expect_invalid(call.run(nullptr), {"src is NULL"});
  call.format = MXGEMM_F32;
  expect_invalid(call.run(), {"format is 18 (f32)", "1 (mxf4)"});
  call.format = MXGEMM_MXF4;
  call.format_dst = MXGEMM_MXF4;
  expect_invalid(call.run(), {"format_dst is 1 (mxf4)", "18 (f32)"});
  call.format_dst = MXGEMM_F32;
  call.layout = 2;
  expect_invalid(call.run(), {"scale_layout is 2"});
  call.layout = MXGEMM_SCALE_SWIZZLE_32_4_4;
  expect_invalid(call.run(), {"src.scale_bytes is 6", "at least 512"});
  call.layout = MXGEMM_SCALE_ROW_MAJOR;
  call.on_device = 1;
  expect_invalid(call.run(), {"global_scale_on_device is 1", "mxf4"});
  call.on_device = 0;
  call.rows = -3;
  expect_invalid(call.run(), {"rows is -3"});
  call.rows = 4;
  expect_invalid(call.run(), {"src.data_bytes is 96", "at least 128"});
  call.rows = 3;
  call.cols = 65;
  expect_invalid(call.run(), {"cols is 65", "multiple of 32"});
  call.cols = 64;
  call.dst_ld = 65;
  expect_invalid(call.run(), {"dst_bytes is 768", "at least 776"});
  call.dst_ld = 10;
  expect_invalid(call.run(), {"dst_ld is 10", "64 columns"});
  call.dst_ld = 0;
  call.src.global_scale = 2.0f;
  expect_invalid(call.run(), {"src.global_scale is 2", "must be 1"});
  call.src.global_scale = 1.0f;
  call.src.data = call.dst.data();
  expect_invalid(call.run(), {"dst at", "overlaps src.data"});
}

TEST(BadSwizzle, EveryArgument) {
  std::vector<uint8_t> plain(130 * 5, 1);
  std::vector<uint8_t> swizzled(2048, 0xEE);
  const auto swizzle = [&](int64_t rows, int64_t cols, const uint8_t* src, uint64_t src_bytes,
                           int64_t ld, uint64_t dst_bytes) {
    return mxgemm_swizzle_scales(MXGEMM_DEVICE_CPU, 0, rows, cols, src, src_bytes, ld,
                                 swizzled.data(), dst_bytes, nullptr);
  };
  expect_ok(swizzle(130, 5, plain.data(), 650, 0, 2048));
  expect_invalid(swizzle(-1, 5, plain.data(), 650, 0, 2048), {"rows is -1"});
  expect_invalid(swizzle(130, -5, plain.data(), 650, 0, 2048), {"cols is -5"});
  expect_invalid(swizzle(130, 5, nullptr, 650, 0, 2048), {"src is NULL", "650 bytes"});
  expect_invalid(swizzle(130, 5, plain.data(), 649, 0, 2048), {"src_bytes is 649", "650"});
  expect_invalid(swizzle(130, 5, plain.data(), 650, 4, 2048), {"src_ld is 4", "5 columns"});
  expect_invalid(swizzle(130, 5, plain.data(), 650, 0, 2047), {"dst_bytes is 2047", "2048"});
  expect_invalid(swizzle(130, 5, swizzled.data() + 1, 650, 0, 2048), {"dst at", "overlaps src"});
  expect_invalid(swizzle(INT64_MAX, INT64_MAX, plain.data(), 650, 0, 2048), {"2^63 - 1"});
  expect_invalid(mxgemm_unswizzle_scales(MXGEMM_DEVICE_CPU, 0, 130, 5, swizzled.data(), 2047,
                                         plain.data(), 650, 0, nullptr),
                 {"src_bytes is 2047", "2048"});
  expect_invalid(mxgemm_unswizzle_scales(MXGEMM_DEVICE_CPU, 0, 130, 5, swizzled.data(), 2048,
                                         plain.data(), 650, 6, nullptr),
                 {"dst_bytes is 650", "at least 779"});
  // Kind of fault 38: swizzling an exact tile leaves its input alone.
  std::vector<uint8_t> tile(512);
  for (size_t index = 0; index < tile.size(); ++index) {
    tile[index] = static_cast<uint8_t>(index * 7);
  }
  const std::vector<uint8_t> before = tile;
  expect_ok(swizzle(128, 4, tile.data(), 512, 0, 512));
  swizzled[0] = 99;
  EXPECT_EQ(tile, before);
}

TEST(BadPack, EveryArgument) {
  DequantizeCall call;  // its operand is 3 x 64
  uint64_t bytes = 0;
  expect_ok(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF4, 3, 64, &bytes));
  void* packed = nullptr;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes + 64, &packed));
  const auto pack = [&](int32_t format, int64_t n, int64_t k, const mxgemm_operand* b,
                        int32_t layout, void* to, uint64_t to_bytes) {
    return mxgemm_pack(MXGEMM_DEVICE_CPU, 0, format, n, k, b, layout, to, to_bytes, nullptr);
  };
  expect_ok(pack(MXGEMM_MXF4, 3, 64, &call.src, 0, packed, bytes));
  expect_invalid(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF4, 3, 64, nullptr),
                 {"bytes is NULL"});
  expect_invalid(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_BF16, 3, 64, &bytes),
                 {"format is 16 (bf16)"});
  expect_invalid(pack(MXGEMM_MXF4, 3, 65, &call.src, 0, packed, bytes),
                 {"k is 65", "multiple of 32"});
  expect_invalid(pack(MXGEMM_MXF4, -3, 64, &call.src, 0, packed, bytes), {"n is -3"});
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, nullptr, 0, packed, bytes), {"b is NULL"});
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, &call.src, 9, packed, bytes), {"scale_layout is 9"});
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, &call.src, 0, nullptr, bytes), {"packed is NULL"});
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, &call.src, 0, packed, bytes - 1), {"packed_bytes is"});
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, &call.src, 0, static_cast<char*>(packed) + 32, bytes),
                 {"packed is", "multiple of 64"});
  call.src.data = packed;
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, &call.src, 0, packed, bytes),
                 {"packed at", "overlaps b.data"});
  call.src.struct_size = 0;
  expect_invalid(pack(MXGEMM_MXF4, 3, 64, &call.src, 0, packed, bytes), {"b.struct_size is 0"});
  expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, packed));
}

TEST(BadSizes, EveryArgument) {
  uint64_t bytes = 0;
  expect_invalid(mxgemm_qdata_size(MXGEMM_MXF4, 3, 64, nullptr), {"bytes is NULL"});
  expect_invalid(mxgemm_qdata_size(0, 3, 64, &bytes), {"format is 0 (none)"});
  expect_invalid(mxgemm_qdata_size(MXGEMM_MXF4, -1, 64, &bytes), {"rows is -1"});
  expect_invalid(mxgemm_qdata_size(MXGEMM_MXF4, 3, 33, &bytes), {"cols is 33", "32"});
  expect_invalid(mxgemm_qdata_size(MXGEMM_F32, INT64_MAX, 2, &bytes), {"rows is", "2^63 - 1"});
  expect_invalid(mxgemm_scale_size(MXGEMM_MXF4, 2, 3, 64, &bytes), {"scale_layout is 2"});
  expect_invalid(mxgemm_scale_size(MXGEMM_NVF4, 1, 3, 24, &bytes), {"cols is 24", "16"});
  expect_invalid(mxgemm_scale_size(MXGEMM_NVF4, 1, INT64_MAX, INT64_MAX - 15, &bytes),
                 {"2^63 - 1"});
}

}  // namespace
}  // namespace mxgemm::test
