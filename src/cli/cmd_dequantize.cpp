// SPDX-License-Identifier: Apache-2.0
// `mxgemm dequantize`: the inverse of `mxgemm quantize`, by the record that it left in the
// metadata.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <set>

#include "cli/check_status.hpp"
#include "cli/checkpoint_output.hpp"
#include "cli/commands.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/progress.hpp"
#include "cli/quantized_record.hpp"
#include "cli/table.hpp"
#include "cli/tensor_stream.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm dequantize model-mxf4.safetensors decoded.safetensors\n"
    "  mxgemm dequantize model-mxf4.safetensors decoded-bf16.safetensors --dtype bf16\n"
    "  mxgemm dequantize model-mxf4.safetensors decoded.safetensors --device cuda:0 --force\n";

struct Arguments {
  std::string input;
  std::string output;
  std::string dtype;
  std::string device = "cpu";
  bool force = false;
  bool json = false;
};

// One shard: what is decoded, what is copied, and what stands in the output for both.
struct ShardPlan {
  const SafetensorsReader* shard = nullptr;
  std::map<std::string, QuantizedTensor> decoded;  // by name of the result
  std::vector<const TensorInfo*> copied;
  std::vector<TensorInfo> outputs;
  Metadata metadata;
};

Dtype output_dtype(const Arguments& arguments, const QuantizedRecord& record) {
  return arguments.dtype == "f32"    ? Dtype::kF32
         : arguments.dtype == "bf16" ? Dtype::kBf16
         : arguments.dtype == "f16"  ? Dtype::kF16
                                     : record.source;
}

ShardPlan plan_shard(const SafetensorsReader& shard, const Arguments& arguments) {
  ShardPlan plan;
  plan.shard = &shard;
  plan.metadata = shard.metadata();
  QuantizedRecords records;
  check(with_prefix(shard.path(), read_records(shard.metadata(), &records)));
  std::set<std::string> parts;
  for (const auto& [name, record] : records) {
    check(find_quantized(shard, name, record, &plan.decoded[name]));
    std::vector<TensorInfo> tensors;
    check(tensors_of(name, record, &tensors));
    for (const TensorInfo& part : tensors) {
      parts.insert(part.name);
    }
    plan.outputs.push_back({name, output_dtype(arguments, record), {record.rows, record.cols}});
  }
  for (const TensorInfo& tensor : shard.tensors()) {
    if (parts.count(tensor.name) == 0) {
      plan.copied.push_back(&tensor);
      plan.outputs.push_back(tensor);
    }
  }
  write_records({}, &plan.metadata);
  return plan;
}

void write_shard(const ShardPlan& plan, DeviceId device, SafetensorsWriter* writer,
                 Progress* progress, const Arguments& arguments) {
  const OnProgress on_progress = [progress](uint64_t bytes) { progress->advance(bytes); };
  for (const auto& [name, tensor] : plan.decoded) {
    dequantize_tensor(tensor, name, output_dtype(arguments, tensor.record), device, writer,
                      on_progress);
  }
  for (const TensorInfo* tensor : plan.copied) {
    copy_tensor(*plan.shard, *tensor, writer, on_progress);
  }
}

void print_result(const std::vector<ShardPlan>& plans, const Arguments& arguments,
                  Console& console) {
  Table table({{"tensor"}, {"shape"}, {"from"}, {"to"}});
  JsonWriter json;
  json.begin_object().key("input").string(arguments.input).key("output").string(arguments.output);
  json.key("tensors").begin_array();
  for (const ShardPlan& plan : plans) {
    for (const auto& [name, tensor] : plan.decoded) {
      const QuantizedRecord& record = tensor.record;
      const char* to = dtype_name(output_dtype(arguments, record));
      const char* from = internal::format_name(record.format);
      table.add_row({printable(name), shape_text({record.rows, record.cols}), from, to});
      json.begin_object().key("name").string(name).key("shape").begin_array();
      json.integer(record.rows).integer(record.cols).end();
      json.key("format").string(from).key("dtype").string(to).end();
    }
  }
  json.end().end();
  if (arguments.json) {
    fmt::print(console.out, "{}\n", json.text());
  } else {
    table.print(console.out, console.color);
  }
}

int run(const Arguments& arguments, Console& console) {
  remove_tracked_files_on_signal();
  const DeviceId device = parse_device(arguments.device);
  Checkpoint checkpoint;
  check(Checkpoint::open(arguments.input, &checkpoint));
  std::vector<ShardPlan> plans;
  uint64_t total = 0;
  size_t decoded = 0;
  for (const SafetensorsReader& shard : checkpoint.shards()) {
    plans.push_back(plan_shard(shard, arguments));
    decoded += plans.back().decoded.size();
    for (const TensorInfo& tensor : shard.tensors()) {
      total += tensor.bytes();
    }
  }
  if (decoded == 0) {
    throw CommandError(kExitRunTimeFailure,
                       fmt::format("{}: no tensor was quantised by mxgemm: the metadata has no "
                                   "entry '{}'",
                                   arguments.input, kRecordKey));
  }
  CheckpointOutput output(checkpoint, arguments.output, arguments.force);
  {
    Progress progress(console, "dequantising", total);
    for (size_t i = 0; i < plans.size(); ++i) {
      SafetensorsWriter* writer = output.begin_shard(i, plans[i].outputs, plans[i].metadata);
      write_shard(plans[i], device, writer, &progress, arguments);
      output.finish_shard();
    }
    output.publish();
  }
  print_result(plans, arguments, console);
  return kExitOk;
}

}  // namespace

void register_dequantize(Program& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_command(
      "dequantize", "Decode the tensors that `mxgemm quantize` made.", kExamples,
      [arguments](Console& console) { return run(*arguments, console); });
  command->add_option("IN", arguments->input, "file.safetensors, or model.safetensors.index.json")
      ->required();
  command
      ->add_option("OUT", arguments->output,
                   "file; of an index: a directory, or the path of the index to be")
      ->required();
  command->add_option("--dtype", arguments->dtype, "type of the result (default: as before)")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command->add_option("--device", arguments->device, "cpu or cuda:N (default: cpu)");
  command->add_flag("--force", arguments->force, "replace files that exist");
  command->add_flag("--json", arguments->json, "print JSON");
}

}  // namespace mxgemm::cli
