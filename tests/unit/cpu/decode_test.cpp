// SPDX-License-Identifier: Apache-2.0
// The decoders and row functions of every level that this machine can run: all codes under all
// scales, against src/formats.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cpu/cpu_backend.hpp"
#include "cpu/operand_index.hpp"
#include "cpu/scalar/scalar.h"
#include "formats/block_format.hpp"
#include "mxgemm/mxgemm.h"

#if defined(MXGEMM_CPU_X86)
#include "cpu/avx2/avx2.h"
#include "cpu/avx512/avx512.h"
#endif

namespace mxgemm::cpu {
namespace {

struct NamedLevel {
  const char* name;
  const Level* level;
};

std::vector<NamedLevel> levels() {
  std::vector<NamedLevel> result = {{"scalar", &scalar::kLevel}};
#if defined(MXGEMM_CPU_X86)
  if (isa_offered() >= MXGEMM_ISA_AVX2) {
    result.push_back({"avx2", &avx2::kLevel});
  }
  if (isa_offered() >= MXGEMM_ISA_AVX512) {
    result.push_back({"avx512", &avx512::kLevel});
  }
#endif
  return result;
}

constexpr Format kBlockScaled[] = {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3,
                                   Format::kMxf8E5m2};
constexpr int kSpread =
    64;  // elements that hold codes 0…255 of 8 bits in four goes, or all 4-bit codes four times

::testing::AssertionResult same(float value, double right) {
  if (std::isnan(right) ? std::isnan(value)
                        : value == right && std::signbit(value) == std::signbit(right)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << value << ", right is " << right;
}

bool fits(double value) {
  return std::isnan(value) || std::isinf(value) || std::fabs(value) < 0x1p128;
}

// Element `k` of go `go`: every code comes up.
uint8_t code_at(const internal::FormatInfo& info, int go, int k) {
  return static_cast<uint8_t>(info.element_bits == 4 ? (k + go) % 16 : (go * kSpread + k) % 256);
}

std::vector<uint8_t> row_of_codes(const internal::FormatInfo& info, int go) {
  std::vector<uint8_t> row(static_cast<size_t>(kSpread * info.element_bits / 8));
  for (int k = 0; k < kSpread; ++k) {
    const uint8_t code = code_at(info, go, k);
    if (info.element_bits == 8) {
      row[static_cast<size_t>(k)] = code;
    } else if (k % 2 == 0) {
      row[static_cast<size_t>(k / 2)] = internal::pack_nibbles(code, code_at(info, go, k + 1));
    }
  }
  return row;
}

double right_value(const internal::FormatInfo& info, uint8_t code, uint8_t scale) {
  alignas(4) const uint8_t bytes[4] = {code, 0, 0, 0};
  return internal::element_at(info.format, bytes, 0) *
         internal::scale_value(info.scale_type, scale);
}

TEST(DecodeA, AllCodesUnderAllScales) {
  for (const NamedLevel& level : levels()) {
    for (const Format format : kBlockScaled) {
      const internal::FormatInfo& info = *internal::find_format(format);
      const DecodeA decode = level.level->any_any.decode_a[operand_index(format)];
      if (decode == nullptr) {
        continue;  // the scalar level multiplies codes
      }
      for (int scale = 0; scale < 256; ++scale) {
        const std::vector<uint8_t> scales(kSpread / 16, static_cast<uint8_t>(scale));
        for (int go = 0; go < 4; ++go) {
          const std::vector<uint8_t> row = row_of_codes(info, go);
          std::vector<float> values(kSpread);
          const int32_t magnitude = decode(row.data(), scales.data(), kSpread, values.data());
          bool all_fit = true;
          for (int k = 0; k < kSpread; ++k) {
            const double right =
                right_value(info, code_at(info, go, k), static_cast<uint8_t>(scale));
            all_fit = all_fit && fits(right);
            if (fits(right)) {
              ASSERT_TRUE(same(values[static_cast<size_t>(k)], right))
                  << level.name << " " << info.name << " code " << int{code_at(info, go, k)}
                  << " scale " << scale;
            }
          }
          // What does not fit must be flagged; scales far from the end must not be, zero blocks'
          // among them.
          ASSERT_TRUE(all_fit || magnitude > level.level->any_any.magnitude_limit)
              << level.name << " " << scale;
          ASSERT_TRUE(magnitude <= level.level->any_any.magnitude_limit || scale > 239)
              << level.name << " " << scale;
        }
      }
    }
  }
}

TEST(DecodeB, AllCodesUnderAllScales) {
  for (const NamedLevel& level : levels()) {
    for (const Format format : kBlockScaled) {
      const internal::FormatInfo& info = *internal::find_format(format);
      const DecodeB decode = level.level->any_any.decode_b[operand_index(format)];
      if (decode == nullptr) {
        continue;
      }
      const int tiles = kSpread / kTileK;
      for (int scale = 0; scale < 256; ++scale) {
        // Row n of B is go n, and its scale is `scale` + n.
        std::vector<uint8_t> rows;
        for (int n = 0; n < kTileCols; ++n) {
          const std::vector<uint8_t> row = row_of_codes(info, n);
          rows.insert(rows.end(), row.begin(), row.end());
        }
        std::vector<uint8_t> codes(
            static_cast<size_t>(tiles * kTileCols * kTileK * info.element_bits / 8));
        level.level->rows.pack_codes[info.element_bits == 4 ? 0 : 1](
            rows.data(), kSpread * info.element_bits / 8, kTileCols, kSpread, codes.data());
        std::vector<uint8_t> scales(static_cast<size_t>(kSpread / info.block_size * kTileCols));
        for (size_t i = 0; i < scales.size(); ++i) {
          scales[i] = static_cast<uint8_t>(scale + static_cast<int>(i % kTileCols));
        }
        std::vector<float> values(kSpread * kTileCols);
        const int32_t magnitude = decode(codes.data(), scales.data(), tiles, values.data());
        bool all_fit = true;
        for (int k = 0; k < kSpread; ++k) {
          for (int n = 0; n < kTileCols; ++n) {
            const double right =
                right_value(info, code_at(info, n, k), static_cast<uint8_t>(scale + n));
            all_fit = all_fit && fits(right);
            if (fits(right)) {
              ASSERT_TRUE(same(values[static_cast<size_t>(k * kTileCols + n)], right))
                  << level.name << " " << info.name << " code " << int{code_at(info, n, k)}
                  << " scale " << scale + n;
            }
          }
        }
        ASSERT_TRUE(all_fit || magnitude > level.level->any_any.magnitude_limit)
            << level.name << " " << scale;
        ASSERT_TRUE(magnitude <= level.level->any_any.magnitude_limit || scale + kTileCols > 239)
            << level.name;
      }
    }
  }
}

TEST(DecodeA, HalfATileEndsInZeros) {
  for (const NamedLevel& level : levels()) {
    for (const Format format : {Format::kNvf4, Format::kBf16, Format::kF16, Format::kF32}) {
      const DecodeA decode = level.level->any_any.decode_a[operand_index(format)];
      if (decode == nullptr) {
        continue;
      }
      const std::vector<uint8_t> codes(48 * 4, 0x44);
      const std::vector<uint8_t> scales(3, 0x38);
      std::vector<float> values(64 + 8, -7.0f);
      EXPECT_EQ(decode(codes.data(), scales.data(), 48, values.data()), 0);
      for (int k = 0; k < 72; ++k) {
        const float value = values[static_cast<size_t>(k)];
        EXPECT_TRUE(k < 48 ? value > 0.0f : value == (k < 64 ? 0.0f : -7.0f))
            << level.name << " " << k;
      }
    }
  }
}

// A bf16 row whose unscaled block sums could overflow is flagged, any other is not.
TEST(DecodeA, Bf16RowsForMxf4AreFlaggedByMagnitude) {
  for (const NamedLevel& level : levels()) {
    const Strategy& strategy = level.level->bf16_mxf4;
    if (strategy.rows == 0) {
      continue;
    }
    for (int position : {0, 15, 16, 31, 63}) {
      for (const uint16_t sign : {0, 0x8000}) {
        std::vector<uint16_t> codes(64, 0x0001);
        std::vector<float> values(64);
        const auto flagged = [&](double value) {
          codes[static_cast<size_t>(position)] =
              static_cast<uint16_t>(internal::bf16_encode(value) | sign);
          return strategy.decode_a[kIndexBf16](codes.data(), nullptr, 64, values.data()) >
                 strategy.magnitude_limit;
        };
        EXPECT_FALSE(flagged(0x1.fep118)) << level.name;
        EXPECT_TRUE(flagged(0x1p119)) << level.name;
        EXPECT_TRUE(flagged(0x1.fep127)) << level.name;
        EXPECT_TRUE(flagged(__builtin_inf())) << level.name;
        EXPECT_TRUE(flagged(__builtin_nan(""))) << level.name;
      }
    }
  }
}

TEST(Rows, LoadEveryCode) {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint16_t>(i);
  }
  for (const NamedLevel& level : levels()) {
    std::vector<float> bf16(codes.size());
    std::vector<float> f16(codes.size());
    level.level->rows.load[plain_index(Format::kBf16)](codes.data(), 65536, bf16.data());
    level.level->rows.load[plain_index(Format::kF16)](codes.data(), 65536, f16.data());
    for (size_t i = 0; i < codes.size(); ++i) {
      ASSERT_TRUE(same(bf16[i], internal::bf16_decode(codes[i]))) << level.name << " " << i;
      ASSERT_TRUE(same(f16[i], internal::f16_decode(codes[i]))) << level.name << " " << i;
    }
  }
}

// Around every tie: the 16 lower bits that decide a rounding to bf16, and a spread of f16's 13,
// under every upper half.
TEST(Rows, StoreRoundsToNearestEven) {
  std::vector<float> row;
  for (uint32_t upper = 0; upper < 65536; upper += 3) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x0FFFu, 0x1000u, 0x1001u, 0x2FFFu, 0x3000u,
                                 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      row.push_back(__builtin_bit_cast(float, upper << 16 | lower));
    }
  }
  const auto count = static_cast<int64_t>(row.size());
  for (const NamedLevel& level : levels()) {
    std::vector<uint16_t> bf16(row.size());
    std::vector<uint16_t> f16(row.size());
    level.level->rows.store[plain_index(Format::kBf16)](row.data(), count, bf16.data());
    level.level->rows.store[plain_index(Format::kF16)](row.data(), count, f16.data());
    for (size_t i = 0; i < row.size(); ++i) {
      if (std::isnan(row[i])) {
        ASSERT_TRUE(std::isnan(internal::bf16_decode(bf16[i]))) << level.name;
        ASSERT_TRUE(std::isnan(internal::f16_decode(f16[i]))) << level.name;
      } else {
        ASSERT_EQ(bf16[i], internal::bf16_encode(row[i])) << level.name << " " << row[i];
        ASSERT_EQ(f16[i], internal::f16_encode(row[i])) << level.name << " " << row[i];
      }
    }
  }
}

