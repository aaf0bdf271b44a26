// SPDX-License-Identifier: Apache-2.0
#include "isa/asynchronous.hpp"

#include "isa/bulk.hpp"
#include "isa/cluster.hpp"
#include "isa/cp_async.hpp"
#include "isa/cta_control.hpp"
#include "isa/fences.hpp"
#include "isa/mbarrier.hpp"
#include "isa/tcgen05.hpp"
#include "isa/tma.hpp"

namespace emu {

void register_asynchronous(OpcodeTable& table) {
  register_bulk(table);
  register_cluster(table);
  register_cp_async(table);
  register_cta_control(table);
  register_fences(table);
  register_launch_control(table);
  register_mbarrier(table);
  register_tcgen05_access(table);
  register_tcgen05_allocation(table);
  register_tcgen05_copy(table);
  register_tcgen05_mma(table);
  register_tma(table);
}

}  // namespace emu
