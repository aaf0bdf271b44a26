// SPDX-License-Identifier: Apache-2.0
// ptxemu: what a fat binary holds, what a PTX text needs, and one kernel run by hand.
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "exec/launch.hpp"
#include "fatbin/container.hpp"
#include "runtime/device_spec.hpp"
#include "tool/arguments.hpp"

namespace emu::ptxemu {
namespace {

constexpr int kFailed = 1;  // the work was done, and something is wrong with its subject
constexpr int kUsage = 2;

const char* kUsageText =
    "ptxemu list FILE                 the PTX texts and machine code in a library or object\n"
    "ptxemu text FILE TARGET          the PTX for TARGET (sm_120f), of every container\n"
    "ptxemu census FILE               opcodes of a PTX file or of all PTX in a library, and what\n"
    "                                 of it is not supported\n"
    "ptxemu run FILE KERNEL [--grid X[,Y[,Z]]] [--cta X[,Y[,Z]]] [--cluster X[,Y[,Z]]]\n"
    "           [--shared BYTES] [--device CAPABILITY] [ARGUMENT...]\n"
    "                                 one kernel of a PTX file; the EMU_* variables hold. "
    "ARGUMENT:\n";

struct Text {
  std::string name;
  std::string ptx;
};

// The text of a .ptx file, or all texts in a library.
std::vector<Text> texts_of(const std::string& path) {
  const std::vector<uint8_t> file = read_file(path);
  std::vector<Text> texts;
  for (const std::span<const uint8_t> bytes : fatbin::find_containers(file)) {
    for (const fatbin::Entry& entry : fatbin::read_container(bytes, path).entries) {
      if (entry.kind == fatbin::Kind::kPtx) {
        texts.push_back({path + " (PTX for " + entry.target() + ")", ptx_text(entry, path)});
      }
    }
  }
  if (texts.empty()) {
    texts.push_back({path, std::string(file.begin(), file.end())});
  }
  return texts;
}

const char* compression_name(fatbin::Compression compression) {
  switch (compression) {
    case fatbin::Compression::kNone:
      return "not compressed";
    case fatbin::Compression::kZstd:
      return "zstd";
    case fatbin::Compression::kLz4:
      return "LZ4";
  }
  return "";
}

int list(const std::string& path) {
  const std::vector<uint8_t> file = read_file(path);
  const auto containers = fatbin::find_containers(file);
  for (size_t index = 0; index < containers.size(); ++index) {
    const fatbin::Container container = fatbin::read_container(containers[index], path);
    std::printf("container %zu at byte %td, %zu bytes\n", index,
                containers[index].data() - file.data(), containers[index].size());
    for (const std::string& warning : container.warnings) {
      std::printf("  %s\n", warning.c_str());
    }
    for (const fatbin::Entry& entry : container.entries) {
      const bool is_ptx = entry.kind == fatbin::Kind::kPtx;
      std::printf("  %-12s %-8s %8zu bytes, %s", is_ptx ? "PTX" : "machine code",
                  entry.target().c_str(), entry.payload.size(),
                  compression_name(entry.compression));
      if (entry.exact_bytes != 0) {
        std::printf(" of %llu", static_cast<unsigned long long>(entry.exact_bytes));
      }
      std::printf(is_ptx ? ", PTX ISA %d.%d\n" : "\n", entry.isa_major, entry.isa_minor);
    }
  }
  if (containers.empty()) {
    std::fprintf(stderr, "ptxemu: %s holds no fat binary\n", path.c_str());
  }
  return containers.empty() ? kFailed : 0;
}

int text(const std::string& path, const std::string& target) {
  const std::vector<uint8_t> file = read_file(path);
  bool found = false;
  for (const std::span<const uint8_t> bytes : fatbin::find_containers(file)) {
    for (const fatbin::Entry& entry : fatbin::read_container(bytes, path).entries) {
      if (entry.kind == fatbin::Kind::kPtx && entry.target() == target) {
        std::fputs(ptx_text(entry, path).c_str(), stdout);
        found = true;
      }
    }
  }
  if (!found) {
    std::fprintf(stderr, "ptxemu: %s holds no PTX for %s\n", path.c_str(), target.c_str());
  }
  return found ? 0 : kFailed;
}

std::string opcode_of(const ptx::Instruction& instruction) {
  std::string name;
  for (const std::string_view part : instruction.opcode) {
    if (!name.empty()) {
      name += '.';
    }
    name += part;
  }
  return name;
}

int report_errors(const std::string& name, const LoadResult& result) {
  for (const ptx::Diagnostic& error : result.errors) {
    std::fprintf(stderr, "ptxemu: %s, line %u: %s\n", name.c_str(), error.line,
                 error.message.c_str());
  }
  return kFailed;
}

int census(const std::string& path) {
  std::map<std::string, uint64_t> counts;
  std::vector<std::string> unsupported;
  int status = 0;
  for (const Text& each : texts_of(path)) {
    const LoadResult result = load_program(each.ptx, each.name);
    if (result.program == nullptr) {
      status = report_errors(each.name, result);
      continue;
    }
    for (const ptx::Function& function : result.program->module->functions) {
      for (const ptx::Instruction& instruction : function.body) {
        ++counts[opcode_of(instruction)];
      }
    }
    for (const ptx::Diagnostic& warning : result.program->warnings) {
      unsupported.push_back(each.name + ", line " + std::to_string(warning.line) + ": " +
                            warning.message);
    }
  }
  for (const auto& [opcode, count] : counts) {
    std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), opcode.c_str());
  }
  std::printf("%zu opcodes; %zu instructions are not supported%s\n", counts.size(),
              unsupported.size(), unsupported.empty() ? "" : ":");
  for (const std::string& line : unsupported) {
    std::printf("%s\n", line.c_str());
  }
  return unsupported.empty() ? status : kFailed;
}

