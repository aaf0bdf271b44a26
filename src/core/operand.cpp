// SPDX-License-Identifier: Apache-2.0
#include "core/operand.hpp"

#include <cinttypes>
#include <cmath>

#include "base/math.hpp"
#include "base/require.hpp"

namespace mxgemm::internal {
namespace {

// Bytes of rows x cols swizzled scales; empty where they do not fit int64_t.
std::optional<int64_t> swizzled_bytes(int64_t rows, int64_t cols) {
  const std::optional<int64_t> tiles =
      checked_mul(scale_tiles_along(rows, kScaleTileRows), scale_tiles_along(cols, kScaleTileCols));
  return tiles ? checked_mul(*tiles, kScaleTileBytes) : std::nullopt;
}

// The packed form starts with vectors of 64 bytes, and so must what holds it.
constexpr uint64_t kPackedAlignment = 64;

}  // namespace

Status check_global_scale(const OperandNames& names, const OperandShape& shape,
                          const mxgemm_operand& operand, Region* region) {
  *region = {};
  if (shape.global_scale_on_device) {
    MXGEMM_TRY(check_not_null(names.global_scale_ptr, operand.global_scale_ptr));
    return check_buffer({names.global_scale_ptr, "", nullptr}, operand.global_scale_ptr,
                        sizeof(float), sizeof(float), alignof(float), region);
  }
  MXGEMM_REQUIRE(operand.global_scale_ptr == nullptr,
                 "%s is %p; it must be NULL where the global scale is not said to be on the device",
                 names.global_scale_ptr, static_cast<const void*>(operand.global_scale_ptr));
  const float value = operand.global_scale;
  if (shape.format->has_global_scale) {
    MXGEMM_REQUIRE(std::isfinite(value) && value > 0.0f,
                   "%s is %g; it must be finite and greater than 0", names.global_scale,
                   static_cast<double>(value));
  } else {
    MXGEMM_REQUIRE(value == 1.0f, "%s is %g; it must be 1, for %s has no global scale",
                   names.global_scale, static_cast<double>(value), shape.format->name);
  }
  return {};
}

Status check_scales(const BufferNames& names, int32_t layout, int64_t rows, int64_t cols,
                    const uint8_t* scale, uint64_t bytes, int64_t* ld, Region* region) {
  if (layout == MXGEMM_SCALE_ROW_MAJOR) {
    return check_matrix(names, {rows, cols, 8}, scale, bytes, ld, region);
  }
  MXGEMM_REQUIRE(*ld == 0, "%s is %" PRId64 "; it must be 0 with swizzled scales", names.ld, *ld);
  const std::optional<int64_t> needed = swizzled_bytes(rows, cols);
  MXGEMM_REQUIRE(needed,
                 "%s: the swizzled scales of %" PRId64 " x %" PRId64 " exceed 2^63 - 1 bytes",
                 names.data, rows, cols);
  return check_buffer(names, scale, bytes, static_cast<uint64_t>(*needed), 1, region);
}

Status check_operand(const OperandNames& names, const OperandShape& shape, mxgemm_operand* operand,
                     OperandRegions* regions) {
  MXGEMM_TRY(check_struct_size(names.struct_size, operand->struct_size, sizeof(*operand),
                               "mxgemm_operand"));
  MXGEMM_TRY(check_matrix(names.data, {shape.rows, shape.cols, shape.format->element_bits},
                          operand->data, operand->data_bytes, &operand->ld, &regions->data));
  MXGEMM_TRY(check_global_scale(names, shape, *operand, &regions->global_scale));
  if (shape.format->scale_type == ScaleType::kNone) {
    MXGEMM_REQUIRE(operand->scale == nullptr,
                   "%s is %p; it must be NULL, for %s has no block scales", names.scale.data,
                   static_cast<const void*>(operand->scale), shape.format->name);
    MXGEMM_REQUIRE(operand->scale_ld == 0,
                   "%s is %" PRId64 "; it must be 0, for %s has no block scales", names.scale.ld,
                   operand->scale_ld, shape.format->name);
    regions->scale = {};
    return {};
  }
  return check_scales(names.scale, shape.scale_layout, shape.rows,
                      shape.cols / shape.format->block_size, operand->scale, operand->scale_bytes,
                      &operand->scale_ld, &regions->scale);
}

Status check_packed_operand(const OperandNames& names, const OperandShape& shape,
                            const mxgemm_operand& operand, OperandRegions* regions) {
  MXGEMM_TRY(
      check_struct_size(names.struct_size, operand.struct_size, sizeof(operand), "mxgemm_operand"));
  MXGEMM_REQUIRE(operand.scale == nullptr,
                 "%s is %p; it must be NULL, for the packed form holds the scales",
                 names.scale.data, static_cast<const void*>(operand.scale));
  MXGEMM_REQUIRE(operand.ld == 0 && operand.scale_ld == 0,
                 "%s is %" PRId64 " and %s is %" PRId64
                 "; both must be 0, for a packed operand has no rows",
                 names.data.ld, operand.ld, names.scale.ld, operand.scale_ld);
  MXGEMM_TRY(check_not_null(names.data.data, operand.data));
  regions->scale = {};
  MXGEMM_TRY(check_buffer(names.data, operand.data, operand.data_bytes, operand.data_bytes,
                          kPackedAlignment, &regions->data));
  return check_global_scale(names, shape, operand, &regions->global_scale);
}

Status check_block_multiple(const char* name, int64_t cols, const FormatInfo& format) {
  MXGEMM_REQUIRE(cols % format.block_size == 0,
                 "%s is %" PRId64 "; it must be a multiple of %d, the block size of %s", name, cols,
                 format.block_size, format.name);
  return {};
}

Status qdata_bytes(const FormatInfo& format, const char* rows_name, int64_t rows,
                   const char* cols_name, int64_t cols, uint64_t* bytes) {
  MXGEMM_TRY(check_block_multiple(cols_name, cols, format));
  const std::optional<int64_t> needed = matrix_bytes({rows, cols, format.element_bits}, cols);
  MXGEMM_REQUIRE(needed,
                 "%s is %" PRId64 " and %s is %" PRId64 "; as %s they exceed 2^63 - 1 bytes",
                 rows_name, rows, cols_name, cols, format.name);
  *bytes = static_cast<uint64_t>(*needed);
  return {};
}

Status scale_bytes(const FormatInfo& format, int32_t layout, const char* rows_name, int64_t rows,
                   const char* cols_name, int64_t cols, uint64_t* bytes) {
  MXGEMM_TRY(check_block_multiple(cols_name, cols, format));
  *bytes = 0;
  if (format.scale_type == ScaleType::kNone) {
    return {};
  }
  const int64_t scale_cols = cols / format.block_size;
  const std::optional<int64_t> needed = layout == MXGEMM_SCALE_ROW_MAJOR
                                            ? checked_mul(rows, scale_cols)
                                            : swizzled_bytes(rows, scale_cols);
  MXGEMM_REQUIRE(needed,
                 "%s is %" PRId64 " and %s is %" PRId64 "; their scales exceed 2^63 - 1 bytes",
                 rows_name, rows, cols_name, cols);
  *bytes = static_cast<uint64_t>(*needed);
  return {};
}

ScaleView scale_view(const OperandShape& shape, const mxgemm_operand& operand) {
  return {operand.scale, static_cast<ScaleLayout>(shape.scale_layout), operand.scale_ld,
          shape.cols / shape.format->block_size};
}

}  // namespace mxgemm::internal
