// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu {

class OpcodeTable;

// cp.async.bulk.tensor and its prefetch.
void register_tma(OpcodeTable& table);

}  // namespace emu
