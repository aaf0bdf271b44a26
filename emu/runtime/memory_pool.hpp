// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/state.hpp"

namespace emu::runtime {

// Label of stream-ordered allocations.
inline constexpr const char* kPoolLabel = "cudaMallocAsync";

// Null for an unknown handle.
MemoryPool* find_pool(Runtime& rt, cudaMemPool_t handle);
cudaMemPool_t default_pool(Runtime& rt, int device);

}  // namespace emu::runtime
