// SPDX-License-Identifier: Apache-2.0
// How many registers a kernel's threads have. Machine code decides it, so PTX alone does not tell:
// EMU_REGISTERS names a file that does (specification 3.7, 7.12).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu {

struct Code;

constexpr uint32_t kRegisterStep = 8;  // a thread's registers are allocated in steps of this

class RegisterCounts {
 public:
  // Lines "<part of a kernel's name> <registers per thread>"; # begins a comment. Without a file's
  // name nothing is known. Returns what a file has to be, or "".
  std::string read(const std::string& file);

  // Per thread: of the first line that fits, else .maxnreg; 0 = not known.
  uint32_t of(const Code& code) const;

 private:
  struct Row {
    std::string kernel;
    uint32_t registers = 0;
  };
  std::vector<Row> rows_;
};

// Registers that `threads` threads take, as they are allocated.
uint64_t allocated_registers(uint32_t per_thread, uint64_t threads);

}  // namespace emu
