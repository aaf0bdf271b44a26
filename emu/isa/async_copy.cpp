// SPDX-License-Identifier: Apache-2.0
#include "isa/async_copy.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "exec/engine.hpp"
#include "isa/async_observer.hpp"

namespace emu {
namespace {

std::string shared_name(const Cta& cta, uint32_t offset) {
  return "shared offset " + std::to_string(offset) + " of CTA rank " + std::to_string(cta.rank);
}

// f(offset in shared memory, offset in the box, bytes) for the contiguous runs of part of a box.
template <class F>
bool for_each_run(uint32_t base, uint32_t linear, uint32_t bytes, const BoxLayout& layout, F f) {
  if (layout.swizzle == Swizzle::kNone) {
    return f(base + linear, linear, bytes);
  }
  while (bytes != 0) {
    const uint32_t run = std::min(bytes, kGranule - linear % kGranule);
    const uint32_t at = linear / layout.row_bytes * layout.pitch + linear % layout.row_bytes;
    if (!f(swizzled_offset(base + at, layout.swizzle), linear, run)) {
      return false;
    }
    linear += run;
    bytes -= run;
  }
  return true;
}

void hold(AsyncLoad& load) {
  for (LoadTarget& target : load.targets) {
    ++target.cta->pending_async;
    ++target.mbarrier.cta->pending_async;
  }
}

void finish_target(Engine& engine, AsyncLoad& load, size_t index) {
  LoadTarget& target = load.targets[index];
  --target.cta->pending_async;
  --target.mbarrier.cta->pending_async;
  signal_complete_tx(engine, load.origin, load.operation, target.mbarrier, load.signal_bytes);
  if (--load.targets_left == 0) {
    end_operation(engine, load.operation);
  }
}

// Writes bytes [first, end) of the box to one target. False after a fault.
bool write_part(Engine& engine, AsyncLoad& load, const LoadTarget& target, uint32_t first,
                uint32_t end) {
  return for_each_run(target.offset, first, end - first, load.layout,
                      [&](uint32_t to, uint32_t linear, uint32_t bytes) {
                        const std::string fault =
                            async_write(*target.cta, to, load.data.data() + linear, bytes);
                        if (!fault.empty()) {
                          engine.fault(load.origin, FaultKind::launch_failure, fault);
                        }
                        operation_accesses(engine, load.operation, load.origin, target.cta, to,
                                           bytes, Access::write);
                        return fault.empty();
                      });
}

void schedule(Engine& engine, EventQueue::Action action) {
  engine.events().schedule(engine.now(), std::move(action));
}

// Now and then a store reads its source much later than other operations take from end to end: who
// uses the source again without having waited is then seen.
constexpr uint32_t kSlowReadOneIn = 3;
constexpr uint64_t kSlowRead = 16;  // times the longest ordinary delay

uint64_t time_of_source_read(Engine& engine) {
  const Options& options = engine.options();
  const bool slow = options.adversarial() && options.policy != Policy::early_pct &&
                    engine.random().one_in(kSlowReadOneIn);
  return engine.now() + (slow ? kSlowRead * options.delay : 0);
}

// Under an adversarial policy the two halves of a box arrive at different times.
void schedule_writes(Engine& engine, const std::shared_ptr<AsyncLoad>& load, size_t index) {
  const auto size = static_cast<uint32_t>(load->data.size());
  const uint32_t middle = engine.options().adversarial() ? size / 2 / kGranule * kGranule : 0;
  schedule(engine, [&engine, load, index, middle, size] {
    const LoadTarget& target = load->targets[index];
    if (!write_part(engine, *load, target, middle, size)) {
      return;
    }
    schedule(engine, [&engine, load, index, middle] {
      if (middle != 0 && !write_part(engine, *load, load->targets[index], 0, middle)) {
        return;
      }
      schedule(engine, [&engine, load, index] { finish_target(engine, *load, index); });
    });
  });
}

void read_source(Engine& engine, AsyncLoad& load) {
  if (load.source == nullptr) {
    for (const CopyPiece& piece : load.pieces) {
      uint8_t* const to = load.data.data() + piece.linear;
      std::memcpy(to, piece.global, piece.bytes);
      if (load.conversion != nullptr) {
        load.conversion(to, piece.bytes);
      }
      operation_accesses(engine, load.operation, load.origin, nullptr,
                         reinterpret_cast<uint64_t>(piece.global), piece.bytes, Access::read);
    }
    return;
  }
  const auto bytes = static_cast<uint32_t>(load.data.size());
  const std::string fault = async_read_fault(engine, *load.source, load.source_offset, bytes);
  if (!fault.empty()) {
    engine.fault(load.origin, FaultKind::launch_failure, fault);
    return;
  }
  std::memcpy(load.data.data(), load.source->shared.data() + load.source_offset, bytes);
  operation_accesses(engine, load.operation, load.origin, load.source, load.source_offset, bytes,
                     Access::read);
  --load.source->pending_async;
}

// Checks the source of a store; with `take` also reads it. False after a fault.
bool visit_source(Engine& engine, AsyncStore& store, bool take, std::string* fault) {
  for (const CopyPiece& piece : store.pieces) {
    const bool ok = for_each_run(store.source_offset, piece.linear, piece.bytes, store.layout,
                                 [&](uint32_t from, uint32_t linear, uint32_t bytes) {
                                   *fault = async_read_fault(engine, *store.source, from, bytes);
                                   if (fault->empty() && take) {
                                     std::memcpy(store.data.data() + linear,
                                                 store.source->shared.data() + from, bytes);
                                     operation_accesses(engine, store.operation, store.origin,
                                                        store.source, from, bytes, Access::read);
                                   }
                                   return fault->empty();
                                 });
    if (!ok) {
      return false;
    }
  }
  return true;
}

void write_global(const Engine& engine, const AsyncStore& store) {
  for (const CopyPiece& piece : store.pieces) {
    const uint8_t* from = store.data.data() + piece.linear;
    if (store.reduction != nullptr) {
      store.reduction(piece.global, from, piece.bytes);
    } else {
      std::memcpy(piece.global, from, piece.bytes);
    }
    operation_accesses(engine, store.operation, store.origin, nullptr,
                       reinterpret_cast<uint64_t>(piece.global), piece.bytes,
                       store.reduction != nullptr ? Access::atomic : Access::write);
  }
}

void run_store(Engine& engine, const std::shared_ptr<AsyncStore>& store) {
  std::string fault;
  if (!visit_source(engine, *store, /*take=*/true, &fault)) {
    engine.fault(store->origin, FaultKind::launch_failure, fault);
    return;
  }
  --store->source->pending_async;
  schedule(engine, [&engine, store] {
    AsyncGroups& groups = store->state->bulk[store->lane];
    operation_releases_group(engine, store->operation, &groups, store->group);
    groups.source_read(store->group);
    ++store->state->changes;
    schedule(engine, [&engine, store] {
      write_global(engine, *store);
      engine.progress();
      schedule(engine, [&engine, store] {
        AsyncGroups& committed = store->state->bulk[store->lane];
        operation_releases_group(engine, store->operation, &committed, store->group);
        committed.done(store->group);
        --store->source->pending_writes;
        end_operation(engine, store->operation);
        ++store->state->changes;
      });
    });
  });
}

}  // namespace

std::string async_read_fault(const Engine& engine, const Cta& cta, uint32_t offset,
                             uint32_t bytes) {
  for (uint32_t at = offset / kGranule * kGranule; at < offset + bytes; at += kGranule) {
    if (const uint16_t writer = cta.shared.granule(at).unfenced_write) {
      return "the asynchronous proxy reads " + shared_name(cta, at) + ", which warp " +
             std::to_string(writer - 1) +
             " wrote through the generic proxy with no fence.proxy.async since";
    }
  }
  if (engine.options().strict_uninit && !cta.shared.is_written(offset, bytes)) {
    return "the asynchronous proxy reads " + shared_name(cta, offset) + " (" +
           std::to_string(bytes) + " bytes), part of which was never written";
  }
  return {};
}

std::string async_write(Cta& cta, uint32_t offset, const uint8_t* from, uint32_t bytes) {
  SharedMemory& shared = cta.shared;
  if (cta.exited) {
    return "an asynchronous copy writes to shared memory of a CTA that has exited";
  }
  if (shared.touches_mbarrier(offset, bytes)) {
    return "an asynchronous copy writes over a valid mbarrier near " + shared_name(cta, offset);
  }
  std::memcpy(shared.data() + offset, from, bytes);
  shared.mark_written(offset, bytes);
  for (uint32_t at = offset / kGranule * kGranule; at < offset + bytes; at += kGranule) {
    shared.granule(at).unfenced_write = 0;
  }
  return {};
}

bool start_load(ExecContext& ctx, std::shared_ptr<AsyncLoad> load) {
  Engine& engine = *ctx.engine;
  if (load->source != nullptr) {
    const std::string fault = async_read_fault(engine, *load->source, load->source_offset,
                                               static_cast<uint32_t>(load->data.size()));
    if (!fault.empty()) {
      ctx.fault(FaultKind::launch_failure, fault, load->origin.lane);
      return false;
    }
    ++load->source->pending_async;
  }
  hold(*load);
  load->operation = start_operation(ctx);
  load->targets_left = load->targets.size();
  schedule(engine, [&engine, load = std::move(load)] {
    read_source(engine, *load);
    for (size_t index = 0; !engine.faulted() && index < load->targets.size(); ++index) {
      schedule_writes(engine, load, index);
    }
  });
  return true;
}

bool start_store(ExecContext& ctx, std::shared_ptr<AsyncStore> store) {
  Engine& engine = *ctx.engine;
  std::string fault;
  if (!visit_source(engine, *store, /*take=*/false, &fault)) {
    ctx.fault(FaultKind::launch_failure, fault, store->lane);
    return false;
  }
  store->group = store->state->bulk[store->lane].join();
  ++store->source->pending_async;
  ++store->source->pending_writes;
  store->operation = start_operation(ctx);
  engine.events().schedule(time_of_source_read(engine),
                           [&engine, store = std::move(store)] { run_store(engine, store); });
  return true;
}

}  // namespace emu
