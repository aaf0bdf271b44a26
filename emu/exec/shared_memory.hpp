// SPDX-License-Identifier: Apache-2.0
// Shared memory of one CTA with what the checks need to know about every 16 bytes of it.
#pragma once

#include <cstdint>
#include <vector>

namespace emu {

inline constexpr uint32_t kReservedShared = 1024;  // specification 5.4
inline constexpr uint8_t kSharedPoison = 0xE7;
inline constexpr uint32_t kGranule = 16;

// Marks of 16 bytes.
struct Granule {
  uint16_t written = 0;         // bit per byte: written since the CTA started
  uint16_t unfenced_write = 0;  // warp + 1 of the last generic write without proxy fence (9.3)
  uint32_t unfenced_read = 0;   // bit per warp: has read since its last proxy fence
  uint8_t mbarriers = 0;        // bit 0, 1: the lower, upper 8 bytes hold a valid mbarrier
  uint8_t unfenced_init = 0;    // warp + 1 whose mbarrier.init no fence has published
};

class SharedMemory {
 public:
  // Addresses 0..bytes-1, the reserved kilobyte included.
  void reset(uint32_t bytes, uint64_t random_poison_seed);  // seed 0: kSharedPoison
  uint32_t bytes() const { return static_cast<uint32_t>(data_.size()); }
  uint8_t* data() { return data_.data(); }
  const uint8_t* data() const { return data_.data(); }
  Granule& granule(uint32_t address) { return granules_[address / kGranule]; }
  const Granule& granule(uint32_t address) const { return granules_[address / kGranule]; }

  bool inside(uint32_t address, uint64_t size) const {
    return address >= kReservedShared && address + uint64_t{size} <= data_.size();
  }
  // True if every byte has been written since the CTA started.
  bool is_written(uint32_t address, uint32_t size) const;
  void mark_written(uint32_t address, uint32_t size);
  // Does a valid mbarrier lie in these bytes?
  bool touches_mbarrier(uint32_t address, uint32_t size) const;
  bool is_mbarrier(uint32_t address) const;
  void set_mbarrier(uint32_t address, bool valid);

 private:
  std::vector<uint8_t> data_;
  std::vector<Granule> granules_;
};

}  // namespace emu
