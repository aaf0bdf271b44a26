// SPDX-License-Identifier: Apache-2.0
// Every piece of memory that a kernel may touch by a global address. An address is a host address.
// Device memory comes from one reserved range and no address is ever given twice, so a use after
// free is always recognised. Between API calls and kernels the range can be kept inaccessible, so
// that host code which dereferences a device pointer faults as it does on a real machine.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace emu {

enum class MemoryKind : uint8_t {
  device,
  pinned_host,
  registered_host,
  managed,
  variable,
  constant
};

struct Allocation {
  uint64_t base = 0;
  uint64_t bytes = 0;
  int device = 0;  // -1: host memory, every device may use it
  MemoryKind kind = MemoryKind::device;
  bool freed = false;
  uint64_t number = 0;  // order of allocation in this process
  std::string label;    // "cudaMalloc", or the variable's name
  uint64_t end() const { return base + bytes; }
  bool contains(uint64_t address, uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
};

// An unchanging picture of all allocations, sorted by base: what a launch works with.
class AllocationMap {
 public:
  explicit AllocationMap(std::vector<Allocation> sorted) : list_(std::move(sorted)) {}
  // The allocation in which `address` lies (freed ones too), or null.
  const Allocation* find(uint64_t address) const;
  // The allocation nearest to `address`, or null when there is none.
  const Allocation* nearest(uint64_t address) const;
  const std::vector<Allocation>& all() const { return list_; }

 private:
  std::vector<Allocation> list_;
};

class GlobalMemory {
 public:
  static constexpr uint64_t kAlignment = 256;  // of cudaMalloc
  static constexpr uint8_t kFreshByte = 0xD7;  // specification 3.8
  static constexpr uint8_t kFreedByte = 0xDD;

  GlobalMemory();
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory&) = delete;
  GlobalMemory& operator=(const GlobalMemory&) = delete;

  // 0 when the range or the machine's memory is exhausted. Filled with kFreshByte.
  uint64_t allocate(uint64_t bytes, int device, MemoryKind kind, std::string label);
  // Memory somebody else owns (cudaHostRegister); false if it overlaps something live.
  bool adopt(uint64_t base, uint64_t bytes, int device, MemoryKind kind, std::string label);
  // Poisons and quarantines; false if `base` is not the start of a live allocation.
  bool release(uint64_t base);
  // Ends an adoption.
  bool forget(uint64_t base);
  // Everything of one device (cudaDeviceReset).
  void release_device(int device);

  std::shared_ptr<const AllocationMap> snapshot() const;
  bool find(uint64_t address, Allocation* found) const;
  // Whether `address` lies in the range that device and pinned memory come from.
  bool in_arena(uint64_t address) const;
  uint64_t live_bytes(int device) const;

  // While protection is on, memory of kind device, variable and constant may be touched only
  // between open() and close() (they nest, across threads).
  void set_protection(bool on);
  void open();
  void close();

  class Access {
   public:
    explicit Access(GlobalMemory& memory) : memory_(memory) { memory_.open(); }
    ~Access() { memory_.close(); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    GlobalMemory& memory_;
  };

 private:
  // The following want mutex_ held.
  void apply_protection();
  Allocation* locate(uint64_t base);
  void retire(Allocation* allocation);
  void retire_protected(const Allocation& allocation);
  // Returns whole pages to the system; they fault from then on.
  static void give_back(uint64_t begin, uint64_t end);
  bool is_closed() const;
  void forget_oldest_freed();

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const AllocationMap> snapshot_;  // null after a change
  std::vector<Allocation> list_;                           // sorted by base
  std::deque<std::pair<uint64_t, uint64_t>> freed_;        // begin and end, oldest first
  // Pages of live device memory, begin and end; empty: to be found anew.
  std::vector<std::pair<uint64_t, uint64_t>> live_pages_;
  uint8_t* arena_ = nullptr;  // device memory; its second half: host
  uint64_t range_ = 0;        // bytes of both halves
  uint64_t used_ = 0;         // bytes of the first half given out, guard zones included
  uint64_t used_host_ = 0;    // the same of the second half
  uint64_t next_number_ = 1;
  uint64_t quarantined_ = 0;
  bool protect_ = false;
  int open_ = 0;
};

}  // namespace emu
