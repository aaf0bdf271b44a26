// SPDX-License-Identifier: Apache-2.0
#include "cli/io/safetensors_header.hpp"

#include <algorithm>
#include <limits>

#include "base/math.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/json_reader.hpp"
#include "cli/io/json_writer.hpp"

namespace mxgemm::cli {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr const char* kMetadataKey = "__metadata__";

uint64_t read_little_endian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    value |= uint64_t{bytes[i]} << (8 * i);
  }
  return value;
}

unsigned long long printed(uint64_t value) {
  return value;
}

Status header_text(std::span<const uint8_t> file, std::string_view* text) {
  if (file.size() < kLengthBytes) {
    return file_error(
        "not a safetensors file: %llu bytes, of the 8 of the header length %llu are "
        "missing",
        printed(file.size()), printed(kLengthBytes - file.size()));
  }
  const uint64_t length = read_little_endian(file);
  const uint64_t rest = file.size() - kLengthBytes;
  if (length > rest) {
    return file_error(
        "truncated, or not a safetensors file: the header length is %llu, but %llu "
        "bytes follow: %llu bytes are missing",
        printed(length), printed(rest), printed(length - rest));
  }
  if (length < 2) {
    return file_error(
        "not a safetensors file: the header length is %llu, but even \"{}\" takes 2 "
        "bytes: %llu bytes are missing",
        printed(length), printed(2 - length));
  }
  if (length > kMaxSafetensorsHeader) {
    return file_error("the header length is %llu; at most %llu is allowed", printed(length),
                      printed(kMaxSafetensorsHeader));
  }
  *text = {reinterpret_cast<const char*>(file.data()) + kLengthBytes, length};
  if (text->front() != '{') {
    return file_error("not a safetensors file: the header does not begin with '{'");
  }
  return {};
}

Status read_metadata(const JsonValue& value, Metadata* metadata) {
  const JsonValue::Object* members = value.object();
  if (members == nullptr) {
    return file_error("%s is %s, not an object", kMetadataKey, value.description().c_str());
  }
  for (const JsonMember& member : *members) {
    if (member.value.string() == nullptr) {
      return file_error("%s entry %s is %s, not a string", kMetadataKey,
                        quoted_text(member.key).c_str(), member.value.description().c_str());
    }
    metadata->emplace(member.key, *member.value.string());
  }
  return {};
}

Status read_dtype(const JsonValue& tensor, Dtype* dtype) {
  const JsonValue* value = tensor.member("dtype");
  if (value == nullptr || value->string() == nullptr) {
    return file_error("dtype is %s, not a string",
                      value == nullptr ? "missing" : value->description().c_str());
  }
  const std::optional<Dtype> found = find_dtype(*value->string());
  if (!found.has_value()) {
    return file_error("unknown dtype %s; known are %s", quoted_text(*value->string()).c_str(),
                      dtype_names().c_str());
  }
  *dtype = *found;
  return {};
}

Status read_shape(const JsonValue& tensor, Shape* shape) {
  const JsonValue* value = tensor.member("shape");
  if (value == nullptr || value->array() == nullptr) {
    return file_error("shape is %s, not an array",
                      value == nullptr ? "missing" : value->description().c_str());
  }
  if (value->array()->size() > kMaxRank) {
    return file_error("shape has %zu dimensions; at most %zu are allowed", value->array()->size(),
                      kMaxRank);
  }
  for (const JsonValue& dimension : *value->array()) {
    const uint64_t* size = dimension.unsigned_integer();
    if (size == nullptr || *size > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return file_error(
          "dimension %zu of the shape is %s; it must be an integer from 0 to 2^63 - 1",
          shape->size(), dimension.description().c_str());
    }
    shape->push_back(static_cast<int64_t>(*size));
  }
  return {};
}

Status read_offsets(const JsonValue& tensor, uint64_t* begin, uint64_t* end) {
  const JsonValue* value = tensor.member("data_offsets");
  if (value == nullptr || value->array() == nullptr || value->array()->size() != 2) {
    return file_error("data_offsets is %s, not an array of two",
                      value == nullptr ? "missing" : value->description().c_str());
  }
  for (const JsonValue& offset : *value->array()) {
    if (offset.unsigned_integer() == nullptr) {
      return file_error("data_offsets holds %s, not an integer from 0",
                        offset.description().c_str());
    }
  }
  *begin = *(*value->array())[0].unsigned_integer();
  *end = *(*value->array())[1].unsigned_integer();
  if (*begin > *end) {
    return file_error("data_offsets [%llu, %llu] end before they begin", printed(*begin),
                      printed(*end));
  }
  return {};
}

Status read_tensor(const JsonMember& member, TensorInfo* tensor) {
  MXGEMM_TRY(check_tensor_name(member.key));
  tensor->name = member.key;
  if (member.value.object() == nullptr) {
    return file_error("is %s, not an object", member.value.description().c_str());
  }
  MXGEMM_TRY(read_dtype(member.value, &tensor->dtype));
  MXGEMM_TRY(read_shape(member.value, &tensor->shape));
  MXGEMM_TRY(read_offsets(member.value, &tensor->begin, &tensor->end));
  uint64_t needed = 0;
  MXGEMM_TRY(tensor_bytes(tensor->dtype, tensor->shape, &needed));
  if (needed != tensor->bytes()) {
    return file_error("shape %s of %s takes %llu bytes, but data_offsets [%llu, %llu] span %llu",
                      shape_text(tensor->shape).c_str(), dtype_name(tensor->dtype), printed(needed),
                      printed(tensor->begin), printed(tensor->end), printed(tensor->bytes()));
  }
  return {};
}

