// SPDX-License-Identifier: Apache-2.0
// The container in which nvcc embeds PTX texts and machine code.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace emu::fatbin {

// What is wrong with a container: the file it came from, the bytes, what was expected.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Kind { kPtx, kMachineCode };

// Which devices an image is for: all from `arch` on, its family, or exactly `arch`.
enum class Variant { kPlain, kFamily, kExact };

enum class Compression { kNone, kZstd, kLz4 };

struct Entry {
  Kind kind = Kind::kPtx;
  int arch = 0;  // 10 x major + minor
  Variant variant = Variant::kPlain;
  int isa_major = 0;  // of the PTX language; of machine code it means something else
  int isa_minor = 0;
  uint64_t flags = 0;
  Compression compression = Compression::kNone;
  uint64_t exact_bytes = 0;  // of the content once decompressed; 0 where it is not compressed
  std::span<const uint8_t> payload;

  std::string target() const;  // "sm_120a"
};

struct Container {
  std::vector<Entry> entries;
  std::vector<std::string> warnings;  // of entries that were skipped
};

// Bytes of the container that starts at `header` (16 readable bytes), its header included.
uint64_t container_bytes(const uint8_t* header, const std::string& origin);

// `origin` names the file in messages. The entries point into `bytes`.
Container read_container(std::span<const uint8_t> bytes, const std::string& origin);

// The container that a registration wrapper (what __cudaRegisterFatBinary gets) points to.
std::span<const uint8_t> container_of_wrapper(const void* wrapper, const std::string& origin);

// All containers in the bytes of a library, an object or a .fatbin file.
std::vector<std::span<const uint8_t>> find_containers(std::span<const uint8_t> file);

// The PTX text of an entry, without the padding at its ends.
std::string ptx_text(const Entry& entry, const std::string& origin);

// The entry that a plain PTX text amounts to; it points into `text`. Throws Error where the text
// has no .target of the form sm_NN.
Entry entry_of_text(const std::string& text, const std::string& origin);

}  // namespace emu::fatbin
