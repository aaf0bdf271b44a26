// SPDX-License-Identifier: Apache-2.0
#include "cli/io/safetensors_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/io/scratch_directory.hpp"

namespace mxgemm::cli {
namespace {

using internal::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal(std::string_view file) {
  SafetensorsHeader header;
  const Status status = parse_safetensors_header(as_bytes(file), &header);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  return status.message();
}

// The message for one tensor "t" with these members and this data.
std::string tensor_refusal(const std::string& members, size_t data_bytes = 4) {
  return refusal(safetensors_text("{\"t\":{" + members + "}}", std::string(data_bytes, 'x')));
}

constexpr const char* kGood =
    R"({"t":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},"__metadata__":{"k":"v"}})";

TEST(SafetensorsHeaderTest, ReadsTensorsByOffsetAndMetadata) {
  SafetensorsHeader header;
  const std::string file = safetensors_text(
      R"({"b":{"dtype":"F32","shape":[],"data_offsets":[6,10]},"__metadata__":{"k":"v"},)"
      R"("a":{"dtype":"BF16","shape":[3,1],"data_offsets":[0,6]}}  )",
      std::string(10, 'x'));
  ASSERT_TRUE(parse_safetensors_header(as_bytes(file), &header).ok());
  ASSERT_EQ(header.tensors.size(), 2u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].dtype, Dtype::kBf16);
  EXPECT_EQ(header.tensors[0].shape, (Shape{3, 1}));
  EXPECT_EQ(header.tensors[1].shape, Shape{});
  EXPECT_EQ(header.tensors[1].begin, 6u);
  EXPECT_EQ(header.tensors[1].bytes(), 4u);
  EXPECT_EQ(header.metadata, (Metadata{{"k", "v"}}));
  EXPECT_EQ(header.data_start + 10, file.size());
}

TEST(SafetensorsHeaderTest, TruncatedFilesNameTheMissingBytes) {
  const std::string good = safetensors_text(kGood, "abcd");
  EXPECT_THAT(refusal(good.substr(0, good.size() - 3)),
              AllOf(HasSubstr("tensor 't'"), HasSubstr("3 bytes are missing")));
  const size_t half = good.size() / 2;
  EXPECT_THAT(refusal(good.substr(0, half)),
              HasSubstr(std::to_string(good.size() - 4 - half) + " bytes are missing"));
  EXPECT_THAT(refusal(""), HasSubstr("8 are missing"));
  EXPECT_THAT(refusal(good.substr(0, 7)), HasSubstr("1 are missing"));
}

TEST(SafetensorsHeaderTest, HeaderLengthsThatCannotBe) {
  EXPECT_THAT(refusal(std::string(8, '\0')),
              AllOf(HasSubstr("header length is 0"), HasSubstr("2 bytes are missing")));
  std::string beyond = safetensors_text(kGood, "abcd");
  beyond[7] = '\x7F';
  EXPECT_THAT(refusal(beyond), HasSubstr("bytes are missing"));
  beyond.replace(0, 8, std::string(8, '\xFF'));
  EXPECT_THAT(refusal(beyond), HasSubstr("header length is 18446744073709551615"));
  std::string long_header(kMaxSafetensorsHeader + 1, ' ');
  long_header.replace(0, 2, "{}");
  EXPECT_THAT(refusal(safetensors_text(long_header, "")), HasSubstr("at most 100000000"));
}

TEST(SafetensorsHeaderTest, AHeaderOfExactly100000BytesLoads) {
  for (const size_t length : {99'999, 100'000, 100'001, 65'536, 1'048'576}) {
    std::string padded = kGood;
    padded.resize(length, ' ');
    SafetensorsHeader header;
    EXPECT_TRUE(parse_safetensors_header(as_bytes(safetensors_text(padded, "abcd")), &header).ok());
    EXPECT_EQ(header.data_start, length + 8);
    // The same length filled with tensors instead of blanks; the last name takes up the rest.
    const std::string empty = R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)";
    const std::string last = R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
    std::string full = "{";
    size_t count = 1;
    for (; full.size() + 200 < length; ++count) {
      full += '"';
      full += std::to_string(count);
      full += empty;
    }
    full += '"';
    full.append(length - full.size() - last.size(), 'n');
    full += last;
    ASSERT_EQ(full.size(), length);
    EXPECT_TRUE(parse_safetensors_header(as_bytes(safetensors_text(full, "abcd")), &header).ok());
    EXPECT_EQ(header.tensors.size(), count);
  }
}

