// SPDX-License-Identifier: Apache-2.0
// A GPU library's quantiser against the CPU's, byte for byte, what lies between rows and in padding
// included: sources, formats, rules, layouts, strides, unaligned pointers, all kinds of numbers.
#include "device/cuda/data_cases.hpp"

namespace mxgemm::test {
namespace {

// The bytes that a quantiser leaves, poison where it wrote nothing.
struct Outputs {
  Bytes qdata;
  Bytes scale;
  Bytes global_scale;
};

struct QuantizeSetup {
  Bytes src;
  Outputs before;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
};

QuantizeSetup set_up(const QuantizeCase& c, std::mt19937* engine) {
  const mxgemm_quantize_desc& desc = c.desc;
  const int64_t scale_cols = desc.cols / info_of(desc.format).block_size;
  QuantizeSetup setup;
  setup.args.src_ld = desc.cols + c.extra_src;
  setup.args.qdata_ld = desc.cols + c.extra_qdata;
  setup.args.scale_ld =
      desc.scale_layout == MXGEMM_SCALE_ROW_MAJOR ? scale_cols + c.extra_scale : 0;
  setup.src = random_numbers(desc.format_src, (desc.rows - 1) * setup.args.src_ld + desc.cols,
                             c.data, engine);
  setup.before.qdata.assign(matrix_bytes(desc.format, desc.rows, desc.cols, setup.args.qdata_ld),
                            0xA5);
  setup.before.scale.assign(static_cast<size_t>(scale_bytes(desc.scale_layout, desc.rows,
                                                            scale_cols, setup.args.scale_ld)),
                            0xA5);
  if (desc.format == MXGEMM_NVF4) {
    setup.before.global_scale = bytes_of(c.given);
  }
  setup.args.src_bytes = setup.src.size();
  setup.args.qdata_bytes = setup.before.qdata.size();
  setup.args.scale_bytes = setup.before.scale.size();
  return setup;
}

Outputs quantize_on_cpu(const QuantizeCase& c, const QuantizeSetup& setup) {
  Outputs out = setup.before;
  mxgemm_quantize_args args = setup.args;
  args.src = setup.src.data();
  args.qdata = out.qdata.data();
  args.scale = out.scale.data();
  args.global_scale = reinterpret_cast<float*>(out.global_scale.data());
  if (out.global_scale.empty()) {
    args.global_scale = nullptr;
  }
  EXPECT_EQ(mxgemm_quantize(&c.desc, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();
  return out;
}

Outputs quantize_on_gpu(const QuantizeCase& c, const QuantizeSetup& setup) {
  const DeviceBytes src(setup.src, c.offset_src);
  const DeviceBytes qdata(setup.before.qdata, c.offset_qdata);
  const DeviceBytes scale(setup.before.scale, c.offset_qdata);
  const DeviceBytes global_scale(setup.before.global_scale);
  const DeviceBytes workspace(Bytes(functions->quantize_workspace_size(&c.desc), 0xA5));
  mxgemm_quantize_args args = setup.args;
  args.src = src.data();
  args.qdata = qdata.data();
  args.scale = scale.data();
  args.global_scale = reinterpret_cast<float*>(global_scale.data());
  args.workspace = workspace.data();
  char text[512] = "";
  EXPECT_EQ(functions->quantize(&c.desc, &args, nullptr, {text, sizeof(text)}), MXGEMM_OK) << text;
  must(cudaDeviceSynchronize(), "quantize");
  return {qdata.download(), scale.download(), global_scale.download()};
}

void check(const QuantizeCase& c, std::mt19937* engine) {
  SCOPED_TRACE(describe(c));
  const QuantizeSetup setup = set_up(c, engine);
  const Outputs cpu = quantize_on_cpu(c, setup);
  const Outputs gpu = quantize_on_gpu(c, setup);
  expect_same(gpu.scale, cpu.scale, "scale");
  expect_same(gpu.qdata, cpu.qdata, "qdata");
  expect_same(gpu.global_scale, cpu.global_scale, "global scale");
}

TEST(CudaData, QuantizesAsTheCpu) {
  std::mt19937 engine(1);
  const int turns = test_size(60, 6);
  for (const int32_t format_src : kSources) {
    for (const int32_t format : kFormats) {
      for (int turn = 0; turn < turns; ++turn) {
        // 7 is prime to the periods of case_of, so that turns of a short test differ too.
        QuantizeCase c = case_of(turns == 60 ? turn : turn * 7, format_src, format);
        if (format == MXGEMM_NVF4) {
          constexpr float kGiven[] = {0.0123f, 0x1p-149f, 0x1p-126f, 0x1p87f, 0x1.FFFFFEp127f};
          constexpr float kLeast[] = {0.0f, 0x1p-6f, 448.0f};
          c.desc.global_scale_mode = turn % 4;
          c.given = kGiven[turn / 4 % 5];
          c.desc.min_block_scale = kLeast[turn / 2 % 3];
        } else {
          c.desc.scale_rule = turn % 6;  // all but mse
        }
        check(c, &engine);
      }
    }
  }
}

TEST(CudaData, WritesTheGlobalScaleOfAnEmptyTensor) {
  QuantizeCase c;
  c.desc.format_src = MXGEMM_BF16;
  c.desc.format = MXGEMM_NVF4;
  for (const int32_t mode : {MXGEMM_GLOBAL_SCALE_ONE, MXGEMM_GLOBAL_SCALE_COMPUTE}) {
    c.desc.global_scale_mode = mode;
    const DeviceBytes global_scale(bytes_of(-3.0f));
    const DeviceBytes workspace(Bytes(functions->quantize_workspace_size(&c.desc), 0xA5));
    mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
    args.global_scale = reinterpret_cast<float*>(global_scale.data());
    args.workspace = workspace.data();
    char text[512] = "";
    ASSERT_EQ(functions->quantize(&c.desc, &args, nullptr, {text, sizeof(text)}), MXGEMM_OK)
        << text;
    expect_same(global_scale.download(), bytes_of(1.0f), "global scale");
  }
}

}  // namespace
}  // namespace mxgemm::test
