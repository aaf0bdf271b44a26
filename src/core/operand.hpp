// SPDX-License-Identifier: Apache-2.0
// Checks of one operand in the caller's memory: elements, block scales, global scale.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "core/buffers.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {

struct OperandNames {
  const char* struct_size;
  BufferNames data;
  BufferNames scale;
  const char* global_scale;
  const char* global_scale_ptr;
};

#define MXGEMM_OPERAND_NAMES(prefix)                                                          \
  {                                                                                           \
    prefix ".struct_size", {prefix ".data", prefix ".data_bytes", prefix ".ld"},              \
        {prefix ".scale", prefix ".scale_bytes", prefix ".scale_ld"}, prefix ".global_scale", \
        prefix ".global_scale_ptr"                                                            \
  }

struct OperandShape {
  const FormatInfo* format;
  int32_t scale_layout;
  int64_t rows;
  int64_t cols;
  bool global_scale_on_device;
};

struct OperandRegions {
  Region data;
  Region scale;
  Region global_scale;
};

// The struct size and what holds for every operand: the global scale.
Status check_global_scale(const OperandNames& names, const OperandShape& shape,
                          const mxgemm_operand& operand, Region* region);
// All of an operand; fills in its zero leading dimensions.
Status check_operand(const OperandNames& names, const OperandShape& shape, mxgemm_operand* operand,
                     OperandRegions* regions);
// The scales alone.
Status check_scales(const BufferNames& names, int32_t layout, int64_t rows, int64_t cols,
                    const uint8_t* scale, uint64_t bytes, int64_t* ld, Region* region);
// A prepared operand B: one opaque buffer.
Status check_packed_operand(const OperandNames& names, const OperandShape& shape,
                            const mxgemm_operand& operand, OperandRegions* regions);

// Bytes of dense elements or scales; fails where they do not fit 2^63 - 1. `rows` and `cols` name
// the arguments.
Status qdata_bytes(const FormatInfo& format, const char* rows_name, int64_t rows,
                   const char* cols_name, int64_t cols, uint64_t* bytes);
Status scale_bytes(const FormatInfo& format, int32_t layout, const char* rows_name, int64_t rows,
                   const char* cols_name, int64_t cols, uint64_t* bytes);
// cols must be a multiple of the block size.
Status check_block_multiple(const char* name, int64_t cols, const FormatInfo& format);

// How the CPU routines see the scales of a checked operand.
ScaleView scale_view(const OperandShape& shape, const mxgemm_operand& operand);

}  // namespace mxgemm::internal
