// SPDX-License-Identifier: Apache-2.0
// tcgen05: tensor memory of a CTA with what the checks need, and the queues of operations that
// single threads issue.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "exec/context.hpp"
#include "isa/tensor_memory.hpp"

namespace emu {

class DecodeContext;

// Operations of one thread with one cta_group: they run in the order of issue, each at a time of
// its own.
struct TensorPipe {
  struct Entry {
    uint64_t operation;  // of the race detector
    std::function<void(uint64_t operation)> run;
  };
  std::deque<Entry> entries;
  bool running = false;
  uint64_t last_operation = 0;  // ends when the next one has begun
};

struct CtaTensor : Extension {
  struct Load {  // tcgen05.ld not waited for
    uint32_t warp;
    uint32_t first_lane;
    uint32_t lanes;
    uint32_t first_column;
    uint32_t columns;
  };
  struct OwedAllocation {  // made by the other CTA of the pair, for both
    uint32_t column;
    uint32_t columns;
  };
  TensorMemory memory;
  bool relinquished = false;
  std::deque<OwedAllocation> owed;
  uint64_t freed = 0;  // WaitState::counter of allocations that wait
  std::vector<Load> loads;
  std::vector<uint32_t> stores;                        // per warp: tcgen05.st under way
  uint64_t stored = 0;                                 // WaitState::counter of wait::st
  std::array<uint16_t, kTmemColumns> queued_writes{};  // mma and cp issued, not executed
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::shared_ptr<TensorPipe>> pipes;
};

CtaTensor& cta_tensor(Cta& cta);
// The CTAs that an operation with that cta_group works in, even rank first; empty after a fault.
std::vector<Cta*> tensor_ctas(ExecContext& ctx, uint32_t cta_group, unsigned lane);
// Takes .cta_group::1 or ::2.
uint32_t take_cta_group(DecodeContext& d);

// Appends to the issuing thread's queue.
void enqueue(ExecContext& ctx, unsigned lane, uint32_t cta_group,
             std::function<void(uint64_t operation)> run);

// The complaint if these columns are not all allocated, or, for accesses of a thread, if operations
// are queued that write them.
std::string columns_fault(const CtaTensor& tensor, uint32_t column, uint32_t count,
                          bool also_queued);
// The complaint if somebody's load of these words has not been waited for. `warp`: whose own loads
// do not count.
std::string unread_fault(const CtaTensor& tensor, uint32_t first_lane, uint32_t lanes,
                         uint32_t first_column, uint32_t columns, uint32_t warp);

}  // namespace emu
