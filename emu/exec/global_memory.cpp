// SPDX-License-Identifier: Apache-2.0
#include "exec/global_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace emu {
namespace {

// No address is given twice, so the ranges are as large as a process can well reserve; memory is
// taken page by page as it is used. Half of it holds device memory, half pinned host memory.
constexpr uint64_t kLargestRange = uint64_t{1} << 41;
constexpr uint64_t kSmallestRange = uint64_t{1} << 34;
// Between two allocations, and so on either side of each: addresses in it belong to nothing.
constexpr uint64_t kGuardBytes = 1024;
// Freed memory keeps its poison until this much is freed; the oldest pages are then given back.
constexpr uint64_t kQuarantineBytes = uint64_t{64} << 20;
// Freed allocations that are remembered by name.
constexpr size_t kRememberedFreed = 4096;

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

uint64_t round_up(uint64_t value, uint64_t step) {
  return (value + step - 1) / step * step;
}

uint8_t* pointer(uint64_t address) {
  return reinterpret_cast<uint8_t*>(address);
}

void protect(uint64_t begin, uint64_t end, int protection) {
  if (end > begin && mprotect(pointer(begin), end - begin, protection) != 0) {
    throw std::system_error(errno, std::generic_category(), "emulated device memory: mprotect");
  }
}

// What the machine can still give, in bytes; all there is where it does not say.
uint64_t available_bytes() {
  std::FILE* const file = std::fopen("/proc/meminfo", "r");
  if (file == nullptr) {
    return UINT64_MAX;
  }
  char line[256];
  unsigned long long kib = 0;
  bool found = false;
  while (!found && std::fgets(line, sizeof(line), file) != nullptr) {
    found = std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
  }
  std::fclose(file);
  return found ? kib << 10 : UINT64_MAX;
}

bool is_host_kind(MemoryKind kind) {
  return kind == MemoryKind::pinned_host || kind == MemoryKind::managed;
}

bool overlaps(const Allocation& allocation, uint64_t base, uint64_t bytes) {
  return !allocation.freed && base < allocation.end() && allocation.base < base + bytes;
}

// The last allocation that starts at or before `address`; end() where there is none.
std::vector<Allocation>::const_iterator last_not_after(const std::vector<Allocation>& list,
                                                       uint64_t address) {
  const auto next = std::upper_bound(
      list.begin(), list.end(), address,
      [](uint64_t value, const Allocation& allocation) { return value < allocation.base; });
  return next == list.begin() ? list.end() : next - 1;
}

}  // namespace

const Allocation* AllocationMap::find(uint64_t address) const {
  const auto found = last_not_after(list_, address);
  return found != list_.end() && address - found->base < std::max<uint64_t>(found->bytes, 1)
             ? &*found
             : nullptr;
}

const Allocation* AllocationMap::nearest(uint64_t address) const {
  if (list_.empty()) {
    return nullptr;
  }
  const auto before = last_not_after(list_, address);
  if (before == list_.end()) {
    return &list_.front();
  }
  const auto after = before + 1;
  if (after == list_.end() || address < before->end()) {
    return &*before;
  }
  return address - before->end() < after->base - address ? &*before : &*after;
}

GlobalMemory::GlobalMemory() {
  void* range = MAP_FAILED;
  for (range_ = kLargestRange; range == MAP_FAILED && range_ >= kSmallestRange;) {
    range = mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    range_ = range == MAP_FAILED ? range_ / 2 : range_;
    if (range != MAP_FAILED) {
      break;
    }
  }
  if (range == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            "emulated device memory: no address range");
  }
  arena_ = static_cast<uint8_t*>(range);
}

GlobalMemory::~GlobalMemory() {
  munmap(arena_, range_);
}

bool GlobalMemory::in_arena(uint64_t address) const {
  return address - reinterpret_cast<uint64_t>(arena_) < range_;
}

