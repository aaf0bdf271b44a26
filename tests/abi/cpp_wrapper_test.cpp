// SPDX-License-Identifier: Apache-2.0
// mxgemm.hpp: every class and function once, and that failures are thrown with their code.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "mxgemm/mxgemm.hpp"

namespace mxgemm::test {
namespace {

template <typename Function>
void expect_throws(Status code, const char* part, Function&& function) {
  try {
    function();
    ADD_FAILURE() << "no exception; wanted one with \"" << part << "\"";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(CppWrapper, QuantisesAndMultiplies) {
  std::vector<float> a(2 * 64, 1.0f);
  std::vector<float> b(3 * 64, 0.5f);
  const auto qa = quantize(a, 2, 64, Format::kMxf4);
  const auto qb = quantize(b, 3, 64, Format::kMxf4);
  EXPECT_EQ(gemm(qa, qb), std::vector<float>(6, 32.0f));
  EXPECT_EQ(dequantize(qb), b);
}

TEST(CppWrapper, EveryFormatAndLayoutDecodesWhatItEncodes) {
  std::vector<float> values(5 * 96);
  for (size_t index = 0; index < values.size(); ++index) {
    values[index] = static_cast<float>(static_cast<int>(index % 7) - 3) / 2.0f;  // exact in E2M1
  }
  for (const Format format : {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3, Format::kMxf8E5m2}) {
    for (const ScaleLayout layout : {ScaleLayout::kRowMajor, ScaleLayout::kSwizzle32x4x4}) {
      QuantizeOptions options;
      options.scale_layout = layout;
      if (format == Format::kNvf4) {
        options.global_scale_mode = GlobalScaleMode::kOne;
      }
      const QuantizedMatrix matrix = quantize(values, 5, 96, format, options);
      EXPECT_EQ(matrix.qdata.size(), qdata_size(format, 5, 96));
      EXPECT_EQ(matrix.scale.size(), scale_size(format, layout, 5, 96));
      if (format == Format::kMxf8E5m2 || format == Format::kMxf8E4m3 || format == Format::kMxf4) {
        EXPECT_EQ(dequantize(matrix), values) << static_cast<int>(format);
      }
      std::vector<Bf16> halves(values.size());
      dequantize(matrix, std::span<Bf16>(halves));
      EXPECT_EQ(dequantize<Bf16>(matrix)[3].bits, halves[3].bits);
    }
  }
}

TEST(CppWrapper, OptionsReachTheLibrary) {
  std::vector<float> values(32, 7.0f);  // floor: 2^0 and saturation to 6; rceil: 2^1 and 3.5 -> 4
  QuantizeOptions options;
  options.preset = Preset::kOcp;
  EXPECT_EQ(quantize(values, 1, 32, Format::kMxf4, options).scale[0], 127);
  options.scale_rule = ScaleRule::kRceil;  // wins over the preset
  EXPECT_EQ(quantize(values, 1, 32, Format::kMxf4, options).scale[0], 128);
  options = {};
  options.preset = Preset::kCuda;
  values[3] = INFINITY;
  EXPECT_EQ(quantize(values, 1, 32, Format::kMxf4, options).scale[0], 254);
  options.nonfinite = Nonfinite::kNan;
  EXPECT_EQ(quantize(values, 1, 32, Format::kMxf4, options).scale[0], 255);
  options = {};
  options.rounding = Rounding::kStochastic;
  std::vector<float> thirds(64, 0.3f);
  options.seed = 1;
  const auto one = quantize(thirds, 1, 64, Format::kMxf4, options);
  options.seed = 2;
  EXPECT_NE(quantize(thirds, 1, 64, Format::kMxf4, options).qdata, one.qdata);
  options = {};
  options.global_scale_mode = GlobalScaleMode::kGiven;
  options.global_scale = 0.25f;
  EXPECT_EQ(quantize(thirds, 1, 64, Format::kNvf4, options).global_scale, 0.25f);
  expect_throws(Status::kInvalidArgument, "preset is 1 (ocp)", [&] {
    options.preset = Preset::kOcp;
    quantize(thirds, 1, 64, Format::kNvf4, options);
  });
  // Every second row of a matrix of four.
  std::vector<float> rows(4 * 32, 1.0f);
  std::fill(rows.begin() + 64, rows.begin() + 96, 4.0f);
  options = {};
  options.src_ld = 64;
  options.scale_layout = ScaleLayout::kRowMajor;
  const auto strided =
      quantize(std::span<const float>(rows).first(96), 2, 32, Format::kMxf4, options);
  EXPECT_EQ(strided.scale, (std::vector<uint8_t>{125, 127}));
}

TEST(CppWrapper, GemmOptions) {
  const std::vector<float> ones(4 * 32, 1.0f);
  const auto b = quantize(ones, 4, 32, Format::kMxf4);
  const Operand a(ones, 4, 32);
  GemmOptions options;
  options.alpha = -2.0f;
  EXPECT_EQ(gemm(a, b, options), std::vector<float>(16, -64.0f));
  const std::array<float, 4> bias = {1, 2, 3, 4};
  options.alpha = 1.0f;
  options.bias = bias;
  EXPECT_EQ(gemm(a, b, options)[5], 34.0f);
  const std::vector<float> c(16, 8.0f);
  options.c = c;
  options.beta = 0.5f;
  EXPECT_EQ(gemm(a, b, options)[5], 38.0f);
  options.activation = Activation::kRelu;
  options.alpha = -1.0f;
  EXPECT_EQ(gemm(a, b, options)[5], 0.0f);
  // In place, with stride.
  std::vector<float> d(4 * 6, 1.0f);
  options = {};
  options.c = d;
  options.beta = 1.0f;
  options.ldc = options.ldd = 6;
  gemm(a, b, std::span<float>(d), options);
  EXPECT_EQ(d[6 + 3], 33.0f);
  EXPECT_EQ(d[6 + 4], 1.0f);
  EXPECT_EQ(gemm<Bf16>(a, b)[0].bits, 0x4200);
  EXPECT_EQ(gemm<F16>(a, b)[0].bits, 0x5000);
}

TEST(CppWrapper, PackedWeights) {
  std::vector<float> values(6 * 64);
  for (size_t index = 0; index < values.size(); ++index) {
    values[index] = static_cast<float>(index % 5);
  }
  const auto a = quantize(std::span<const float>(values).first(128), 2, 64, Format::kMxf8E4m3);
  for (const Format format : {Format::kMxf4, Format::kNvf4}) {
    const auto b = quantize(values, 6, 64, format);
    const PackedMatrix packed = pack(b);
    EXPECT_EQ(gemm(a, packed), gemm(a, b));
    expect_throws(Status::kInvalidArgument, "a is packed", [&] { gemm(packed, b); });
  }
}

TEST(CppWrapper, Scales) {
  std::vector<uint8_t> scales(130 * 5);
  for (size_t index = 0; index < scales.size(); ++index) {
    scales[index] = static_cast<uint8_t>(index);
  }
  const std::vector<uint8_t> swizzled = swizzle_scales(scales, 130, 5);
  EXPECT_EQ(swizzled.size(), 2048u);
  EXPECT_EQ(swizzled[16], scales[5]);
  EXPECT_EQ(unswizzle_scales(swizzled, 130, 5), scales);
  expect_throws(Status::kInvalidArgument, "src_bytes is 650",
                [&] { swizzle_scales(scales, 131, 5); });
  expect_throws(Status::kInvalidArgument, "cols is -1",
                [&] { swizzle_scales(scales, 1, INT64_MAX); });
}

TEST(CppWrapper, Plans) {
  Problem problem;
  problem.m = 2;
  problem.n = 3;
  problem.k = 32;
  problem.format_a = problem.format_b = Format::kMxf4;
  const Plan plan(problem);
  EXPECT_EQ(plan.name().rfind("cpu:", 0), 0u);
  EXPECT_NE(plan.explain().find(plan.name() + ": chosen"), std::string::npos);
  EXPECT_EQ(explain(problem), plan.explain());
  EXPECT_EQ(Plan(problem, plan.name()).name(), plan.name());
  const std::vector<float> ones(96, 1.0f);
  const auto a = quantize(ones, 2, 32, Format::kMxf4, {.scale_layout = ScaleLayout::kRowMajor});
  const auto b = quantize(ones, 3, 32, Format::kMxf4, {.scale_layout = ScaleLayout::kRowMajor});
  Buffer workspace(plan.workspace_size());
  std::vector<float> d(6);
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.a = Operand(a).memory;
  args.b = Operand(b).memory;
  args.d = d.data();
  args.d_bytes = d.size() * sizeof(float);
  args.workspace = workspace.data();
  args.workspace_bytes = workspace.size();
  plan.run(args);
  EXPECT_EQ(d, std::vector<float>(6, 32.0f));
  problem.k = 33;
  expect_throws(Status::kInvalidArgument, "desc.k is 33", [&] { Plan bad(problem); });
  problem.k = 32;
  problem.device = {DeviceKind::kCuda, 1000};  // more than any machine has
  expect_throws(Status::kDeviceUnavailable, "CUDA device", [&] { explain(problem); });
}

TEST(CppWrapper, DevicesAndBuffers) {
  EXPECT_EQ(Device::count(DeviceKind::kCpu), 1);
  EXPECT_GE(Device::count(DeviceKind::kCuda), 0);
  EXPECT_GE(Device{}.info().num_threads, 1);
  Device{}.synchronize();
  EXPECT_FALSE(kernels().empty());
  EXPECT_EQ(version(), MXGEMM_VERSION_STRING);
  const Stream stream;
  EXPECT_EQ(stream.get(), nullptr);
  Event start;
  Event end;
  start.record();
  end.record(stream.get());
  EXPECT_GE(end.elapsed_since(start), 0.0f);
  Buffer buffer(16);
  buffer.copy_from(std::span<const float>(std::array<float, 4>{1, 2, 3, 4}));
  Buffer moved = std::move(buffer);
  std::array<float, 2> back{};
  moved.copy_to(std::span<float>(back));
  EXPECT_EQ(back[1], 2.0f);
  EXPECT_EQ(moved.size(), 16u);
  std::array<float, 5> large{};
  expect_throws(Status::kInvalidArgument, "20 bytes",
                [&] { moved.copy_to(std::span<float>(large)); });
  expect_throws(Status::kOutOfMemory, "bytes is", [] { Buffer none(UINT64_MAX); });
  expect_throws(Status::kDeviceUnavailable, "CUDA device", [] {
    Buffer none(1, {DeviceKind::kCuda, 1000});
  });
  set_num_threads(2);
  EXPECT_EQ(num_threads(), 2);
  set_num_threads(0);
  set_max_isa(Isa::kScalar);
  EXPECT_EQ(Device{}.info().isa, MXGEMM_ISA_SCALAR);
  reset_max_isa();
}

TEST(CppWrapper, ShapesMustFit) {
  const std::vector<float> values(64, 1.0f);
  const auto b = quantize(values, 1, 64, Format::kMxf4);
  expect_throws(Status::kInvalidArgument, "a has 32 columns and b 64",
                [&] { gemm(Operand(values, 2, 32), b); });
  expect_throws(Status::kInvalidArgument, "args.src_bytes is 256",
                [&] { quantize(values, 2, 64, Format::kMxf4); });
  expect_throws(Status::kInvalidArgument, "cols is 33",
                [&] { quantize(values, 1, 33, Format::kMxf4); });
  expect_throws(Status::kInvalidArgument, "rows is -1",
                [&] { dequantize(Operand(values, -1, 64)); });
  const std::vector<Bf16> halves(1);
  GemmOptions options;
  options.c = halves;
  expect_throws(Status::kInvalidArgument, "options.c",
                [&] { gemm(Operand(values, 1, 64), b, options); });
}

}  // namespace
}  // namespace mxgemm::test
