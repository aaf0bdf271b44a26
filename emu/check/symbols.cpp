// SPDX-License-Identifier: Apache-2.0
#include "check/symbols.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace emu::check {
namespace {

// Symbol tables of our libraries are far below; a damaged size must not become an allocation.
constexpr uint64_t kMostBytes = uint64_t{1} << 28;

template <typename T>
std::optional<std::vector<T>> read_array(std::ifstream& file, uint64_t at, uint64_t count) {
  if (count > kMostBytes / sizeof(T)) {
    return std::nullopt;
  }
  std::vector<T> values(count);
  file.seekg(static_cast<std::streamoff>(at));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(count * sizeof(T)));
  return file.good() ? std::optional(std::move(values)) : std::nullopt;
}

std::string name_at(const std::vector<char>& names, uint64_t offset) {
  const auto room = offset < names.size() ? names.size() - offset : 0;
  return room == 0 ? "" : std::string(names.data() + offset, strnlen(names.data() + offset, room));
}

std::string find_symbol(std::ifstream& file, const Elf64_Shdr& table, const Elf64_Shdr& strings,
                        uint64_t offset) {
  const auto symbols =
      read_array<Elf64_Sym>(file, table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
  const auto names = read_array<char>(file, strings.sh_offset, strings.sh_size);
  if (!symbols || !names) {
    return "";
  }
  for (const Elf64_Sym& symbol : *symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value == offset) {
      return name_at(*names, symbol.st_name);
    }
  }
  return "";
}

}  // namespace

std::string symbol_in_file(const std::string& path, uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  const auto header = read_array<Elf64_Ehdr>(file, 0, 1);
  if (!header || std::memcmp((*header)[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      (*header)[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return "";
  }
  const auto sections = read_array<Elf64_Shdr>(file, (*header)[0].e_shoff, (*header)[0].e_shnum);
  if (!sections) {
    return "";
  }
  for (const Elf64_Shdr& section : *sections) {
    if (section.sh_type == SHT_SYMTAB && section.sh_link < sections->size()) {
      return find_symbol(file, section, (*sections)[section.sh_link], offset);
    }
  }
  return "";
}

}  // namespace emu::check
