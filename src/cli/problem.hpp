// SPDX-License-Identifier: Apache-2.0
// Problem strings: one GEMM in one word. The same string verifies, times and explains.
//
//   m<M>n<N>k<K>:<A>:<B>:<D>[:option]…        m133n528k512:mxf4:mxf4:bf16:bias:act=gelu:ldd=+8
//
// docs/cli.md lists the options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cli {

using internal::Format;
using internal::ScaleLayout;

struct Problem {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Format a = Format::kNone;
  Format b = Format::kNone;
  Format d = Format::kNone;
  ScaleLayout scales = ScaleLayout::kSwizzle32x4x4;
  bool pad_zero = false;  // what the scale padding holds: NaN, or zero as promised to the library
  Format bias = Format::kNone;  // none, D's type or f32
  std::optional<float> beta;    // set: C is read (beta = 0 included: C is given and must not be)
  float alpha = 1.0f;
  bool alpha_on_device = false;
  int32_t activation = MXGEMM_ACT_NONE;
  int64_t extra_lda = 0;  // elements beyond the dense row
  int64_t extra_ldb = 0;
  int64_t extra_ldc = 0;
  int64_t extra_ldd = 0;
  int64_t offset = 0;  // bytes by which the pointers of elements, scales, C, D and bias are moved
  bool packed_b = false;

  bool operator==(const Problem&) const = default;
};

// Throws CommandError (exit code 2) whose message names the part, its value and what is allowed.
// What is accepted has shapes that fit the formats and buffers that can be addressed.
Problem parse_problem(std::string_view text);

// The canonical string: options in a fixed order, defaults left out. parse_problem gives the same
// problem again.
std::string to_string(const Problem& problem);

// The descriptor that asks the library for `problem` on a device.
mxgemm_gemm_desc make_desc(const Problem& problem, int32_t device_kind, int32_t device_index);

// Leading dimensions in elements.
int64_t lda(const Problem& problem);
int64_t ldb(const Problem& problem);
int64_t ldc(const Problem& problem);
int64_t ldd(const Problem& problem);

// Bytes from row to row of row-major scales whose elements have a leading dimension `ld`: room for
// the scales of the extra elements, too.
int64_t scale_row_bytes(Format format, int64_t ld);

// Bytes of `rows` rows with leading dimension `ld`, the last one ending with its `cols` elements; 0
// without elements.
uint64_t matrix_bytes(Format format, int64_t rows, int64_t cols, int64_t ld);
// Bytes of the scales that belong to it, in the problem's layout.
uint64_t scale_bytes(const Problem& problem, Format format, int64_t rows, int64_t ld);

// Bytes of all the buffers of a problem together.
uint64_t total_bytes(const Problem& problem);

// Exit code 4 unless these bytes fit the machine's memory.
void require_memory(const Problem& problem, double bytes);

const char* activation_name(int32_t activation);

}  // namespace mxgemm::cli