uint64_t GlobalMemory::allocate(uint64_t bytes, int device, MemoryKind kind, std::string label) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool host = is_host_kind(kind);
  const uint64_t half = range_ / 2;
  uint64_t& used = host ? used_host_ : used_;
  // Host memory is opened for good, and only whole pages can be; so nothing else shares them.
  const uint64_t alignment = host ? page_bytes() : kAlignment;
  const uint64_t offset = round_up(used + kGuardBytes, alignment);
  if (bytes > half || offset > half - bytes || bytes > available_bytes()) {
    return 0;
  }
  const uint64_t arena = reinterpret_cast<uint64_t>(arena_) + (host ? half : 0);
  const uint64_t base = arena + offset;
  const uint64_t last_page_end = round_up(base + bytes, page_bytes());
  const uint64_t first_page = base / page_bytes() * page_bytes();
  protect(first_page, last_page_end, PROT_READ | PROT_WRITE);
  std::memset(pointer(base), kFreshByte, bytes);
  if (!host && is_closed()) {
    protect(first_page, last_page_end, PROT_NONE);
  }
  used = offset + bytes;
  Allocation fresh{base, bytes, host ? -1 : device, kind, false, next_number_++, std::move(label)};
  list_.insert(std::upper_bound(list_.begin(), list_.end(), base,
                                [](uint64_t value, const Allocation& allocation) {
                                  return value < allocation.base;
                                }),
               std::move(fresh));
  snapshot_.reset();
  live_pages_.clear();
  return base;
}

bool GlobalMemory::adopt(uint64_t base, uint64_t bytes, int device, MemoryKind kind,
                         std::string label) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes == 0 || base + bytes < base ||
      std::any_of(list_.begin(), list_.end(),
                  [&](const Allocation& each) { return overlaps(each, base, bytes); })) {
    return false;
  }
  Allocation fresh{base, bytes, device, kind, false, next_number_++, std::move(label)};
  list_.insert(std::upper_bound(list_.begin(), list_.end(), base,
                                [](uint64_t value, const Allocation& allocation) {
                                  return value < allocation.base;
                                }),
               std::move(fresh));
  snapshot_.reset();
  return true;
}

Allocation* GlobalMemory::locate(uint64_t base) {
  const auto found = last_not_after(list_, base);
  if (found == list_.end() || found->base != base || found->freed) {
    return nullptr;
  }
  return &list_[static_cast<size_t>(found - list_.begin())];
}

bool GlobalMemory::release(uint64_t base) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Allocation* const allocation = locate(base);
  if (allocation == nullptr || allocation->kind == MemoryKind::registered_host) {
    return false;
  }
  retire(allocation);
  return true;
}

void GlobalMemory::retire(Allocation* allocation) {
  allocation->freed = true;
  snapshot_.reset();
  live_pages_.clear();
  if (is_host_kind(allocation->kind)) {
    // Host code that goes on using it faults.
    give_back(allocation->base, round_up(allocation->end(), page_bytes()));
  } else if (protect_) {
    retire_protected(*allocation);
  } else {
    std::memset(pointer(allocation->base), kFreedByte, allocation->bytes);
    quarantined_ += allocation->bytes;
    freed_.push_back({allocation->base, allocation->end()});
  }
  while (quarantined_ > kQuarantineBytes && !freed_.empty()) {
    const auto [oldest, oldest_end] = freed_.front();
    freed_.pop_front();
    quarantined_ -= oldest_end - oldest;
    give_back(round_up(oldest, page_bytes()), oldest_end / page_bytes() * page_bytes());
  }
  forget_oldest_freed();
}

// Nobody can read its pages any more, so they need no poison; what lies in pages that live
// allocations use, too, does.
void GlobalMemory::retire_protected(const Allocation& allocation) {
  const uint64_t first = allocation.base / page_bytes() * page_bytes();
  const uint64_t last = round_up(allocation.end(), page_bytes());
  uint64_t own_first = first;
  uint64_t own_last = last;
  for (const Allocation& each : list_) {
    if (each.freed || is_host_kind(each.kind) || each.kind == MemoryKind::registered_host) {
      continue;
    }
    if (each.base < allocation.base) {
      own_first = std::max(own_first, round_up(each.end(), page_bytes()));
    } else {
      own_last = std::min(own_last, each.base / page_bytes() * page_bytes());
    }
  }
  protect(first, last, PROT_READ | PROT_WRITE);
  const uint64_t head_end = std::min(allocation.end(), std::max(own_first, allocation.base));
  std::memset(pointer(allocation.base), kFreedByte, head_end - allocation.base);
  const uint64_t tail = std::max(allocation.base, std::min(own_last, allocation.end()));
  std::memset(pointer(tail), kFreedByte, allocation.end() - tail);
  if (is_closed()) {
    protect(first, last, PROT_NONE);
  }
  give_back(own_first, own_last);
}

