// SPDX-License-Identifier: Apache-2.0
#include "cli/quantized_record.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include "base/math.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/json_reader.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/quantize_options.hpp"

namespace mxgemm::cli {
namespace {

using internal::Format;
using internal::ScaleLayout;

// Raised where tensors come to lie differently.
constexpr uint64_t kLayout = 1;

Status read_text(const JsonValue& record, const char* key, std::string* text) {
  const JsonValue* value = record.member(key);
  if (value == nullptr || value->string() == nullptr) {
    return file_error("%s is %s, not a string", key,
                      value == nullptr ? "missing" : value->description().c_str());
  }
  *text = *value->string();
  return {};
}

Status read_shape(const JsonValue& json, QuantizedRecord* record) {
  const JsonValue* shape = json.member("shape");
  if (shape == nullptr || shape->array() == nullptr || shape->array()->size() != 2) {
    return file_error("shape is not an array of two");
  }
  int64_t* const extents[] = {&record->rows, &record->cols};
  for (size_t i = 0; i < 2; ++i) {
    const uint64_t* extent = (*shape->array())[i].unsigned_integer();
    if (extent == nullptr || *extent > uint64_t{INT64_MAX}) {
      return file_error("dimension %zu of the shape is %s", i,
                        (*shape->array())[i].description().c_str());
    }
    *extents[i] = static_cast<int64_t>(*extent);
  }
  const int block_size = internal::find_format(record->format)->block_size;
  if (record->cols % block_size != 0) {
    return file_error("K is %lld, not a multiple of the block of %d",
                      static_cast<long long>(record->cols), block_size);
  }
  return {};
}

Status read_record(const JsonValue& json, QuantizedRecord* record) {
  std::string text;
  MXGEMM_TRY(read_text(json, "format", &text));
  record->format = parse_format(text);
  if (!internal::is_block_scaled(record->format)) {
    return file_error("unknown format %s", quoted_text(text).c_str());
  }
  MXGEMM_TRY(read_shape(json, record));
  MXGEMM_TRY(read_text(json, "scales", &text));
  if (text != scale_layout_name(MXGEMM_SCALE_ROW_MAJOR) &&
      text != scale_layout_name(MXGEMM_SCALE_SWIZZLE_32_4_4)) {
    return file_error("unknown scale layout %s", quoted_text(text).c_str());
  }
  record->scale_layout = text == scale_layout_name(MXGEMM_SCALE_ROW_MAJOR)
                             ? ScaleLayout::kRowMajor
                             : ScaleLayout::kSwizzle32x4x4;
  MXGEMM_TRY(read_text(json, "dtype", &text));
  const std::optional<Dtype> source = find_dtype(text);
  if (source != Dtype::kF32 && source != Dtype::kBf16 && source != Dtype::kF16) {
    return file_error("unknown dtype %s; known are F32, BF16, F16", quoted_text(text).c_str());
  }
  record->source = *source;
  if (const JsonValue* options = json.member("options")) {
    const JsonValue::Object* members = options->object();
    if (members == nullptr) {
      return file_error("options is %s, not an object", options->description().c_str());
    }
    for (const JsonMember& member : *members) {
      if (member.value.string() == nullptr) {
        return file_error("option %s is not a string", quoted_text(member.key).c_str());
      }
      record->options.emplace(member.key, *member.value.string());
    }
  }
  return {};
}

// A part must be there with this type and shape.
Status find_part(const SafetensorsReader& shard, const std::string& name, const TensorInfo& wanted,
                 const TensorInfo** part) {
  const TensorInfo* found = shard.find(wanted.name);
  if (found == nullptr) {
    return file_error("%s: tensor %s is missing: %s is recorded as quantised, but is not complete",
                      shard.path().c_str(), quoted_text(wanted.name).c_str(),
                      quoted_text(name).c_str());
  }
  if (found->dtype != wanted.dtype || found->shape != wanted.shape) {
    return file_error("%s: tensor %s: expected %s of %s, got %s of %s", shard.path().c_str(),
                      quoted_text(wanted.name).c_str(), shape_text(wanted.shape).c_str(),
                      dtype_name(wanted.dtype), shape_text(found->shape).c_str(),
                      dtype_name(found->dtype));
  }
  *part = found;
  return {};
}

}  // namespace

std::string qdata_name(const std::string& name) {
  return name + ".qdata";
}
std::string scale_name(const std::string& name) {
  return name + ".scale";
}
std::string global_scale_name(const std::string& name) {
  return name + ".global_scale";
}

QuantizedRecord make_record(const mxgemm_quantize_desc& desc, Dtype source, int64_t rows,
                            int64_t cols) {
  QuantizedRecord record;
  record.format = static_cast<Format>(desc.format);
  record.rows = rows;
  record.cols = cols;
  record.scale_layout = static_cast<ScaleLayout>(desc.scale_layout);
  record.source = source;
  auto& options = record.options;
  if (internal::find_format(record.format)->scale_type == internal::ScaleType::kE8m0) {
    options["scale_rule"] = scale_rule_name(desc.scale_rule);
  } else {
    JsonWriter number;
    options["min_block_scale"] = number.number(desc.min_block_scale).text();
    options["global_scale"] = desc.global_scale_mode == MXGEMM_GLOBAL_SCALE_ONE ? "one" : "amax";
  }
  options["nonfinite"] = nonfinite_name(desc.nonfinite);
  options["rounding"] = desc.rounding == MXGEMM_ROUND_STOCHASTIC ? "stochastic" : "nearest_even";
  if (desc.rounding == MXGEMM_ROUND_STOCHASTIC) {
    options["seed"] = std::to_string(desc.seed);
    options["offset"] = std::to_string(desc.offset);
  }
  return record;
}

Status tensors_of(const std::string& name, const QuantizedRecord& record,
                  std::vector<TensorInfo>* tensors) {
  const internal::FormatInfo& format = *internal::find_format(record.format);
  const int64_t scale_cols = record.cols / format.block_size;
  TensorInfo scale{scale_name(name), Dtype::kU8, {record.rows, scale_cols}};
  if (record.scale_layout == ScaleLayout::kSwizzle32x4x4) {
    uint64_t bytes = 0;
    if (mxgemm_scale_size(static_cast<int32_t>(record.format), MXGEMM_SCALE_SWIZZLE_32_4_4,
                          record.rows, record.cols, &bytes) != MXGEMM_OK ||
        bytes > uint64_t{INT64_MAX}) {
      return file_error("tensor %s: the scales of shape [%lld, %lld] take more than 2^63 bytes",
                        quoted_text(name).c_str(), static_cast<long long>(record.rows),
                        static_cast<long long>(record.cols));
    }
    scale.shape = {static_cast<int64_t>(bytes)};
  }
  *tensors = {
      {qdata_name(name), Dtype::kU8, {record.rows, record.cols / (8 / format.element_bits)}},
      std::move(scale)};
  if (format.has_global_scale) {
    tensors->push_back({global_scale_name(name), Dtype::kF32, {}});
  }
  return {};
}

Status read_records(const Metadata& metadata, QuantizedRecords* records) {
  records->clear();
  const auto entry = metadata.find(kRecordKey);
  if (entry == metadata.end()) {
    return {};
  }
  const std::string where = std::string("metadata entry '") + kRecordKey + "'";
  JsonValue root;
  MXGEMM_TRY(with_prefix(where, parse_json(entry->second, &root)));
  const JsonValue* layout = root.member("layout");
  if (layout == nullptr || layout->unsigned_integer() == nullptr ||
      *layout->unsigned_integer() != kLayout) {
    return file_error("%s: layout is %s; this version reads %llu", where.c_str(),
                      layout == nullptr ? "missing" : layout->description().c_str(),
                      static_cast<unsigned long long>(kLayout));
  }
  const JsonValue* tensors = root.member("tensors");
  if (tensors == nullptr || tensors->object() == nullptr) {
    return file_error("%s: tensors is not an object", where.c_str());
  }
  for (const JsonMember& member : *tensors->object()) {
    QuantizedRecord record;
    MXGEMM_TRY(
        with_prefix(where + ", tensor " + quoted_text(member.key), check_tensor_name(member.key)));
    MXGEMM_TRY(with_prefix(where + ", tensor " + quoted_text(member.key),
                           read_record(member.value, &record)));
    records->emplace(member.key, std::move(record));
  }
  return {};
}

void write_records(const QuantizedRecords& records, Metadata* metadata) {
  metadata->erase(kRecordKey);
  if (records.empty()) {
    return;
  }
  JsonWriter json;
  json.begin_object().key("layout").size(kLayout).key("version").string(mxgemm_version());
  json.key("tensors").begin_object();
  for (const auto& [name, record] : records) {
    json.key(name).begin_object();
    json.key("format").string(internal::format_name(record.format));
    json.key("shape").begin_array().integer(record.rows).integer(record.cols).end();
    json.key("scales").string(scale_layout_name(static_cast<int32_t>(record.scale_layout)));
    json.key("dtype").string(dtype_name(record.source)).key("options").begin_object();
    for (const auto& [option, value] : record.options) {
      json.key(option).string(value);
    }
    json.end().end();
  }
  json.end().end();
  metadata->emplace(kRecordKey, json.text());
}

Status find_quantized(const SafetensorsReader& shard, const std::string& name,
                      const QuantizedRecord& record, QuantizedTensor* tensor) {
  std::vector<TensorInfo> wanted;
  MXGEMM_TRY(with_prefix(shard.path(), tensors_of(name, record, &wanted)));
  tensor->record = record;
  tensor->shard = &shard;
  MXGEMM_TRY(find_part(shard, name, wanted[0], &tensor->qdata));
  MXGEMM_TRY(find_part(shard, name, wanted[1], &tensor->scale));
  tensor->global_scale = 1.0f;
  if (wanted.size() > 2) {
    const TensorInfo* part = nullptr;
    MXGEMM_TRY(find_part(shard, name, wanted[2], &part));
    std::memcpy(&tensor->global_scale, shard.bytes(*part).data(), sizeof(float));
    if (!std::isfinite(tensor->global_scale) || tensor->global_scale <= 0.0f) {
      return file_error("%s: tensor %s is %g; a global scale is finite and above 0",
                        shard.path().c_str(), quoted_text(part->name).c_str(),
                        static_cast<double>(tensor->global_scale));
    }
  }
  return {};
}

}  // namespace mxgemm::cli
