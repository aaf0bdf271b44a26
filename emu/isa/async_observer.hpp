// SPDX-License-Identifier: Apache-2.0
// Short forms of what asynchronous operations tell the race detector, which is usually off.
#pragma once

#include <cstdint>

#include "exec/engine.hpp"

namespace emu {

// The number of the operation that the current instruction starts.
inline uint64_t start_operation(ExecContext& ctx) {
  Observer* observer = ctx.engine->observer();
  return observer == nullptr ? 0 : observer->async_start(ctx);
}

inline void operation_accesses(const Engine& engine, uint64_t operation, const Origin& origin,
                               Cta* cta, uint64_t address, uint32_t bytes, Access access) {
  if (Observer* observer = engine.observer()) {
    observer->async_access(operation, origin, cta, address, bytes, access);
  }
}

inline void end_operation(const Engine& engine, uint64_t operation) {
  if (Observer* observer = engine.observer()) {
    observer->async_end(operation);
  }
}

inline void operation_releases_group(const Engine& engine, uint64_t operation, const void* groups,
                                     uint64_t group) {
  if (Observer* observer = engine.observer()) {
    observer->group_release(operation, groups, group);
  }
}

}  // namespace emu
