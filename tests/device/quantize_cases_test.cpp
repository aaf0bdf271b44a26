// SPDX-License-Identifier: Apache-2.0
// Quantising, decoding and scale layouts through the C ABI at every place: kinds of fault seen in
// the field whose right bytes are known, and the same bytes everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "support/places.hpp"
#include "support/quantize_call.hpp"
#include "support/random_operand.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

using Bytes = std::vector<uint8_t>;

struct Quantized {
  Bytes qdata;
  Bytes scale;
  float global_scale = 1.0f;
  bool operator==(const Quantized&) const = default;
};

// rows x cols fp32 numbers at `device`; desc's options are kept. `offset` moves source and qdata.
Quantized quantize_at(Device device, mxgemm_quantize_desc desc, const std::vector<float>& values,
                      uint64_t offset = 0) {
  desc.device_kind = device.kind;
  desc.device_index = device.index;
  desc.format_src = MXGEMM_F32;
  uint64_t qdata_bytes = 0;
  uint64_t scale_bytes = 0;
  uint64_t workspace_bytes = 0;
  EXPECT_EQ(mxgemm_qdata_size(desc.format, desc.rows, desc.cols, &qdata_bytes), MXGEMM_OK);
  EXPECT_EQ(mxgemm_scale_size(desc.format, desc.scale_layout, desc.rows, desc.cols, &scale_bytes),
            MXGEMM_OK);
  EXPECT_EQ(mxgemm_quantize_workspace_size(&desc, &workspace_bytes), MXGEMM_OK)
      << mxgemm_last_error();
  const Bytes poison(std::max(qdata_bytes, scale_bytes), 0xA5);
  const DeviceBuffer source(device, values.data(), values.size() * sizeof(float), offset);
  const DeviceBuffer qdata(device, poison.data(), qdata_bytes, offset);
  const DeviceBuffer scale(device, poison.data(), scale_bytes);
  const DeviceBuffer global_scale(device, poison.data(), sizeof(float));
  const DeviceBuffer workspace(device, workspace_bytes);
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = source.data();
  args.src_bytes = source.bytes();
  args.qdata = qdata.data();
  args.qdata_bytes = qdata.bytes();
  args.scale = scale.data();
  args.scale_bytes = scale.bytes();
  args.workspace = workspace.data();
  args.workspace_bytes = workspace.bytes();
  const bool has_global_scale = desc.format == MXGEMM_NVF4;
  args.global_scale = has_global_scale ? reinterpret_cast<float*>(global_scale.data()) : nullptr;
  EXPECT_EQ(mxgemm_quantize(&desc, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();
  EXPECT_EQ(mxgemm_device_synchronize(device.kind, device.index), MXGEMM_OK);
  Quantized result{qdata.download(), scale.download(), 1.0f};
  if (has_global_scale) {
    std::memcpy(&result.global_scale, global_scale.download().data(), sizeof(float));
  }
  return result;
}

mxgemm_quantize_desc desc_of(int32_t format, int64_t rows, int64_t cols,
                             int32_t rule = MXGEMM_SCALE_RULE_DEFAULT) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format = format;
  desc.rows = rows;
  desc.cols = cols;
  desc.scale_rule = rule;
  return desc;
}

class QuantizeCases : public PlaceTest {
 protected:
  // One block that begins with `values`, zeros after them: its scale and its first codes.
  void expect_block(int32_t format, int32_t rule, std::vector<float> values, uint8_t scale,
                    const Bytes& codes) {
    SCOPED_TRACE(testing::Message() << "format " << format << ", rule " << rule);
    values.resize(32, 0.0f);
    const Quantized block = quantize_at(GetParam().device, desc_of(format, 1, 32, rule), values);
    ASSERT_EQ(block.scale, Bytes{scale});
    for (size_t k = 0; k < codes.size(); ++k) {
      const int code = format == MXGEMM_MXF4
                           ? internal::nibble_at(block.qdata.data(), static_cast<int64_t>(k))
                           : block.qdata[k];
      EXPECT_EQ(code, codes[k]) << "element " << k;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Places, QuantizeCases, testing::ValuesIn(places()), place_test_name);

constexpr int32_t kFloor = MXGEMM_SCALE_RULE_FLOOR;
constexpr int32_t kRceil = MXGEMM_SCALE_RULE_RCEIL;

// Kinds of fault 1 and 13.
TEST_P(QuantizeCases, TiesGoToEvenAndZeroKeepsItsSign) {
  expect_block(MXGEMM_MXF4, kFloor,
               {5.0f, 3.5f, 2.5f, 1.75f, 1.25f, 0.75f, 0.25f, -5.0f, -3.5f, -2.5f, -1.75f, -1.25f,
                -0.75f, -0.25f},
               127, {6, 6, 4, 4, 2, 2, 0, 0xE, 0xE, 0xC, 0xC, 0xA, 0xA, 8, 0});
  expect_block(MXGEMM_MXF4, kFloor, {4.0f, -0.0f, -0.2f, 0.2f}, 127, {6, 8, 8, 0});
}

// Kinds of fault 2 to 6.
TEST_P(QuantizeCases, ScalesAndTheirEnds) {
  expect_block(MXGEMM_MXF4, kFloor, std::vector<float>(32, 4.0f), 127, Bytes(32, 6));
  expect_block(MXGEMM_MXF8E4M3, kFloor, std::vector<float>(32, 1.0f), 119, Bytes(32, 0x78));
  expect_block(MXGEMM_MXF4, kFloor, {7.0f}, 127, {7});
  expect_block(MXGEMM_MXF4, kRceil, {7.0f}, 128, {6});
  expect_block(MXGEMM_MXF8E4M3, kFloor, {500.0f}, 127, {0x7E});
  expect_block(MXGEMM_MXF8E4M3, kRceil, {500.0f}, 128, {0x78});
  expect_block(MXGEMM_MXF8E4M3, kFloor, {957.0f, -957.0f}, 128, {0x7E, 0xFE});
  expect_block(MXGEMM_MXF8E4M3, kRceil, {957.0f, -957.0f}, 129, {0x77, 0xF7});
  expect_block(MXGEMM_MXF8E4M3, kFloor, {511.0f, 465.0f, 464.0f, 448.0f, -500.0f}, 127,
               {0x7E, 0x7E, 0x7E, 0x7E, 0xFE});
  expect_block(MXGEMM_MXF8E4M3, kFloor, std::vector<float>(32, 0x1p-130f), 0, Bytes(32, 0x20));
  expect_block(MXGEMM_MXF4, kFloor, std::vector<float>(32, 0x1p-127f), 0, Bytes(32, 2));
}

// Kinds of fault 10 to 12.
TEST_P(QuantizeCases, NanPoisonsItsBlockAndZerosAreOrdinary) {
  std::vector<float> values(2 * 64, 1.0f);
  values[40] = NAN;
  for (const int32_t format : {MXGEMM_MXF4, MXGEMM_MXF8E4M3}) {
    const mxgemm_quantize_desc desc = desc_of(format, 2, 64, kFloor);
    const uint8_t one = format == MXGEMM_MXF4 ? 125 : 119;
    EXPECT_EQ(quantize_at(GetParam().device, desc, values).scale, (Bytes{one, 0xFF, one, one}));
    std::vector<float> half(2 * 64, 0.0f);
    std::fill(half.begin() + 64, half.end(), 1.0f);
    const Quantized zeros = quantize_at(GetParam().device, desc, half);
    EXPECT_EQ(zeros.scale, (Bytes{0, 0, one, one}));
    EXPECT_EQ(Bytes(zeros.qdata.begin(), zeros.qdata.begin() + 32), Bytes(32, 0));
  }
  const Quantized zero =
      quantize_at(GetParam().device, desc_of(MXGEMM_NVF4, 4, 32), std::vector<float>(128, 0.0f));
  EXPECT_EQ(zero.global_scale, 1.0f);
  EXPECT_EQ(zero.qdata, Bytes(64, 0));
  EXPECT_EQ(zero.scale, Bytes(8, 0));
}

// Kind of fault 18. Freed memory full of 0xFF must not show through.
TEST_P(QuantizeCases, PaddingOfSwizzledScalesIsZeroEveryTime) {
  mxgemm_quantize_desc desc = desc_of(MXGEMM_MXF4, 5, 96, kFloor);
  desc.scale_layout = MXGEMM_SCALE_SWIZZLE_32_4_4;
  const std::vector<float> values(5 * 96, 1.0f);
  Bytes expected(512, 0);
  for (size_t row = 0; row < 5; ++row) {
    std::fill_n(expected.begin() + static_cast<int64_t>(16 * row), 3, 125);
  }
  for (int round = 0; round < 100; ++round) {
    {
      const Bytes dirt(4096, 0xFF);
      const DeviceBuffer freed(GetParam().device, dirt.data(), dirt.size());
    }
    ASSERT_EQ(quantize_at(GetParam().device, desc, values).scale, expected) << round;
  }
}

// Kinds of fault 14, 16 and 21.
TEST_P(QuantizeCases, ScaleColumnsOfEveryNumber) {
  const Device device = GetParam().device;
  for (const int64_t rows : {1, 128, 130}) {
    for (const int64_t cols : {1, 2, 3, 5, 9, 44, 90}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << cols);
      Bytes plain(static_cast<size_t>(rows * cols));
      for (size_t index = 0; index < plain.size(); ++index) {
        plain[index] = static_cast<uint8_t>(
            (2 * (index / static_cast<size_t>(cols)) + index % static_cast<size_t>(cols)) % 251);
      }
      const auto size = static_cast<uint64_t>(internal::swizzled_scale_bytes(rows, cols));
      const Bytes dirt(size, 0xA5);
      const DeviceBuffer source(device, plain.data(), plain.size());
      const DeviceBuffer swizzled(device, dirt.data(), size);
      const DeviceBuffer back(device, dirt.data(), plain.size());
      ASSERT_EQ(mxgemm_swizzle_scales(device.kind, device.index, rows, cols, source.data(),
                                      source.bytes(), 0, swizzled.data(), size, nullptr),
                MXGEMM_OK)
          << mxgemm_last_error();
      ASSERT_EQ(mxgemm_unswizzle_scales(device.kind, device.index, rows, cols, swizzled.data(),
                                        size, back.data(), back.bytes(), 0, nullptr),
                MXGEMM_OK)
          << mxgemm_last_error();
      EXPECT_EQ(back.download(), plain);
      Bytes expected(size, 0);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t col = 0; col < cols; ++col) {
          expected[static_cast<size_t>(internal::swizzled_scale_offset(row, col, cols))] =
              plain[static_cast<size_t>(row * cols + col)];
        }
      }
      EXPECT_EQ(swizzled.download(), expected);
    }
  }
}

