// SPDX-License-Identifier: Apache-2.0
// Quantising in chunks gives the bytes of one call for the whole tensor.
#include "cli/tensor_stream.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "cli/io/output_file.hpp"
#include "cli/quantize_options.hpp"
#include "unit/io/scratch_directory.hpp"

namespace mxgemm::cli {
namespace {

using internal::Format;

// More than two chunks of 8 MiB of either element size, and no whole number of tiles of scales.
constexpr int64_t kRows = 3 * 2048 + 77;
constexpr int64_t kCols = 1024;

// Integers of many sizes, of which bf16, f16 and f32 all hold every one.
double value_at(int64_t i) {
  const auto hash = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15u;
  const auto mantissa = static_cast<double>(static_cast<int64_t>(hash >> 56) - 128);
  return std::ldexp(mantissa, static_cast<int>(hash >> 40 & 7) - 4);
}

std::string elements(Dtype dtype) {
  std::string bytes;
  for (int64_t i = 0; i < kRows * kCols; ++i) {
    const auto value = static_cast<float>(value_at(i));
    if (dtype == Dtype::kF32) {
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      const auto code = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
      bytes.append(reinterpret_cast<const char*>(&code), sizeof code);
    }
  }
  return bytes;
}

struct Case {
  const char* name;
  Format format;
  Dtype dtype;
  bool swizzled;
  bool stochastic;
};

class TensorStreamTest : public testing::TestWithParam<Case> {
 protected:
  // A file of one tensor "w" behind `padding` bytes, which may put it at an odd address.
  SafetensorsReader make_input(Dtype dtype, size_t padding) {
    const std::string data = elements(dtype);
    std::string header = "{\"pad\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(padding) +
                         "],\"data_offsets\":[0," + std::to_string(padding) + "]},";
    header += "\"w\":{\"dtype\":\"";
    header += dtype_name(dtype);
    header += "\",\"shape\":" + shape_text({kRows, kCols});
    header += ",\"data_offsets\":[" + std::to_string(padding) + "," +
              std::to_string(padding + data.size()) + "]}}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const std::string path = directory_.write(
        "in.safetensors", safetensors_text(header, std::string(padding, 'p') + data));
    SafetensorsReader reader;
    const Status status = SafetensorsReader::open(path, &reader);
    EXPECT_TRUE(status.ok()) << status.message();
    return reader;
  }

  SafetensorsReader quantize_in_chunks(const SafetensorsReader& input,
                                       const mxgemm_quantize_desc& desc, Fidelity* fidelity) {
    const TensorInfo& tensor = *input.find("w");
    std::vector<TensorInfo> parts;
    EXPECT_TRUE(tensors_of("w", make_record(desc, tensor.dtype, kRows, kCols), &parts).ok());
    std::unique_ptr<SafetensorsWriter> writer;
    const std::string path = directory_.file("out.safetensors");
    EXPECT_TRUE(SafetensorsWriter::create(path, parts, {}, &writer).ok());
    uint64_t progress = 0;
    *fidelity = quantize_tensor(input, tensor, desc, writer.get(),
                                [&progress](uint64_t bytes) { progress += bytes; });
    EXPECT_EQ(progress, tensor.bytes());
    OutputFile* file = nullptr;
    const Status finished = writer->finish(&file);
    EXPECT_TRUE(finished.ok()) << finished.message();
    OutputFile* const files[] = {file};
    EXPECT_TRUE(OutputFile::publish(files).ok());
    SafetensorsReader output;
    EXPECT_TRUE(SafetensorsReader::open(path, &output).ok());
    return output;
  }

