// SPDX-License-Identifier: Apache-2.0
#include "core/elf_file.hpp"

#include <elf.h>
#include <link.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/status.hpp"

namespace mxgemm::internal {
namespace {

constexpr unsigned char kOwnClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

bool read_at(std::ifstream& file, uint64_t offset, void* data, size_t bytes) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  return static_cast<bool>(file);
}

}  // namespace

std::string elf_file_fault(const std::string& path) {
  std::error_code error;
  // Opening a named pipe waits for somebody who writes; a device may never end.
  if (const auto kind = std::filesystem::status(path, error); !error && !is_regular_file(kind)) {
    return format_text("%s: not a regular file", path.c_str());
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return format_text("%s: %s", path.c_str(), std::strerror(errno));
  }
  file.seekg(0, std::ios::end);
  const auto size = static_cast<uint64_t>(file.tellg());
  ElfW(Ehdr) header{};
  if (!read_at(file, 0, &header, sizeof(header)) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return format_text("%s: no ELF file", path.c_str());
  }
  if (header.e_ident[EI_CLASS] != kOwnClass || header.e_phentsize != sizeof(ElfW(Phdr))) {
    return format_text("%s: an ELF file of another kind of machine", path.c_str());
  }
  std::vector<ElfW(Phdr)> segments(header.e_phnum);
  bool whole = read_at(file, header.e_phoff, segments.data(), segments.size() * sizeof(ElfW(Phdr)));
  for (const auto& segment : segments) {
    whole = whole && segment.p_offset <= size && segment.p_filesz <= size - segment.p_offset;
  }
  return whole ? "" : format_text("%s: the file is cut short", path.c_str());
}

}  // namespace mxgemm::internal
