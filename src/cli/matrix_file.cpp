// SPDX-License-Identifier: Apache-2.0
#include "cli/matrix_file.hpp"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "cli/check_status.hpp"
#include "cli/io/file_error.hpp"
#include "cli/quantized_record.hpp"
#include "cli/tensor_stream.hpp"

namespace mxgemm::cli {
namespace {

using internal::Format;

// Where the colon between file and tensor stands; names of tensors and of directories may have
// colons, too.
size_t find_colon(std::string_view where) {
  for (const std::string_view ending : {".safetensors:", ".json:"}) {
    const size_t at = where.find(ending);
    if (at != std::string_view::npos) {
      return at + ending.size() - 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

MatrixFile::MatrixFile(std::string what, const std::string& where)
    : what_(std::move(what)), where_(where) {
  const size_t colon = find_colon(where);
  if (colon != std::string::npos) {
    load_tensor(where.substr(0, colon), where.substr(colon + 1));
  } else if (where.ends_with(".safetensors") || where.ends_with(".json")) {
    throw CommandError(kExitBadCommandLine,
                       fmt::format("{} = {}: say which tensor: {}:NAME", what_, where, where));
  } else {
    load_npy(where);
  }
}

void MatrixFile::fail(const std::string& message) const {
  throw CommandError(kExitRunTimeFailure, fmt::format("{} = {}: {}", what_, where_, message));
}

void MatrixFile::load_npy(const std::string& path) {
  check(with_prefix(what_, NpyReader::open(path, &npy_)));
  files_ = {npy_.file().id()};
  const NpyHeader& header = npy_.header();
  if (header.fortran_order && header.shape.size() > 1) {
    fail("the array is in Fortran order; save numpy.ascontiguousarray of it");
  }
  if (header.big_endian) {
    fail(fmt::format("the array is big-endian ({}); save it as little-endian", header.descr));
  }
  set_plain(header.dtype, header.shape, npy_.bytes());
}

void MatrixFile::load_tensor(const std::string& path, const std::string& name) {
  check(with_prefix(what_, Checkpoint::open(path, &checkpoint_)));
  files_ = checkpoint_.files();
  if (const auto place = checkpoint_.find(name)) {
    set_plain(place->tensor->dtype, place->tensor->shape, place->shard->bytes(*place->tensor));
    return;
  }
  for (const SafetensorsReader& shard : checkpoint_.shards()) {
    QuantizedRecords records;
    check(with_prefix(shard.path(), read_records(shard.metadata(), &records)));
    const auto record = records.find(name);
    if (record == records.end()) {
      continue;
    }
    QuantizedTensor tensor;
    check(find_quantized(shard, name, record->second, &tensor));
    format_ = record->second.format;
    rows_ = record->second.rows;
    cols_ = record->second.cols;
    data_ = shard.bytes(*tensor.qdata).data();
    data_bytes_ = tensor.qdata->bytes();
    scale_ = shard.bytes(*tensor.scale);
    scale_layout_ = record->second.scale_layout;
    global_scale_ = tensor.global_scale;
    return;
  }
  fail(checkpoint_.find(qdata_name(name)).has_value()
           ? fmt::format("tensor {} is there, but the metadata does not say how it was quantised",
                         quoted_text(qdata_name(name)))
           : fmt::format("there is no tensor {}", quoted_text(name)));
}

void MatrixFile::set_plain(Dtype dtype, const Shape& shape, std::span<const uint8_t> bytes) {
  format_ = plain_format(dtype);
  if (format_ == Format::kNone) {
    fail(fmt::format("the elements are {}; F32, BF16 and F16 are multiplied", dtype_name(dtype)));
  }
  if (shape.size() != 2 && shape.size() != 1) {
    fail(fmt::format("shape {}: a matrix or vector is needed", shape_text(shape)));
  }
  rank_ = static_cast<int>(shape.size());
  rows_ = rank_ == 2 ? shape[0] : 1;
  cols_ = shape.back();
  data_ = aligned_elements(bytes, static_cast<size_t>(dtype_bits(dtype) / 8), &data_buffer_);
  data_bytes_ = bytes.size();
}

mxgemm_operand MatrixFile::operand() const {
  mxgemm_operand operand = MXGEMM_OPERAND_INIT;
  operand.global_scale = global_scale_;
  operand.data = data_;
  operand.data_bytes = data_bytes_;
  operand.scale = scale_.empty() ? nullptr : scale_.data();
  operand.scale_bytes = scale_.size();
  return operand;
}

void MatrixFile::quantize(mxgemm_quantize_desc desc) {
  desc.format_src = static_cast<int32_t>(format_);
  desc.rows = rows_;
  desc.cols = cols_;
  uint64_t qdata_bytes = 0;
  uint64_t scale_bytes = 0;
  check(mxgemm_qdata_size(desc.format, rows_, cols_, &qdata_bytes), what_);
  check(mxgemm_scale_size(desc.format, desc.scale_layout, rows_, cols_, &scale_bytes), what_);
  std::vector<uint8_t> qdata(qdata_bytes);
  scale_buffer_.resize(scale_bytes);
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = data_;
  args.src_bytes = data_bytes_;
  args.qdata = qdata.data();
  args.qdata_bytes = qdata.size();
  args.scale = scale_buffer_.data();
  args.scale_bytes = scale_buffer_.size();
  const bool has_global_scale =
      internal::find_format(static_cast<Format>(desc.format))->has_global_scale;
  args.global_scale = has_global_scale ? &global_scale_ : nullptr;
  check(mxgemm_quantize(&desc, &args, nullptr), what_);
  data_buffer_ = std::move(qdata);
  data_ = data_buffer_.data();
  data_bytes_ = data_buffer_.size();
  scale_ = scale_buffer_;
  scale_layout_ = static_cast<internal::ScaleLayout>(desc.scale_layout);
  format_ = static_cast<Format>(desc.format);
}

}  // namespace mxgemm::cli
