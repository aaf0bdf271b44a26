// SPDX-License-Identifier: Apache-2.0
// The element and scale formats, over all their codes and at every place where rounding decides.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "formats/block_format.hpp"
#include "unit/formats/format_vectors.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

struct ByteFormat {
  const char* name;
  int codes;  // with sign
  uint8_t max_code;
  uint8_t sign_bit;
  double max;
  double (*decode)(uint8_t);
  uint8_t (*encode)(double);
};

const ByteFormat kByteFormats[] = {
    {"e2m1", 16, kE2m1MaxCode, kE2m1SignBit, 6.0, e2m1_decode, e2m1_encode},
    {"e4m3", 256, kE4m3MaxCode, kE4m3SignBit, 448.0, e4m3_decode, e4m3_encode},
    {"e5m2", 256, kE5m2MaxCode, kE5m2SignBit, 57344.0, e5m2_decode, e5m2_encode},
};

struct HalfFormat {
  const char* name;
  uint16_t infinity;
  double (*decode)(uint16_t);
  uint16_t (*encode)(double);
};

const HalfFormat kHalfFormats[] = {
    {"bf16", kBf16Infinity, bf16_decode, bf16_encode},
    {"f16", kF16Infinity, f16_decode, f16_encode},
};

// Bits of a decoded value, which must be exact in fp32.
uint64_t f32_word(double value) {
  if (std::isnan(value)) {
    return kNanWord;
  }
  EXPECT_EQ(static_cast<double>(static_cast<float>(value)), value);
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

double f32_from_word(uint64_t word) {
  return std::bit_cast<float>(static_cast<uint32_t>(word));
}

double above(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}
double below(double value) {
  return std::nextafter(value, -std::numeric_limits<double>::infinity());
}

TEST(ByteFormats, DecodeEveryCodeAsMlDtypesDoes) {
  for (const ByteFormat& format : kByteFormats) {
    const auto records = read_section(std::string("decode ") + format.name);
    ASSERT_EQ(records.size(), static_cast<size_t>(format.codes)) << format.name;
    for (const Record& record : records) {
      const auto code = static_cast<uint8_t>(record[0]);
      EXPECT_EQ(f32_word(format.decode(code)), record[1]) << format.name << " code " << +code;
    }
  }
}

TEST(ByteFormats, EncodeAsMlDtypesDoesAtAndAroundEveryTieAndCode) {
  for (const ByteFormat& format : kByteFormats) {
    const auto records = read_section(std::string("encode ") + format.name);
    ASSERT_GE(records.size(), static_cast<size_t>(format.max_code) * 12) << format.name;
    for (const Record& record : records) {
      const double value = f32_from_word(record[0]);
      EXPECT_EQ(+format.encode(value), static_cast<int>(record[1])) << format.name << " " << value;
    }
  }
}

// In double the neighbours of a tie are far closer than in fp32: no rounding to fp32 may come
// first.
TEST(ByteFormats, EncodeRoundsOnceInDouble) {
  for (const ByteFormat& format : kByteFormats) {
    for (uint8_t code = 0; code < format.max_code; ++code) {
      const double tie = (format.decode(code) + format.decode(code + 1)) / 2;
      const uint8_t even = code % 2 == 0 ? code : code + 1;
      EXPECT_EQ(+format.encode(below(tie)), code) << format.name;
      EXPECT_EQ(+format.encode(tie), even) << format.name;
      EXPECT_EQ(+format.encode(above(tie)), code + 1) << format.name;
      EXPECT_EQ(+format.encode(-below(tie)), code | format.sign_bit) << format.name;
      EXPECT_EQ(+format.encode(-tie), even | format.sign_bit) << format.name;
      EXPECT_EQ(+format.encode(-above(tie)), (code + 1) | format.sign_bit) << format.name;
    }
  }
}

TEST(ByteFormats, EncodeInvertsDecodeForEveryFiniteCode) {
  for (const ByteFormat& format : kByteFormats) {
    for (int code = 0; code < format.codes; ++code) {
      const double value = format.decode(static_cast<uint8_t>(code));
      if (std::isfinite(value)) {
        EXPECT_EQ(+format.encode(value), code) << format.name;
      }
    }
  }
}

TEST(ByteFormats, SaturateAtTheLargestCodeWithTheSign) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const ByteFormat& format : kByteFormats) {
    EXPECT_EQ(format.decode(format.max_code), format.max);
    for (const double value : {format.max, above(format.max), 1.1 * format.max, 2 * format.max,
                               0x1p127, 0x1p1000, infinity}) {
      EXPECT_EQ(+format.encode(value), format.max_code) << format.name << " " << value;
      EXPECT_EQ(+format.encode(-value), format.max_code | format.sign_bit) << format.name;
    }
  }
}

