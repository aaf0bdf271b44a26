// SPDX-License-Identifier: Apache-2.0
// EMU_COVERAGE (specification 9.6): how often each PTX line ran, and both directions of branches.
// A function begins with `= <tab> module <tab> function`; each of its instructions is a line `line
// <tab> index <tab> count <tab> branch <tab> kind <tab> text`: branch is 1 taken, 2 not taken, 3
// both, or -; kind is sync or -. Later runs add to the file; "%p" in its name stands for the
// process.
#pragma once

#include "exec/machine.hpp"

namespace emu {

// Adds what a grid executed to the process's counts; the file is written when the process ends.
void record_coverage(const Grid& grid);
// Writes the counts gathered so far, merged with what the file holds.
void write_coverage(const std::string& file);

}  // namespace emu
