// SPDX-License-Identifier: Apache-2.0
// A GPU library's dequantiser and changes of scale layout against the CPU's, byte for byte.
#include "device/cuda/data_cases.hpp"

namespace mxgemm::test {
namespace {

struct DequantizeSetup {
  Bytes qdata;
  Bytes scale;
  Bytes dst;  // poison
  mxgemm_operand operand = MXGEMM_OPERAND_INIT;
  int64_t dst_ld;
};

// A case of the quantiser backwards: from its format to its source.
DequantizeSetup set_up(const QuantizeCase& c, std::mt19937* engine) {
  const mxgemm_quantize_desc& desc = c.desc;
  const int64_t scale_cols = desc.cols / info_of(desc.format).block_size;
  DequantizeSetup setup;
  setup.operand.ld = desc.cols + c.extra_qdata;
  setup.operand.scale_ld =
      desc.scale_layout == MXGEMM_SCALE_ROW_MAJOR ? scale_cols + c.extra_scale : 0;
  setup.operand.global_scale = c.given;
  setup.dst_ld = desc.cols + c.extra_src;
  setup.qdata =
      random_bytes(matrix_bytes(desc.format, desc.rows, desc.cols, setup.operand.ld), engine);
  setup.scale = random_bytes(static_cast<size_t>(scale_bytes(desc.scale_layout, desc.rows,
                                                             scale_cols, setup.operand.scale_ld)),
                             engine);
  setup.dst.assign(matrix_bytes(desc.format_src, desc.rows, desc.cols, setup.dst_ld), 0xA5);
  return setup;
}

Bytes dequantize_on_cpu(const QuantizeCase& c, const DequantizeSetup& setup) {
  mxgemm_operand operand = setup.operand;
  operand.data = setup.qdata.data();
  operand.data_bytes = setup.qdata.size();
  operand.scale = setup.scale.data();
  operand.scale_bytes = setup.scale.size();
  Bytes dst = setup.dst;
  EXPECT_EQ(mxgemm_dequantize(MXGEMM_DEVICE_CPU, 0, c.desc.format, c.desc.rows, c.desc.cols,
                              &operand, c.desc.scale_layout, 0, c.desc.format_src, dst.data(),
                              dst.size(), setup.dst_ld, nullptr),
            MXGEMM_OK)
      << mxgemm_last_error();
  return dst;
}

Bytes dequantize_on_gpu(const QuantizeCase& c, const DequantizeSetup& setup,
                        bool global_scale_on_device) {
  const DeviceBytes qdata(setup.qdata, c.offset_qdata);
  const DeviceBytes scale(setup.scale, c.offset_qdata);
  const DeviceBytes dst(setup.dst, c.offset_src);
  const DeviceBytes global_scale(bytes_of(c.given));
  mxgemm_operand operand = setup.operand;
  operand.data = qdata.data();
  operand.scale = scale.data();
  if (global_scale_on_device) {
    operand.global_scale = 1.0f;
    operand.global_scale_ptr = reinterpret_cast<const float*>(global_scale.data());
  }
  mxgemm_dequantize_call call = {};
  call.struct_size = sizeof(call);
  call.format = c.desc.format;
  call.format_dst = c.desc.format_src;
  call.scale_layout = c.desc.scale_layout;
  call.global_scale_on_device = global_scale_on_device ? 1 : 0;
  call.rows = c.desc.rows;
  call.cols = c.desc.cols;
  call.src = &operand;
  call.dst = dst.data();
  call.dst_ld = setup.dst_ld;
  char text[512] = "";
  EXPECT_EQ(functions->dequantize(&call, nullptr, {text, sizeof(text)}), MXGEMM_OK) << text;
  must(cudaDeviceSynchronize(), "dequantize");
  return dst.download();
}

TEST(CudaData, DequantizesAsTheCpu) {
  std::mt19937 engine(2);
  const int turns = test_size(36, 6);
  for (const int32_t format : kFormats) {
    const bool is_nvf4 = format == MXGEMM_NVF4;
    for (const int32_t target : kSources) {
      for (int turn = 0; turn < turns; ++turn) {
        QuantizeCase c = case_of(turns == 36 ? turn : turn * 7, target, format);
        constexpr float kGlobal[] = {1.0f, 0.0123f, 0x1.89ABCEp-110f, 0x1.23456p80f, 0x1p-149f};
        c.given = is_nvf4 ? kGlobal[turn % 5] : 1.0f;
        SCOPED_TRACE("backwards: " + describe(c));
        const DequantizeSetup setup = set_up(c, &engine);
        expect_same(dequantize_on_gpu(c, setup, is_nvf4 && turn % 2 == 0),
                    dequantize_on_cpu(c, setup), "dst");
      }
    }
  }
}

// Row-major scales in `src`, or swizzled ones where `to_swizzled` is false.
void check_swizzle(bool to_swizzled, int64_t rows, int64_t cols, int64_t extra, size_t offset,
                   std::mt19937* engine) {
  SCOPED_TRACE(testing::Message() << (to_swizzled ? "swizzle " : "unswizzle ") << rows << " x "
                                  << cols << " + " << extra << ", offset " << offset);
  const int64_t ld = cols + extra;
  const auto plain_bytes = static_cast<size_t>((rows - 1) * ld + cols);
  const auto swizzled_bytes = static_cast<size_t>(internal::swizzled_scale_bytes(rows, cols));
  const Bytes src = random_bytes(to_swizzled ? plain_bytes : swizzled_bytes, engine);
  Bytes expected(to_swizzled ? swizzled_bytes : plain_bytes, 0xA5);
  const DeviceBytes device_src(src, offset);
  const DeviceBytes device_dst(expected, offset);
  mxgemm_swizzle_call call = {};
  call.struct_size = sizeof(call);
  call.rows = rows;
  call.cols = cols;
  call.src = device_src.data();
  call.dst = device_dst.data();
  call.ld = ld;
  char text[512] = "";
  const auto function = to_swizzled ? functions->swizzle : functions->unswizzle;
  ASSERT_EQ(function(&call, nullptr, {text, sizeof(text)}), MXGEMM_OK) << text;
  must(cudaDeviceSynchronize(), "swizzle");
  const mxgemm_status status =
      to_swizzled
          ? mxgemm_swizzle_scales(MXGEMM_DEVICE_CPU, 0, rows, cols, src.data(), src.size(), ld,
                                  expected.data(), expected.size(), nullptr)
          : mxgemm_unswizzle_scales(MXGEMM_DEVICE_CPU, 0, rows, cols, src.data(), src.size(),
                                    expected.data(), expected.size(), ld, nullptr);
  ASSERT_EQ(status, MXGEMM_OK) << mxgemm_last_error();
  expect_same(device_dst.download(), expected, "dst");
}

TEST(CudaData, ChangesScaleLayoutsAsTheCpu) {
  std::mt19937 engine(3);
  int turn = 0;
  for (const int64_t rows : {1, 31, 128, 129, 1000}) {
    for (const int64_t cols : {1, 3, 4, 5, 12, 257}) {
      for (const bool to_swizzled : {true, false}) {
        check_swizzle(to_swizzled, rows, cols, turn % 3, turn % 2 == 0 ? 0 : 1, &engine);
        check_swizzle(to_swizzled, rows, cols, 0, 0, &engine);
        ++turn;
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
