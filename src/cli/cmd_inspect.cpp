// SPDX-License-Identifier: Apache-2.0
// `mxgemm inspect`: what is in a safetensors file, an index of shards, or an npy file.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/check_status.hpp"
#include "cli/commands.hpp"
#include "cli/io/checkpoint.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/io/npy.hpp"
#include "cli/table.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm inspect model.safetensors\n"
    "  mxgemm inspect model.safetensors.index.json --json\n"
    "  mxgemm inspect a.npy\n";

struct Arguments {
  std::string file;
  bool json = false;
};

void json_shape(const Shape& shape, JsonWriter* json) {
  json->key("shape").begin_array();
  for (const int64_t dimension : shape) {
    json->integer(dimension);
  }
  json->end();
}

void print_checkpoint_json(const Checkpoint& checkpoint, Console& console) {
  JsonWriter json;
  json.begin_object().key("file").string(checkpoint.path()).key("kind");
  json.string(checkpoint.index().has_value() ? "index" : "safetensors").key("shards").begin_array();
  for (const SafetensorsReader& shard : checkpoint.shards()) {
    json.begin_object().key("file").string(shard.path()).key("metadata").begin_object();
    for (const auto& [key, text] : shard.metadata()) {
      json.key(key).string(text);
    }
    json.end().key("tensors").begin_array();
    for (const TensorInfo& tensor : shard.tensors()) {
      json.begin_object().key("name").string(tensor.name);
      json.key("dtype").string(dtype_name(tensor.dtype));
      json_shape(tensor.shape, &json);
      json.key("bytes").size(tensor.bytes()).key("offset").size(shard.offset(tensor)).end();
    }
    json.end().end();
  }
  json.end().end();
  fmt::print(console.out, "{}\n", json.text());
}

void print_checkpoint(const Checkpoint& checkpoint, Console& console) {
  size_t count = 0;
  uint64_t total = 0;
  for (const SafetensorsReader& shard : checkpoint.shards()) {
    if (checkpoint.index().has_value()) {
      fmt::print(console.out, "{}\n", shard.path());
    }
    using Align = Table::Align;
    Table table(
        {{"tensor"}, {"dtype"}, {"shape"}, {"bytes", Align::kRight}, {"offset", Align::kRight}});
    for (const TensorInfo& tensor : shard.tensors()) {
      table.add_row({printable(tensor.name), dtype_name(tensor.dtype), shape_text(tensor.shape),
                     std::to_string(tensor.bytes()), std::to_string(shard.offset(tensor))});
      ++count;
      total += tensor.bytes();
    }
    table.print(console.out, console.color);
    for (const auto& [key, text] : shard.metadata()) {
      fmt::print(console.out, "metadata {}: {}\n", printable(key), printable(text));
    }
  }
  fmt::print(console.out, "{} tensors, {}\n", count, format_bytes(static_cast<double>(total)));
}

void print_npy(const NpyReader& reader, const Arguments& arguments, Console& console) {
  const NpyHeader& header = reader.header();
  if (arguments.json) {
    JsonWriter json;
    json.begin_object().key("file").string(reader.path()).key("kind").string("npy");
    json.key("descr").string(header.descr).key("dtype").string(dtype_name(header.dtype));
    json_shape(header.shape, &json);
    json.key("fortran_order").boolean(header.fortran_order);
    json.key("bytes").size(header.data_bytes).key("offset").size(header.data_start).end();
    fmt::print(console.out, "{}\n", json.text());
    return;
  }
  fmt::print(console.out, "descr {} ({}), shape {}, {} order, {} bytes at offset {}\n",
             header.descr, dtype_name(header.dtype), shape_text(header.shape),
             header.fortran_order ? "Fortran" : "C", header.data_bytes, header.data_start);
}

// By its content: an npy file may have any name.
bool is_npy(const std::string& path) {
  constexpr char kMagic[] = "\x93NUMPY";
  MappedFile file;
  return MappedFile::open(path, &file).ok() && file.bytes().size() >= sizeof kMagic - 1 &&
         std::memcmp(file.bytes().data(), kMagic, sizeof kMagic - 1) == 0;
}

int run(const Arguments& arguments, Console& console) {
  if (is_npy(arguments.file) || arguments.file.ends_with(".npy")) {
    NpyReader reader;
    check(NpyReader::open(arguments.file, &reader));
    print_npy(reader, arguments, console);
    return kExitOk;
  }
  Checkpoint checkpoint;
  check(Checkpoint::open(arguments.file, &checkpoint));
  const auto print = arguments.json ? print_checkpoint_json : print_checkpoint;
  print(checkpoint, console);
  return kExitOk;
}

}  // namespace

void register_inspect(Program& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      program.add_command("inspect", "List the tensors of a safetensors or npy file.", kExamples,
                          [arguments](Console& console) { return run(*arguments, console); });
  command
      ->add_option("FILE", arguments->file,
                   "file.safetensors, model.safetensors.index.json, or file.npy")
      ->required();
  command->add_flag("--json", arguments->json, "print JSON");
}

}  // namespace mxgemm::cli
