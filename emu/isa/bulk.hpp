// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu {

class OpcodeTable;

// cp.async.bulk and cp.reduce.async.bulk without tensor maps, and the groups of bulk stores.
void register_bulk(OpcodeTable& table);

}  // namespace emu