// The tensors, by offset, must fill the data exactly.
Status check_cover(const std::vector<TensorInfo>& tensors, uint64_t data_bytes) {
  uint64_t covered = 0;
  uint64_t last_end = 0;
  for (const TensorInfo& tensor : tensors) {
    last_end = std::max(last_end, tensor.end);
  }
  std::string previous = "the header";
  for (const TensorInfo& tensor : tensors) {
    const std::string name = quoted_text(tensor.name);
    if (tensor.end > data_bytes) {
      return file_error(
          "truncated: tensor %s ends at byte %llu of the data, but the file holds "
          "%llu: %llu bytes are missing",
          name.c_str(), printed(tensor.end), printed(data_bytes), printed(last_end - data_bytes));
    }
    if (tensor.begin != covered) {
      return file_error("tensor %s begins at byte %llu of the data, but %s ends at %llu: %s",
                        name.c_str(), printed(tensor.begin), previous.c_str(), printed(covered),
                        tensor.begin < covered ? "they overlap" : "there is a gap");
    }
    covered = tensor.end;
    previous = "tensor " + name;
  }
  if (covered != data_bytes) {
    return file_error("the tensors end at byte %llu of the data, but the file holds %llu",
                      printed(covered), printed(data_bytes));
  }
  return {};
}

}  // namespace

Status check_tensor_name(std::string_view name) {
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return file_error("the name holds a control character");
    }
  }
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find_first_of("/\\", begin), name.size());
    if (name.substr(begin, end - begin) == "..") {
      return file_error("the name holds the path component '..'");
    }
    begin = end + 1;
  }
  return {};
}

Status parse_safetensors_header(std::span<const uint8_t> file, SafetensorsHeader* header) {
  std::string_view text;
  MXGEMM_TRY(header_text(file, &text));
  JsonValue root;
  MXGEMM_TRY(with_prefix("header", parse_json(text, &root)));
  SafetensorsHeader result;
  for (const JsonMember& member : *root.object()) {
    if (member.key == kMetadataKey) {
      MXGEMM_TRY(with_prefix("header", read_metadata(member.value, &result.metadata)));
      continue;
    }
    TensorInfo tensor;
    MXGEMM_TRY(with_prefix("tensor " + quoted_text(member.key), read_tensor(member, &tensor)));
    result.tensors.push_back(std::move(tensor));
  }
  std::stable_sort(result.tensors.begin(), result.tensors.end(),
                   [](const TensorInfo& a, const TensorInfo& b) {
                     return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
                   });
  result.data_start = kLengthBytes + text.size();
  MXGEMM_TRY(check_cover(result.tensors, file.size() - result.data_start));
  *header = std::move(result);
  return {};
}

Status place_tensors(std::vector<TensorInfo>* tensors) {
  std::sort(tensors->begin(), tensors->end(), [](const TensorInfo& a, const TensorInfo& b) {
    const int bits_a = dtype_bits(a.dtype);
    const int bits_b = dtype_bits(b.dtype);
    return bits_a != bits_b ? bits_a > bits_b : a.name < b.name;
  });
  uint64_t at = 0;
  for (TensorInfo& tensor : *tensors) {
    uint64_t bytes = 0;
    MXGEMM_TRY(with_prefix("tensor " + quoted_text(tensor.name),
                           tensor_bytes(tensor.dtype, tensor.shape, &bytes)));
    const std::optional<uint64_t> end = internal::checked_add(at, bytes);
    if (!end.has_value() || *end > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return file_error("the tensors take more than 2^63 bytes");
    }
    tensor.begin = at;
    tensor.end = *end;
    at = *end;
  }
  return {};
}

Status make_safetensors_header(const std::vector<TensorInfo>& tensors, const Metadata& metadata,
                               std::string* bytes) {
  JsonWriter json;
  json.begin_object();
  if (!metadata.empty()) {
    json.key(kMetadataKey).begin_object();
    for (const auto& [key, text] : metadata) {
      json.key(key).string(text);
    }
    json.end();
  }
  for (const TensorInfo& tensor : tensors) {
    json.key(tensor.name).begin_object();
    json.key("dtype").string(dtype_name(tensor.dtype)).key("shape").begin_array();
    for (const int64_t dimension : tensor.shape) {
      json.integer(dimension);
    }
    json.end().key("data_offsets").begin_array().size(tensor.begin).size(tensor.end).end().end();
  }
  json.end();
  std::string text = json.text();
  text.resize(internal::round_up<size_t>(text.size(), 8), ' ');
  if (text.size() > kMaxSafetensorsHeader) {
    return file_error("the header would take %zu bytes; safetensors allows %llu", text.size(),
                      printed(kMaxSafetensorsHeader));
  }
  bytes->clear();
  for (size_t i = 0; i < kLengthBytes; ++i) {
    bytes->push_back(static_cast<char>(uint64_t{text.size()} >> (8 * i) & 0xFF));
  }
  *bytes += text;
  return {};
}

}  // namespace mxgemm::cli