Dim3 parse_dims(const std::string& word) {
  uint32_t values[3] = {1, 1, 1};
  size_t begin = 0;
  for (uint32_t& value : values) {
    const size_t end = word.find(',', begin);
    value = static_cast<uint32_t>(parse_number(word.substr(begin, end - begin), word, kMost32));
    if (end == std::string::npos) {
      return {values[0], values[1], values[2]};
    }
    begin = end + 1;
  }
  throw UsageError("'" + word + "' has more than three dimensions");
}

DeviceFacts facts_of(const std::string& capability) {
  const runtime::DeviceList devices = runtime::parse_devices(capability);
  if (devices.devices.size() != 1) {
    throw UsageError(devices.error.empty() ? "--device takes one device" : devices.error);
  }
  return runtime::device_facts(devices.devices.front(), 0);
}

// Takes the options out of `words`; what is left are the kernel's arguments.
void take_options(std::vector<std::string>* words, LaunchRequest* request) {
  std::vector<std::string> rest;
  for (size_t index = 0; index < words->size(); ++index) {
    const std::string& word = (*words)[index];
    if (!word.starts_with("--")) {
      rest.push_back(word);
      continue;
    }
    if (index + 1 == words->size()) {
      throw UsageError(word + " wants a value");
    }
    const std::string& value = (*words)[++index];
    if (word == "--grid") {
      request->grid = parse_dims(value);
    } else if (word == "--cta") {
      request->block = parse_dims(value);
    } else if (word == "--cluster") {
      request->cluster = parse_dims(value);
      request->has_cluster = true;
    } else if (word == "--shared") {
      request->dynamic_shared_bytes = static_cast<uint32_t>(parse_number(value, word, kMost32));
    } else if (word == "--device") {
      request->device = facts_of(value);
    } else {
      throw UsageError("option " + word + "; allowed: --grid --cta --cluster --shared --device");
    }
  }
  *words = std::move(rest);
}

int run(const std::string& path, const std::string& kernel, std::vector<std::string> words) {
  const Options options = options_from_environment();
  LaunchRequest request;
  request.device = facts_of("12.0");
  take_options(&words, &request);
  const std::vector<uint8_t> file = read_file(path);
  const LoadResult loaded = load_program(std::string(file.begin(), file.end()), path);
  if (loaded.program == nullptr) {
    return report_errors(path, loaded);
  }
  request.program = loaded.program;
  request.kernel = loaded.program->find_kernel(kernel);
  if (request.kernel == nullptr) {
    std::fprintf(stderr, "ptxemu: %s has no kernel %s\n", path.c_str(), kernel.c_str());
    return kFailed;
  }
  GlobalMemory memory;
  ModuleInstance instance;
  if (!instantiate(*loaded.program, memory, 0, &instance)) {
    throw UsageError("no memory for the module's variables");
  }
  request.instance = &instance;
  request.memory = &memory;
  request.library = path;
  Arguments arguments(&memory, 0);
  for (const std::string& word : words) {
    arguments.add(word);
  }
  request.params = arguments.block(*request.kernel);
  const LaunchResult result = launch(request, options);
  std::fprintf(stderr, "ptxemu: %llu warp instructions, %llu thread instructions\n",
               static_cast<unsigned long long>(result.warp_instructions),
               static_cast<unsigned long long>(result.thread_instructions));
  if (!result.ok()) {
    std::fprintf(stderr, "ptxemu: %s: %s\n", fault_name(result.fault.kind).c_str(),
                 result.fault.text.c_str());
    return kFailed;
  }
  arguments.finish();
  return 0;
}

int command(const std::vector<std::string>& words) {
  const std::string name = words.empty() ? "" : words[0];
  if (name == "list" && words.size() == 2) {
    return list(words[1]);
  }
  if (name == "text" && words.size() == 3) {
    return text(words[1], words[2]);
  }
  if (name == "census" && words.size() == 2) {
    return census(words[1]);
  }
  if (name == "run" && words.size() >= 3) {
    return run(words[1], words[2], {words.begin() + 3, words.end()});
  }
  const bool asked = name == "--help" || name == "-h";
  std::fprintf(asked ? stdout : stderr, "%s%s", kUsageText, kArgumentHelp);
  return asked ? 0 : kUsage;
}

}  // namespace
}  // namespace emu::ptxemu

int main(int argc, char** argv) {
  try {
    return emu::ptxemu::command({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ptxemu: %s\n", error.what());
    return emu::ptxemu::kUsage;
  }
}
