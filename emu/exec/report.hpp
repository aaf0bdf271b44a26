// SPDX-License-Identifier: Apache-2.0
// The report of specification 9.5: a block for people on stderr, a JSON line for programs.
#pragma once

#include <string>

#include "exec/engine.hpp"

namespace emu {

struct ReportInput {
  const Engine* engine = nullptr;
  FaultKind kind = FaultKind::none;
  std::string text;
  Origin origin;
  uint32_t lanes = 0;            // active lanes; 0 if not known
  const Frame* frame = nullptr;  // for operand values; null for asynchronous operations
  std::string details;           // further lines: positions of warps, the other party...
};

// The block; JSON goes to the file that the options name.
std::string make_report(const ReportInput& input);
// Where every warp of the resident clusters stands, and what it waits for.
std::string describe_positions(const Engine& engine);
std::string demangle(const std::string& name);
// Prints the block and ends the process when EMU_ABORT says so.
void publish_report(const Fault& fault, const Options& options);

}  // namespace emu
