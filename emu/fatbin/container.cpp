// SPDX-License-Identifier: Apache-2.0
#include "fatbin/container.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "fatbin/decompress.hpp"

namespace emu::fatbin {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1;
constexpr uint32_t kContainerMagic = 0xBA55ED50;
constexpr uint64_t kContainerHeaderBytes = 16;
// The fields of an entry header that are read here end at byte 64; more may follow.
constexpr uint64_t kLeastEntryHeaderBytes = 64;
constexpr uint16_t kEntryVersion = 0x0101;

constexpr uint64_t kLz4Flag = uint64_t{1} << 13;
constexpr uint64_t kZstdFlag = uint64_t{1} << 15;
constexpr uint64_t kExactFlag = uint64_t{1} << 20;
constexpr uint64_t kFamilyFlag = uint64_t{1} << 21;

template <typename T>
T read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// "17 00 01 01 …": the first bytes, for a message.
std::string bytes_text(std::span<const uint8_t> bytes) {
  constexpr size_t kShown = 16;
  std::string text;
  for (const uint8_t byte : bytes.first(std::min(bytes.size(), kShown))) {
    char digits[8];
    std::snprintf(digits, sizeof(digits), "%s%02x", text.empty() ? "" : " ", byte);
    text += digits;
  }
  return text;
}

Variant variant_of(uint64_t flags) {
  if ((flags & kExactFlag) != 0) {
    return Variant::kExact;
  }
  return (flags & kFamilyFlag) != 0 ? Variant::kFamily : Variant::kPlain;
}

Compression compression_of(uint64_t flags) {
  if ((flags & kZstdFlag) != 0) {
    return Compression::kZstd;
  }
  return (flags & kLz4Flag) != 0 ? Compression::kLz4 : Compression::kNone;
}

struct RawEntry {
  uint16_t kind;
  Entry entry;
  uint64_t total_bytes;  // header and padded payload
};

RawEntry read_entry(std::span<const uint8_t> rest, const std::string& where) {
  if (rest.size() < kLeastEntryHeaderBytes) {
    throw Error(where + ": " + std::to_string(rest.size()) + " bytes are left (" +
                bytes_text(rest) + "), an entry header has at least " +
                std::to_string(kLeastEntryHeaderBytes));
  }
  const uint8_t* const header = rest.data();
  const auto version = read<uint16_t>(header + 2);
  const uint64_t header_bytes = read<uint32_t>(header + 4);
  const auto padded = read<uint64_t>(header + 8);
  if (version != kEntryVersion) {
    throw Error(where + ": entry version " + hex(version) + " (" + bytes_text(rest) +
                "), only 0x101 is known");
  }
  if (header_bytes < kLeastEntryHeaderBytes || header_bytes > rest.size() ||
      padded > rest.size() - header_bytes) {
    throw Error(where + ": a header of " + std::to_string(header_bytes) + " and a payload of " +
                std::to_string(padded) + " bytes do not fit into the " +
                std::to_string(rest.size()) + " bytes that are left (" + bytes_text(rest) + ")");
  }
  RawEntry raw{};
  raw.kind = read<uint16_t>(header);
  raw.total_bytes = header_bytes + padded;
  Entry& entry = raw.entry;
  entry.isa_minor = read<uint16_t>(header + 24);
  entry.isa_major = read<uint16_t>(header + 26);
  entry.arch = static_cast<int>(read<uint32_t>(header + 28));
  entry.flags = read<uint64_t>(header + 40);
  entry.variant = variant_of(entry.flags);
  entry.compression = compression_of(entry.flags);
  uint64_t payload_bytes = padded;
  if (entry.compression != Compression::kNone) {
    payload_bytes = read<uint32_t>(header + 16);
    entry.exact_bytes = read<uint64_t>(header + 56);
    if (payload_bytes > padded) {
      throw Error(where + ": " + std::to_string(payload_bytes) +
                  " compressed bytes in a payload of " + std::to_string(padded));
    }
  }
  entry.payload = rest.subspan(header_bytes, payload_bytes);
  return raw;
}

}  // namespace

std::string Entry::target() const {
  const char* const suffix =
      variant == Variant::kExact ? "a" : (variant == Variant::kFamily ? "f" : "");
  return "sm_" + std::to_string(arch) + suffix;
}

uint64_t container_bytes(const uint8_t* header, const std::string& origin) {
  const std::span<const uint8_t> shown(header, kContainerHeaderBytes);
  const auto magic = read<uint32_t>(header);
  const auto version = read<uint16_t>(header + 4);
  const auto header_bytes = read<uint16_t>(header + 6);
  if (magic != kContainerMagic) {
    throw Error(origin + ": fat binary container starts with " + bytes_text(shown) +
                ", expected the magic " + hex(kContainerMagic));
  }
  if (version != 1 || header_bytes != kContainerHeaderBytes) {
    throw Error(origin + ": fat binary container version " + std::to_string(version) +
                " with a header of " + std::to_string(header_bytes) + " bytes (" +
                bytes_text(shown) + "); only version 1 with 16 bytes is known");
  }
  return kContainerHeaderBytes + read<uint64_t>(header + 8);
}

