// SPDX-License-Identifier: Apache-2.0
#include "cli/io/npy.hpp"

#include <cstring>
#include <iterator>
#include <utility>

#include "base/math.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/npy_literal.hpp"

namespace mxgemm::cli {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;

struct NpyType {
  const char* descr;  // without the byte order
  Dtype dtype;
};

// The first of a dtype is the one that is written.
constexpr NpyType kTypes[] = {
    {"b1", Dtype::kBool}, {"u1", Dtype::kU8},   {"i1", Dtype::kI8},     {"u2", Dtype::kU16},
    {"i2", Dtype::kI16},  {"u4", Dtype::kU32},  {"i4", Dtype::kI32},    {"u8", Dtype::kU64},
    {"i8", Dtype::kI64},  {"f2", Dtype::kF16},  {"f4", Dtype::kF32},    {"f8", Dtype::kF64},
    {"c8", Dtype::kC64},  {"V2", Dtype::kBf16}, {"f1", Dtype::kF8E5m2}, {"V1", Dtype::kU8},
};

unsigned long long printed(uint64_t value) {
  return value;
}

Status read_descr(const std::string& descr, NpyHeader* header) {
  const char order = descr.empty() ? '\0' : descr.front();
  if (order == '<' || order == '>' || order == '=' || order == '|') {
    for (const NpyType& type : kTypes) {
      if (descr.substr(1) == type.descr) {
        header->descr = descr;
        header->dtype = type.dtype;
        header->big_endian = order == '>' && dtype_bits(type.dtype) > 8;
        return {};
      }
    }
  }
  std::string known;
  for (const NpyType& type : kTypes) {
    known += (known.empty() ? "" : ", ") + std::string(type.descr);
  }
  return file_error("unsupported descr %s; known are, after the byte order, %s",
                    quoted_text(descr).c_str(), known.c_str());
}

// Where the header's text lies, and where the data begins.
Status header_text(std::span<const uint8_t> file, std::string_view* text, uint64_t* data_start) {
  constexpr size_t kVersionEnd = kMagicBytes + 2;
  if (file.size() < kVersionEnd || std::memcmp(file.data(), kMagic, kMagicBytes) != 0) {
    return file_error("not an npy file: it does not begin with \\x93NUMPY and a version");
  }
  const int major = file[kMagicBytes];
  const int minor = file[kMagicBytes + 1];
  if (major < 1 || major > 3 || minor != 0) {
    return file_error("npy version %d.%d; known are 1.0, 2.0 and 3.0", major, minor);
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t start = kVersionEnd + length_bytes;
  uint64_t length = 0;
  for (size_t i = 0; i < length_bytes && kVersionEnd + i < file.size(); ++i) {
    length |= uint64_t{file[kVersionEnd + i]} << (8 * i);
  }
  if (file.size() < start || length > file.size() - start) {
    const uint64_t missing = start + length - file.size();
    return file_error(
        "truncated: the header ends at byte %llu, but the file holds %llu: %llu bytes "
        "are missing",
        printed(start + length), printed(file.size()), printed(missing));
  }
  if (length > kMaxNpyHeader) {
    return file_error("the header length is %llu; at most %llu is allowed", printed(length),
                      printed(kMaxNpyHeader));
  }
  *text = {reinterpret_cast<const char*>(file.data()) + start, length};
  *data_start = start + length;
  return {};
}

}  // namespace

Status parse_npy_header(std::span<const uint8_t> file, NpyHeader* header) {
  std::string_view text;
  NpyHeader result;
  MXGEMM_TRY(header_text(file, &text, &result.data_start));
  NpyLiteral literal;
  MXGEMM_TRY(with_prefix("header", parse_npy_literal(text, &literal)));
  MXGEMM_TRY(with_prefix("header", read_descr(literal.descr, &result)));
  result.fortran_order = literal.fortran_order;
  result.shape = std::move(literal.shape);
  MXGEMM_TRY(tensor_bytes(result.dtype, result.shape, &result.data_bytes));
  const uint64_t held = file.size() - result.data_start;
  if (result.data_bytes > held) {
    return file_error(
        "truncated: shape %s of %s takes %llu bytes, but the file holds %llu: %llu "
        "bytes are missing",
        shape_text(result.shape).c_str(), result.descr.c_str(), printed(result.data_bytes),
        printed(held), printed(result.data_bytes - held));
  }
  if (result.data_bytes != held) {
    return file_error(
        "shape %s of %s takes %llu bytes, but the file holds %llu: the last %llu "
        "belong to nothing",
        shape_text(result.shape).c_str(), result.descr.c_str(), printed(result.data_bytes),
        printed(held), printed(held - result.data_bytes));
  }
  *header = std::move(result);
  return {};
}

std::string make_npy_header(Dtype dtype, const Shape& shape) {
  std::string descr;
  for (auto type = std::rbegin(kTypes); type != std::rend(kTypes); ++type) {
    if (type->dtype == dtype) {
      descr = type->descr;
    }
  }
  std::string text = "{'descr': '";
  text += dtype_bits(dtype) == 8 && descr != "f1" ? '|' : '<';
  text += descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  text += shape.size() == 1 ? ",), }" : "), }";
  // numpy aligns the data to 64 bytes, with blanks and a line feed; kMaxRank dimensions fit the two
  // bytes of version 1.0.
  constexpr size_t kPrefix = kMagicBytes + 4;
  const size_t total = internal::round_up<size_t>(kPrefix + text.size() + 1, 64);
  text.resize(total - kPrefix - 1, ' ');
  text += '\n';
  std::string bytes(kMagic, kMagicBytes);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(text.size() & 0xFF);
  bytes += static_cast<char>(text.size() >> 8 & 0xFF);
  return bytes + text;
}

Status NpyReader::open(const std::string& path, NpyReader* reader) {
  NpyReader opened;
  opened.path_ = path;
  MXGEMM_TRY(MappedFile::open(path, &opened.file_));
  MXGEMM_TRY(with_prefix(path, parse_npy_header(opened.file_.bytes(), &opened.header_)));
  *reader = std::move(opened);
  return {};
}

Status write_npy(const std::string& path, Dtype dtype, const Shape& shape,
                 std::span<const uint8_t> data) {
  const std::string header = make_npy_header(dtype, shape);
  std::unique_ptr<OutputFile> file;
  MXGEMM_TRY(OutputFile::create(path, header.size() + data.size(), &file));
  MXGEMM_TRY(file->write_at(0, header.data(), header.size()));
  MXGEMM_TRY(file->write_at(header.size(), data.data(), data.size()));
  OutputFile* const files[] = {file.get()};
  return OutputFile::publish(files);
}

}  // namespace mxgemm::cli
