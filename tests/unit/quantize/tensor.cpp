// SPDX-License-Identifier: Apache-2.0
#include "unit/quantize/tensor.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include "cpu/cpu_backend.hpp"

namespace mxgemm::test {

using namespace mxgemm::internal;

namespace {

constexpr uint8_t kPoison = 0xA5;

}  // namespace

Numbers::Numbers(Format format, int64_t count) : format_(format) {
  bytes_.resize(static_cast<size_t>(count * element_bytes()));
}

Numbers::Numbers(Format format, const std::vector<double>& values)
    : Numbers(format, static_cast<int64_t>(values.size())) {
  for (size_t i = 0; i < values.size(); ++i) {
    set(static_cast<int64_t>(i), values[i]);
  }
}

int64_t Numbers::element_bytes() const {
  return find_format(format_)->element_bits / 8;
}

double Numbers::at(int64_t index) const {
  return element_at(format_, bytes_.data(), index);
}

void Numbers::set(int64_t index, double value) {
  set_code(index, format_ == Format::kBf16  ? bf16_encode(value)
                  : format_ == Format::kF16 ? f16_encode(value)
                                            : f32_encode(value));
}

void Numbers::set_code(int64_t index, uint32_t code) {
  std::memcpy(bytes_.data() + index * element_bytes(), &code, static_cast<size_t>(element_bytes()));
}

QuantizeOptions options_for(Format source, Format format, int64_t rows, int64_t cols,
                            ScaleRule rule) {
  QuantizeOptions options;
  options.format_src = source;
  options.format = format;
  options.rows = rows;
  options.cols = cols;
  options.scale_rule = rule;
  return options;
}

Quantized quantize_numbers(const QuantizeOptions& options, const Numbers& numbers, int32_t isa,
                           float global_scale, const ParallelFor& parallel_for) {
  const FormatInfo& info = *find_format(options.format);
  const int64_t row_bytes = options.cols * info.element_bits / 8;
  const int64_t scale_cols = options.cols / info.block_size;
  const bool swizzled = options.scale_layout == ScaleLayout::kSwizzle32x4x4;
  const int64_t scale_bytes =
      swizzled ? swizzled_scale_bytes(options.rows, scale_cols) : options.rows * scale_cols;
  Quantized result;
  result.qdata.assign(static_cast<size_t>(options.rows * row_bytes), kPoison);
  result.scale.assign(static_cast<size_t>(scale_bytes), kPoison);
  result.global_scale = global_scale;
  const QuantizeBuffers buffers{numbers.data(),      options.cols, result.qdata.data(), row_bytes,
                                result.scale.data(), scale_cols,   &result.global_scale};
  result.status = check_quantize_options(options);
  if (result.status.ok()) {
    result.status = quantize(options, buffers, cpu::quantize_row_kernels(isa), parallel_for);
  }
  return result;
}

Quantized quantize_row(Format format, ScaleRule rule, std::vector<double> values) {
  const auto block = static_cast<size_t>(find_format(format)->block_size);
  values.resize((values.size() + block - 1) / block * block);
  const Numbers numbers(Format::kF32, values);
  return quantize_numbers(
      options_for(Format::kF32, format, 1, static_cast<int64_t>(values.size()), rule), numbers);
}

uint8_t code_at(Format format, const std::vector<uint8_t>& qdata, int64_t index) {
  return find_format(format)->element_bits == 4 ? nibble_at(qdata.data(), index)
                                                : qdata[static_cast<size_t>(index)];
}

Numbers decode(Format format, int64_t rows, int64_t cols, const Quantized& quantized,
               Format format_dst, ScaleLayout layout) {
  const FormatInfo& info = *find_format(format);
  const int64_t scale_cols = cols / info.block_size;
  Numbers decoded(format_dst, rows * cols);
  const DequantizeJob job{.format = format,
                          .rows = rows,
                          .cols = cols,
                          .qdata = quantized.qdata.data(),
                          .qdata_row_bytes = cols * info.element_bits / 8,
                          .scale = {quantized.scale.data(), layout, scale_cols, scale_cols},
                          .global_scale = info.has_global_scale ? quantized.global_scale : 1.0f,
                          .format_dst = format_dst,
                          .dst = const_cast<void*>(decoded.data()),
                          .dst_ld = cols};
  dequantize(job, {});
  return decoded;
}

std::vector<int32_t> levels() {
  std::vector<int32_t> result{0};
  for (int32_t isa = 1; isa <= cpu::isa_offered(); ++isa) {
    if (cpu::quantize_row_kernels(isa) != cpu::quantize_row_kernels(isa - 1)) {
      result.push_back(isa);
    }
  }
  return result;
}

ParallelFor backward_threads(int32_t* threads) {
  ParallelFor parallel_for;
  parallel_for.context = threads;
  parallel_for.num_threads = *threads;
  parallel_for.call = [](void* context, int64_t count, ParallelFor::Body body, void* argument) {
    std::atomic<int64_t> next{count};
    const auto work = [&] {
      for (int64_t index = --next; index >= 0; index = --next) {
        body(argument, index);
      }
    };
    std::vector<std::thread> others;
    for (int32_t i = 1; i < *static_cast<int32_t*>(context); ++i) {
      others.emplace_back(work);
    }
    work();
    for (std::thread& other : others) {
      other.join();
    }
  };
  return parallel_for;
}

}  // namespace mxgemm::test
