// SPDX-License-Identifier: Apache-2.0
#include "core/buffers.hpp"

#include <cinttypes>

#include "base/math.hpp"
#include "base/require.hpp"
#include "mxgemm/version.h"

namespace mxgemm::internal {
namespace {

// Whole bytes of that many elements; the number of bits need not fit.
int64_t row_bytes(int64_t elements, int element_bits) {
  return element_bits == 4 ? elements / 2 : elements * (element_bits / 8);
}

// Byte of `region` after its last.
uintptr_t end_of(const Region& region) {
  return region.begin +
         static_cast<uintptr_t>((region.rows - 1) * region.stride + region.row_bytes);
}

// Two regions of one stride whose spans touch, `first` beginning at or before `second`: the first
// row of `second` meets rows `whole` and whole + 1 of `first`, and all later rows repeat that.
bool rows_overlap(const Region& first, const Region& second) {
  const auto distance = static_cast<int64_t>(second.begin - first.begin);
  const int64_t whole = distance / first.stride;
  const int64_t rest = distance % first.stride;
  return rest < first.row_bytes ||
         (whole + 1 < first.rows && rest + second.row_bytes > first.stride);
}

}  // namespace

Status check_struct_size(const char* argument, uint32_t value, size_t expected, const char* type) {
  MXGEMM_REQUIRE(value == expected,
                 "%s is %" PRIu32 "; it must be %zu, the size of %s in version %s of the library",
                 argument, value, expected, type, MXGEMM_VERSION_STRING);
  return {};
}

Status check_not_null(const char* argument, const void* pointer) {
  MXGEMM_REQUIRE(pointer != nullptr, "%s is NULL; it must point to something", argument);
  return {};
}

Status check_not_negative(const char* argument, int64_t value) {
  MXGEMM_REQUIRE(value >= 0, "%s is %" PRId64 "; it must be at least 0", argument, value);
  return {};
}

Status check_aligned(const char* argument, const void* pointer, uint64_t alignment) {
  MXGEMM_REQUIRE(reinterpret_cast<uintptr_t>(pointer) % alignment == 0,
                 "%s is %p; it must be a multiple of %" PRIu64 " bytes", argument, pointer,
                 alignment);
  return {};
}

std::optional<int64_t> matrix_bytes(const MatrixShape& shape, int64_t ld) {
  if (shape.rows == 0 || shape.cols == 0) {
    return 0;
  }
  const std::optional<int64_t> before = checked_mul(shape.rows - 1, ld);
  const std::optional<int64_t> elements = before ? checked_add(*before, shape.cols) : std::nullopt;
  if (!elements) {
    return std::nullopt;
  }
  if (shape.element_bits == 4) {
    return *elements / 2;
  }
  return checked_mul(*elements, static_cast<int64_t>(shape.element_bits / 8));
}

Status check_matrix(const BufferNames& names, const MatrixShape& shape, const void* data,
                    uint64_t bytes, int64_t* ld, Region* region) {
  MXGEMM_REQUIRE(*ld == 0 || *ld >= shape.cols,
                 "%s is %" PRId64 "; it must be 0 (dense) or at least the %" PRId64 " columns",
                 names.ld, *ld, shape.cols);
  MXGEMM_REQUIRE(shape.element_bits != 4 || *ld % 2 == 0,
                 "%s is %" PRId64
                 "; it must be a multiple of 2, for rows of 4-bit elements start at whole bytes",
                 names.ld, *ld);
  if (*ld == 0) {
    *ld = shape.cols;
  }
  const std::optional<int64_t> needed = matrix_bytes(shape, *ld);
  if (shape.rows <= 1 || needed == 0) {
    *ld = shape.cols;  // leads nowhere, and may be too large to become bytes
  }
  MXGEMM_REQUIRE(needed, "%s is %" PRId64 "; %" PRId64 " rows of it exceed 2^63 - 1 bytes",
                 names.ld, *ld, shape.rows);
  const uint64_t alignment =
      shape.element_bits < 8 ? 1 : static_cast<uint64_t>(shape.element_bits / 8);
  MXGEMM_TRY(check_buffer(names, data, bytes, static_cast<uint64_t>(*needed), alignment, region));
  if (*needed > 0) {
    region->rows = shape.rows;
    region->row_bytes = row_bytes(shape.cols, shape.element_bits);
    region->stride = row_bytes(*ld, shape.element_bits);
  }
  return {};
}

Status check_buffer(const BufferNames& names, const void* data, uint64_t bytes, uint64_t needed,
                    uint64_t alignment, Region* region) {
  *region = {names.data, reinterpret_cast<uintptr_t>(data), 0, 0, 0};
  MXGEMM_REQUIRE(data != nullptr || needed == 0, "%s is NULL; it must point to %" PRIu64 " bytes",
                 names.data, needed);
  MXGEMM_REQUIRE(bytes >= needed, "%s is %" PRIu64 "; it must be at least %" PRIu64, names.bytes,
                 bytes, needed);
  MXGEMM_TRY(check_aligned(names.data, data, alignment));
  MXGEMM_REQUIRE(UINTPTR_MAX - reinterpret_cast<uintptr_t>(data) >= needed,
                 "%s is %p; %" PRIu64 " bytes from there exceed the address space", names.data,
                 data, needed);
  if (needed > 0) {
    region->rows = 1;
    region->row_bytes = static_cast<int64_t>(needed);
    region->stride = static_cast<int64_t>(needed);
  }
  return {};
}

bool overlaps(const Region& a, const Region& b) {
  if (a.rows == 0 || b.rows == 0 || end_of(a) <= b.begin || end_of(b) <= a.begin) {
    return false;
  }
  // The spans touch, which is fine for column slices of one matrix.
  if (a.stride == b.stride) {
    return rows_overlap(a.begin <= b.begin ? a : b, a.begin <= b.begin ? b : a);
  }
  int64_t i = 0;  // Go through the rows of both in the order of addresses.
  int64_t j = 0;
  while (i < a.rows && j < b.rows) {
    const uintptr_t row_a = a.begin + static_cast<uintptr_t>(i * a.stride);
    const uintptr_t row_b = b.begin + static_cast<uintptr_t>(j * b.stride);
    if (row_a + static_cast<uintptr_t>(a.row_bytes) <= row_b) {
      ++i;
    } else if (row_b + static_cast<uintptr_t>(b.row_bytes) <= row_a) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

Status check_disjoint(const Region& written, const Region& other) {
  MXGEMM_REQUIRE(!overlaps(written, other),
                 "%s at %p overlaps %s at %p; what is written may not overlap it", written.name,
                 reinterpret_cast<void*>(written.begin), other.name,
                 reinterpret_cast<void*>(other.begin));
  return {};
}

}  // namespace mxgemm::internal
