// SPDX-License-Identifier: Apache-2.0
// `mxgemm quantize`: a checkpoint with its matrices in a block-scaled format.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <ostream>

#include "cli/check_status.hpp"
#include "cli/checkpoint_output.hpp"
#include "cli/commands.hpp"
#include "cli/io/file_error.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/progress.hpp"
#include "cli/quantize_options.hpp"
#include "cli/quantize_plan.hpp"
#include "cli/quantized_record.hpp"
#include "cli/table.hpp"
#include "cli/tensor_stream.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm quantize model.safetensors model-mxf4.safetensors --format mxf4\n"
    "  mxgemm quantize model.safetensors out.safetensors --format nvf4 --include 'mlp\\.'\n"
    "  mxgemm quantize big/model.safetensors.index.json big-mxf8 --format mxf8 --preset torchao\n"
    "  mxgemm quantize model.safetensors from-gpu.safetensors --format mxf4 --device cuda:0\n"
    "Every device makes the same bytes. --scale-rule mse and --stochastic are for the CPU only.\n";

struct Arguments {
  std::string input;
  std::string output;
  std::string format;
  std::string include;
  std::string exclude;
  QuantizeOptions options;
  std::string device = "cpu";
  bool force = false;
  bool json = false;
};

struct ResultRow {
  std::string name;
  Shape shape;
  Dtype dtype = Dtype::kU8;
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  bool quantized = false;
  std::string reason;
  Fidelity fidelity;
};

// What an output shard holds, and the record of what is quantised in it.
struct ShardContent {
  std::vector<TensorInfo> tensors;
  Metadata metadata;
};

ShardContent content_of(const ShardPlan& plan, const mxgemm_quantize_desc& desc) {
  ShardContent content;
  content.metadata = plan.shard->metadata();
  QuantizedRecords records;
  check(with_prefix(plan.shard->path(), read_records(content.metadata, &records)));
  for (const TensorChoice& choice : plan.choices) {
    const TensorInfo& tensor = *choice.tensor;
    if (!choice.quantize) {
      content.tensors.push_back(tensor);
      continue;
    }
    const QuantizedRecord record =
        make_record(desc, tensor.dtype, tensor.shape[0], tensor.shape[1]);
    std::vector<TensorInfo> parts;
    check(with_prefix(plan.shard->path(), tensors_of(tensor.name, record, &parts)));
    for (const TensorInfo& part : parts) {
      if (plan.shard->find(part.name) != nullptr) {
        throw CommandError(
            kExitRunTimeFailure,
            fmt::format("{}: quantising tensor {} makes a tensor {}, but there is "
                        "one of that name; exclude it with --exclude",
                        plan.shard->path(), quoted_text(tensor.name), quoted_text(part.name)));
      }
    }
    content.tensors.insert(content.tensors.end(), parts.begin(), parts.end());
    records[tensor.name] = record;
  }
  write_records(records, &content.metadata);
  return content;
}

uint64_t quantized_bytes(const TensorInfo& tensor, const mxgemm_quantize_desc& desc) {
  std::vector<TensorInfo> parts;
  check(tensors_of(tensor.name, make_record(desc, tensor.dtype, tensor.shape[0], tensor.shape[1]),
                   &parts));
  uint64_t total = 0;
  for (const TensorInfo& part : parts) {
    uint64_t bytes = 0;
    check(tensor_bytes(part.dtype, part.shape, &bytes));
    total += bytes;
  }
  return total;
}

std::vector<ResultRow> write_shard(const ShardPlan& plan, const mxgemm_quantize_desc& desc,
                                   SafetensorsWriter* writer, Progress* progress) {
  std::vector<ResultRow> rows;
  const OnProgress on_progress = [progress](uint64_t bytes) { progress->advance(bytes); };
  for (const TensorChoice& choice : plan.choices) {
    const TensorInfo& tensor = *choice.tensor;
    ResultRow& row = rows.emplace_back(ResultRow{tensor.name,
                                                 tensor.shape,
                                                 tensor.dtype,
                                                 tensor.bytes(),
                                                 tensor.bytes(),
                                                 choice.quantize,
                                                 choice.reason,
                                                 {}});
    if (choice.quantize) {
      row.fidelity = quantize_tensor(*plan.shard, tensor, desc, writer, on_progress);
      row.bytes_after = quantized_bytes(tensor, desc);
    } else {
      copy_tensor(*plan.shard, tensor, writer, on_progress);
    }
  }
  return rows;
}

std::vector<ResultRow> quantize_checkpoint(const std::vector<ShardPlan>& plan,
                                           const mxgemm_quantize_desc& desc,
                                           CheckpointOutput* output, Console& console) {
  uint64_t total = 0;
  std::vector<ShardContent> contents;
  for (const ShardPlan& part : plan) {
    contents.push_back(content_of(part, desc));  // all collisions show before the work
    for (const TensorChoice& choice : part.choices) {
      total += choice.tensor->bytes();
    }
  }
  Progress progress(console, "quantising", total);
  std::vector<ResultRow> rows;
  for (size_t i = 0; i < plan.size(); ++i) {
    SafetensorsWriter* writer = output->begin_shard(i, contents[i].tensors, contents[i].metadata);
    std::vector<ResultRow> part = write_shard(plan[i], desc, writer, &progress);
    rows.insert(rows.end(), part.begin(), part.end());
    output->finish_shard();
  }
  output->publish();
  return rows;
}

