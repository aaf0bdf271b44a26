// SPDX-License-Identifier: Apache-2.0
#include "tool/arguments.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace emu::ptxemu {
namespace {

template <typename T>
std::vector<uint8_t> bytes_of(T value) {
  std::vector<uint8_t> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

template <typename T>
T value_at(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

double parse_float(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') {
    throw UsageError("'" + text + "' is no number");
  }
  return value;
}

// The bits of a number, which may be negative, in a type whose largest number without a sign is
// `most`.
uint64_t parse_bits(const std::string& text, uint64_t most) {
  if (!text.starts_with('-')) {
    return parse_number(text, text, most);
  }
  return (0 - parse_number(text.substr(1), text, most / 2 + 1)) & most;
}

size_t bytes_per_value(const std::string& type) {
  if (type == "u8") {
    return 1;
  }
  if (type == "u32" || type == "s32" || type == "f32") {
    return 4;
  }
  if (type == "f64") {
    return 8;
  }
  throw UsageError("type '" + type + "'; allowed: u8 u32 s32 f32 f64");
}

void print_value(const std::string& type, const uint8_t* from) {
  if (type == "u8") {
    std::printf("%u", *from);
  } else if (type == "u32") {
    std::printf("%u", value_at<uint32_t>(from));
  } else if (type == "s32") {
    std::printf("%d", value_at<int32_t>(from));
  } else if (type == "f32") {
    std::printf("%.9g", static_cast<double>(value_at<float>(from)));
  } else {
    std::printf("%.17g", value_at<double>(from));
  }
}

void print_values(const std::string& type, const uint8_t* from, uint64_t bytes) {
  constexpr uint64_t kPerLine = 8;
  const size_t step = bytes_per_value(type);
  for (uint64_t index = 0; index * step < bytes; ++index) {
    if (index % kPerLine == 0) {
      std::printf("%s%8llu:", index == 0 ? "" : "\n", static_cast<unsigned long long>(index));
    }
    std::printf(" ");
    print_value(type, from + index * step);
  }
  std::printf("\n");
}

}  // namespace

uint64_t parse_number(const std::string& text, const std::string& what, uint64_t most) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text.c_str(), &end, 0);
  // strtoull would skip blanks and negate.
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0 || *end != '\0' ||
      errno == ERANGE) {
    throw UsageError("'" + what + "': '" + text + "' is no number");
  }
  if (value > most) {
    throw UsageError("'" + what + "': '" + text + "' is more than " + std::to_string(most));
  }
  return value;
}

std::vector<uint8_t> read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw UsageError(path + ": cannot be read, it is a folder");
  }
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    throw UsageError(path + ": cannot be read");
  }
  return bytes;
}

uint64_t Arguments::allocate(uint64_t bytes, const std::string& word) {
  const uint64_t address = memory_->allocate(bytes, device_, MemoryKind::device, word);
  if (bytes == 0 || address == 0) {
    throw UsageError("'" + word + "': no buffer of " + std::to_string(bytes) + " bytes");
  }
  std::memset(reinterpret_cast<void*>(address), 0, bytes);
  values_.push_back(bytes_of(address));
  return address;
}

void Arguments::add(const std::string& word) {
  const size_t colon = word.find(':');
  const std::string kind = word.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : word.substr(colon + 1);
  const size_t second = rest.find(':');
  const std::string head = rest.substr(0, second);
  const std::string tail = second == std::string::npos ? "" : rest.substr(second + 1);
  if (kind == "u32" || kind == "s32") {
    values_.push_back(bytes_of(static_cast<uint32_t>(parse_bits(rest, kMost32))));
  } else if (kind == "u64") {
    values_.push_back(bytes_of(parse_number(rest, word)));
  } else if (kind == "s64") {
    values_.push_back(bytes_of(parse_bits(rest, kMost64)));
  } else if (kind == "f32") {
    values_.push_back(bytes_of(static_cast<float>(parse_float(rest))));
  } else if (kind == "f64") {
    values_.push_back(bytes_of(parse_float(rest)));
  } else if (kind == "zero") {
    allocate(parse_number(rest, word), word);
  } else if (kind == "file") {
    const std::vector<uint8_t> content = read_file(rest);
    const uint64_t address = allocate(content.size(), word);
    std::memcpy(reinterpret_cast<void*>(address), content.data(), content.size());
  } else if (kind == "out" && !tail.empty()) {
    const uint64_t bytes = parse_number(head, word);
    results_.push_back({allocate(bytes, word), bytes, "", tail});
  } else if (kind == "print" && !tail.empty()) {
    const uint64_t bytes = parse_number(tail, word) * bytes_per_value(head);
    results_.push_back({allocate(bytes, word), bytes, head, ""});
  } else {
    throw UsageError("argument '" + word + "' is not understood; allowed:\n" + kArgumentHelp);
  }
}

std::vector<uint8_t> Arguments::block(const Code& kernel) const {
  if (values_.size() != kernel.params.size()) {
    throw UsageError(kernel.name + " has " + std::to_string(kernel.params.size()) +
                     " parameters, " + std::to_string(values_.size()) + " are given");
  }
  std::vector<uint8_t> block(kernel.param_bytes, 0);
  for (size_t index = 0; index < values_.size(); ++index) {
    const KernelParam& param = kernel.params[index];
    if (values_[index].size() != param.bytes) {
      throw UsageError("parameter " + std::to_string(index) + " of " + kernel.name + " has " +
                       std::to_string(param.bytes) + " bytes, the argument " +
                       std::to_string(values_[index].size()));
    }
    std::memcpy(block.data() + param.offset, values_[index].data(), param.bytes);
  }
  return block;
}

void Arguments::finish() const {
  for (const Result& result : results_) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(result.address);
    if (!result.type.empty()) {
      print_values(result.type, bytes, result.bytes);
      continue;
    }
    std::ofstream file(result.path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes), static_cast<std::streamsize>(result.bytes));
    if (!file.flush()) {
      throw UsageError(result.path + ": cannot be written");
    }
  }
}

}  // namespace emu::ptxemu
