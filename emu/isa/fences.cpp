// SPDX-License-Identifier: Apache-2.0
// fence, membar and the proxy fences.
#include "exec/engine.hpp"
#include "isa/decode.hpp"
#include "isa/families.hpp"

namespace emu {
namespace {

// Steps are sequentially consistent, so a fence changes nothing but what the checks know.
StepResult fence(ExecContext& ctx, const Instr&, uint32_t) {
  if (Observer* observer = ctx.engine->observer()) {
    observer->fence(ctx);
  }
  return StepResult::next;
}

// fence.mbarrier_init, or a fence that covers more.
void publish_mbarriers(SharedMemory& shared, uint8_t writer) {
  for (uint32_t at = 0; at < shared.bytes(); at += kGranule) {
    Granule& granule = shared.granule(at);
    if (granule.unfenced_init == writer) {
      granule.unfenced_init = 0;
    }
  }
}

StepResult mbarrier_init_fence(ExecContext& ctx, const Instr& i, uint32_t active) {
  publish_mbarriers(ctx.cta->shared, static_cast<uint8_t>(ctx.warp->index + 1));
  return fence(ctx, i, active);
}

void publish_writes(SharedMemory& shared, uint16_t writer) {
  for (uint32_t at = 0; at < shared.bytes(); at += kGranule) {
    Granule& granule = shared.granule(at);
    if (granule.unfenced_write == writer) {
      granule.unfenced_write = 0;
    }
    granule.unfenced_read &= ~(1u << (writer - 1));
  }
}

// mode 1: the fence covers shared memory. Remote writes are published, too: marks of another CTA
// carry warp numbers of that CTA, so only the own CTA's marks are this warp's.
StepResult proxy_fence(ExecContext& ctx, const Instr& i, uint32_t) {
  if (i.mode != 0) {
    publish_writes(ctx.cta->shared, static_cast<uint16_t>(ctx.warp->index + 1));
    publish_mbarriers(ctx.cta->shared, static_cast<uint8_t>(ctx.warp->index + 1));
  }
  if (Observer* observer = ctx.engine->observer()) {
    observer->fence(ctx);
  }
  return StepResult::next;
}

void decode_fence(DecodeContext& d) {
  d.q.take_one_of({"sc", "acq_rel", "acquire", "release"});
  const auto scope = d.q.take_one_of({"cta", "cluster", "gpu", "sys"});
  d.q.take_one_of({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  // The scope of the sync_restrict form comes after it.
  d.q.take_one_of({"cta", "cluster", "gpu", "sys"});
  d.require_count(0, 0);
  d.set(scope && *scope > 0 ? mbarrier_init_fence : fence, {});  // beyond the CTA
  d.instr.flags |= Instr::kSynchronising;
}

void decode_mbarrier_init(DecodeContext& d) {
  for (const char* part : {"mbarrier_init", "release", "cluster"}) {
    if (!d.q.take(part)) {
      d.reject("only fence.mbarrier_init.release.cluster exists");
    }
  }
  d.require_count(0, 0);
  d.set(mbarrier_init_fence, {});
  d.instr.flags |= Instr::kSynchronising;
}

void decode_proxy(DecodeContext& d) {
  d.q.take("proxy");
  d.instr.flags |= Instr::kSynchronising;
  if (d.q.take("async") || d.q.take("async::generic")) {
    const auto space = d.q.take_space();
    d.instr.mode = !space || ptx::is_shared(*space) ? 1 : 0;
    d.q.take_one_of({"acquire", "release"});
    d.q.take_one_of({"sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
    d.q.take_one_of({"cta", "cluster", "gpu", "sys"});
    d.require_count(0, 0);
    d.set(proxy_fence, {});
    return;
  }
  if (d.q.take("alias")) {
    d.require_count(0, 0);
  } else if (d.q.take("tensormap::generic") || d.q.take("tensormap")) {
    d.q.take_one_of({"acquire", "release"});
    d.q.take_one_of({"cta", "cluster", "gpu", "sys"});
    d.require_count(0, 2);  // acquire names an address and the size
  } else {
    d.reject("this proxy");
  }
  d.set(fence, {});
}

void decode_membar(DecodeContext& d) {
  if (!d.q.take_one_of({"cta", "gl", "sys"})) {
    d.reject("membar without a level");
  }
  d.require_count(0, 0);
  d.set(fence, {});
  d.instr.flags |= Instr::kSynchronising;
}

}  // namespace

void register_fences(OpcodeTable& table) {
  table.add("fence", decode_fence);
  table.add("fence.mbarrier_init", decode_mbarrier_init);
  table.add("fence.proxy", decode_proxy);
  table.add("membar", decode_membar);
  table.add("membar.proxy", decode_proxy);
}

}  // namespace emu