// Rows of every length up to three vectors: nothing is read or written past the end.
TEST(Rows, EveryLength) {
  for (const NamedLevel& level : levels()) {
    const RowFunctions& rows = level.level->rows;
    for (int64_t count = 0; count <= 48; ++count) {
      const std::vector<float> source(static_cast<size_t>(count), 1.5f);
      for (int plain = 0; plain < kNumPlain; ++plain) {
        std::vector<uint8_t> stored(static_cast<size_t>(count) * 4 + 4, 0xA5);
        rows.store[plain](source.data(), count, stored.data());
        const size_t element = plain == plain_index(Format::kF32) ? 4 : 2;
        EXPECT_EQ(stored[static_cast<size_t>(count) * element], 0xA5) << level.name << " " << count;
        const std::vector<uint8_t> exact(
            stored.begin(),
            stored.begin() + static_cast<int64_t>(static_cast<size_t>(count) * element));
        std::vector<float> loaded(static_cast<size_t>(count) + 1, -7.0f);
        rows.load[plain](exact.data(), count, loaded.data());
        EXPECT_EQ(loaded.back(), -7.0f) << level.name << " " << count;
        loaded.pop_back();
        EXPECT_EQ(loaded, source) << level.name << " " << count;
      }
      std::vector<float> row(static_cast<size_t>(count) + 1, -2.0f);
      rows.linear(count, 2.0f, source.data(), -1.0f, source.data(), true, row.data());
      EXPECT_EQ(row.back(), -2.0f);
      row.pop_back();
      EXPECT_EQ(row, std::vector<float>(static_cast<size_t>(count), 0.0f))
          << level.name << " " << count;
    }
  }
}

TEST(Rows, PackingIsTheSameAtEveryLevel) {
  std::mt19937 random(3);
  std::vector<uint8_t> source(16 * 200);
  for (uint8_t& byte : source) {
    byte = static_cast<uint8_t>(random());
  }
  for (const NamedLevel& level : levels()) {
    for (int bits = 0; bits < 2; ++bits) {
      for (const int32_t rows : {0, 1, 15, 16}) {
        for (const int64_t k : {16, 32, 48, 96, 160}) {
          const auto bytes = static_cast<size_t>((k + 31) / 32 * (bits == 0 ? 256 : 512));
          std::vector<uint8_t> expected(bytes, 0xA5);
          std::vector<uint8_t> actual(bytes + 1, 0xA5);
          scalar::kLevel.rows.pack_codes[bits](source.data(), 200, rows, k, expected.data());
          level.level->rows.pack_codes[bits](source.data(), 200, rows, k, actual.data());
          EXPECT_EQ(actual.back(), 0xA5);
          actual.pop_back();
          EXPECT_EQ(actual, expected) << level.name << " rows " << rows << " k " << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::cpu