Container read_container(std::span<const uint8_t> bytes, const std::string& origin) {
  if (bytes.size() < kContainerHeaderBytes) {
    throw Error(origin + ": a fat binary container of " + std::to_string(bytes.size()) +
                " bytes, its header alone has 16");
  }
  const uint64_t total = container_bytes(bytes.data(), origin);
  if (total > bytes.size()) {
    throw Error(origin + ": the fat binary container says it has " + std::to_string(total) +
                " bytes, there are " + std::to_string(bytes.size()));
  }
  Container result;
  uint64_t offset = kContainerHeaderBytes;
  while (offset < total) {
    const std::string where = origin + ": fat binary entry at byte " + std::to_string(offset);
    RawEntry raw = read_entry(bytes.subspan(offset, total - offset), where);
    if (raw.kind == 1 || raw.kind == 2) {
      raw.entry.kind = raw.kind == 1 ? Kind::kPtx : Kind::kMachineCode;
      result.entries.push_back(raw.entry);
    } else {
      result.warnings.push_back(where + ": unknown kind " + std::to_string(raw.kind) + " (" +
                                bytes_text(bytes.subspan(offset)) + "), skipped");
    }
    offset += raw.total_bytes;
  }
  return result;
}

std::span<const uint8_t> container_of_wrapper(const void* wrapper, const std::string& origin) {
  const auto* const bytes = static_cast<const uint8_t*>(wrapper);
  const auto magic = read<uint32_t>(bytes);
  const auto version = read<uint32_t>(bytes + 4);
  const std::span<const uint8_t> shown(bytes, 8);
  if (magic != kWrapperMagic) {
    throw Error(origin + ": fat binary wrapper starts with " + bytes_text(shown) +
                ", expected the magic " + hex(kWrapperMagic));
  }
  if (version == 2) {
    throw Error(origin +
                ": the fat binary wrapper is of version 2, relocatable device code; "
                "build the library without it (-rdc=false)");
  }
  if (version != 1) {
    throw Error(origin + ": fat binary wrapper version " + std::to_string(version) + " (" +
                bytes_text(shown) + "); only version 1 is known");
  }
  const auto* const container = read<const uint8_t*>(bytes + 8);
  return {container, container_bytes(container, origin)};
}

std::vector<std::span<const uint8_t>> find_containers(std::span<const uint8_t> file) {
  std::vector<std::span<const uint8_t>> found;
  constexpr uint64_t kAlignment = 8;
  for (uint64_t at = 0; at + kContainerHeaderBytes <= file.size(); at += kAlignment) {
    const uint8_t* const here = file.data() + at;
    if (read<uint32_t>(here) != kContainerMagic || read<uint16_t>(here + 4) != 1 ||
        read<uint16_t>(here + 6) != kContainerHeaderBytes) {
      continue;
    }
    const uint64_t body = read<uint64_t>(here + 8);
    if (body <= file.size() - at - kContainerHeaderBytes) {
      found.push_back(file.subspan(at, kContainerHeaderBytes + body));
      at += (kContainerHeaderBytes + body) / kAlignment * kAlignment - kAlignment;
    }
  }
  return found;
}

std::string ptx_text(const Entry& entry, const std::string& origin) {
  if (entry.kind != Kind::kPtx) {
    throw Error(origin + ": the entry for " + entry.target() + " is machine code, not PTX");
  }
  std::string text;
  if (entry.compression == Compression::kNone) {
    text.assign(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
  } else if (entry.compression == Compression::kZstd) {
    text = decompress_zstd(entry.payload, entry.exact_bytes, origin);
  } else {
    throw Error(origin + ": the PTX for " + entry.target() +
                " is compressed with LZ4, which is not read; build it with --no-compress");
  }
  text.resize(std::strlen(text.c_str()));  // padding
  text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
  return text;
}

Entry entry_of_text(const std::string& text, const std::string& origin) {
  const char* const prefix = "sm_";
  const size_t directive = text.find(".target");
  const size_t name = directive == std::string::npos ? directive : text.find(prefix, directive);
  size_t digits = name == std::string::npos ? name : name + std::strlen(prefix);
  Entry entry;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
    entry.arch = 10 * entry.arch + (text[digits++] - '0');
  }
  if (entry.arch == 0) {
    throw Error(origin + ": the PTX names no .target sm_NN");
  }
  if (digits < text.size() && text[digits] == 'a') {
    entry.variant = Variant::kExact;
  } else if (digits < text.size() && text[digits] == 'f') {
    entry.variant = Variant::kFamily;
  }
  entry.payload = {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  return entry;
}

}  // namespace emu::fatbin
