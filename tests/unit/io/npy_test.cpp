// SPDX-License-Identifier: Apache-2.0
#include "cli/io/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/io/scratch_directory.hpp"

namespace mxgemm::cli {
namespace {

using internal::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

std::string npy_text(const std::string& header, size_t data_bytes, char major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += major;
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  }
  return bytes + header + std::string(data_bytes, 'x');
}

std::string dict(const std::string& descr, const std::string& shape,
                 const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string refusal(const std::string& file) {
  NpyHeader header;
  const Status status = parse_npy_header(as_bytes(file), &header);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  return status.message();
}

TEST(NpyTest, ReadsEveryDtypeInEveryVersion) {
  const struct {
    const char* descr;
    Dtype dtype;
  } cases[] = {
      {"|b1", Dtype::kBool}, {"|u1", Dtype::kU8},  {"|i1", Dtype::kI8},  {"<u2", Dtype::kU16},
      {"<i2", Dtype::kI16},  {"<u4", Dtype::kU32}, {"<i4", Dtype::kI32}, {"<u8", Dtype::kU64},
      {"<i8", Dtype::kI64},  {"<f2", Dtype::kF16}, {"<f4", Dtype::kF32}, {"<f8", Dtype::kF64},
      {"<V2", Dtype::kBf16}, {"<V1", Dtype::kU8},  {"|V1", Dtype::kU8},  {"<f1", Dtype::kF8E5m2}};
  for (const auto& [descr, dtype] : cases) {
    for (const char major : {1, 2, 3}) {
      NpyHeader header;
      const size_t bytes = static_cast<size_t>(dtype_bits(dtype)) / 8 * 6;
      const std::string file = npy_text(dict(descr, "(2, 3)"), bytes, major);
      const Status status = parse_npy_header(as_bytes(file), &header);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(header.dtype, dtype) << descr;
      EXPECT_EQ(header.descr, descr);
      EXPECT_EQ(header.shape, (Shape{2, 3}));
      EXPECT_FALSE(header.fortran_order);
      EXPECT_FALSE(header.big_endian);
      EXPECT_EQ(header.data_bytes, bytes);
    }
  }
}

TEST(NpyTest, ReadsByteOrderAndFortranOrder) {
  NpyHeader header;
  ASSERT_TRUE(parse_npy_header(as_bytes(npy_text(dict(">f4", "(2,)", "True"), 8)), &header).ok());
  EXPECT_TRUE(header.big_endian);
  EXPECT_TRUE(header.fortran_order);
  ASSERT_TRUE(parse_npy_header(as_bytes(npy_text(dict(">u1", "()"), 1)), &header).ok());
  EXPECT_FALSE(header.big_endian);
  EXPECT_TRUE(header.shape.empty());
}

TEST(NpyTest, TruncatedFilesNameTheMissingBytes) {
  const std::string good = npy_text(dict("<f4", "(2, 3)"), 24);
  EXPECT_THAT(refusal(good.substr(0, good.size() - 5)), HasSubstr("5 bytes are missing"));
  EXPECT_THAT(refusal(good + "yz"), HasSubstr("the last 2 belong to nothing"));
  const size_t header_end = good.size() - 24;
  for (size_t size = 8; size < header_end; ++size) {
    EXPECT_THAT(refusal(good.substr(0, size)), HasSubstr("bytes are missing")) << size;
  }
  for (size_t size = 0; size < 8; ++size) {
    EXPECT_THAT(refusal(good.substr(0, size)), HasSubstr("not an npy file")) << size;
  }
}

TEST(NpyTest, DescriptorsThatAreNotSupportedAreNamed) {
  for (const char* descr : {"|O", "<U3", "<f16", "<c16", "<M8[ns]", "f4", "", "<V3", "|S5"}) {
    EXPECT_THAT(refusal(npy_text(dict(descr, "(1,)"), 16)), HasSubstr("unsupported descr"))
        << descr;
  }
  EXPECT_THAT(
      refusal(npy_text("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", 4)),
      HasSubstr("records"));
}

TEST(NpyTest, ShapesThatCannotBe) {
  for (const char* shape : {"(-1,)", "(2", "2", "(6)", "[6]", "(2 3)", "(2.0,)", "(,)", "(1,,2)",
                            "(99999999999999999999,)", "(0x10,)", "(True,)"}) {
    EXPECT_FALSE(refusal(npy_text(dict("<f4", shape), 24)).empty()) << shape;
  }
  EXPECT_THAT(refusal(npy_text(dict("<f4", "(4294967296, 4294967296)"), 24)),
              HasSubstr("does not fit 64 bits"));
  std::string long_shape = "(";
  for (size_t i = 0; i <= kMaxRank; ++i) {
    long_shape += "1,";
  }
  EXPECT_THAT(refusal(npy_text(dict("<f4", long_shape + ")"), 4)),
              HasSubstr("more than 64 dimensions"));
}

TEST(NpyTest, HeadersThatAreNoSuchLiteral) {
  EXPECT_THAT(refusal(npy_text("{'descr': '<f4', 'shape': ()}", 4)),
              HasSubstr("'fortran_order' is"));
  EXPECT_THAT(refusal(npy_text("{'fortran_order': False, 'shape': ()}", 4)),
              HasSubstr("'descr' is"));
  EXPECT_THAT(refusal(npy_text("{'descr': '<f4', 'fortran_order': False}", 4)),
              HasSubstr("'shape' is"));
  EXPECT_THAT(refusal(npy_text("{'shape': (), 'shape': ()}", 4)),
              HasSubstr("'shape' appears twice"));
  EXPECT_THAT(refusal(npy_text("{'x': 1}", 4)), HasSubstr("unknown key 'x'"));
  EXPECT_THAT(refusal(npy_text("{}", 4)), HasSubstr("'descr' is missing"));
  EXPECT_THAT(refusal(npy_text("", 4)), HasSubstr("'{' is expected"));
  EXPECT_THAT(refusal(npy_text("__import__('os')", 4)), HasSubstr("'{' is expected"));
  EXPECT_THAT(refusal(npy_text(dict("<f4", "()") + "x", 4)), HasSubstr("after the closing"));
  EXPECT_THAT(refusal(npy_text(dict("<f4", "()") + std::string(kMaxNpyHeader, ' '), 4)),
              HasSubstr("at most 10000"));
  EXPECT_THAT(refusal(npy_text(dict("<f4", "()"), 4, 4)), HasSubstr("npy version 4.0"));
}

TEST(NpyTest, WritesWhatNumpyWrites) {
  const std::string header = make_npy_header(Dtype::kF32, {2, 3});
  EXPECT_EQ(header, std::string("\x93NUMPY\x01\0\x76\0", 10) +
                        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                        std::string(58, ' ') + "\n");
  EXPECT_THAT(make_npy_header(Dtype::kU8, {5}),
              HasSubstr("'|u1', 'fortran_order': False, 'shape': (5,), }"));
  EXPECT_THAT(make_npy_header(Dtype::kBf16, {}),
              HasSubstr("'<V2', 'fortran_order': False, 'shape': (), }"));
  EXPECT_THAT(make_npy_header(Dtype::kF8E5m2, {}), HasSubstr("'<f1'"));
}

TEST(NpyTest, WrittenFilesReadBack) {
  const ScratchDirectory directory;
  const std::string path = directory.file("d.npy");
  const std::string data = "abcdefghijkl";
  ASSERT_TRUE(write_npy(path, Dtype::kBf16, {2, 3}, as_bytes(data)).ok());
  NpyReader reader;
  const Status status = NpyReader::open(path, &reader);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(reader.header().dtype, Dtype::kBf16);
  EXPECT_EQ(std::string(reader.bytes().begin(), reader.bytes().end()), data);
  EXPECT_EQ(directory.entries().size(), 1u);
  EXPECT_THAT(NpyReader::open(directory.write("bad.npy", "hello"), &reader).message(),
              AllOf(HasSubstr("bad.npy"), HasSubstr("not an npy file")));
}

}  // namespace
}  // namespace mxgemm::cli
