// SPDX-License-Identifier: Apache-2.0
// Mutants of a PTX module: one synchronising instruction left out or altered, two operands of a
// matrix instruction exchanged, a descriptor or an address of scales changed. They prove that the
// emulator finds such faults (specification 11.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace emu {

struct Mutant {
  uint32_t line = 0;
  std::string what;      // "dropped: fence.proxy.async.shared::cta"
  uint32_t context = 0;  // equal for the same opcodes around the same one: the same source
  size_t begin = 0;      // piece of the text that is replaced
  size_t end = 0;
  std::string replacement;
};

// All mutants of the kernels in `text`, in order; none if it does not parse.
std::vector<Mutant> list_mutants(std::string_view text);

std::string apply_mutant(std::string_view text, const Mutant& mutant);

// EMU_MUTATE: "<name>:<n>" applies mutant n to modules with a kernel whose name contains <name>.
// What was done goes to stderr. Throws std::invalid_argument on a setting that is not of this form
// or a number past the last mutant.
std::string mutate_as_set(std::string text, const std::string& setting);

}  // namespace emu
