// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emu {

class OpcodeTable;

// mapa, getctarank, barrier.cluster, st.async, red.async.
void register_cluster(OpcodeTable& table);

}  // namespace emu
