// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu::runtime {

// Prints that the API function is not emulated, once each, and returns cudaErrorNotSupported.
int not_emulated(const char* name);

}  // namespace emu::runtime
