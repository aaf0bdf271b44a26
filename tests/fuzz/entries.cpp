// SPDX-License-Identifier: Apache-2.0
#include "fuzz/entries.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "cli/io/checkpoint_index.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/npy.hpp"
#include "cli/io/safetensors_header.hpp"

namespace mxgemm::fuzz {
namespace {

using namespace mxgemm::cli;

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
  }
}

void require_message(const Status& status) {
  require(status.code() == internal::StatusCode::kIoError, "a refusal is an I/O error");
  require(!status.message().empty(), "a refusal says why");
  require(printable(status.message()) == status.message(), "messages are fit for a terminal");
}

std::span<const uint8_t> as_bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

void parse_safetensors(const uint8_t* data, size_t size) {
  SafetensorsHeader header;
  const Status status = parse_safetensors_header({data, size}, &header);
  if (!status.ok()) {
    require_message(status);
    return;
  }
  uint64_t at = 0;
  std::set<std::string> names;
  for (const TensorInfo& tensor : header.tensors) {
    require(tensor.begin == at && tensor.end >= tensor.begin, "tensors follow each other");
    at = tensor.end;
    uint64_t bytes = 0;
    require(tensor_bytes(tensor.dtype, tensor.shape, &bytes).ok() && bytes == tensor.bytes(),
            "a range is as long as its shape says");
    require(names.insert(tensor.name).second, "names differ");
  }
  require(header.data_start + at == size, "the tensors fill the file");

  // What was read can be written, and reads back the same.
  std::vector<TensorInfo> tensors = header.tensors;
  require(place_tensors(&tensors).ok(), "tensors of a file can be placed");
  std::string again;
  require(make_safetensors_header(tensors, header.metadata, &again).ok(), "the header is written");
  again.resize(again.size() + at);
  SafetensorsHeader reread;
  require(parse_safetensors_header(as_bytes(again), &reread).ok(), "our own header is taken");
  require(reread.metadata == header.metadata && reread.tensors.size() == header.tensors.size(),
          "nothing is lost");
}

void parse_index(const uint8_t* data, size_t size) {
  CheckpointIndex index;
  const Status status = parse_checkpoint_index({data, size}, &index);
  if (!status.ok()) {
    require_message(status);
    return;
  }
  for (const auto& [tensor, shard] : index.weight_map) {
    require(shard.find('/') == std::string::npos && shard != ".." && !shard.empty(),
            "shards stay in the directory of the index");
  }
  const std::string again = make_checkpoint_index(index, 1);
  CheckpointIndex reread;
  require(parse_checkpoint_index(as_bytes(again), &reread).ok(), "our own index is taken");
  require(reread.weight_map == index.weight_map && reread.shards == index.shards &&
              reread.metadata.size() == index.metadata.size(),
          "nothing is lost");
}

void parse_npy(const uint8_t* data, size_t size) {
  NpyHeader header;
  const Status status = parse_npy_header({data, size}, &header);
  if (!status.ok()) {
    require_message(status);
    return;
  }
  require(header.data_start + header.data_bytes == size, "the array fills the file");
  std::string again = make_npy_header(header.dtype, header.shape);
  require(again.size() % 64 == 0, "the data is aligned");
  again.resize(again.size() + header.data_bytes);
  NpyHeader reread;
  require(parse_npy_header(as_bytes(again), &reread).ok(), "our own header is taken");
  require(reread.dtype == header.dtype && reread.shape == header.shape, "nothing is lost");
}

}  // namespace mxgemm::fuzz
