// SPDX-License-Identifier: Apache-2.0
#include "cli/io/checkpoint_index.hpp"

#include <set>
#include <type_traits>
#include <utility>

#include "cli/io/file_error.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/io/safetensors_header.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kTotalSize = "total_size";

Status check_shard_name(const std::string& name) {
  MXGEMM_TRY(check_tensor_name(name));
  if (name.empty() || name == "." || name.find('/') != std::string::npos) {
    return file_error("it must be a plain file name in the directory of the index");
  }
  return {};
}

// Depth is bounded by the reader's limit.
void write_value(const JsonValue& value, JsonWriter* json);

void write_members(const JsonValue::Object& members, JsonWriter* json) {
  for (const JsonMember& member : members) {
    json->key(member.key);
    write_value(member.value, json);
  }
}

void write_value(const JsonValue& value, JsonWriter* json) {
  std::visit(
      [json](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::nullptr_t>) {
          json->null();
        } else if constexpr (std::is_same_v<Held, bool>) {
          json->boolean(held);
        } else if constexpr (std::is_same_v<Held, uint64_t>) {
          json->size(held);
        } else if constexpr (std::is_same_v<Held, int64_t>) {
          json->integer(held);
        } else if constexpr (std::is_same_v<Held, double>) {
          json->number(held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          json->string(held);
        } else if constexpr (std::is_same_v<Held, JsonValue::Array>) {
          json->begin_array();
          for (const JsonValue& element : held) {
            write_value(element, json);
          }
          json->end();
        } else {
          json->begin_object();
          write_members(held, json);
          json->end();
        }
      },
      value.value);
}

}  // namespace

Status parse_checkpoint_index(std::span<const uint8_t> file, CheckpointIndex* index) {
  JsonValue root;
  MXGEMM_TRY(parse_json({reinterpret_cast<const char*>(file.data()), file.size()}, &root));
  const JsonValue* map = root.member("weight_map");
  if (map == nullptr || map->object() == nullptr) {
    return file_error("not an index of a checkpoint: weight_map is %s",
                      map == nullptr ? "missing" : map->description().c_str());
  }
  CheckpointIndex result;
  std::set<std::string> shards;
  for (const JsonMember& member : *map->object()) {
    const std::string tensor = "weight_map entry " + quoted_text(member.key);
    MXGEMM_TRY(with_prefix(tensor, check_tensor_name(member.key)));
    const std::string* shard = member.value.string();
    if (shard == nullptr) {
      return file_error("%s is %s, not a file name", tensor.c_str(),
                        member.value.description().c_str());
    }
    MXGEMM_TRY(
        with_prefix(tensor + " names the file " + quoted_text(*shard), check_shard_name(*shard)));
    shards.insert(*shard);
    result.weight_map.emplace(member.key, *shard);
  }
  result.shards.assign(shards.begin(), shards.end());
  if (const JsonValue* metadata = root.member("metadata")) {
    if (metadata->object() == nullptr) {
      return file_error("metadata is %s, not an object", metadata->description().c_str());
    }
    for (const JsonMember& member : *metadata->object()) {
      if (member.key != kTotalSize) {
        result.metadata.push_back(member);
      }
    }
  }
  *index = std::move(result);
  return {};
}

std::string make_checkpoint_index(const CheckpointIndex& index, uint64_t total_size) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  write_members(index.metadata, &json);
  json.key(kTotalSize).size(total_size).end().key("weight_map").begin_object();
  for (const auto& [tensor, shard] : index.weight_map) {
    json.key(tensor).string(shard);
  }
  json.end().end();
  return json.text() + "\n";
}

}  // namespace mxgemm::cli
