// SPDX-License-Identifier: Apache-2.0
// The header of a safetensors file:
//
//     8 bytes   length of the header, little-endian
//     header    JSON {"<tensor>": {"dtype": …, "shape": […], "data_offsets": [begin, end]}, …,
//                     "__metadata__": {"<key>": "<text>", …}}, may end in blanks
//     data      the tensors, without gap or overlap; offsets count from here
//
// A reader that believes a header reads wherever it says, so all of it is checked here.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "cli/io/dtype.hpp"

namespace mxgemm::cli {

// The format's own limit.
constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::kU8;
  Shape shape;         // logical: an F4 tensor of 8 bytes in 2 rows is [2, 8]
  uint64_t begin = 0;  // of its bytes, counted from the beginning of the data
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
};

using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // by offset
  Metadata metadata;
  uint64_t data_start = 0;  // offset of the data in the file
};

// Checks and reads the header of a file with these bytes, which are all of the file. The message
// names the tensor and what is wrong, but not the file.
Status parse_safetensors_header(std::span<const uint8_t> file, SafetensorsHeader* header);

// Whether a tensor may have this name: no control characters, no path component "..", which would
// be a trap for tools that make files of tensors.
Status check_tensor_name(std::string_view name);

// Orders `tensors` by falling element size, then by name, and gives each its place: then every
// tensor begins at a multiple of its element size.
Status place_tensors(std::vector<TensorInfo>* tensors);

// Length, JSON and padding for tensors that have their place; the data then starts at a multiple of
// 8 bytes.
Status make_safetensors_header(const std::vector<TensorInfo>& tensors, const Metadata& metadata,
                               std::string* bytes);

}  // namespace mxgemm::cli
