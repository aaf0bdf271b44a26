// SPDX-License-Identifier: Apache-2.0
// Prints the PTX module that emu_capture makes of a vector file, for those forms that a target
// runs:
//
//   emu_form_ptx <vector file> <capability, "90">
#include <cstdio>
#include <exception>

#include "tests/vectors/form_file.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s <vector file> <capability>\n", argv[0]);
    return 2;
  }
  try {
    const auto capability = static_cast<unsigned>(std::stoul(argv[2]));
    std::vector<emu::test::Form> forms;
    for (const emu::test::Form& form : emu::test::read_forms(argv[1])) {
      if (runs_on(form, capability)) {
        forms.push_back(form);
      }
    }
    std::fputs(ptx_of(forms, emu::test::target_of(capability)).c_str(), stdout);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emu_form_ptx: %s\n", error.what());
    return 1;
  }
  return 0;
}
