// SPDX-License-Identifier: Apache-2.0
// Wrong arguments of the calls on finished block-scaled data: decode, swizzle, pack, sizes.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "abi/expect_status.hpp"

namespace mxgemm::test {
namespace {

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

// The packed form is padded: it overflows where the plain one fits.
TEST(BadPack, SizesThatOverflow) {
  uint64_t bytes = 7;
  const int64_t most = INT64_MAX - 31;
  expect_invalid(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF4, 1, most, &bytes),
                 {"n is 1", "k is 9223372036854775776", "2^63 - 1"});
  expect_invalid(
      mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF8E4M3, INT64_MAX / 32, 32, &bytes),
      {"n is 288230376151711743", "k is 32", "2^63 - 1"});
  EXPECT_EQ(bytes, 7u);
  DequantizeCall call;
  alignas(64) static uint8_t packed[64];
  expect_invalid(mxgemm_pack(MXGEMM_DEVICE_CPU, 0, MXGEMM_MXF4, 1, most, &call.src, 0, packed,
                             sizeof packed, nullptr),
                 {"n is 1", "2^63 - 1"});
}

// As many columns as one likes are nothing while K is 0, and take no time.
TEST(Pack, ManyColumnsOfNothing) {
  mxgemm_operand none = MXGEMM_OPERAND_INIT;
  alignas(64) static uint8_t packed[64];
  for (const int64_t n : {int64_t{1} << 40, INT64_MAX}) {
    uint64_t bytes = 0;
    expect_ok(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, MXGEMM_NVF4, n, 0, &bytes));
    EXPECT_EQ(bytes, sizeof packed);
    expect_ok(
        mxgemm_pack(MXGEMM_DEVICE_CPU, 0, MXGEMM_NVF4, n, 0, &none, 0, packed, bytes, nullptr));
  }
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
