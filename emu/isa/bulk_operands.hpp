// SPDX-License-Identifier: Apache-2.0
// What bulk and tensor copies have in common: qualifiers, the mbarrier and multicast operands,
// reductions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "isa/async_copy.hpp"
#include "isa/decode.hpp"

namespace emu {

enum class CopyDirection : uint8_t { global_to_shared, shared_to_global, shared_to_shared };

struct CopyForm {
  CopyDirection direction = CopyDirection::global_to_shared;
  ptx::Space destination = ptx::Space::shared_cluster;
  uint32_t rank = 0;  // tensor copies: dimensions
  bool multicast = false;
  bool pair_signal = false;  // .cta_group::2: signals may cross the CTA pair
  Reduction reduction = nullptr;
};

// Takes spaces, completion mechanism, multicast, cta_group and cache hints, in the order
// destination, source. True if a cache-policy operand follows.
bool take_copy_form(DecodeContext& d, CopyForm& form);
// "add" and the like with a type: plain copies have neither.
Reduction take_reduction(DecodeContext& d, ptx::Type type);

// The CTAs that a load writes to and their mbarriers. `mask` counts only with form.multicast. Empty
// after a fault.
std::vector<LoadTarget> load_targets(ExecContext& ctx, const CopyForm& form, unsigned lane,
                                     uint64_t destination, uint32_t bytes, uint32_t alignment,
                                     uint64_t mbarrier, uint32_t mask);

// Offset in the own CTA's shared memory of a store's source; null cta after a fault.
Place store_source(ExecContext& ctx, unsigned lane, uint64_t address, uint32_t bytes,
                   uint32_t alignment);

}  // namespace emu
