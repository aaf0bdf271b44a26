// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include "exec/engine.hpp"
#include "exec/hooks.hpp"
#include "isa/mbarrier.hpp"

namespace emu {
namespace {

std::string state_text(const MbarrierState& s) {
  return "phase " + std::to_string(s.phase) + ", pending " + std::to_string(s.pending) +
         ", expected " + std::to_string(s.expected) + ", tx " + std::to_string(s.tx);
}

struct Change {
  const char* what;
  MbarrierFault (*apply)(MbarrierState&, uint32_t);
  uint32_t amount;
  bool asynchronous_proxy = true;
};

bool signal(Engine& engine, const Origin& origin, uint64_t operation, const MbarrierRef& ref,
            const Change& change) {
  const char* what = change.what;
  if (ref.cta->exited) {
    engine.fault(origin, FaultKind::launch_failure,
                 std::string(what) + " on an mbarrier of a CTA that has exited");
    return false;
  }
  if (!ref.cta->shared.is_mbarrier(ref.offset)) {
    engine.fault(origin, FaultKind::launch_failure,
                 std::string(what) + " where no mbarrier is initialised: offset " +
                     std::to_string(ref.offset) + " of CTA rank " + std::to_string(ref.cta->rank));
    return false;
  }
  const uint8_t warp = ref.cta->shared.granule(ref.offset).unfenced_init;
  if (change.asynchronous_proxy && warp != 0) {
    engine.fault(origin, FaultKind::launch_failure,
                 std::string(what) +
                     " by an asynchronous operation on an mbarrier whose init by warp " +
                     std::to_string(warp - 1) +
                     " no fence.mbarrier_init or fence.proxy.async has published (" +
                     describe_mbarrier(*ref.cta, ref.offset) + ")");
    return false;
  }
  const MbarrierState before = load_mbarrier(ref);
  MbarrierState after = before;
  if (const MbarrierFault fault = change.apply(after, change.amount)) {
    engine.fault(origin, FaultKind::launch_failure, mbarrier_fault_text(fault, ref));
    return false;
  }
  if (Observer* observer = engine.observer()) {
    observer->async_arrive(operation, *ref.cta, ref.offset);
  }
  update_mbarrier(engine, ref, before, after);
  return true;
}

}  // namespace

std::string mbarrier_fault_text(const char* what, const MbarrierRef& ref) {
  return std::string(what) + " (" + describe_mbarrier(*ref.cta, ref.offset) + ")";
}

void update_mbarrier(Engine& engine, const MbarrierRef& ref, const MbarrierState& before,
                     const MbarrierState& after) {
  store_mbarrier(ref, after);
  if (before.phase != after.phase) {
    ++ref.cta->mbarrier_changes;
    engine.progress();
    if (Observer* observer = engine.observer()) {
      observer->phase_complete(*ref.cta, ref.offset);
    }
  }
}

MbarrierRef mbarrier_at(ExecContext& ctx, ptx::Space space, unsigned lane, uint64_t address,
                        bool needs_valid) {
  if (space == ptx::Space::generic) {
    space = ExecContext::generic_space(address);
    if (!ptx::is_shared(space)) {
      ctx.fault(FaultKind::illegal_address, "an mbarrier operand is not in shared memory", lane);
      return {};
    }
    space = ptx::Space::shared_cluster;
  }
  const Place place = ctx.shared_place(space, lane, address, kMbarrierBytes, kMbarrierBytes);
  if (!place) {
    return {};
  }
  const MbarrierRef ref{place.cta, place.offset};
  if (needs_valid && !ref.cta->shared.is_mbarrier(ref.offset)) {
    ctx.fault(FaultKind::launch_failure,
              "no mbarrier is initialised at " + ctx.describe(space, address), lane);
    return {};
  }
  return ref;
}

MbarrierState load_mbarrier(const MbarrierRef& ref) {
  uint64_t bits = 0;
  std::memcpy(&bits, ref.cta->shared.data() + ref.offset, sizeof(bits));
  return unpack_mbarrier(bits);
}

void store_mbarrier(const MbarrierRef& ref, const MbarrierState& state) {
  const uint64_t bits = pack_mbarrier(state);
  std::memcpy(ref.cta->shared.data() + ref.offset, &bits, sizeof(bits));
}

bool signal_complete_tx(Engine& engine, const Origin& origin, uint64_t operation,
                        const MbarrierRef& ref, uint32_t bytes) {
  return signal(engine, origin, operation, ref, {"complete_tx", mbarrier_complete_tx, bytes});
}

bool signal_arrive(Engine& engine, const Origin& origin, uint64_t operation, const MbarrierRef& ref,
                   bool asynchronous_proxy) {
  const auto arrive = [](MbarrierState& state, uint32_t count) {
    return mbarrier_arrive(state, count);
  };
  return signal(engine, origin, operation, ref, {"arrive", arrive, 1, asynchronous_proxy});
}

std::string describe_mbarrier(const Cta& cta, uint32_t offset) {
  std::string where = "mbarrier at shared offset " + std::to_string(offset) + " of CTA rank " +
                      std::to_string(cta.rank) + ": ";
  if (offset % kMbarrierBytes != 0 || !cta.shared.inside(offset, kMbarrierBytes) ||
      !cta.shared.is_mbarrier(offset)) {
    return where + "not initialised";
  }
  uint64_t bits = 0;
  std::memcpy(&bits, cta.shared.data() + offset, sizeof(bits));
  return where + state_text(unpack_mbarrier(bits));
}

}  // namespace emu
