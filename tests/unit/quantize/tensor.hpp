// SPDX-License-Identifier: Apache-2.0
// Matrices of numbers in a source format, quantising and decoding them, and threads to do it on.
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"
#include "quantize/dequantize.hpp"
#include "quantize/quantize.hpp"

namespace mxgemm::test {

using internal::Format;
using internal::FormatInfo;
using internal::GlobalScaleMode;
using internal::ParallelFor;
using internal::QuantizeOptions;
using internal::ScaleLayout;
using internal::ScaleRule;
using internal::Status;

inline constexpr Format kBlockFormats[] = {Format::kMxf4, Format::kMxf8E4m3, Format::kMxf8E5m2,
                                           Format::kNvf4};
inline constexpr Format kMxFormats[] = {Format::kMxf4, Format::kMxf8E4m3, Format::kMxf8E5m2};
inline constexpr Format kSources[] = {Format::kBf16, Format::kF16, Format::kF32};
inline constexpr ScaleRule kAllRules[] = {ScaleRule::kFloor, ScaleRule::kCeil,    ScaleRule::kEven,
                                          ScaleRule::kRceil, ScaleRule::kNearest, ScaleRule::kMse};

// Dense numbers of a plain format, as bytes of memory.
class Numbers {
 public:
  Numbers(Format format, int64_t count);
  Numbers(Format format, const std::vector<double>& values);

  Format format() const { return format_; }
  int64_t element_bytes() const;
  const void* data() const { return bytes_.data(); }
  double at(int64_t index) const;
  void set(int64_t index, double value);
  // The code as it lies in memory: for bit patterns that no double has (NaN payloads).
  void set_code(int64_t index, uint32_t code);

 private:
  Format format_;
  std::vector<uint8_t> bytes_;
};

struct Quantized {
  Status status;
  std::vector<uint8_t> qdata;
  std::vector<uint8_t> scale;
  float global_scale = 0.0f;

  bool same_bytes(const Quantized& other) const {
    return qdata == other.qdata && scale == other.scale && global_scale == other.global_scale;
  }
};

// Options for rows x cols numbers of `source`.
QuantizeOptions options_for(Format source, Format format, int64_t rows, int64_t cols,
                            ScaleRule rule = ScaleRule::kDefault);

// Quantises dense numbers with the kernels of ISA level `isa`; every output byte is poisoned (0xA5)
// before. `global_scale` is what GlobalScaleMode::kGiven reads.
Quantized quantize_numbers(const QuantizeOptions& options, const Numbers& numbers, int32_t isa = 0,
                           float global_scale = 1.0f, const ParallelFor& parallel_for = {});

// One row of f32, the shortest way from a list of numbers to bytes; `values` is filled up with
// zeros to a whole block.
Quantized quantize_row(Format format, ScaleRule rule, std::vector<double> values);

// Code of element k of a dense row that starts at qdata.
uint8_t code_at(Format format, const std::vector<uint8_t>& qdata, int64_t index);

// Decodes rows x cols dense elements to `format_dst`.
Numbers decode(Format format, int64_t rows, int64_t cols, const Quantized& quantized,
               Format format_dst, ScaleLayout layout = ScaleLayout::kRowMajor);

// ISA levels of this machine that have quantising kernels, scalar first.
std::vector<int32_t> levels();

// Runs a loop's bodies on `threads` threads, the last index first.
ParallelFor backward_threads(int32_t* threads);

}  // namespace mxgemm::test