std::string sqnr_text(const ResultRow& row) {
  const double sqnr = row.fidelity.sqnr_db();
  return !row.quantized || std::isnan(sqnr) ? "-"
         : std::isinf(sqnr)                 ? "exact"
                                            : fmt::format("{:.2f}", sqnr);
}

void print_table(const std::vector<ResultRow>& rows, const Arguments& arguments,
                 const std::string& format, Console& console) {
  using Align = Table::Align;
  Table table({{"tensor"},
               {"shape"},
               {"dtype"},
               {"before", Align::kRight},
               {"after", Align::kRight},
               {"SQNR dB", Align::kRight},
               {"done"}});
  double before = 0;
  double after = 0;
  uint64_t quantized = 0;
  for (const ResultRow& row : rows) {
    before += static_cast<double>(row.bytes_before);
    after += static_cast<double>(row.bytes_after);
    quantized += row.quantized ? 1 : 0;
    table.add_row({printable(row.name), shape_text(row.shape), dtype_name(row.dtype),
                   std::to_string(row.bytes_before), std::to_string(row.bytes_after),
                   sqnr_text(row), row.quantized ? format : "kept: " + row.reason});
    if (row.fidelity.lost != 0) {
      fmt::print(console.err,
                 "mxgemm quantize: warning: tensor {}: {} finite elements became NaN, because "
                 "their blocks hold NaN or infinity\n",
                 quoted_text(row.name), row.fidelity.lost);
    }
  }
  table.print(console.out, console.color);
  fmt::print(console.out, "{} of {} tensors quantised, {} -> {}: {}\n", quantized, rows.size(),
             format_bytes(before), format_bytes(after), arguments.output);
}

void print_json(const std::vector<ResultRow>& rows, const Arguments& arguments,
                const std::string& format, Console& console) {
  JsonWriter json;
  json.begin_object().key("input").string(arguments.input).key("output").string(arguments.output);
  json.key("format").string(format).key("tensors").begin_array();
  for (const ResultRow& row : rows) {
    json.begin_object().key("name").string(row.name).key("shape").begin_array();
    for (const int64_t dimension : row.shape) {
      json.integer(dimension);
    }
    json.end().key("dtype").string(dtype_name(row.dtype));
    json.key("bytes_before").size(row.bytes_before).key("bytes_after").size(row.bytes_after);
    json.key("quantized").boolean(row.quantized);
    if (row.quantized) {
      json.key("sqnr_db").number(row.fidelity.sqnr_db());
      json.key("finite_elements_lost").size(row.fidelity.lost);
    } else {
      json.key("reason").string(row.reason);
    }
    json.end();
  }
  json.end().end();
  fmt::print(console.out, "{}\n", json.text());
}

int run(const Arguments& arguments, Console& console) {
  remove_tracked_files_on_signal();
  const internal::Format format = parse_format(arguments.format);
  const mxgemm_quantize_desc desc =
      make_quantize_desc(arguments.options, format, parse_device(arguments.device));
  Checkpoint checkpoint;
  check(Checkpoint::open(arguments.input, &checkpoint));
  const std::vector<ShardPlan> plan =
      plan_quantize(checkpoint, format, arguments.include, arguments.exclude);
  CheckpointOutput output(checkpoint, arguments.output, arguments.force);
  const std::vector<ResultRow> rows = quantize_checkpoint(plan, desc, &output, console);
  const auto print = arguments.json ? print_json : print_table;
  print(rows, arguments, internal::format_name(format), console);
  return kExitOk;
}

}  // namespace

void register_quantize(Program& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_command(
      "quantize", "Quantise the matrices of a safetensors checkpoint.", kExamples,
      [arguments](Console& console) { return run(*arguments, console); });
  command->add_option("IN", arguments->input, "file.safetensors, or model.safetensors.index.json")
      ->required();
  command
      ->add_option("OUT", arguments->output,
                   "file; of an index: a directory, or the path of the index to be")
      ->required();
  command->add_option("--format", arguments->format, "block-scaled format")
      ->required()
      ->check(CLI::IsMember(block_scaled_format_names()));
  command->add_option("--include", arguments->include,
                      "quantise the matrices whose names match this regular expression (default: "
                      "all but names with " +
                          std::string(kKeptByDefault) + ")");
  command->add_option("--exclude", arguments->exclude, "keep those whose names match");
  add_quantize_options(command, &arguments->options);
  command->add_option("--device", arguments->device, "cpu or cuda:N (default: cpu)");
  command->add_flag("--force", arguments->force, "replace files that exist");
  command->add_flag("--json", arguments->json, "print JSON");
}

}  // namespace mxgemm::cli
