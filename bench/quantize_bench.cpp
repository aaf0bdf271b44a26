// SPDX-License-Identifier: Apache-2.0
// Bytes of input per second that one core quantises, by source, format and ISA level:
//   cmake -B build -DMXGEMM_BENCH=ON && cmake --build build --target quantize_bench &&
//   build/bin/quantize_bench
// Gaussian numbers, 512 x 4096: 4 MiB of bf16, so that the caches and not the memory are measured.
// One thread.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "quantize/dequantize.hpp"
#include "quantize/quantize.hpp"

namespace {

using namespace mxgemm::internal;

constexpr int64_t kRows = 512;
constexpr int64_t kCols = 4096;

std::vector<uint8_t> gaussian(Format format) {
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  std::vector<uint8_t> bytes;
  const auto append = [&bytes](auto code) {
    const size_t end = bytes.size();
    bytes.resize(end + sizeof(code));
    std::memcpy(bytes.data() + end, &code, sizeof(code));
  };
  for (int64_t i = 0; i < kRows * kCols; ++i) {
    const double value = normal(generator);
    if (format == Format::kF32) {
      append(f32_encode(value));
    } else {
      append(format == Format::kBf16 ? bf16_encode(value) : f16_encode(value));
    }
  }
  return bytes;
}

struct Case {
  Format source;
  Format format;
  ScaleLayout layout;
  GlobalScaleMode global_scale_mode;
  int32_t isa;
};

struct Output {
  std::vector<uint8_t> qdata = std::vector<uint8_t>(kRows * kCols);
  std::vector<uint8_t> scale = std::vector<uint8_t>(kRows * kCols / 16);
  float global_scale = 1.0f;
};

void run_quantize(const Case& test, const std::vector<uint8_t>& src, Output* output) {
  const FormatInfo& info = *find_format(test.format);
  const QuantizeOptions options{.format_src = test.source,
                                .format = test.format,
                                .scale_layout = test.layout,
                                .rows = kRows,
                                .cols = kCols,
                                .global_scale_mode = test.global_scale_mode};
  const QuantizeBuffers buffers{src.data(),           kCols,
                                output->qdata.data(), kCols * info.element_bits / 8,
                                output->scale.data(), kCols / info.block_size,
                                &output->global_scale};
  const Status status =
      quantize(options, buffers, mxgemm::cpu::quantize_row_kernels(test.isa), ParallelFor{});
  benchmark::DoNotOptimize(status.ok());
}

void quantize_case(benchmark::State& state, const Case& test) {
  const std::vector<uint8_t> src = gaussian(test.source);
  Output output;
  for (auto _ : state) {
    run_quantize(test, src, &output);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * src.size()));
}

// Bytes of bf16 written.
void dequantize_case(benchmark::State& state, Format format) {
  const FormatInfo& info = *find_format(format);
  const GlobalScaleMode mode =
      format == Format::kNvf4 ? GlobalScaleMode::kOne : GlobalScaleMode::kDefault;
  Output output;
  run_quantize({Format::kBf16, format, ScaleLayout::kRowMajor, mode, 0}, gaussian(Format::kBf16),
               &output);
  std::vector<uint16_t> decoded(kRows * kCols);
  const int64_t scale_cols = kCols / info.block_size;
  const DequantizeJob job{
      .format = format,
      .rows = kRows,
      .cols = kCols,
      .qdata = output.qdata.data(),
      .qdata_row_bytes = kCols * info.element_bits / 8,
      .scale = {output.scale.data(), ScaleLayout::kRowMajor, scale_cols, scale_cols},
      .format_dst = Format::kBf16,
      .dst = decoded.data(),
      .dst_ld = kCols};
  for (auto _ : state) {
    dequantize(job, ParallelFor{});
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * decoded.size() * 2));
}

void add_quantize(const Case& test, const char* suffix) {
  const std::string name = std::string("quantize/") + mxgemm::cpu::isa_name(test.isa) + "/" +
                           format_name(test.source) + "/" + format_name(test.format) + suffix;
  benchmark::RegisterBenchmark(name.c_str(), quantize_case, test);
}

void add_benchmarks() {
  for (int32_t isa = 0; isa <= mxgemm::cpu::isa_offered() && isa <= 2; ++isa) {
    for (const Format source : {Format::kBf16, Format::kF16, Format::kF32}) {
      for (const Format format :
           {Format::kMxf4, Format::kMxf8E4m3, Format::kMxf8E5m2, Format::kNvf4}) {
        const bool is_nvf4 = format == Format::kNvf4;
        add_quantize({source, format, ScaleLayout::kRowMajor,
                      is_nvf4 ? GlobalScaleMode::kOne : GlobalScaleMode::kDefault, isa},
                     is_nvf4 ? "/one_level" : "");
        if (is_nvf4) {
          add_quantize({source, format, ScaleLayout::kRowMajor, GlobalScaleMode::kCompute, isa},
                       "/two_level");
        }
      }
    }
    add_quantize(
        {Format::kBf16, Format::kMxf4, ScaleLayout::kSwizzle32x4x4, GlobalScaleMode::kDefault, isa},
        "/swizzled");
  }
  for (const Format format : {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3, Format::kMxf8E5m2}) {
    benchmark::RegisterBenchmark((std::string("dequantize/bf16/") + format_name(format)).c_str(),
                                 dequantize_case, format);
  }
}

}  // namespace

int main(int argc, char** argv) {
  add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
