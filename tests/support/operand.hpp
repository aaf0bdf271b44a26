// SPDX-License-Identifier: Apache-2.0
// An operand for tests: elements and scales in buffers of exactly the size that the contract names
// (a read past the end is a read past the end of a heap block, which the sanitizers see), with
// hostile bytes in everything that is not data.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/math.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "reference/gemm_reference.hpp"

namespace mxgemm::test {

using internal::Format;
using internal::FormatInfo;
using internal::ScaleLayout;

class Operand {
 public:
  // Row padding holds NaN (or the largest code), scale padding 0xFF; elements are zeros, scales 1.
  Operand(Format format, int64_t rows, int64_t cols,
          ScaleLayout layout = ScaleLayout::kSwizzle32x4x4, int64_t extra_ld = 0,
          int64_t extra_scale_ld = 0)
      : info_(*internal::find_format(format)), rows_(rows), cols_(cols), layout_(layout) {
    ld_ = cols + extra_ld;
    data_.assign(static_cast<size_t>(bytes_of(rows == 0 ? 0 : (rows - 1) * ld_ + cols)), 0xFF);
    if (has_scale()) {
      scale_cols_ = cols / info_.block_size;
      scale_ld_ = scale_cols_ + extra_scale_ld;
      const int64_t row_major = rows == 0 ? 0 : (rows - 1) * scale_ld_ + scale_cols_;
      const int64_t swizzled = internal::swizzled_scale_bytes(rows, scale_cols_);
      scale_.assign(static_cast<size_t>(is_row_major() ? row_major : swizzled), 0xFF);
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t col = 0; col < cols; ++col) {
        set_code(row, col, 0);
      }
      for (int64_t col = 0; col < scale_cols_; ++col) {
        set_scale(row, col, unit_scale());
      }
    }
  }

  void set_code(int64_t row, int64_t col, uint32_t code) {
    const int64_t index = row * ld_ + col;
    switch (info_.element_bits) {
      case 4: {
        uint8_t& byte = data_[static_cast<size_t>(index / 2)];
        byte = (index & 1) != 0 ? internal::pack_nibbles(byte, static_cast<uint8_t>(code))
                                : internal::pack_nibbles(static_cast<uint8_t>(code),
                                                         static_cast<uint8_t>(byte >> 4));
        break;
      }
      case 8:
        data_[static_cast<size_t>(index)] = static_cast<uint8_t>(code);
        break;
      default:
        std::memcpy(&data_[static_cast<size_t>(bytes_of(index))], &code,
                    static_cast<size_t>(info_.element_bits / 8));
    }
  }

  // Nearest code; NaN only in formats that have one.
  void set(int64_t row, int64_t col, double value) { set_code(row, col, encode(value)); }

  void set_scale(int64_t row, int64_t block, uint8_t code) {
    scale_[scale_index(row, block)] = code;
  }
  uint8_t scale_at(int64_t row, int64_t block) const { return scale_[scale_index(row, block)]; }

  void fill(double value) {
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t col = 0; col < cols_; ++col) {
        set(row, col, value);
      }
    }
  }

  uint32_t code_at(int64_t row, int64_t col) const {
    const int64_t index = row * ld_ + col;
    if (info_.element_bits == 4) {
      return internal::nibble_at(data_.data(), index);
    }
    uint32_t code = 0;
    std::memcpy(&code, &data_[static_cast<size_t>(bytes_of(index))],
                static_cast<size_t>(info_.element_bits / 8));
    return code;
  }

  // Element times block scale.
  double value_at(int64_t row, int64_t col) const {
    const auto* row_data = data_.data() + bytes_of(row * ld_);
    const double element = internal::element_at(info_.format, row_data, col);
    return has_scale() ? element * internal::scale_value(info_.scale_type,
                                                         scale_at(row, col / info_.block_size))
                       : element;
  }

  internal::ReferenceOperand reference() const {
    return {info_.format, data_.data(), ld_, {scale_.data(), layout_, scale_ld_, scale_cols_}};
  }

  const FormatInfo& info() const { return info_; }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t ld() const { return ld_; }
  int64_t scale_cols() const { return scale_cols_; }
  int64_t scale_ld() const { return is_row_major() ? scale_ld_ : 0; }
  ScaleLayout layout() const { return layout_; }
  bool has_scale() const { return info_.scale_type != internal::ScaleType::kNone; }
  const std::vector<uint8_t>& data() const { return data_; }
  const std::vector<uint8_t>& scale() const { return scale_; }
  // For calls that write them.
  uint8_t* mutable_data() { return data_.data(); }
  uint8_t* mutable_scale() { return scale_.data(); }
  // The scale byte of 1.
  uint8_t unit_scale() const { return info_.scale_type == internal::ScaleType::kE4m3 ? 0x38 : 127; }

  uint32_t encode(double value) const {
    switch (info_.format) {
      case Format::kMxf4:
      case Format::kNvf4:
        return internal::e2m1_encode(value);
      case Format::kMxf8E4m3:
        return value != value ? internal::kE4m3Nan : internal::e4m3_encode(value);
      case Format::kMxf8E5m2:
        return value != value ? 0x7F : internal::e5m2_encode(value);
      case Format::kBf16:
        return internal::bf16_encode(value);
      case Format::kF16:
        return internal::f16_encode(value);
      default:
        return internal::f32_encode(value);
    }
  }

 private:
  bool is_row_major() const { return layout_ == ScaleLayout::kRowMajor; }
  int64_t bytes_of(int64_t elements) const {
    return internal::ceil_div<int64_t>(elements * info_.element_bits, 8);
  }
  size_t scale_index(int64_t row, int64_t block) const {
    return static_cast<size_t>(is_row_major()
                                   ? row * scale_ld_ + block
                                   : internal::swizzled_scale_offset(row, block, scale_cols_));
  }

  FormatInfo info_;
  int64_t rows_;
  int64_t cols_;
  ScaleLayout layout_;
  int64_t ld_ = 0;
  int64_t scale_ld_ = 0;
  int64_t scale_cols_ = 0;
  std::vector<uint8_t> data_;
  std::vector<uint8_t> scale_;
};

}  // namespace mxgemm::test
