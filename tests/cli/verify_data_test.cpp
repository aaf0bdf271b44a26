// SPDX-License-Identifier: Apache-2.0
// Test data: the same for a seed everywhere, of the documented kind, in buffers of exactly the
// documented size.
#include "cli/verify_data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "cli/program.hpp"
#include "cli/random.hpp"
#include "cli/verify_image.hpp"
#include "cli/verify_run.hpp"
#include "reference/compare.hpp"

namespace mxgemm::cli {
namespace {

// FNV-1a, to pin down bytes in a test.
uint64_t hash(const Image& image) {
  uint64_t value = 0xCBF29CE484222325;
  for (uint8_t byte : image.bytes) {
    value = (value ^ byte) * 0x100000001B3;
  }
  return value;
}

ProblemData data(const char* problem, DataKind kind, uint64_t seed = 1) {
  return make_data(parse_problem(problem), kind, seed);
}

double value(const OperandData& operand, int64_t row, int64_t k) {
  const int bits = internal::find_format(operand.format)->element_bits;
  return internal::element_at(operand.format,
                              operand.elements.payload() + row * operand.ld * bits / 8, k);
}

TEST(RandomStream, HasKnownAnswers) {
  // From an implementation of its own in Python, whose finaliser gives splitmix64's published
  // numbers.
  EXPECT_EQ(RandomStream(1, 2).bits(0), 0x88A727D58C92BDA1u);
  EXPECT_EQ(RandomStream(1, 2).bits(1), 0x3C3FDBB4E9C985F3u);
  EXPECT_EQ(RandomStream(0, 0).bits(0), 0xFBE52E966B225133u);
  EXPECT_EQ(RandomStream(UINT64_MAX, 7).bits(uint64_t{1} << 40), 0x45082374137363DFu);
}

TEST(RandomStream, HasTheMomentsItClaims) {
  const RandomStream stream(3, 4);
  double sum = 0;
  double squares = 0;
  double uniform = 0;
  constexpr int kCount = 100000;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double x = stream.normal(i);
    sum += x;
    squares += x * x;
    uniform += stream.uniform(i);
    ASSERT_LT(std::fabs(x), 4.9);
    ASSERT_LT(stream.below(i, 5), 5u);
  }
  // Five standard deviations of the means.
  EXPECT_NEAR(sum / kCount, 0.0, 5.0 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1.0, 5.0 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(uniform / kCount, 0.5, 5.0 / std::sqrt(12.0 * kCount));
}

TEST(MakeData, IsTheSameOnEveryMachine) {
  // Recorded once; other bytes mean that what was reported with a seed can no longer be repeated.
  constexpr struct {
    DataKind kind;
    uint64_t a, a_scale, b, b_scale, c, bias;
  } kRecorded[] = {
      {DataKind::kExact, 0xC689194F0A996A0B, 0x6D087340EFB8C3E4, 0xDD08BB3733A73494,
       0xF4C7C53126B8F21F, 0x7E826DC7B8845BBD, 0xF54EE38B683373AD},
      {DataKind::kNormal, 0x3D5EABC07520F551, 0x057985C8D0343E38, 0xED214A989CE1C562,
       0xCCE2F8CEFB2989AC, 0x6A99C01E2BDDA4EB, 0xF667547A8776333A},
      {DataKind::kUniform, 0xF0FACBBE67815F65, 0x9F202B4484E41E49, 0x94043A02AE07F9E6,
       0xC8F21E48A1F92AE6, 0x2BAF98D2A4219DAA, 0x969BC1E18814288B},
      {DataKind::kOnes, 0x4D477768DCF79325, 0x140D114B31EAFF25, 0x661E5DA336AB7325,
       0x758C84A33D647819, 0xDB4239C39CF95BE8, 0xE163FDB0A0DDFF90},
      {DataKind::kWide, 0x8629E77354BF75EC, 0xE2B145E148F3E171, 0xB402F753E9732AE3,
       0x8454B02E8AC458C9, 0x6B094A7BC4B07B2C, 0xAD14CC69B617C100},
      {DataKind::kEdge, 0x85EE8FE775E87976, 0x3724F968CBDF3B17, 0x449CD567B9A7636A,
       0x03E5D1B2714B530C, 0x760A3EF6B0701139, 0x8A4125561D4658CB},
  };
  for (const auto& recorded : kRecorded) {
    SCOPED_TRACE(to_string(recorded.kind));
    const ProblemData d = data("m3n5k64:mxf4:nvf4:bf16:bias:beta=1", recorded.kind, 42);
    EXPECT_EQ(hash(d.a.elements), recorded.a);
    EXPECT_EQ(hash(d.a.scale), recorded.a_scale);
    EXPECT_EQ(hash(d.b.elements), recorded.b);
    EXPECT_EQ(hash(d.b.scale), recorded.b_scale);
    EXPECT_EQ(hash(d.c), recorded.c);
    EXPECT_EQ(hash(d.bias), recorded.bias);
  }
  EXPECT_NE(hash(data("m3n5k64:mxf4:nvf4:bf16", DataKind::kNormal, 43).a.elements), kRecorded[1].a);
}

TEST(MakeData, DoesNotDependOnLayoutOrStrides) {
  const ProblemData dense = data("m9n5k64:mxf8:mxf4:f32", DataKind::kWide);
  const ProblemData strided =
      data("m9n5k64:mxf8:mxf4:f32:scales=rowmajor:lda=+3:ldb=+2:off=8", DataKind::kWide);
  for (int64_t row = 0; row < 9; ++row) {
    for (int64_t c = 0; c < 2; ++c) {
      EXPECT_EQ(dense.a.scale_view().at(row, c), strided.a.scale_view().at(row, c));
    }
    for (int64_t k = 0; k < 64; ++k) {
      EXPECT_EQ(value(dense.a, row, k), value(strided.a, row, k));
    }
  }
}

TEST(MakeData, HasBuffersOfExactlyTheDocumentedSizeBetweenNanGuards) {
  const ProblemData d = data("m130n5k96:f32:mxf4:f32:off=4:lda=+3", DataKind::kOnes);
  EXPECT_EQ(d.a.elements.payload_begin, kGuardBytes + 4);
  EXPECT_EQ(d.a.elements.payload_bytes, (129u * 99 + 96) * 4);
  EXPECT_EQ(d.a.elements.bytes.size(), 2 * kGuardBytes + 4 + d.a.elements.payload_bytes);
  EXPECT_TRUE(d.a.scale.payload_bytes == 0);
  for (uint64_t i = 0; i < kGuardBytes; ++i) {
    ASSERT_EQ(d.a.elements.bytes[i], 0xFF);
    ASSERT_EQ(d.a.elements.bytes[d.a.elements.bytes.size() - 1 - i], 0xFF);
  }
  // The gap behind a row.
  EXPECT_TRUE(std::isnan(value(d.a, 0, 96)));
  EXPECT_EQ(value(d.a, 129, 95), 1.0);
}

TEST(MakeData, FillsScalePaddingAsAsked) {
  const auto padding = [](const char* problem) {
    const ProblemData d = data(problem, DataKind::kOnes);
    std::set<int> bytes;
    std::vector<bool> real(d.b.scale.payload_bytes, false);
    const int64_t cols = d.b.scale_view().cols;
    for (int64_t row = 0; row < d.b.rows; ++row) {
      for (int64_t c = 0; c < cols; ++c) {
        real[static_cast<size_t>(internal::swizzled_scale_offset(row, c, cols))] = true;
      }
    }
    for (size_t i = 0; i < real.size(); ++i) {
      if (!real[i]) {
        bytes.insert(d.b.scale.payload()[i]);
      }
    }
    return bytes;
  };
  EXPECT_EQ(padding("m1n5k96:mxf4:mxf4:f32"), std::set<int>{0xFF});
  EXPECT_EQ(padding("m1n5k96:mxf4:nvf4:f32"), std::set<int>{0x7F});
  EXPECT_EQ(padding("m1n5k96:mxf4:mxf4:f32:pad=zero"), std::set<int>{0});
}

TEST(MakeData, GivesNanWhereBetaZeroMustNotRead) {
  const ProblemData d = data("m2n3k32:mxf4:mxf4:f32:beta=0", DataKind::kExact);
  EXPECT_EQ(d.c.payload_bytes, 24u);
  EXPECT_TRUE(std::all_of(d.c.bytes.begin(), d.c.bytes.end(), [](uint8_t b) { return b == 0xFF; }));
}

TEST(MakeData, ReachesTheEndsOfEveryFormat) {
  for (const char* problem :
       {"m256n256k128:mxf4:mxf8:f32", "m256n256k128:mxf8e5m2:nvf4:f32",
        "m256n256k128:bf16:nvf4:f32", "m256n256k128:f16:mxf4:f32", "m256n256k128:f32:mxf4:f32"}) {
    const ProblemData d = data(problem, DataKind::kEdge);
    for (const OperandData* operand : {&d.a, &d.b}) {
      std::set<int> scales;
      bool nan = false;
      bool infinite = false;
      bool negative_zero = false;
      for (int64_t row = 0; row < operand->rows; ++row) {
        for (int64_t c = 0; c < operand->scale_view().cols; ++c) {
          scales.insert(operand->scale_view().at(row, c));
        }
        for (int64_t k = 0; k < operand->cols; ++k) {
          const double x = value(*operand, row, k);
          nan = nan || std::isnan(x);
          infinite = infinite || std::isinf(x);
          negative_zero = negative_zero || (x == 0.0 && std::signbit(x));
        }
      }
      SCOPED_TRACE(internal::format_name(operand->format));
      EXPECT_TRUE(negative_zero);
      switch (operand->format) {
        case Format::kMxf4:
        case Format::kMxf8E4m3:
        case Format::kMxf8E5m2:
          for (int code : {0, 1, 253, 254, 255}) {
            EXPECT_EQ(scales.count(code), 1u) << code;
          }
          break;
        case Format::kNvf4:
          for (int code : {0x00, 0x01, 0x7E, 0x7F, 0x80, 0xFE, 0xFF}) {
            EXPECT_EQ(scales.count(code), 1u) << code;
          }
          break;
        default:
          EXPECT_TRUE(scales.empty());
      }
      const bool four_bits = operand->format == Format::kMxf4 || operand->format == Format::kNvf4;
      EXPECT_EQ(nan, !four_bits);
      EXPECT_EQ(infinite, !four_bits && operand->format != Format::kMxf8E4m3);
    }
  }
}

TEST(MakeData, KeepsWideScalesWithin40Binades) {
  const ProblemData d = data("m256n256k128:mxf4:nvf4:f32", DataKind::kWide);
  std::set<int> a;
  std::set<int> b;
  for (int64_t row = 0; row < 256; ++row) {
    for (int64_t c = 0; c < 4; ++c) {
      a.insert(d.a.scale_view().at(row, c));
      b.insert(d.b.scale_view().at(row, c) & 0x7F);
    }
  }
  EXPECT_EQ(*a.begin(), 107);
  EXPECT_EQ(*a.rbegin(), 147);
  EXPECT_EQ(*b.begin(), 0);
  EXPECT_EQ(*b.rbegin(), 0x7E);
}

TEST(ParseDataKind, NamesWhatIsAllowed) {
  EXPECT_EQ(parse_data_kind("edge"), DataKind::kEdge);
  try {
    parse_data_kind("random");
    FAIL();
  } catch (const CommandError& error) {
    EXPECT_EQ(error.code(), kExitBadCommandLine);
    EXPECT_STREQ(error.what(),
                 "--data is 'random', allowed are exact, normal, uniform, ones, wide, edge");
  }
}

TEST(DeviceImage, GivesBackWhatWasPutIn) {
  Image image(5, 3);
  std::memcpy(image.payload(), "12345", 5);
  for (Placement placement : {Placement::kGuarded, Placement::kFenced}) {
    const DeviceImage on_device(DeviceId{}, image, placement);
    EXPECT_EQ(std::memcmp(on_device.payload(), "12345", 5), 0);
    Image back(5, 3);
    on_device.download(back);
    EXPECT_EQ(back.bytes, image.bytes);
  }
}

TEST(DeviceImageDeathTest, EndsAtAPageThatMayNotBeRead) {
  const DeviceImage on_device(DeviceId{}, Image(5, 0), Placement::kFenced);
  volatile const uint8_t* end = on_device.payload() + 5;
  EXPECT_DEATH(static_cast<void>(*end), "");
}

}  // namespace
}  // namespace mxgemm::cli
