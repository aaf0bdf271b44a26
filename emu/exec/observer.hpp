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
  // is the address; else it is the offset in the CTA's shared memory. Synchronising atomics and
  // loads/stores say so through `ordered` (acquire, release, relaxed, volatile).
  virtual void access(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address, uint32_t bytes,
                      Access access, bool ordered) = 0;
  virtual void acquire(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address) = 0;
  virtual void release(ExecContext& ctx, unsigned lane, Cta* cta, uint64_t address) = 0;
  virtual void fence(ExecContext& ctx) = 0;
  // Named barriers: a warp arrives (id, phase) and, for sync, leaves.
  virtual void barrier_arrive(ExecContext& ctx, uint32_t id, uint64_t phase) = 0;
  virtual void barrier_leave(ExecContext& ctx, uint32_t id, uint64_t phase) = 0;
};

}  // namespace emu