TEST(ByteFormats, KeepTheSignOfZeroAndOfWhatRoundsToZero) {
  for (const ByteFormat& format : kByteFormats) {
    for (const double value : {0.0, 0x1p-1074, 0x1p-149, 0x1p-126, format.decode(1) / 2}) {
      EXPECT_EQ(+format.encode(value), 0) << format.name << " " << value;
      EXPECT_EQ(+format.encode(-value), format.sign_bit) << format.name << " " << value;
    }
    EXPECT_TRUE(std::signbit(format.decode(format.sign_bit))) << format.name;
    EXPECT_FALSE(std::signbit(format.decode(0))) << format.name;
  }
}

TEST(E2m1, IgnoresBitsAboveTheLowFour) {
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<uint8_t>(code);
    EXPECT_EQ(e2m1_decode(byte), e2m1_decode(byte & 0x0F));
  }
}

TEST(E4m3, AsABlockScaleHasNoSign) {
  for (int code = 0; code < 128; ++code) {
    const double value = e4m3_scale_decode(static_cast<uint8_t>(code));
    const double other = e4m3_scale_decode(static_cast<uint8_t>(code | 0x80));
    if (code == kE4m3Nan) {
      EXPECT_TRUE(std::isnan(value) && std::isnan(other));
    } else {
      EXPECT_EQ(value, other);
      EXPECT_EQ(value, e4m3_decode(static_cast<uint8_t>(code)));
    }
  }
}

TEST(E5m2, HasInfinitiesAndNans) {
  EXPECT_EQ(e5m2_decode(0x7C), std::numeric_limits<double>::infinity());
  EXPECT_EQ(e5m2_decode(0xFC), -std::numeric_limits<double>::infinity());
  for (const int code : {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF}) {
    EXPECT_TRUE(std::isnan(e5m2_decode(static_cast<uint8_t>(code))));
  }
}

TEST(E8m0, DecodesEveryCodeAsMlDtypesDoes) {
  const auto records = read_section("decode e8m0");
  ASSERT_EQ(records.size(), 256u);
  for (const Record& record : records) {
    EXPECT_EQ(f32_word(e8m0_decode(static_cast<uint8_t>(record[0]))), record[1]) << record[0];
  }
}

TEST(E8m0, EncodesEveryPowerOfTwoAsMlDtypesDoesAndClamps) {
  const auto records = read_section("encode e8m0");
  ASSERT_EQ(records.size(), 255u);
  for (const Record& record : records) {
    const int exponent = std::ilogb(f32_from_word(record[0]));
    EXPECT_EQ(+e8m0_from_exponent(exponent), static_cast<int>(record[1])) << exponent;
  }
  for (const int exponent : {-128, -1000}) {
    EXPECT_EQ(+e8m0_from_exponent(exponent), 0);
  }
  for (const int exponent : {128, 1000}) {
    EXPECT_EQ(+e8m0_from_exponent(exponent), 254);
  }
}

// The 12 numbers a code of the "pages" sections; `next` is the next magnitude, or where it would be
// past the largest.
void hash_encoded(const HalfFormat& format, double own, double next, WordHash* hash) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float sign : {1.0f, -1.0f}) {
    for (const double centre : {(own + next) / 2, own}) {
      const auto value = static_cast<float>(centre);
      for (const float x :
           {std::nextafter(value, -infinity), value, std::nextafter(value, infinity)}) {
        hash->add(format.encode(static_cast<double>(sign * x)));
      }
    }
  }
}

