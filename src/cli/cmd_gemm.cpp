// SPDX-License-Identifier: Apache-2.0
// `mxgemm gemm`: D = act(alpha A·Bᵀ + bias) for matrices in files.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "base/math.hpp"
#include "cli/check_status.hpp"
#include "cli/commands.hpp"
#include "cli/device.hpp"
#include "cli/io/dtype.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/io/npy.hpp"
#include "cli/matrix_file.hpp"
#include "cli/option_values.hpp"
#include "cli/problem.hpp"
#include "cli/quantize_options.hpp"
#include "cli/staging.hpp"
#include "cli/table.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm gemm A.npy B.npy --format-a mxf4 --format-b mxf4 -o D.npy\n"
    "  mxgemm gemm X.npy model-mxf4.safetensors:layers.0.mlp.weight --bias b.npy --act gelu -o "
    "D.npy\n"
    "  mxgemm gemm A.npy B.npy --format-a mxf4 --format-b mxf4 --device cuda:0 -o D.npy\n"
    "A is M x K, B is N x K (as models store weights), D is M x N. --format-a and --format-b "
    "quantise\n"
    "on the CPU, which gives the bytes that a GPU gives.\n";

struct Arguments {
  std::string a;
  std::string b;
  std::string output;
  std::string bias;
  std::string format_a;
  std::string format_b;
  std::string out_format = "f32";
  std::string activation = "none";
  float alpha = 1.0f;
  std::string device = "cpu";
  std::string kernel;
  QuantizeOptions quantize;
  bool json = false;
};

struct Inputs {
  MatrixFile a;
  MatrixFile b;
  std::optional<MatrixFile> bias;
};

struct Output {
  std::vector<uint8_t> d;
  std::string kernel;
  double seconds = 0.0;
};

void bring_to_format(const std::string& wanted, const char* option, const QuantizeOptions& options,
                     MatrixFile* matrix) {
  if (wanted.empty() || parse_format(wanted) == matrix->format()) {
    return;
  }
  if (internal::is_block_scaled(matrix->format())) {
    throw CommandError(kExitBadCommandLine,
                       fmt::format("{} {}: the file has it in {} already", option, wanted,
                                   internal::format_name(matrix->format())));
  }
  matrix->quantize(make_quantize_desc(options, parse_format(wanted)));
}

Inputs load(const Arguments& arguments) {
  Inputs inputs{MatrixFile("A", arguments.a), MatrixFile("B", arguments.b), std::nullopt};
  if (inputs.a.rank() != 2 || inputs.b.rank() != 2) {
    throw CommandError(kExitBadCommandLine, "A and B must be matrices, not vectors");
  }
  if (inputs.a.cols() != inputs.b.cols()) {
    throw CommandError(
        kExitBadCommandLine,
        fmt::format("K differs: A is {} x {}, B is {} x {} (B is N x K)", inputs.a.rows(),
                    inputs.a.cols(), inputs.b.rows(), inputs.b.cols()));
  }
  if (!arguments.bias.empty()) {
    inputs.bias.emplace("bias", arguments.bias);
    if (inputs.bias->rows() != 1 || inputs.bias->cols() != inputs.b.rows()) {
      throw CommandError(kExitBadCommandLine,
                         fmt::format("bias has {} x {} elements, but N is {}", inputs.bias->rows(),
                                     inputs.bias->cols(), inputs.b.rows()));
    }
  }
  bring_to_format(arguments.format_a, "--format-a", arguments.quantize, &inputs.a);
  bring_to_format(arguments.format_b, "--format-b", arguments.quantize, &inputs.b);
  if (!internal::is_block_scaled(inputs.b.format())) {
    throw CommandError(kExitBadCommandLine,
                       fmt::format("B is {}; it must be block-scaled: give --format-b, or a tensor "
                                   "that `mxgemm quantize` made",
                                   internal::format_name(inputs.b.format())));
  }
  return inputs;
}

int32_t parse_activation(const std::string& name) {
  for (int32_t value = MXGEMM_ACT_NONE; value < MXGEMM_ACT_SILU; ++value) {
    if (name == activation_name(value)) {
      return value;
    }
  }
  return MXGEMM_ACT_SILU;
}

mxgemm_gemm_desc make_desc(const Arguments& arguments, const Inputs& inputs, DeviceId device) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.device_kind = device.kind;
  desc.device_index = device.index;
  desc.m = inputs.a.rows();
  desc.n = inputs.b.rows();
  desc.k = inputs.a.cols();
  desc.format_a = static_cast<int32_t>(inputs.a.format());
  desc.format_b = static_cast<int32_t>(inputs.b.format());
  desc.format_d = static_cast<int32_t>(parse_format(arguments.out_format));
  desc.format_bias =
      inputs.bias.has_value() ? static_cast<int32_t>(inputs.bias->format()) : MXGEMM_FORMAT_NONE;
  desc.scale_layout_a = inputs.a.scale_layout();
  desc.scale_layout_b = inputs.b.scale_layout();
  desc.activation = parse_activation(arguments.activation);
  return desc;
}

