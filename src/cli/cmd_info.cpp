// SPDX-License-Identifier: Apache-2.0
// `mxgemm info`: version, devices, GPU libraries, kernels, and the support matrix of the README.
#include <dlfcn.h>
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <ostream>

#include "cli/commands.hpp"
#include "cli/device.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/table.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cli {
namespace {

using internal::FormatInfo;

constexpr const char* kExamples =
    "  mxgemm info\n"
    "  mxgemm info --json\n"
    "  mxgemm info --matrix      the README's table: operand formats by architecture\n"
    "  MXGEMM_MAX_ISA=avx2 mxgemm info\n";

struct InfoRequest {
  bool json = false;
  bool matrix = false;
};

// File that the running program has loaded the library from.
std::string library_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&mxgemm_version), &info) != 0 && info.dli_fname != nullptr
             ? info.dli_fname
             : "unknown";
}

std::vector<std::string> format_names(uint64_t set) {
  std::vector<std::string> names;
  for (const FormatInfo& info : internal::kFormats) {
    if ((set >> static_cast<int>(info.format) & 1) != 0) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

// Names of the formats in a set, "all" where none of those that can stand there is missing.
std::string describe_formats(uint64_t set, bool plain, bool scaled) {
  bool all = true;
  for (const FormatInfo& info : internal::kFormats) {
    const bool can_stand = is_block_scaled(info.format) ? scaled : plain;
    all = all && (!can_stand || (set >> static_cast<int>(info.format) & 1) != 0);
  }
  return all ? "all" : fmt::format("{}", fmt::join(format_names(set), " "));
}

// Why there is no CUDA device: asking for the first one says it.
std::string cuda_absence() {
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  return mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, 0, &info) == MXGEMM_OK ? ""
                                                                           : mxgemm_last_error();
}

std::string describe_device(const mxgemm_device_info& info) {
  const std::string memory = format_bytes(static_cast<double>(info.memory_bytes));
  if (info.device_kind == MXGEMM_DEVICE_CPU) {
    return fmt::format("{}, level {} (offered: {}), {} threads, {}", info.name, isa_name(info.isa),
                       isa_name(info.isa_offered), info.num_threads, memory);
  }
  return fmt::format("{}, compute capability {}.{}, kernels {}, {} multiprocessors, {}, L2 {}",
                     info.name, info.capability_major, info.capability_minor,
                     info.arch[0] == '\0' ? "none" : info.arch, info.num_threads, memory,
                     format_bytes(static_cast<double>(info.l2_bytes)));
}

std::string describe_library(const mxgemm_library_info& info) {
  if (info.loaded == 0) {
    return fmt::format("refused: {}", info.reason);
  }
  if (info.capabilities[0] == '\0') {
    return fmt::format("{}{}{}", info.build_info, info.reason[0] == '\0' ? "" : "; ", info.reason);
  }
  return fmt::format("{} kernels for compute capability {}; {}", info.num_kernels,
                     info.capabilities, info.build_info);
}

void print_libraries(Console& console) {
  const std::vector<mxgemm_library_info> libraries = all_libraries();
  if (libraries.empty()) {
    return;
  }
  Table table({{"library"}, {"what it is"}, {"file"}});
  for (const mxgemm_library_info& info : libraries) {
    table.add_row({info.arch, describe_library(info), info.path});
  }
  table.print(console.out, console.color);
  fmt::print(console.out, "\n");
}

int print_text(Console& console) {
  fmt::print(console.out, "mxgemm {} (ABI {}), {}\n\n", mxgemm_version(), mxgemm_abi_version(),
             library_path());
  Table devices({{"device"}, {"what it is"}});
  for (DeviceId device : parse_devices("all")) {
    devices.add_row({to_string(device), describe_device(device_info(device))});
  }
  if (const std::string reason = cuda_absence(); !reason.empty()) {
    devices.add_row({"no cuda", reason});
  }
  devices.print(console.out, console.color);
  fmt::print(console.out, "\n");
  print_libraries(console);
  Table kernels({{"kernel"}, {"A"}, {"B"}, {"D"}, {"available"}});
  for (const Kernel& kernel : all_kernels()) {
    kernels.add_row(
        {kernel.info.id, describe_formats(kernel.info.formats_a, true, true),
         describe_formats(kernel.info.formats_b, false, true),
         describe_formats(kernel.info.formats_d, true, false),
         kernel.info.available != 0 ? "yes" : fmt::format("no: {}", kernel.info.reason)});
  }
  kernels.print(console.out, console.color);
  return kExitOk;
}

void write_formats(const char* key, uint64_t set, JsonWriter& json) {
  json.key(key).begin_array();
  for (const std::string& name : format_names(set)) {
    json.string(name);
  }
  json.end();
}

void write_device(DeviceId device, JsonWriter& json) {
  const mxgemm_device_info info = device_info(device);
  json.begin_object();
  json.key("device").string(to_string(device));
  json.key("name").string(info.name);
  json.key("arch").string(info.arch);
  json.key("memory_bytes").size(info.memory_bytes);
  if (device.kind == MXGEMM_DEVICE_CPU) {
    json.key("isa").string(isa_name(info.isa));
    json.key("isa_offered").string(isa_name(info.isa_offered));
    json.key("threads").integer(info.num_threads);
  } else {
    json.key("capability")
        .string(fmt::format("{}.{}", info.capability_major, info.capability_minor));
    json.key("multiprocessors").integer(info.num_threads);
    json.key("l2_bytes").size(info.l2_bytes);
  }
  json.end();
}

void write_library(const mxgemm_library_info& info, JsonWriter& json) {
  json.begin_object();
  json.key("library").string(info.arch);
  json.key("loaded").boolean(info.loaded != 0);
  json.key("reason").string(info.reason);
  json.key("capabilities").string(info.capabilities);
  json.key("kernels").integer(info.num_kernels);
  json.key("build_info").string(info.build_info);
  json.key("path").string(info.path);
  json.end();
}

int print_json(Console& console) {
  JsonWriter json;
  json.begin_object();
  json.key("version").string(mxgemm_version());
  json.key("abi_version").integer(mxgemm_abi_version());
  json.key("library").string(library_path());
  json.key("devices").begin_array();
  for (DeviceId device : parse_devices("all")) {
    write_device(device, json);
  }
  json.end();
  json.key("no_cuda").string(cuda_absence());
  json.key("libraries").begin_array();
  for (const mxgemm_library_info& info : all_libraries()) {
    write_library(info, json);
  }
  json.end();
  json.key("kernels").begin_array();
  for (const Kernel& kernel : all_kernels()) {
    json.begin_object();
    json.key("kernel").string(kernel.info.id);
    json.key("available").boolean(kernel.info.available != 0);
    json.key("reason").string(kernel.info.reason);
    write_formats("a", kernel.info.formats_a, json);
    write_formats("b", kernel.info.formats_b, json);
    write_formats("d", kernel.info.formats_d, json);
    json.end();
  }
  json.end().end();
  fmt::print(console.out, "{}\n", json.text());
  return kExitOk;
}

// The middle part of "cpu:avx512:name".
std::string arch_of(const Kernel& kernel) {
  const std::string id = kernel.info.id;
  const size_t begin = id.find(':') + 1;
  return id.substr(begin, id.find(':', begin) - begin);
}

// What an architecture offers for A: the B formats, and those with a kernel that is made for the
// one pair.
std::string matrix_cell(const std::vector<Kernel>& kernels, const std::string& arch,
                        const FormatInfo& a) {
  uint64_t offered = 0;
  uint64_t own = 0;
  for (const Kernel& kernel : kernels) {
    const uint64_t bit = uint64_t{1} << static_cast<int>(a.format);
    if (arch_of(kernel) == arch && (kernel.info.formats_a & bit) != 0) {
      offered |= kernel.info.formats_b;
      const bool one_pair = kernel.info.formats_a == bit &&
                            (kernel.info.formats_b & (kernel.info.formats_b - 1)) == 0;
      own |= one_pair ? kernel.info.formats_b : 0;
    }
  }
  if (offered == 0) {
    return "–";
  }
  const std::string own_names = fmt::format("**{}**", fmt::join(format_names(own), " "));
  if (offered == own) {
    return own_names;
  }
  const std::string text = describe_formats(offered, false, true);
  return own == 0 ? text : fmt::format("{}; {}", text, own_names);
}

int print_matrix(Console& console) {
  const std::vector<Kernel> kernels = all_kernels();
  // Tables are best first; the matrix reads from simple to special, the CPU first.
  std::vector<std::string> archs;
  for (const int32_t kind : {MXGEMM_DEVICE_CPU, MXGEMM_DEVICE_CUDA}) {
    const auto of_kind = static_cast<std::ptrdiff_t>(archs.size());
    for (const Kernel& kernel : kernels) {
      if (kernel.info.device_kind == kind &&
          std::find(archs.begin(), archs.end(), arch_of(kernel)) == archs.end()) {
        archs.insert(archs.begin() + of_kind, arch_of(kernel));
      }
    }
  }
  std::vector<Table::Column> columns = {{"A"}};
  for (const std::string& arch : archs) {
    columns.push_back({arch});
  }
  Table table(columns);
  for (const FormatInfo& a : internal::kFormats) {
    std::vector<std::string> row = {a.name};
    for (const std::string& arch : archs) {
      row.push_back(matrix_cell(kernels, arch, a));
    }
    table.add_row(row);
  }
  table.print_markdown(console.out);
  fmt::print(console.out,
             "\nA cell lists the formats of B (all: mxf4, nvf4, mxf8e4m3, mxf8e5m2); those in bold "
             "have a kernel of\ntheir own, the others the architecture's general one. D is bf16, "
             "f16 or f32. A GPU takes what its\narchitecture does not list, other types of D "
             "included, from sm80.\n");
  return kExitOk;
}

}  // namespace

void register_info(Program& program) {
  auto request = std::make_shared<InfoRequest>();
  CLI::App* command = program.add_command(
      "info", "Show version, devices, libraries and kernels, and why some are not available.",
      kExamples, [request](Console& console) {
        return request->matrix ? print_matrix(console)
               : request->json ? print_json(console)
                               : print_text(console);
      });
  CLI::Option* json = command->add_flag("--json", request->json, "print JSON");
  command->add_flag("--matrix", request->matrix, "print the support matrix as Markdown")
      ->excludes(json);
}

}  // namespace mxgemm::cli