// Kind of fault 24.
TEST_P(QuantizeCases, NothingIsASuccess) {
  for (const int32_t format : {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3}) {
    const Quantized nothing = quantize_at(GetParam().device, desc_of(format, 0, 64), {});
    EXPECT_TRUE(nothing.qdata.empty());
    EXPECT_TRUE(nothing.scale.empty());
    EXPECT_EQ(nothing.global_scale, 1.0f);
  }
  expect_block(MXGEMM_MXF4, kFloor, std::vector<float>(32, 4.0f), 127, Bytes(32, 6));
}

// Kind of fault 30: more rows than a grid has in its second dimension.
TEST_P(QuantizeCases, MoreRowsThanFitSixteenBits) {
  const int64_t rows = test_size<int64_t>(262145, 70001);
  std::vector<float> values(static_cast<size_t>(rows * 32), 1.0f);
  std::fill(values.end() - 32, values.end(), 2.0f);
  const Quantized all =
      quantize_at(GetParam().device, desc_of(MXGEMM_MXF4, rows, 32, kFloor), values);
  EXPECT_EQ(all.qdata, Bytes(static_cast<size_t>(rows * 16), 0x66));
  Bytes scales(static_cast<size_t>(rows), 125);
  scales.back() = 126;
  EXPECT_EQ(all.scale, scales);
}

