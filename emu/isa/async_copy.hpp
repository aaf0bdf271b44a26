// SPDX-License-Identifier: Apache-2.0
// Bulk and tensor copies once their operands are known: chains of events that read the source,
// write the destination and signal, each at a time of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/context.hpp"
#include "isa/async_state.hpp"
#include "isa/mbarrier.hpp"
#include "isa/swizzle.hpp"

namespace emu {

// How the rows of a box lie in shared memory. A copy without a tensor map is one row.
struct BoxLayout {
  Swizzle swizzle = Swizzle::kNone;
  uint32_t row_bytes = 0;  // multiples of 16; they matter with a swizzle only
  uint32_t pitch = 0;
};

// A run of bytes that is contiguous in global memory and in the box.
struct CopyPiece {
  uint8_t* global = nullptr;
  uint32_t linear = 0;  // offset in the box: row behind row, not swizzled
  uint32_t bytes = 0;
};

// One CTA that receives a load, and the mbarrier that hears of it.
struct LoadTarget {
  Cta* cta = nullptr;
  uint32_t offset = 0;
  MbarrierRef mbarrier;
};

// Changes elements on their way, in place.
using Conversion = void (*)(uint8_t* elements, uint32_t bytes);

struct AsyncLoad {
  std::vector<CopyPiece> pieces;
  Conversion conversion = nullptr;  // of what comes from `pieces`; null: as it is
  std::vector<uint8_t> data;  // the box; starts with the values of elements outside the tensor
  BoxLayout layout;
  std::vector<LoadTarget> targets;
  uint32_t signal_bytes = 0;
  Cta* source = nullptr;  // set: the source is shared memory, not `pieces`
  uint32_t source_offset = 0;
  Origin origin;
  uint64_t operation = 0;  // of the race detector
  size_t targets_left = 0;
};

// False after a fault (a source in shared memory that no proxy fence has published).
bool start_load(ExecContext& ctx, std::shared_ptr<AsyncLoad> load);

// Combines `bytes` at `from` into `to`; null for a plain copy.
using Reduction = void (*)(uint8_t* to, const uint8_t* from, uint32_t bytes);

struct AsyncStore {
  std::vector<CopyPiece> pieces;
  std::vector<uint8_t> data;
  BoxLayout layout;
  Cta* source = nullptr;
  uint32_t source_offset = 0;
  Reduction reduction = nullptr;
  std::shared_ptr<AsyncState>
      state;  // of the issuing warp; the operation joins the lane's open bulk group
  unsigned lane = 0;
  uint64_t group = 0;
  Origin origin;
  uint64_t operation = 0;
};

bool start_store(ExecContext& ctx, std::shared_ptr<AsyncStore> store);

// The asynchronous proxy is about to read, or reads, these bytes: every generic write to them must
// have been published by fence.proxy.async, and each byte must have been written. Empty, or the
// complaint.
std::string async_read_fault(const Engine& engine, const Cta& cta, uint32_t offset, uint32_t bytes);

// Writes by the asynchronous proxy: bytes, marks, and the check that no mbarrier is hit. Empty, or
// the complaint.
std::string async_write(Cta& cta, uint32_t offset, const uint8_t* from, uint32_t bytes);

}  // namespace emu