TEST(HalfFormats, DecodeAndEncodeAsMlDtypesDoesOverAllCodesAndTies) {
  for (const HalfFormat& format : kHalfFormats) {
    const auto records = read_section(std::string("pages ") + format.name);
    ASSERT_EQ(records.size(), 256u) << format.name;
    for (const Record& record : records) {
      WordHash decoded;
      WordHash encoded;
      for (int code = 0; code < 256; ++code) {
        const auto full = static_cast<uint16_t>(record[0] << 8 | static_cast<uint64_t>(code));
        const uint16_t magnitude = full & 0x7FFF;
        if (magnitude > format.infinity) {
          EXPECT_TRUE(std::isnan(format.decode(full)));
          continue;
        }
        decoded.add(static_cast<uint32_t>(f32_word(format.decode(full))));
        if (magnitude < format.infinity) {
          const double own = format.decode(magnitude);
          const bool is_last = magnitude + 1 == format.infinity;
          hash_encoded(
              format, own,
              is_last ? 2 * own - format.decode(magnitude - 1) : format.decode(magnitude + 1),
              &encoded);
        }
      }
      EXPECT_EQ(decoded.value(), record[1]) << format.name << " page " << record[0];
      EXPECT_EQ(encoded.value(), record[2]) << format.name << " page " << record[0];
    }
  }
}

TEST(HalfFormats, EncodeRoundsOnceInDoubleWithTiesToEven) {
  for (const HalfFormat& format : kHalfFormats) {
    for (uint16_t code = 0; code < format.infinity; ++code) {
      const double own = format.decode(code);
      const double next =
          code + 1 == format.infinity ? 2 * own - format.decode(code - 1) : format.decode(code + 1);
      const double tie = (own + next) / 2;
      ASSERT_EQ(format.encode(below(tie)), code) << format.name;
      ASSERT_EQ(format.encode(tie), code + code % 2) << format.name;
      ASSERT_EQ(format.encode(above(tie)), code + 1) << format.name;
      ASSERT_EQ(format.encode(-above(tie)), 0x8000 | (code + 1)) << format.name;
    }
  }
}

TEST(HalfFormats, OverflowToInfinityAndKeepNanAndZeroSigns) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const HalfFormat& format : kHalfFormats) {
    for (const double value : {0x1p128, 0x1p1000, infinity}) {
      EXPECT_EQ(format.encode(value), format.infinity) << format.name;
      EXPECT_EQ(format.encode(-value), 0x8000 | format.infinity) << format.name;
    }
    EXPECT_TRUE(std::isnan(format.decode(format.encode(std::numeric_limits<double>::quiet_NaN()))));
    EXPECT_EQ(format.encode(0.0), 0);
    EXPECT_EQ(format.encode(-0.0), 0x8000);
    EXPECT_EQ(format.encode(-0x1p-1074), 0x8000);
  }
}

TEST(F32, EncodesAsTheProcessorConvertsDoubles) {
  // Ties, subnormals, both ends, and a walk through all exponents.
  for (const double value :
       {0.0, -0.0, 0x1p-149, 0x1p-150, 0x1.8p-150, 0x1p-126, 0x1.FFFFFFp-127, 0x1.FFFFFEp127,
        0x1.FFFFFEFp127, 0x1.FFFFFFp127, 0x1p128, 1.0 + 0x1p-24, 1.0 + 0x1.8p-23}) {
    EXPECT_EQ(f32_encode(value), std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
    EXPECT_EQ(f32_encode(-value), std::bit_cast<uint32_t>(static_cast<float>(-value))) << value;
  }
  double value = 1.2345678901234e-46;
  for (int step = 0; step < 4000; ++step, value *= 1.0517) {
    ASSERT_EQ(f32_encode(value), std::bit_cast<uint32_t>(static_cast<float>(value))) << value;
  }
  for (uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 65521) {
    const auto code = static_cast<uint32_t>(bits);
    const auto number = std::bit_cast<float>(code);
    if (!std::isnan(number)) {
      ASSERT_EQ(f32_decode(code), static_cast<double>(number));
      ASSERT_EQ(f32_encode(number), code);
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
