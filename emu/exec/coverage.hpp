// SPDX-License-Identifier: Apache-2.0
// EMU_COVERAGE (specification 9.6): how often each PTX line ran, and both directions of branches.
// The file holds one line per instruction, `module <tab> function <tab> line <tab> index <tab>
// count <tab> branch <tab> kind <tab> text`, and later runs add to it.
#pragma once

#include "exec/machine.hpp"

namespace emu {

// Adds what a grid executed to the process's counts; the file is written when the process ends.
void record_coverage(const Grid& grid);
// Writes the counts gathered so far, merged with what the file holds.
void write_coverage(const std::string& file);

}  // namespace emu