void GlobalMemory::give_back(uint64_t begin, uint64_t end) {
  if (end > begin) {
    madvise(pointer(begin), end - begin, MADV_DONTNEED);
    protect(begin, end, PROT_NONE);
  }
}

void GlobalMemory::forget_oldest_freed() {
  const auto count = static_cast<size_t>(
      std::count_if(list_.begin(), list_.end(), [](const Allocation& each) { return each.freed; }));
  if (count <= kRememberedFreed) {
    return;
  }
  std::vector<uint64_t> numbers;
  for (const Allocation& each : list_) {
    if (each.freed) {
      numbers.push_back(each.number);
    }
  }
  // Half of them at once, so that this is rare.
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  std::erase_if(list_, [&](const Allocation& each) { return each.freed && each.number < *middle; });
}

bool GlobalMemory::forget(uint64_t base) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Allocation* const allocation = locate(base);
  if (allocation == nullptr || allocation->kind != MemoryKind::registered_host) {
    return false;
  }
  list_.erase(list_.begin() + (allocation - list_.data()));
  snapshot_.reset();
  return true;
}

void GlobalMemory::release_device(int device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // By base: retiring one may drop records of others.
  std::vector<uint64_t> bases;
  for (const Allocation& each : list_) {
    if (each.device == device && !each.freed && each.kind != MemoryKind::registered_host) {
      bases.push_back(each.base);
    }
  }
  for (const uint64_t base : bases) {
    retire(locate(base));
  }
}

std::shared_ptr<const AllocationMap> GlobalMemory::snapshot() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (snapshot_ == nullptr) {
    snapshot_ = std::make_shared<AllocationMap>(list_);
  }
  return snapshot_;
}

bool GlobalMemory::find(uint64_t address, Allocation* found) const {
  const Allocation* const allocation = snapshot()->find(address);
  if (allocation != nullptr) {
    *found = *allocation;
  }
  return allocation != nullptr;
}

uint64_t GlobalMemory::live_bytes(int device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t total = 0;
  for (const Allocation& each : list_) {
    total += each.device == device && !each.freed ? each.bytes : 0;
  }
  return total;
}

void GlobalMemory::set_protection(bool on) {
  const std::lock_guard<std::mutex> lock(mutex_);
  protect_ = on;
  const uint64_t begin = reinterpret_cast<uint64_t>(arena_);
  protect(begin, begin + round_up(used_, page_bytes()), on ? PROT_NONE : PROT_READ | PROT_WRITE);
  apply_protection();
}

void GlobalMemory::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (++open_ == 1) {
    apply_protection();
  }
}

void GlobalMemory::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--open_ == 0) {
    apply_protection();
  }
}

bool GlobalMemory::is_closed() const {
  return protect_ && open_ == 0;
}

// Only pages that live allocations use change: the range grows all the time, and what was freed
// stays closed.
void GlobalMemory::apply_protection() {
  if (!protect_) {
    return;
  }
  if (live_pages_.empty()) {
    for (const Allocation& each : list_) {
      if (each.freed || is_host_kind(each.kind) || each.kind == MemoryKind::registered_host) {
        continue;
      }
      const uint64_t begin = each.base / page_bytes() * page_bytes();
      const uint64_t end = round_up(each.end(), page_bytes());
      if (!live_pages_.empty() && begin <= live_pages_.back().second) {
        live_pages_.back().second = end;
      } else {
        live_pages_.push_back({begin, end});
      }
    }
  }
  for (const auto& [begin, end] : live_pages_) {
    protect(begin, end, is_closed() ? PROT_NONE : PROT_READ | PROT_WRITE);
  }
}

}  // namespace emu
