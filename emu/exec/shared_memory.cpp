// SPDX-License-Identifier: Apache-2.0
#include "exec/shared_memory.hpp"

#include <algorithm>
#include <cstring>

#include "exec/random.hpp"

namespace emu {
namespace {

// Calls f(granule, mask of the bytes that lie in it) for every granule of the range.
template <class Granules, class F>
void for_granules(Granules& granules, uint32_t address, uint32_t size, F f) {
  const uint32_t end = address + size;
  while (address < end) {
    const uint32_t within = address % kGranule;
    const uint32_t count = std::min(kGranule - within, end - address);
    const uint32_t mask = ((1u << count) - 1) << within;
    f(granules[address / kGranule], mask);
    address += count;
  }
}

}  // namespace

void SharedMemory::reset(uint32_t bytes, uint64_t random_poison_seed) {
  data_.assign(bytes, kSharedPoison);
  if (random_poison_seed != 0) {
    Random random(random_poison_seed);
    std::generate(data_.begin(), data_.end(), [&] { return static_cast<uint8_t>(random.next()); });
  }
  granules_.assign((bytes + kGranule - 1) / kGranule, Granule{});
}

bool SharedMemory::is_written(uint32_t address, uint32_t size) const {
  bool all = true;
  for_granules(granules_, address, size,
               [&](const Granule& g, uint32_t mask) { all = all && (g.written & mask) == mask; });
  return all;
}

void SharedMemory::mark_written(uint32_t address, uint32_t size) {
  for_granules(granules_, address, size,
               [](Granule& g, uint32_t mask) { g.written |= static_cast<uint16_t>(mask); });
}

bool SharedMemory::touches_mbarrier(uint32_t address, uint32_t size) const {
  bool touches = false;
  for_granules(granules_, address, size, [&](const Granule& g, uint32_t mask) {
    touches = touches || ((g.mbarriers & 1) != 0 && (mask & 0x00FF) != 0) ||
              ((g.mbarriers & 2) != 0 && (mask & 0xFF00) != 0);
  });
  return touches;
}

bool SharedMemory::is_mbarrier(uint32_t address) const {
  return address % 8 == 0 && (granule(address).mbarriers >> (address / 8 % 2) & 1) != 0;
}

void SharedMemory::set_mbarrier(uint32_t address, bool valid) {
  const auto bit = static_cast<uint8_t>(1u << (address / 8 % 2));
  Granule& g = granule(address);
  g.mbarriers = static_cast<uint8_t>(valid ? g.mbarriers | bit : g.mbarriers & ~bit);
}

}  // namespace emu
