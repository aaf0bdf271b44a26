// SPDX-License-Identifier: Apache-2.0
#include "quantize/scale_swizzle.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "formats/scale_layout.hpp"

namespace mxgemm::internal {
namespace {

std::vector<uint8_t> pattern(int64_t rows, int64_t cols, int64_t ld) {
  std::vector<uint8_t> bytes(static_cast<size_t>(rows * ld), 0xEE);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      bytes[static_cast<size_t>(row * ld + col)] = static_cast<uint8_t>((2 * row + col) % 251);
    }
  }
  return bytes;
}

TEST(ScaleSwizzle, PlacesTheKnownBytesOfA128x2Matrix) {
  const auto src = pattern(128, 2, 2);
  std::vector<uint8_t> dst(512, 0xFF);
  swizzle_scales(128, 2, src.data(), 2, dst.data());
  EXPECT_EQ(dst[16], src[1 * 2 + 0]);
  EXPECT_EQ(dst[17], src[1 * 2 + 1]);
  EXPECT_EQ(dst[4], src[32 * 2 + 0]);
  EXPECT_EQ(dst[21], src[33 * 2 + 1]);
  EXPECT_EQ(dst[508], src[127 * 2 + 0]);
  for (size_t i = 0; i < 512; ++i) {
    if (i % 4 >= 2) {
      EXPECT_EQ(dst[i], 0);
    }
  }
}

TEST(ScaleSwizzle, RoundTripsWithEveryOtherByteZero) {
  for (const int64_t cols : {1, 2, 3, 5, 9, 44, 90}) {
    for (const int64_t rows : {1, 31, 32, 33, 127, 128, 129, 130, 300}) {
      for (const int64_t ld : {cols, cols + 7}) {
        const auto src = pattern(rows, cols, ld);
        std::vector<uint8_t> swizzled(static_cast<size_t>(swizzled_scale_bytes(rows, cols)), 0xFF);
        swizzle_scales(rows, cols, src.data(), ld, swizzled.data());
        std::vector<uint8_t> expected(swizzled.size(), 0);
        for (int64_t row = 0; row < rows; ++row) {
          for (int64_t col = 0; col < cols; ++col) {
            expected[static_cast<size_t>(swizzled_scale_offset(row, col, cols))] =
                src[static_cast<size_t>(row * ld + col)];
          }
        }
        ASSERT_EQ(swizzled, expected) << rows << " x " << cols;
        std::vector<uint8_t> back(src.size(), 0xEE);
        unswizzle_scales(rows, cols, swizzled.data(), back.data(), ld);
        ASSERT_EQ(back, src) << rows << " x " << cols;
      }
    }
  }
}

TEST(ScaleSwizzle, A130x9MatrixTakes3072Bytes) {
  EXPECT_EQ(swizzled_scale_bytes(130, 9), 3072);
  const auto src = pattern(130, 9, 9);
  ASSERT_EQ(src.size(), 1170u);
  std::vector<uint8_t> swizzled(3072);
  swizzle_scales(130, 9, src.data(), 9, swizzled.data());
  std::vector<uint8_t> back(1170);
  unswizzle_scales(130, 9, swizzled.data(), back.data(), 9);
  EXPECT_EQ(back, src);
}

TEST(ScaleSwizzle, UnswizzleDoesNotLookAtPadding) {
  const auto src = pattern(5, 3, 3);
  std::vector<uint8_t> swizzled(512);
  swizzle_scales(5, 3, src.data(), 3, swizzled.data());
  std::vector<uint8_t> spoiled(512, 0xFF);
  for (int64_t row = 0; row < 5; ++row) {
    for (int64_t col = 0; col < 3; ++col) {
      const auto offset = static_cast<size_t>(swizzled_scale_offset(row, col, 3));
      spoiled[offset] = swizzled[offset];
    }
  }
  std::vector<uint8_t> back(15);
  unswizzle_scales(5, 3, spoiled.data(), back.data(), 3);
  EXPECT_EQ(back, src);
}

TEST(ScaleSwizzle, EmptyMatricesTouchNothing) {
  uint8_t byte = 0x77;
  swizzle_scales(0, 4, nullptr, 4, &byte);
  swizzle_scales(4, 0, nullptr, 0, &byte);
  unswizzle_scales(0, 4, nullptr, &byte, 4);
  unswizzle_scales(4, 0, nullptr, &byte, 0);
  EXPECT_EQ(byte, 0x77);
}

}  // namespace
}  // namespace mxgemm::internal
