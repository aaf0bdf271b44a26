// SPDX-License-Identifier: Apache-2.0
// How a quantised tensor lies in a safetensors file. Tensor X, N x K numbers, becomes
//
//     X.qdata         U8 [N, K/2] (4-bit formats) or U8 [N, K]
//     X.scale         U8 [N, K/block], or U8 [bytes] where swizzled
//     X.global_scale  F32 [], nvf4 only
//
// all U8 because that is the one type that every reader of the format knows, and the metadata entry
// "mxgemm" says what they are: {"layout": 1, "version": "0.1.0", "tensors": {"X": {"format": …}}}.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "cli/io/checkpoint.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cli {

constexpr const char* kRecordKey = "mxgemm";

std::string qdata_name(const std::string& name);
std::string scale_name(const std::string& name);
std::string global_scale_name(const std::string& name);

// What the metadata says of one tensor.
struct QuantizedRecord {
  internal::Format format = internal::Format::kNone;
  int64_t rows = 0;
  int64_t cols = 0;
  internal::ScaleLayout scale_layout = internal::ScaleLayout::kRowMajor;
  Dtype source = Dtype::kF32;  // F32, BF16 or F16: what it was quantised from
  // How, as text for people: option -> value.
  std::map<std::string, std::string> options;
};

using QuantizedRecords = std::map<std::string, QuantizedRecord>;

// The record of a tensor quantised as `desc` says.
QuantizedRecord make_record(const mxgemm_quantize_desc& desc, Dtype source, int64_t rows,
                            int64_t cols);

// The tensors that stand in a file for one with this record, global scale last.
Status tensors_of(const std::string& name, const QuantizedRecord& record,
                  std::vector<TensorInfo>* tensors);

// From and to the metadata of a file; none is a success without records.
Status read_records(const Metadata& metadata, QuantizedRecords* records);
void write_records(const QuantizedRecords& records, Metadata* metadata);

// The parts of a quantised tensor in a file.
struct QuantizedTensor {
  QuantizedRecord record;
  const SafetensorsReader* shard = nullptr;
  const TensorInfo* qdata = nullptr;
  const TensorInfo* scale = nullptr;
  float global_scale = 1.0f;
};

// Finds and checks them: each must be in the shard, of the type and shape that the record asks for.
Status find_quantized(const SafetensorsReader& shard, const std::string& name,
                      const QuantizedRecord& record, QuantizedTensor* tensor);

}  // namespace mxgemm::cli
