// SPDX-License-Identifier: Apache-2.0
// Whether a file is a whole shared library: the check that the dynamic loader leaves out.
#pragma once

#include <string>

namespace mxgemm::internal {

// "" for an ELF file of this machine's word size that holds every byte which its program headers
// promise; else what is wrong with it.
std::string elf_file_fault(const std::string& path);

}  // namespace mxgemm::internal
