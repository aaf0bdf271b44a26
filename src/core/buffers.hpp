// SPDX-License-Identifier: Apache-2.0
// Checks of the caller's memory: sizes, strides, alignment, overlap. No check allocates unless it
// fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/status.hpp"

namespace mxgemm::internal {

// Names of the arguments that describe one buffer, for messages; `ld` is null where there is none.
struct BufferNames {
  const char* data;
  const char* bytes;
  const char* ld;
};

// Bytes that a call touches: `rows` runs of row_bytes, `stride` bytes apart.
struct Region {
  const char* name = "";
  uintptr_t begin = 0;
  int64_t rows = 0;
  int64_t row_bytes = 0;
  int64_t stride = 0;
};

// What a matrix in memory must be.
struct MatrixShape {
  int64_t rows;
  int64_t cols;
  int element_bits;
};

Status check_struct_size(const char* argument, uint32_t value, size_t expected, const char* type);
Status check_not_null(const char* argument, const void* pointer);
Status check_not_negative(const char* argument, int64_t value);
Status check_aligned(const char* argument, const void* pointer, uint64_t alignment);

// Bytes of a dense or strided matrix from its first to its last element; empty where they do not
// fit int64_t. A row of 4-bit elements has an even number of them.
std::optional<int64_t> matrix_bytes(const MatrixShape& shape, int64_t ld);

// Fills in a leading dimension of 0, and checks ld, data, its alignment and its size. A matrix
// without elements may have no data.
Status check_matrix(const BufferNames& names, const MatrixShape& shape, const void* data,
                    uint64_t bytes, int64_t* ld, Region* region);
// The same for `needed` contiguous bytes.
Status check_buffer(const BufferNames& names, const void* data, uint64_t bytes, uint64_t needed,
                    uint64_t alignment, Region* region);

bool overlaps(const Region& a, const Region& b);
// `written` must not share a byte with `other`.
Status check_disjoint(const Region& written, const Region& other);

}  // namespace mxgemm::internal