Output multiply(const Arguments& arguments, const Inputs& inputs, DeviceId device) {
  const mxgemm_gemm_desc desc = make_desc(arguments, inputs, device);
  if (!arguments.kernel.empty()) {
    find_kernel(arguments.kernel);
  }
  const Plan plan(desc, arguments.kernel);
  Output output;
  output.kernel = plan.name();
  uint64_t d_bytes = 0;
  check(mxgemm_qdata_size(desc.format_d, desc.m, desc.n, &d_bytes), "D");

  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.alpha = arguments.alpha;
  args.a = inputs.a.operand();
  args.b = inputs.b.operand();
  Staging a(device);
  Staging a_scale(device);
  Staging b(device);
  Staging b_scale(device);
  Staging bias(device);
  Staging d(device);
  Staging workspace(device);
  args.a.data = a.in(args.a.data, args.a.data_bytes);
  args.a.scale = static_cast<const uint8_t*>(a_scale.in(args.a.scale, args.a.scale_bytes));
  args.b.data = b.in(args.b.data, args.b.data_bytes);
  args.b.scale = static_cast<const uint8_t*>(b_scale.in(args.b.scale, args.b.scale_bytes));
  if (inputs.bias.has_value()) {
    const mxgemm_operand operand = inputs.bias->operand();
    args.bias = bias.in(operand.data, operand.data_bytes);
    args.bias_bytes = operand.data_bytes;
  }
  output.d.resize(d_bytes);
  args.d = d.out(output.d.data(), d_bytes);
  args.d_bytes = d_bytes;
  args.workspace_bytes = plan.workspace_bytes();
  args.workspace = workspace.scratch(args.workspace_bytes);

  const auto start = std::chrono::steady_clock::now();
  check(mxgemm_run(plan.get(), &args, nullptr));
  check(mxgemm_device_synchronize(device.kind, device.index));
  output.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  d.fetch(output.d.data(), d_bytes);
  return output;
}

void print_result(const Arguments& arguments, const Inputs& inputs, const Output& output,
                  Console& console) {
  const int64_t m = inputs.a.rows();
  const int64_t n = inputs.b.rows();
  const int64_t k = inputs.a.cols();
  const char* format_a = internal::format_name(inputs.a.format());
  const char* format_b = internal::format_name(inputs.b.format());
  if (!arguments.json) {
    fmt::print(console.out, "D = {} x {} {} of A = {} x {} {} and B = {} x {} {} by {} in {}: {}\n",
               m, n, arguments.out_format, m, k, format_a, n, k, format_b, output.kernel,
               format_seconds(output.seconds), arguments.output);
    return;
  }
  JsonWriter json;
  json.begin_object().key("m").integer(m).key("n").integer(n).key("k").integer(k);
  json.key("format_a").string(format_a).key("format_b").string(format_b);
  json.key("format_d").string(arguments.out_format).key("kernel").string(output.kernel);
  json.key("seconds").number(output.seconds).key("output").string(arguments.output).end();
  fmt::print(console.out, "{}\n", json.text());
}

int run(const Arguments& arguments, Console& console) {
  remove_tracked_files_on_signal();
  const DeviceId device = parse_device(arguments.device);
  const Inputs inputs = load(arguments);
  std::vector<FileId> files = inputs.a.files();
  files.insert(files.end(), inputs.b.files().begin(), inputs.b.files().end());
  if (inputs.bias.has_value()) {
    files.insert(files.end(), inputs.bias->files().begin(), inputs.bias->files().end());
  }
  check(check_output_path(arguments.output, true, "", files));
  const Output output = multiply(arguments, inputs, device);
  const Dtype dtype = arguments.out_format == "f32"    ? Dtype::kF32
                      : arguments.out_format == "bf16" ? Dtype::kBf16
                                                       : Dtype::kF16;
  check(write_npy(arguments.output, dtype, {inputs.a.rows(), inputs.b.rows()}, output.d));
  print_result(arguments, inputs, output, console);
  return kExitOk;
}

}  // namespace

void register_gemm(Program& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      program.add_command("gemm", "Multiply matrices in files.", kExamples,
                          [arguments](Console& console) { return run(*arguments, console); });
  command->add_option("A", arguments->a, "M x K: file.npy, or file.safetensors:TENSOR")->required();
  command->add_option("B", arguments->b, "N x K: the same")->required();
  command->add_option("-o,--output", arguments->output, "D, an npy file; replaced if it exists")
      ->required();
  command->add_option("--format-a", arguments->format_a, "quantise A to this format first")
      ->check(CLI::IsMember(block_scaled_format_names()));
  command->add_option("--format-b", arguments->format_b, "quantise B to this format first")
      ->check(CLI::IsMember(block_scaled_format_names()));
  command
      ->add_option("--out-format", arguments->out_format,
                   "type of D (default: f32; numpy reads bf16 as void elements of two bytes)")
      ->check(CLI::IsMember({"bf16", "f16", "f32"}));
  command->add_option("--bias", arguments->bias, "vector of N elements of D's type or f32");
  command->add_option("--act", arguments->activation, "activation")
      ->check(CLI::IsMember({"none", "relu", "gelu", "gelu_tanh", "silu"}));
  command->add_option("--alpha", arguments->alpha, "factor (default: 1)")
      ->transform(CLI::Validator(take_finite_float, ""));
  command->add_option("--device", arguments->device, "cpu or cuda:N");
  command->add_option("--kernel", arguments->kernel, "full id of the kernel to use")
      ->check(CLI::Validator(not_empty, ""));
  add_quantize_options(command, &arguments->quantize);
  command->add_flag("--json", arguments->json, "print JSON");
}

}  // namespace mxgemm::cli
