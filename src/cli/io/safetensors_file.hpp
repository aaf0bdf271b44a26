// SPDX-License-Identifier: Apache-2.0
// Reading and writing safetensors files, tensor by tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "cli/io/mapped_file.hpp"
#include "cli/io/output_file.hpp"
#include "cli/io/safetensors_header.hpp"

namespace mxgemm::cli {

class SafetensorsReader {
 public:
  static Status open(const std::string& path, SafetensorsReader* reader);

  const std::string& path() const { return path_; }
  const MappedFile& file() const { return file_; }
  const Metadata& metadata() const { return header_.metadata; }
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  // nullptr if there is none.
  const TensorInfo* find(std::string_view name) const;
  // Offset of a tensor's bytes in the file.
  uint64_t offset(const TensorInfo& tensor) const { return header_.data_start + tensor.begin; }
  // Aligned to nothing: a header of any length may stand before.
  std::span<const uint8_t> bytes(const TensorInfo& tensor) const {
    return file_.bytes().subspan(offset(tensor), tensor.bytes());
  }

 private:
  std::string path_;
  MappedFile file_;
  SafetensorsHeader header_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys live in header_
};

class SafetensorsWriter {
 public:
  // Names, types and shapes say what will be written; places are given here.
  static Status create(const std::string& path, std::vector<TensorInfo> tensors,
                       const Metadata& metadata, std::unique_ptr<SafetensorsWriter>* writer);

  // Writes a part of a tensor that create() was told of, any part once.
  Status write(std::string_view name, uint64_t offset, std::span<const uint8_t> bytes);
  // Bytes of all tensors.
  uint64_t data_bytes() const { return data_bytes_; }
  // For OutputFile::publish; an error if a byte of a tensor was not written.
  Status finish(OutputFile** file);

 private:
  std::unique_ptr<OutputFile> file_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys live in tensors_
  uint64_t data_start_ = 0;
  uint64_t data_bytes_ = 0;
  uint64_t written_ = 0;
};

}  // namespace mxgemm::cli