  ScratchDirectory directory_;
};

TEST_P(TensorStreamTest, ChunksGiveTheBytesOfOneCall) {
  const Case& c = GetParam();
  QuantizeOptions options;
  options.scales = c.swizzled ? "swizzled" : "row_major";
  options.stochastic = c.stochastic;
  options.seed = c.stochastic ? 17 : 0;
  options.offset = c.stochastic ? std::numeric_limits<uint64_t>::max() - 5 : 0;  // wraps
  mxgemm_quantize_desc desc = make_quantize_desc(options, c.format);
  const SafetensorsReader input = make_input(c.dtype, c.dtype == Dtype::kF32 ? 8 : 1);
  Fidelity fidelity;
  const SafetensorsReader output = quantize_in_chunks(input, desc, &fidelity);
  EXPECT_GT(fidelity.sqnr_db(), 10.0);
  EXPECT_EQ(fidelity.lost, 0u);

  desc.format_src = static_cast<int32_t>(plain_format(c.dtype));
  desc.rows = kRows;
  desc.cols = kCols;
  const auto qdata = output.bytes(*output.find("w.qdata"));
  const auto scale = output.bytes(*output.find("w.scale"));
  std::vector<uint8_t> buffer;
  std::vector<uint8_t> expected_qdata(qdata.size());
  std::vector<uint8_t> expected_scale(scale.size());
  float global_scale = 0.0f;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  const auto source = input.bytes(*input.find("w"));
  args.src = aligned_elements(source, 4, &buffer);
  args.src_bytes = source.size();
  args.qdata = expected_qdata.data();
  args.qdata_bytes = expected_qdata.size();
  args.scale = expected_scale.data();
  args.scale_bytes = expected_scale.size();
  args.global_scale = c.format == Format::kNvf4 ? &global_scale : nullptr;
  ASSERT_EQ(mxgemm_quantize(&desc, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();
  EXPECT_TRUE(std::equal(qdata.begin(), qdata.end(), expected_qdata.begin()));
  EXPECT_TRUE(std::equal(scale.begin(), scale.end(), expected_scale.begin()));
  if (c.format == Format::kNvf4) {
    const auto written = output.bytes(*output.find("w.global_scale"));
    float value = 0.0f;
    std::copy(written.begin(), written.end(), reinterpret_cast<uint8_t*>(&value));
    EXPECT_EQ(value, global_scale);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TensorStreamTest,
    testing::Values(Case{"mxf4", Format::kMxf4, Dtype::kF32, false, false},
                    Case{"mxf4_swizzled", Format::kMxf4, Dtype::kBf16, true, false},
                    Case{"mxf4_stochastic", Format::kMxf4, Dtype::kF32, true, true},
                    Case{"mxf8_odd_address", Format::kMxf8E4m3, Dtype::kBf16, false, false},
                    Case{"nvf4", Format::kNvf4, Dtype::kF32, false, false},
                    Case{"nvf4_swizzled", Format::kNvf4, Dtype::kBf16, true, false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(FiniteAmaxTest, LooksAtFiniteElementsOnly) {
  const float f32[] = {-3.0f, 2.0f, INFINITY, -INFINITY, NAN, -0.0f, 1e-45f};
  EXPECT_EQ(finite_amax(Dtype::kF32, f32, 7), 3.0f);
  EXPECT_EQ(finite_amax(Dtype::kF32, f32 + 2, 3), 0.0f);
  EXPECT_EQ(finite_amax(Dtype::kF32, f32 + 5, 2), 1e-45f);
  EXPECT_EQ(finite_amax(Dtype::kF32, f32, 0), 0.0f);
  const uint16_t bf16[] = {0xC040, 0x7F80, 0xFF80, 0x7FC0, 0xFFFF};  // -3, Inf, -Inf, NaN, NaN
  EXPECT_EQ(finite_amax(Dtype::kBf16, bf16, 5), 3.0f);
  const uint16_t f16[] = {0xFBFF, 0x7C00, 0xFC00, 0x7E00};  // -65504, Inf, -Inf, NaN
  EXPECT_EQ(finite_amax(Dtype::kF16, f16, 4), 65504.0f);
}

TEST(FidelityTest, CountsWhatBecameNan) {
  Fidelity fidelity;
  EXPECT_TRUE(std::isnan(fidelity.sqnr_db()));
  fidelity.add({100.0, 1.0, 2});
  fidelity.add({0.0, 0.0, 1});
  EXPECT_DOUBLE_EQ(fidelity.sqnr_db(), 20.0);
  EXPECT_EQ(fidelity.lost, 3u);
  EXPECT_EQ((Fidelity{1.0, 0.0, 0}).sqnr_db(), INFINITY);
}

}  // namespace
}  // namespace mxgemm::cli
