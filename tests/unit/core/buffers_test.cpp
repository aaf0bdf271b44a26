// SPDX-License-Identifier: Apache-2.0
// Overlap of strided regions against a set of bytes, and sizes near the end of 64 bits.
#include "core/buffers.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace mxgemm::internal {
namespace {

std::set<uintptr_t> bytes_of(const Region& region) {
  std::set<uintptr_t> bytes;
  for (int64_t row = 0; row < region.rows; ++row) {
    for (int64_t byte = 0; byte < region.row_bytes; ++byte) {
      bytes.insert(region.begin + static_cast<uintptr_t>(row * region.stride + byte));
    }
  }
  return bytes;
}

TEST(Overlap, AsASetOfBytesSays) {
  int overlapping = 0;
  int apart_inside = 0;  // the spans touch, the bytes do not
  for (int64_t stride_a = 1; stride_a <= 7; ++stride_a) {
    for (int64_t stride_b = 1; stride_b <= 7; ++stride_b) {
      for (int64_t width_a = 1; width_a <= stride_a; width_a += 2) {
        for (int64_t width_b = 1; width_b <= stride_b; width_b += 2) {
          for (uintptr_t start = 90; start <= 125; ++start) {
            const Region a = {"a", 100, 3, width_a, stride_a};
            const Region b = {"b", start, 4, width_b, stride_b};
            bool expected = false;
            const std::set<uintptr_t> of_a = bytes_of(a);
            for (const uintptr_t byte : bytes_of(b)) {
              expected = expected || of_a.contains(byte);
            }
            ASSERT_EQ(overlaps(a, b), expected)
                << stride_a << " " << width_a << " " << stride_b << " " << width_b << " " << start;
            ASSERT_EQ(overlaps(b, a), expected);
            overlapping += expected ? 1 : 0;
            apart_inside +=
                !expected && start > 100 && start < 100 + 2 * static_cast<uintptr_t>(stride_a);
          }
        }
      }
    }
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(apart_inside, 100);
}

TEST(Overlap, EmptyRegionsTouchNothing) {
  const Region all = {"all", 0, 1, INT64_MAX, INT64_MAX};
  EXPECT_FALSE(overlaps(all, Region{}));
  EXPECT_FALSE(overlaps(Region{}, all));
  EXPECT_TRUE(overlaps(all, {"one", 5, 1, 1, 1}));
}

TEST(MatrixBytes, NearTheEndOf64Bits) {
  EXPECT_EQ(matrix_bytes({0, 5, 32}, INT64_MAX), 0);
  EXPECT_EQ(matrix_bytes({5, 0, 32}, INT64_MAX), 0);
  EXPECT_EQ(matrix_bytes({1, 6, 4}, INT64_MAX), 3);  // one row has no stride
  EXPECT_EQ(matrix_bytes({3, 4, 16}, 7), (2 * 7 + 4) * 2);
  EXPECT_EQ(matrix_bytes({2, 1, 8}, INT64_MAX - 1), INT64_MAX);
  EXPECT_EQ(matrix_bytes({2, 2, 8}, INT64_MAX - 1), std::nullopt);
  EXPECT_EQ(matrix_bytes({3, 1, 8}, INT64_MAX / 2 + 1), std::nullopt);
  EXPECT_EQ(matrix_bytes({1, INT64_MAX / 4, 32}, 1), INT64_MAX / 4 * 4);
  EXPECT_EQ(matrix_bytes({1, INT64_MAX / 4 + 1, 32}, 1), std::nullopt);
}

TEST(CheckBuffer, EndOfTheAddressSpace) {
  Region region;
  const BufferNames names = {"x", "x_bytes", nullptr};
  const void* last = reinterpret_cast<const void*>(UINTPTR_MAX - 10);
  EXPECT_TRUE(check_buffer(names, last, 10, 10, 1, &region).ok());
  EXPECT_FALSE(check_buffer(names, last, 11, 11, 1, &region).ok());
  EXPECT_TRUE(check_buffer(names, nullptr, 0, 0, 64, &region).ok());
  EXPECT_EQ(region.rows, 0);
}

}  // namespace
}  // namespace mxgemm::internal
