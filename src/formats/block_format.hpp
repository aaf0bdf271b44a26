// SPDX-License-Identifier: Apache-2.0
// The formats of operands and outputs and every fact about them. To add one, see
// docs/adding-a-format.md.
#pragma once

#include <cstdint>

#include "formats/bf16.hpp"
#include "formats/e2m1.hpp"
#include "formats/e4m3.hpp"
#include "formats/e5m2.hpp"
#include "formats/e8m0.hpp"
#include "formats/f16.hpp"
#include "formats/f32.hpp"
#include "formats/macros.hpp"
#include "formats/packing.hpp"

namespace mxgemm::internal {

// Same values as mxgemm_format.
enum class Format : int32_t {
  kNone = 0,
  kMxf4 = 1,
  kNvf4 = 2,
  kMxf8E4m3 = 3,
  kMxf8E5m2 = 4,
  kBf16 = 16,
  kF16 = 17,
  kF32 = 18,
};

enum class ScaleType : int32_t { kNone, kE8m0, kE4m3 };

struct FormatInfo {
  Format format;
  const char* name;  // as in problem strings and kernel names
  int element_bits;
  int block_size;  // elements of K per scale; 1 for plain formats, which have none
  ScaleType scale_type;
  bool has_global_scale;
  int element_emax;    // exponent of the largest element code (block-scaled formats)
  double element_max;  // its value
  int mantissa_bits;
};

constexpr FormatInfo kFormats[] = {
    {Format::kMxf4, "mxf4", 4, 32, ScaleType::kE8m0, false, 2, 6.0, 1},
    {Format::kNvf4, "nvf4", 4, 16, ScaleType::kE4m3, true, 2, 6.0, 1},
    {Format::kMxf8E4m3, "mxf8e4m3", 8, 32, ScaleType::kE8m0, false, 8, 448.0, 3},
    {Format::kMxf8E5m2, "mxf8e5m2", 8, 32, ScaleType::kE8m0, false, 15, 57344.0, 2},
    {Format::kBf16, "bf16", 16, 1, ScaleType::kNone, false, 127, 0x1.FEp127, 7},
    {Format::kF16, "f16", 16, 1, ScaleType::kNone, false, 15, 65504.0, 10},
    {Format::kF32, "f32", 32, 1, ScaleType::kNone, false, 127, 0x1.FFFFFEp127, 23},
};

// nullptr for kNone and for values that are no format.
MXGEMM_HOST_FORMAT_FN const FormatInfo* find_format(Format format) {
  for (const FormatInfo& info : kFormats) {
    if (info.format == format) {
      return &info;
    }
  }
  return nullptr;
}

MXGEMM_HOST_FORMAT_FN bool is_block_scaled(Format format) {
  const FormatInfo* info = find_format(format);
  return info != nullptr && info->scale_type != ScaleType::kNone;
}

// Name of a format for messages, "none" for kNone.
MXGEMM_HOST_FORMAT_FN const char* format_name(Format format) {
  const FormatInfo* info = find_format(format);
  return info != nullptr ? info->name : format == Format::kNone ? "none" : "unknown";
}

// Exact value of element k of a row, without its block scale.
MXGEMM_FORMAT_FN double element_at(Format format, const void* row, int64_t k) {
  switch (format) {
    case Format::kMxf4:
    case Format::kNvf4:
      return e2m1_decode(nibble_at(static_cast<const uint8_t*>(row), k));
    case Format::kMxf8E4m3:
      return e4m3_decode(static_cast<const uint8_t*>(row)[k]);
    case Format::kMxf8E5m2:
      return e5m2_decode(static_cast<const uint8_t*>(row)[k]);
    case Format::kBf16:
      return bf16_decode(static_cast<const uint16_t*>(row)[k]);
    case Format::kF16:
      return f16_decode(static_cast<const uint16_t*>(row)[k]);
    case Format::kF32:
      return static_cast<const float*>(row)[k];
    case Format::kNone:
      break;
  }
  return 0.0;
}

// Exact value of a block scale byte; NaN where the byte makes its block NaN. 1 for plain formats.
MXGEMM_FORMAT_FN double scale_value(ScaleType type, uint8_t code) {
  return type == ScaleType::kE8m0   ? e8m0_decode(code)
         : type == ScaleType::kE4m3 ? e4m3_scale_decode(code)
                                    : 1.0;
}

}  // namespace mxgemm::internal
