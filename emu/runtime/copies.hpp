// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/session.hpp"

namespace emu::runtime {

// Rows of `width` bytes; a plain copy is one row.
struct CopyPlan {
  void* dst = nullptr;
  size_t dst_pitch = 0;
  const void* src = nullptr;
  size_t src_pitch = 0;
  size_t width = 0;
  size_t height = 1;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  // For copies that name their devices; -1: whichever they are.
  int dst_device = -1;
  int src_device = -1;
};

// Puts the copy into the stream, and waits as the synchronous functions do: not for copies within
// device memory.
cudaError_t copy(Session& s, const CopyPlan& plan, cudaStream_t stream, bool synchronous);

struct SetPlan {
  void* dst = nullptr;
  size_t pitch = 0;
  int value = 0;
  size_t width = 0;
  size_t height = 1;
};
cudaError_t set(Session& s, const SetPlan& plan, cudaStream_t stream);

// Where a pointer points.
struct Place {
  bool known = false;  // in memory of this runtime, or registered with it
  Allocation allocation;
  bool on_device() const {
    return known && allocation.kind != MemoryKind::pinned_host &&
           allocation.kind != MemoryKind::registered_host;
  }
};
// The error of touching `bytes` bytes there.
cudaError_t place_of(Session& s, const void* pointer, size_t bytes, const char* role, Place* place);

}  // namespace emu::runtime
