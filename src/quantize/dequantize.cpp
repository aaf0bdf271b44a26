// SPDX-License-Identifier: Apache-2.0
#include "quantize/dequantize.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/float_environment.hpp"
#include "quantize/tiling.hpp"

namespace mxgemm::internal {
namespace {

// Outputs. round() takes the exact value; every NaN becomes the one positive quiet NaN.
struct Bf16Output {
  using Code = uint16_t;
  static Code round(double value) { return is_nan(value) ? Code{0x7FC0} : bf16_encode(value); }
  // For a value that is exact in fp32: the integer form of rounding to nearest even.
  static Code round_f32(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return static_cast<Code>(value != value ? 0x7FC0u : (bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
};

struct F16Output {
  using Code = uint16_t;
  static Code round(double value) { return is_nan(value) ? Code{0x7E00} : f16_encode(value); }
  static Code round_f32(float value) { return round(value); }
};

struct F32Output {
  using Code = uint32_t;
  static Code round(double value) { return is_nan(value) ? 0x7FC00000u : f32_encode(value); }
  static Code round_f32(float value) {
    return value != value ? 0x7FC00000u : std::bit_cast<uint32_t>(value);
  }
};

// The 16 outputs of a block of 4-bit elements, for each scale byte that has occurred.
template <typename Output>
class NibbleTables {
 public:
  using Table = std::array<typename Output::Code, 16>;

  NibbleTables(ScaleType scale_type, float global_scale)
      : scale_type_(scale_type), global_scale_(global_scale) {}

  const Table& at(uint8_t scale) {
    Table& table = tables_[scale];
    if (!known_[scale]) {
      known_[scale] = true;
      // 2 x 4 x 24 significant bits: exact in double.
      const double factor = scale_value(scale_type_, scale) * global_scale_;
      for (uint8_t code = 0; code < 16; ++code) {
        table[code] = Output::round(e2m1_decode(code) * factor);
      }
    }
    return table;
  }

 private:
  ScaleType scale_type_;
  double global_scale_;
  std::array<bool, 256> known_{};
  std::array<Table, 256> tables_;
};

template <double (*kDecode)(uint8_t)>
constexpr std::array<float, 256> make_element_table() {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) {
    table[static_cast<size_t>(code)] = static_cast<float>(kDecode(static_cast<uint8_t>(code)));
  }
  return table;
}

constexpr double decode_e4m3(uint8_t code) {
  return e4m3_decode(code);
}
constexpr double decode_e5m2(uint8_t code) {
  return e5m2_decode(code);
}
constexpr std::array<float, 256> kE4m3Values = make_element_table<decode_e4m3>();
constexpr std::array<float, 256> kE5m2Values = make_element_table<decode_e5m2>();

template <typename Output>
void decode_nibble_row(const DequantizeJob& job, const FormatInfo& info, int64_t row,
                       const TileRange& range, NibbleTables<Output>* tables) {
  using Code = typename Output::Code;
  const int64_t block_bytes = info.block_size / 2;
  const uint8_t* src = job.qdata + row * job.qdata_row_bytes + range.col_begin * block_bytes;
  Code* dst = static_cast<Code*>(job.dst) + row * job.dst_ld + range.col_begin * info.block_size;
  for (int64_t col = range.col_begin; col < range.col_end; ++col) {
    const auto& table = tables->at(job.scale.at(row, col));
    for (int64_t byte = 0; byte < block_bytes; ++byte, ++src, dst += 2) {
      dst[0] = table[*src & 0x0F];
      dst[1] = table[*src >> 4];
    }
  }
}

// An element of at most 4 significant bits times a power of two is exact in fp32 or overflows: the
// smallest product is 2^-16 * 2^-127, a multiple of the smallest fp32.
template <typename Output>
void decode_byte_row(const DequantizeJob& job, const FormatInfo& info, int64_t row,
                     const TileRange& range) {
  using Code = typename Output::Code;
  const std::array<float, 256>& values =
      info.format == Format::kMxf8E4m3 ? kE4m3Values : kE5m2Values;
  const int64_t first = range.col_begin * info.block_size;
  const uint8_t* src = job.qdata + row * job.qdata_row_bytes + first;
  Code* dst = static_cast<Code*>(job.dst) + row * job.dst_ld + first;
  for (int64_t col = range.col_begin; col < range.col_end; ++col) {
    const float scale = static_cast<float>(e8m0_decode(job.scale.at(row, col)));
    for (int k = 0; k < info.block_size; ++k) {
      *dst++ = Output::round_f32(values[*src++] * scale);
    }
  }
}

template <typename Output>
void dequantize_tile(const DequantizeJob& job, const FormatInfo& info, const TileRange& range) {
  if (info.element_bits == 4) {
    NibbleTables<Output> tables(info.scale_type, job.global_scale);
    for (int64_t row = range.row_begin; row < range.row_end; ++row) {
      decode_nibble_row<Output>(job, info, row, range, &tables);
    }
  } else {
    for (int64_t row = range.row_begin; row < range.row_end; ++row) {
      decode_byte_row<Output>(job, info, row, range);
    }
  }
}

}  // namespace

void dequantize(const DequantizeJob& job, const ParallelFor& parallel_for) {
  if (job.rows == 0 || job.cols == 0) {
    return;
  }
  const FormatInfo& info = *find_format(job.format);
  const auto run_tile = job.format_dst == Format::kBf16  ? dequantize_tile<Bf16Output>
                        : job.format_dst == Format::kF16 ? dequantize_tile<F16Output>
                                                         : dequantize_tile<F32Output>;
  const Tiling tiling(job.rows, job.cols / info.block_size, 1);
  auto body = [&](int64_t index) {
    const DefaultFloatEnvironment environment;
    run_tile(job, info, tiling.tile(index));
  };
  parallel_for(tiling.count(), body);
}

}  // namespace mxgemm::internal
