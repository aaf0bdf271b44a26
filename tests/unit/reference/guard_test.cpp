// SPDX-License-Identifier: Apache-2.0
// Poison, and the bytes around an output.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "reference/compare.hpp"

namespace mxgemm::test {
namespace {

using internal::Format;

TEST(Poison, IsASignallingNanThatNoArithmeticGives) {
  EXPECT_TRUE(
      std::isnan(internal::decode_code(Format::kBf16, internal::poison_code(Format::kBf16))));
  EXPECT_TRUE(std::isnan(internal::decode_code(Format::kF16, internal::poison_code(Format::kF16))));
  EXPECT_TRUE(std::isnan(internal::decode_code(Format::kF32, internal::poison_code(Format::kF32))));
  EXPECT_EQ(internal::poison_code(Format::kBf16) & 0x40u, 0u);
  EXPECT_EQ(internal::poison_code(Format::kF32) & 0x400000u, 0u);
  std::vector<uint32_t> buffer(3);
  internal::fill_poison(buffer.data(), 12);
  for (const uint32_t word : buffer) {
    EXPECT_EQ(word, internal::poison_code(Format::kF32));
  }
}

TEST(CheckGuard, EveryByteThatIsNotAnElementCounts) {
  // 3 x 5 bf16 with ld 7, 6 bytes in, 10 bytes behind.
  constexpr uint64_t kOffset = 6;
  constexpr uint64_t kEnd = kOffset + 2 * (2 * 7 + 5);
  std::vector<uint8_t> buffer(kEnd + 10);
  for (uint64_t position = 0; position < buffer.size(); ++position) {
    internal::fill_poison(buffer.data(), buffer.size());
    buffer[position] ^= 1;
    const bool inside = position >= kOffset && position < kEnd;
    const bool element = inside && (position - kOffset) % 14 < 10;
    const internal::GuardReport report =
        internal::check_guard(buffer.data(), buffer.size(), kOffset, Format::kBf16, 3, 5, 7);
    ASSERT_EQ(report.pass(), element) << position;
    ASSERT_EQ(report.bytes_checked, buffer.size() - 30);
    if (!element) {
      EXPECT_EQ(report.first_offset, static_cast<int64_t>(position));
      EXPECT_EQ(report.where, position < kOffset ? "before D"
                              : position >= kEnd ? "after D"
                              : position < 20    ? "padding of row 0"
                                                 : "padding of row 1");
    }
  }
}

TEST(CheckGuard, OneByteWrittenPastTheEndFails) {
  std::vector<uint8_t> buffer(4 * 4 * 4 + 64);
  internal::fill_poison(buffer.data(), buffer.size());
  std::memset(buffer.data(), 0, 64);
  EXPECT_TRUE(internal::check_guard(buffer.data(), buffer.size(), 0, Format::kF32, 4, 4, 4).pass());
  buffer[64] = 0;
  const internal::GuardReport report =
      internal::check_guard(buffer.data(), buffer.size(), 0, Format::kF32, 4, 4, 4);
  EXPECT_FALSE(report.pass());
  EXPECT_EQ(report.bytes_changed, 1u);
  EXPECT_EQ(report.where, "after D");
}

TEST(CheckGuard, AnEmptyOutputHasNoElements) {
  std::vector<uint8_t> buffer(32);
  internal::fill_poison(buffer.data(), buffer.size());
  EXPECT_TRUE(internal::check_guard(buffer.data(), 32, 8, Format::kF32, 0, 4, 4).pass());
  EXPECT_EQ(internal::check_guard(buffer.data(), 32, 8, Format::kF32, 4, 0, 4).bytes_checked, 32u);
  buffer[9] = 0;
  EXPECT_FALSE(internal::check_guard(buffer.data(), 32, 8, Format::kF32, 4, 0, 4).pass());
}

}  // namespace
}  // namespace mxgemm::test
