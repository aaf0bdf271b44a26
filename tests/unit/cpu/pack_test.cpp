// SPDX-License-Identifier: Apache-2.0
// Packed weights: every code and scale at its place, padding, and what check_packed refuses.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "cpu/packed_layout.hpp"

namespace mxgemm::cpu {
namespace {

constexpr Format kFormats[] = {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3, Format::kMxf8E5m2};

struct Weights {
  Weights(Format format_, int64_t n_, int64_t k_, int64_t padding = 0)
      : format(format_), n(n_), k(k_), info(*internal::find_format(format_)) {
    std::mt19937 random(5);
    row_bytes = (k + padding) * info.element_bits / 8;
    codes.resize(static_cast<size_t>(n * row_bytes));
    scale_cols = k / info.block_size;
    scales.resize(static_cast<size_t>(n * scale_cols));
    for (uint8_t& byte : codes) {
      byte = static_cast<uint8_t>(random());
    }
    for (uint8_t& byte : scales) {
      byte = static_cast<uint8_t>(random());
    }
  }

  std::vector<uint8_t> packed() const {
    std::vector<uint8_t> out(packed_size(format, n, k).value(), 0xA5);
    pack(format, n, k, codes.data(), row_bytes,
         ScaleView{scales.data(), ScaleLayout::kRowMajor, scale_cols, scale_cols}, out.data(),
         ParallelFor{});
    return out;
  }

  uint8_t code(int64_t row, int64_t column) const {
    const uint8_t* bytes = codes.data() + row * row_bytes;
    return info.element_bits == 4 ? internal::nibble_at(bytes, column) : bytes[column];
  }