TEST(SafetensorsHeaderTest, OffsetsMustCoverTheDataWithoutGapOrOverlap) {
  const auto two = [](const char* a, const char* b) {
    return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + a +
           R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
  };
  SafetensorsHeader header;
  EXPECT_TRUE(
      parse_safetensors_header(as_bytes(safetensors_text(two("[2,6]", "[0,2]"), "abcdef")), &header)
          .ok());
  EXPECT_THAT(refusal(safetensors_text(two("[0,4]", "[3,5]"), "abcde")),
              AllOf(HasSubstr("tensor 'b' begins at byte 3"), HasSubstr("they overlap")));
  EXPECT_THAT(refusal(safetensors_text(two("[0,4]", "[5,7]"), "abcdefg")),
              AllOf(HasSubstr("tensor 'b' begins at byte 5"), HasSubstr("gap")));
  EXPECT_THAT(refusal(safetensors_text(two("[0,4]", "[4,6]"), "abcdefg")),
              HasSubstr("end at byte 6 of the data, but the file holds 7"));
  EXPECT_THAT(refusal(safetensors_text(two("[1,5]", "[5,7]"), "abcdefg")),
              HasSubstr("the header ends at 0: there is a gap"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])"),
              HasSubstr("end before they begin"));
}

TEST(SafetensorsHeaderTest, ShapesThatCannotBe) {
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":[-1],"data_offsets":[0,4])"),
              AllOf(HasSubstr("tensor 't'"), HasSubstr("dimension 0 of the shape is -1")));
  EXPECT_THAT(
      tensor_refusal(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4])"),
      HasSubstr("does not fit 64 bits"));
  // 2^63 elements of 4 bits are 2^62 bytes, of 8 bits too many bits to count.
  EXPECT_THAT(tensor_refusal(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,4])"),
              HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,4])"),
              HasSubstr("0 to 2^63 - 1"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":[4.0],"data_offsets":[0,4])"),
              HasSubstr("0 to 2^63 - 1"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"),
              HasSubstr("shape [2] of F32 takes 8 bytes, but data_offsets [0, 4] span 4"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":4,"data_offsets":[0,4])"),
              HasSubstr("shape is 4, not an array"));
}

TEST(SafetensorsHeaderTest, SubByteTypesArePackedAlongTheLastDimension) {
  SafetensorsHeader header;
  const std::string packed =
      safetensors_text(R"({"x":{"dtype":"F4","shape":[2,8],"data_offsets":[0,8]}})", "01234567");
  ASSERT_TRUE(parse_safetensors_header(as_bytes(packed), &header).ok());
  EXPECT_EQ(header.tensors[0].shape, (Shape{2, 8}));
  EXPECT_EQ(header.tensors[0].bytes(), 8u);
  EXPECT_THAT(tensor_refusal(R"("dtype":"F4","shape":[3,5],"data_offsets":[0,8])", 8),
              HasSubstr("dimension 1 is 5, not a multiple of 2"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F4","shape":[2,5],"data_offsets":[0,5])", 5),
              HasSubstr("dimension 1 is 5, not a multiple of 2"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F6_E3M2","shape":[2,6],"data_offsets":[0,9])", 9),
              HasSubstr("dimension 1 is 6, not a multiple of 4"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"F4","shape":[],"data_offsets":[0,1])", 1),
              HasSubstr("a scalar is 1, not a multiple of 2"));
}

