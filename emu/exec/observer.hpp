// SPDX-License-Identifier: Apache-2.0
// What the race detector wants to hear about. The engine holds a null pointer when it is off.
#pragma once

#include <cstdint>

#include "exec/context.hpp"

namespace emu {

class Observer {
 public:
  virtual ~Observer() = default;
  // An ordinary (generic proxy) access by a lane. cta is null for global memory, where `address`
  // is the address; else it is the offset in the CTA's shared memory. `ordered`: volatile, relaxed
  // or stronger, which alone is no race and alone orders nothing.
  virtual void access(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address, uint32_t bytes,
                      Access access, bool ordered) = 0;
  virtual void acquire(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address) = 0;
  virtual void release(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address) = 0;
  virtual void fence(ExecContext& ctx) = 0;
  // Named barriers: a warp arrives (id, phase) and, for sync, leaves.
  virtual void barrier_arrive(ExecContext& ctx, uint32_t id, uint64_t phase) = 0;
  virtual void barrier_leave(ExecContext& ctx, uint32_t id, uint64_t phase) = 0;

  // mbarriers, and the cluster barrier under an offset that none of them has. Those who wait for a
  // phase see what was released up to its completion.
  virtual void phase_arrive(ExecContext& ctx, const Cta& cta, uint64_t offset, bool relaxed) = 0;
  virtual void phase_complete(const Cta& cta, uint64_t offset) = 0;
  virtual void phase_wait(ExecContext& ctx, const Cta& cta, uint64_t offset) = 0;

  // Asynchronous operations: each is an actor that begins with what its issuer has done and seen.
  // 0 is no operation: what comes to it is ignored.
  virtual uint64_t async_start(ExecContext& ctx) = 0;
  // `operation` runs after `earlier` (one thread's tensor operations).
  virtual void async_after(uint64_t operation, uint64_t earlier) = 0;
  virtual void async_access(uint64_t operation, const Origin& origin, Cta* cta, uint64_t address,
                            uint32_t bytes, Access access) = 0;
  virtual void async_arrive(uint64_t operation, const Cta& cta, uint64_t offset) = 0;
  // What the operation has done so far is known to whoever waits for that group of copies.
  virtual void group_release(uint64_t operation, const void* groups, uint64_t group) = 0;
  virtual void group_acquire(ExecContext& ctx, const void* groups, uint64_t first,
                             uint64_t end) = 0;
  virtual void async_end(uint64_t operation) = 0;
};

}  // namespace emu