  Format format;
  int64_t n;
  int64_t k;
  const internal::FormatInfo& info;
  int64_t row_bytes;
  int64_t scale_cols;
  std::vector<uint8_t> codes;
  std::vector<uint8_t> scales;
};

// The layout as packed_layout.hpp words it, written down once more.
uint8_t packed_code(const Weights& weights, const std::vector<uint8_t>& packed, int64_t n,
                    int64_t k) {
  const int64_t tiles = (weights.k + 31) / 32;
  const int64_t tile = n / 16 * tiles + k / 32;
  const int64_t column = n % 16;
  const int64_t in_tile = k % 32;
  if (weights.info.element_bits == 8) {
    return packed[static_cast<size_t>(64 + tile * 512 + in_tile / 4 * 64 + column * 4 +
                                      in_tile % 4)];
  }
  const int64_t half_lane = 64 + tile * 256 + in_tile / 8 * 64 + (2 * column + in_tile % 2) * 2;
  const int64_t nibble = in_tile % 8 / 2;
  const uint8_t byte = packed[static_cast<size_t>(half_lane + nibble / 2)];
  return nibble % 2 == 0 ? byte & 0x0F : byte >> 4;
}

uint8_t packed_scale(const Weights& weights, const std::vector<uint8_t>& packed, int64_t n,
                     int64_t block) {
  const int64_t tiles = (weights.k + 31) / 32;
  const int64_t groups = (weights.n + 31) / 32 * 2;
  const int64_t plane = 64 + groups * tiles * 64 * weights.info.element_bits;
  const int64_t blocks = tiles * 32 / weights.info.block_size;
  return packed[static_cast<size_t>(plane + (n / 16 * blocks + block) * 16 + n % 16)];
}

TEST(Pack, EveryCodeAndScaleIsAtItsPlace) {
  for (const Format format : kFormats) {
    for (const int64_t n : {1, 15, 16, 17, 32, 45}) {
      const Weights weights(format, n, internal::find_format(format)->block_size * 5, 6);
      const std::vector<uint8_t> packed = weights.packed();
      const int64_t padded_k = (weights.k + 31) / 32 * 32;
      for (int64_t row = 0; row < (n + 31) / 32 * 32; ++row) {
        for (int64_t k = 0; k < padded_k; ++k) {
          const bool real = row < n && k < weights.k;
          ASSERT_EQ(packed_code(weights, packed, row, k), real ? weights.code(row, k) : 0)
              << row << "," << k;
        }
        for (int64_t block = 0; block < padded_k / weights.info.block_size; ++block) {
          const bool real = row < n && block < weights.scale_cols;
          const uint8_t one = format == Format::kNvf4 ? 0x38 : 127;
          ASSERT_EQ(
              packed_scale(weights, packed, row, block),
              real ? weights.scales[static_cast<size_t>(row * weights.scale_cols + block)] : one)
              << row << "," << block;
        }
      }
    }
  }
}

TEST(Pack, SwizzledScalesGiveTheSameBytes) {
  for (const Format format : kFormats) {
    Weights weights(format, 150, 192);
    std::vector<uint8_t> swizzled(
        static_cast<size_t>(internal::swizzled_scale_bytes(weights.n, weights.scale_cols)), 0xFF);
    for (int64_t row = 0; row < weights.n; ++row) {
      for (int64_t block = 0; block < weights.scale_cols; ++block) {
        swizzled[static_cast<size_t>(
            internal::swizzled_scale_offset(row, block, weights.scale_cols))] =
            weights.scales[static_cast<size_t>(row * weights.scale_cols + block)];
      }
    }
    std::vector<uint8_t> out(packed_size(format, weights.n, weights.k).value());
    pack(format, weights.n, weights.k, weights.codes.data(), weights.row_bytes,
         ScaleView{swizzled.data(), ScaleLayout::kSwizzle32x4x4, 0, weights.scale_cols}, out.data(),
         parallel_for());
    EXPECT_EQ(out, weights.packed());
  }
}

TEST(Pack, SizesOfDegenerateShapes) {
  EXPECT_EQ(packed_size(Format::kMxf4, 0, 64), sizeof(PackedHeader));
  EXPECT_EQ(packed_size(Format::kMxf4, 5, 0), sizeof(PackedHeader));
  EXPECT_EQ(packed_size(Format::kMxf4, 1, 32), sizeof(PackedHeader) + 2 * (256 + 16));
  EXPECT_EQ(packed_size(Format::kNvf4, 33, 16), sizeof(PackedHeader) + 4 * (256 + 32));
  EXPECT_EQ(packed_size(Format::kMxf8E4m3, 32, 64), sizeof(PackedHeader) + 4 * (512 + 16));
}

TEST(Pack, OwnFormIsAccepted) {
  for (const Format format : kFormats) {
    const Weights weights(format, 20, 64);
    const std::vector<uint8_t> packed = weights.packed();
    EXPECT_TRUE(check_packed(packed.data(), packed.size(), format, 20, 64).ok());
    EXPECT_TRUE(check_packed(packed.data(), packed.size() + 100, format, 20, 64).ok());
  }
}

void expect_refused(const Status& status, const char* text) {
  EXPECT_EQ(status.code(), internal::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("b.data"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

TEST(Pack, OtherShapeAndFormatAreRefused) {
  const Weights weights(Format::kMxf4, 20, 64);
  const std::vector<uint8_t> packed = weights.packed();
  const uint64_t bytes = packed.size();
  expect_refused(check_packed(packed.data(), bytes, Format::kMxf4, 21, 64),
                 "a packed 20 x 64 mxf4 operand");
  expect_refused(check_packed(packed.data(), bytes, Format::kMxf4, 20, 32), "20 x 32 mxf4");
  expect_refused(check_packed(packed.data(), bytes, Format::kNvf4, 20, 64),
                 "a packed 20 x 64 mxf4 operand");
  expect_refused(check_packed(packed.data(), bytes - 1, Format::kMxf4, 20, 64), "b.data_bytes");
}

TEST(Pack, AnythingElseIsRefused) {
  const Weights weights(Format::kMxf4, 20, 64);
  std::vector<uint8_t> packed = weights.packed();
  expect_refused(check_packed(weights.codes.data(), weights.codes.size(), Format::kMxf4, 20, 64),
                 "not a packed operand");
  expect_refused(check_packed(packed.data(), sizeof(PackedHeader) - 1, Format::kMxf4, 20, 64),
                 "not a packed operand");
  expect_refused(check_packed(nullptr, 0, Format::kMxf4, 20, 64), "not a packed operand");
  // Any field of the header that was changed.
  for (size_t byte = 0; byte < offsetof(PackedHeader, padding); ++byte) {
    packed[byte] ^= 1;
    expect_refused(check_packed(packed.data(), packed.size(), Format::kMxf4, 20, 64),
                   "not a packed operand");
    packed[byte] ^= 1;
  }
}

// A header of another version is whole, but not ours.
TEST(Pack, OtherVersionIsRefused) {
  const Weights weights(Format::kMxf4, 20, 64);
  std::vector<uint8_t> packed = weights.packed();
  PackedHeader header;
  std::memcpy(&header, packed.data(), sizeof header);
  header.version = 9 * 1000000 + 8 * 1000 + 7;
  header.check = header_check(header);
  std::memcpy(packed.data(), &header, sizeof header);
  expect_refused(check_packed(packed.data(), packed.size(), Format::kMxf4, 20, 64),
                 "version 9.8.7");
}

}  // namespace
}  // namespace mxgemm::cpu
