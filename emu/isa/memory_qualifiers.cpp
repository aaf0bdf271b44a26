// SPDX-License-Identifier: Apache-2.0
#include "isa/memory_qualifiers.hpp"

#include "exec/engine.hpp"
#include "exec/function_decoder.hpp"

namespace emu {

Ordering take_ordering(DecodeContext& d) {
  Ordering ordering;
  if (d.q.take("volatile") || d.q.take("relaxed") || d.q.take("mmio")) {
    ordering.bits = kOrderStrong;
  } else if (d.q.take("acquire")) {
    ordering.bits = kOrderStrong | kOrderAcquire;
  } else if (d.q.take("release")) {
    ordering.bits = kOrderStrong | kOrderRelease;
  } else if (d.q.take("acq_rel")) {
    ordering.bits = kOrderStrong | kOrderAcquire | kOrderRelease;
  } else {
    d.q.take("weak");
  }
  d.q.take_one_of({"cta", "cluster", "gpu", "sys"});
  return ordering;
}

void take_cache_hints(DecodeContext& d) {
  d.q.take_one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  while (d.q.take_prefix("L1::") || d.q.take_prefix("L2::")) {
  }
  d.q.take("unified");
}

void apply_ordering(DecodeContext& d, Ordering ordering, ptx::Space space) {
  d.instr.mode2 = ordering.bits;
  const bool global = space == ptx::Space::global || space == ptx::Space::generic;
  if (global && (ordering.bits & (kOrderAcquire | kOrderRelease | kOrderStrong)) != 0) {
    d.function().code().uses_global_atomics = true;
  }
}

void order_access(ExecContext& ctx, const Instr& instr, unsigned lane, const Place& place,
                  Access access) {
  Observer* observer = ctx.engine->observer();
  if (observer == nullptr) {
    return;
  }
  const uint64_t address =
      place.cta != nullptr ? place.offset : reinterpret_cast<uint64_t>(place.data);
  if (access != Access::write && (instr.mode2 & kOrderAcquire) != 0) {
    observer->acquire(ctx, lane, place.cta, address);
  }
  if (access != Access::read && (instr.mode2 & kOrderRelease) != 0) {
    observer->release(ctx, lane, place.cta, address);
  }
}

}  // namespace emu
