// SPDX-License-Identifier: Apache-2.0
// numpy's file of one array (.npy):
//
//     6 bytes   "\x93NUMPY"
//     2 bytes   version: 1.0, 2.0 or 3.0
//     2 bytes   length of the header, little-endian; 4 bytes from version 2.0 on
//     header    a Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//     data      the elements
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.hpp"
#include "cli/io/dtype.hpp"
#include "cli/io/mapped_file.hpp"
#include "cli/io/output_file.hpp"

namespace mxgemm::cli {

// numpy's readers refuse longer headers from files that they do not trust.
constexpr uint64_t kMaxNpyHeader = 10'000;

struct NpyHeader {
  std::string descr;  // as in the file
  // What ml_dtypes' arrays become in a file: bfloat16 '<V2', read as BF16; float8_e5m2 '<f1', read
  // as F8_E5M2; every other one-byte type '<V1', of which the file does not say which it is: U8.
  Dtype dtype = Dtype::kU8;
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;
  uint64_t data_start = 0;
  uint64_t data_bytes = 0;
};

// Checks and reads the header of a file with these bytes, which are all of the file.
Status parse_npy_header(std::span<const uint8_t> file, NpyHeader* header);

// Everything before the data, padded as numpy pads it. `dtype` is one that numpy or ml_dtypes has.
std::string make_npy_header(Dtype dtype, const Shape& shape);

class NpyReader {
 public:
  static Status open(const std::string& path, NpyReader* reader);

  const std::string& path() const { return path_; }
  const MappedFile& file() const { return file_; }
  const NpyHeader& header() const { return header_; }
  std::span<const uint8_t> bytes() const {
    return file_.bytes().subspan(header_.data_start, header_.data_bytes);
  }

 private:
  std::string path_;
  MappedFile file_;
  NpyHeader header_;
};

// Writes a whole array in C order; `data` is all of it.
Status write_npy(const std::string& path, Dtype dtype, const Shape& shape,
                 std::span<const uint8_t> data);

}  // namespace mxgemm::cli