// The same with more rows than 65535 CTAs of 128 take, and a GEMM of them. On a GPU only: the CPU
// has no grid.
TEST_P(QuantizeCases, MoreRowsThanAGridDimension) {
  if (GetParam().on_cpu() || !is_set("MXGEMM_TEST_LARGE")) {
    GTEST_SKIP() << "for GPUs, with MXGEMM_TEST_LARGE=1: needs 2 GiB";
  }
  constexpr int64_t kRows = 8388609;
  const Device device = GetParam().device;
  std::vector<float> values(static_cast<size_t>(kRows * 32), 1.0f);
  std::fill(values.end() - 32, values.end(), 2.0f);
  const mxgemm_quantize_desc desc = desc_of(MXGEMM_MXF4, kRows, 32, kFloor);
  const Quantized a = quantize_at(device, desc, values);
  EXPECT_EQ(a.qdata, Bytes(static_cast<size_t>(kRows * 16), 0x66));
  EXPECT_EQ(a.scale.back(), 126);
  EXPECT_EQ(a.scale.front(), 125);
  const Quantized b =
      quantize_at(device, desc_of(MXGEMM_MXF4, 8, 32, kFloor), std::vector<float>(8 * 32, 1.0f));
  const DeviceBuffer buffers[] = {{device, a.qdata.data(), a.qdata.size()},
                                  {device, a.scale.data(), a.scale.size()},
                                  {device, b.qdata.data(), b.qdata.size()},
                                  {device, b.scale.data(), b.scale.size()}};
  const DeviceBuffer d(device, static_cast<uint64_t>(kRows) * 8 * 2);
  mxgemm_gemm_desc gemm = MXGEMM_GEMM_DESC_INIT;
  gemm.device_kind = device.kind;
  gemm.device_index = device.index;
  gemm.m = kRows;
  gemm.n = 8;
  gemm.k = 32;
  gemm.format_a = MXGEMM_MXF4;
  gemm.format_b = MXGEMM_MXF4;
  gemm.format_d = MXGEMM_BF16;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.a.data = buffers[0].data();
  args.a.data_bytes = buffers[0].bytes();
  args.a.scale = buffers[1].data();
  args.a.scale_bytes = buffers[1].bytes();
  args.b.data = buffers[2].data();
  args.b.data_bytes = buffers[2].bytes();
  args.b.scale = buffers[3].data();
  args.b.scale_bytes = buffers[3].bytes();
  args.d = d.data();
  args.d_bytes = d.bytes();
  mxgemm_plan* plan = nullptr;
  uint64_t workspace_bytes = 0;
  ASSERT_EQ(mxgemm_plan_create(&gemm, nullptr, &plan), MXGEMM_OK) << mxgemm_last_error();
  EXPECT_EQ(mxgemm_plan_workspace_size(plan, &workspace_bytes), MXGEMM_OK);
  const DeviceBuffer workspace(device, workspace_bytes);
  args.workspace = workspace.data();
  args.workspace_bytes = workspace_bytes;
  EXPECT_EQ(mxgemm_run(plan, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();
  EXPECT_EQ(mxgemm_device_synchronize(device.kind, device.index), MXGEMM_OK);
  mxgemm_plan_destroy(plan);
  const Bytes result = d.download();
  for (size_t index = 0; index < static_cast<size_t>(kRows) * 8; ++index) {
    uint16_t code = 0;
    std::memcpy(&code, &result[index * 2], 2);
    const bool is_last = index / 8 == static_cast<size_t>(kRows - 1);
    ASSERT_EQ(internal::bf16_decode(code), is_last ? 64.0 : 32.0) << index;
  }
}

// Kind of fault 3: every place makes the same bytes, at every rule, from any pointer.
TEST_P(QuantizeCases, TheBytesAreThoseOfTheCpu) {
  Random random(51);
  for (const int32_t format : {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2}) {
    for (const int64_t cols : {32, 96, 2880}) {
      const int64_t rows = 1 + random.integer(0, 140);
      std::vector<float> values(static_cast<size_t>(rows * cols));
      for (float& value : values) {
        value = static_cast<float>(
            std::ldexp(random.normal(), static_cast<int>(random.integer(-30, 30))));
      }
      for (int32_t rule = MXGEMM_SCALE_RULE_DEFAULT; rule <= MXGEMM_SCALE_RULE_NEAREST; ++rule) {
        if (format == MXGEMM_NVF4 && rule != MXGEMM_SCALE_RULE_DEFAULT) {
          continue;
        }
        mxgemm_quantize_desc desc = desc_of(format, rows, cols, rule);
        desc.scale_layout = rule % 2 == 0 ? MXGEMM_SCALE_ROW_MAJOR : MXGEMM_SCALE_SWIZZLE_32_4_4;
        SCOPED_TRACE(testing::Message()
                     << "format " << format << ", rule " << rule << ", " << rows << " x " << cols);
        const Quantized expected = quantize_at(Device{}, desc, values);
        for (const uint64_t offset : {0, 4, 12}) {
          EXPECT_EQ(quantize_at(GetParam().device, desc, values, offset), expected) << offset;
        }
      }
    }
  }
}

// Kinds of fault 7 and 8.
TEST_P(QuantizeCases, DecodingAtTheEndsOfTheScales) {
  struct Case {
    uint8_t code;
    uint8_t scale;
    uint32_t f32;
    uint16_t bf16;
  };
  constexpr uint32_t kNan = 0x7FC00000;
  const Device device = GetParam().device;
  for (const Case& c : {Case{2, 0, 0x00400000, 0x0040}, Case{2, 1, 0x00800000, 0x0080},
                        Case{2, 254, 0x7F000000, 0x7F00}, Case{2, 255, kNan, 0x7FC0},
                        Case{1, 0, 0x00200000, 0x0020}, Case{0xF, 254, 0xFF800000, 0xFF80},
                        Case{8, 200, 0x80000000, 0x8000}}) {
    SCOPED_TRACE(testing::Message() << "code " << int{c.code} << ", scale " << int{c.scale});
    const Bytes codes(16, static_cast<uint8_t>(c.code | c.code << 4));
    const DeviceBuffer data(device, codes.data(), codes.size());
    const DeviceBuffer scale(device, &c.scale, 1);
    mxgemm_operand operand = MXGEMM_OPERAND_INIT;
    operand.data = data.data();
    operand.data_bytes = data.bytes();
    operand.scale = scale.data();
    operand.scale_bytes = 1;
    for (const int32_t format : {MXGEMM_F32, MXGEMM_BF16}) {
      const uint64_t element = format == MXGEMM_F32 ? 4 : 2;
      const DeviceBuffer out(device, 32 * element);
      ASSERT_EQ(
          mxgemm_dequantize(device.kind, device.index, MXGEMM_MXF4, 1, 32, &operand,
                            MXGEMM_SCALE_ROW_MAJOR, 0, format, out.data(), out.bytes(), 0, nullptr),
          MXGEMM_OK)
          << mxgemm_last_error();
      const Bytes bytes = out.download();
      for (size_t k = 0; k < 32; ++k) {
        uint32_t bits = 0;
        std::memcpy(&bits, &bytes[k * element], element);
        const uint32_t right = format == MXGEMM_F32 ? c.f32 : c.bf16;
        const uint32_t mantissa = format == MXGEMM_F32 ? 0x7F800000 : 0x7F80;
        if (c.scale == 255) {
          EXPECT_GT(bits & (format == MXGEMM_F32 ? 0x7FFFFFFFu : 0x7FFFu), mantissa) << k;
        } else {
          EXPECT_EQ(bits, right) << k;
        }
      }
    }
  }
}

// What the CPU alone offers is refused elsewhere, by name.
TEST_P(QuantizeCases, MseAndStochasticRoundingAreForTheCpu) {
  mxgemm_quantize_desc desc = desc_of(MXGEMM_MXF4, 1, 32, MXGEMM_SCALE_RULE_MSE);
  desc.format_src = MXGEMM_F32;
  desc.device_kind = GetParam().device.kind;
  desc.device_index = GetParam().device.index;
  uint64_t bytes = 0;
  const mxgemm_status expected = GetParam().on_cpu() ? MXGEMM_OK : MXGEMM_UNSUPPORTED;
  EXPECT_EQ(mxgemm_quantize_workspace_size(&desc, &bytes), expected) << mxgemm_last_error();
  desc.scale_rule = kFloor;
  desc.rounding = MXGEMM_ROUND_STOCHASTIC;
  EXPECT_EQ(mxgemm_quantize_workspace_size(&desc, &bytes), expected) << mxgemm_last_error();
  if (!GetParam().on_cpu()) {
    EXPECT_NE(std::string(mxgemm_last_error()).find("only the CPU has it"), std::string::npos);
  }
}

}  // namespace
}  // namespace mxgemm::test
