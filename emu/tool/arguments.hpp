// SPDX-License-Identifier: Apache-2.0
// Kernel arguments as words of a command line.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "exec/global_memory.hpp"
#include "exec/program.hpp"

namespace emu::ptxemu {

// A word that is not understood; the text says which and what is allowed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr uint64_t kMost32 = ~uint32_t{0};
constexpr uint64_t kMost64 = ~uint64_t{0};

// A whole number from 0 to `most`.
uint64_t parse_number(const std::string& text, const std::string& what, uint64_t most = kMost64);
std::vector<uint8_t> read_file(const std::string& path);

// Arguments and the buffers behind them.
class Arguments {
 public:
  Arguments(GlobalMemory* memory, int device) : memory_(memory), device_(device) {}

  // u32:5, f32:1.5, zero:4096, file:PATH, out:BYTES:PATH, print:TYPE:COUNT.
  void add(const std::string& word);
  // The kernel's parameter block; throws where numbers or sizes do not fit.
  std::vector<uint8_t> block(const Code& kernel) const;
  // Prints and writes what was asked for.
  void finish() const;

 private:
  struct Result {
    uint64_t address;
    uint64_t bytes;
    std::string type;  // "" : to a file
    std::string path;
  };
  uint64_t allocate(uint64_t bytes, const std::string& word);

  GlobalMemory* memory_;
  int device_;
  std::vector<std::vector<uint8_t>> values_;
  std::vector<Result> results_;
};

inline constexpr const char* kArgumentHelp =
    "  u32:N s32:N u64:N s64:N f32:X f64:X   a number\n"
    "  zero:BYTES                            a buffer of zeros\n"
    "  file:PATH                             a buffer with the file's bytes\n"
    "  out:BYTES:PATH                        a buffer of zeros, written to the file afterwards\n"
    "  print:TYPE:COUNT                      a buffer of zeros, printed afterwards; TYPE is one "
    "of\n"
    "                                        u8 u32 s32 f32 f64\n";

}  // namespace emu::ptxemu