TEST(SafetensorsHeaderTest, MembersOfTheWrongKindOrMissing) {
  EXPECT_THAT(tensor_refusal(R"("dtype":"F3","shape":[4],"data_offsets":[0,4])"),
              AllOf(HasSubstr("unknown dtype 'F3'"), HasSubstr("F8_E8M0")));
  EXPECT_THAT(tensor_refusal(R"("dtype":8,"shape":[4],"data_offsets":[0,4])"),
              HasSubstr("dtype is 8, not a string"));
  EXPECT_THAT(tensor_refusal(R"("shape":[4],"data_offsets":[0,4])"), HasSubstr("dtype is missing"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","data_offsets":[0,4])"),
              HasSubstr("shape is missing"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":[4])"), HasSubstr("data_offsets is missing"));
  EXPECT_THAT(tensor_refusal(R"("dtype":"U8","shape":[4],"data_offsets":[-4,0])"),
              HasSubstr("data_offsets holds -4"));
  EXPECT_THAT(refusal(safetensors_text(R"({"t":null})", "")), HasSubstr("is null, not an object"));
  EXPECT_THAT(refusal(safetensors_text(R"({"__metadata__":{"k":1}})", "")),
              HasSubstr("entry 'k' is 1, not a string"));
  EXPECT_THAT(refusal(safetensors_text("[]", "")), HasSubstr("does not begin with '{'"));
}

TEST(SafetensorsHeaderTest, NamesThatAreTrapsAreRefused) {
  for (const char* name : {"..", "../x", "a/../b", "a/..", "a\\..\\b"}) {
    EXPECT_FALSE(check_tensor_name(name).ok()) << name;
  }
  for (const char* name : {"a..b", "...", "a/b", "", "model.layers.0.weight", "ü"}) {
    EXPECT_TRUE(check_tensor_name(name).ok()) << name;
  }
  EXPECT_FALSE(check_tensor_name("a\x1b[31m").ok());
  EXPECT_FALSE(check_tensor_name(std::string_view("a\0b", 3)).ok());
  const std::string message = refusal(safetensors_text(
      R"({"a\u001b[2J":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd"));
  EXPECT_THAT(message, AllOf(HasSubstr("control character"), HasSubstr("'a\\x1B[2J'")));
}

TEST(SafetensorsHeaderTest, RepeatedTensorsAreRefused) {
  EXPECT_THAT(refusal(safetensors_text(R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                       R"("t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                                       "abcd")),
              HasSubstr("'t' appears twice"));
}

TEST(SafetensorsHeaderTest, PlacedTensorsAreAlignedToTheirElements) {
  std::vector<TensorInfo> tensors;
  for (int i = 0; i <= static_cast<int>(Dtype::kU64); ++i) {
    const auto dtype = static_cast<Dtype>(i);
    tensors.push_back({dtype_name(dtype), dtype, {3, 4}});
  }
  ASSERT_TRUE(place_tensors(&tensors).ok());
  std::string text;
  ASSERT_TRUE(make_safetensors_header(tensors, {{"k", "v\n\""}}, &text).ok());
  EXPECT_EQ(text.size() % 8, 0u);
  SafetensorsHeader header;
  const std::string file = text + std::string(tensors.back().end, 'x');
  const Status status = parse_safetensors_header(as_bytes(file), &header);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(header.metadata.at("k"), "v\n\"");
  ASSERT_EQ(header.tensors.size(), tensors.size());
  for (const TensorInfo& tensor : header.tensors) {
    const auto element = static_cast<uint64_t>(std::max(1, dtype_bits(tensor.dtype) / 8));
    EXPECT_EQ((header.data_start + tensor.begin) % element, 0u) << tensor.name;
    EXPECT_EQ(tensor.bytes(), static_cast<uint64_t>(12 * dtype_bits(tensor.dtype) / 8));
  }
}

}  // namespace
}  // namespace mxgemm::cli
