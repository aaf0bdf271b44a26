// SPDX-License-Identifier: Apache-2.0
// The 64-bit shared-memory matrix descriptor of tcgen05 and the 32-bit instruction descriptor of
// its block-scaled kinds.
#pragma once

#include <cstdint>
#include <string>

#include "isa/swizzle.hpp"

namespace emu {

struct SharedMatrix {
  uint32_t start = 0;    // bytes, 18 bits: the CTA rank does not survive
  uint32_t leading = 0;  // bytes between 16-byte columns where nothing is swizzled
  uint32_t stride = 0;   // bytes between groups of 8 rows
  Swizzle swizzle = Swizzle::kNone;
  uint32_t pitch = 16;  // bytes between rows of a group
};

struct DecodedSharedMatrix {
  SharedMatrix matrix;
  std::string fault;
};
DecodedSharedMatrix decode_shared_matrix(uint64_t descriptor);

// Offset of byte `kb` of `row` in the CTA's shared memory, K-major. Runs of 16 bytes from multiples
// of 16 are contiguous.
inline uint32_t shared_matrix_offset(const SharedMatrix& m, uint32_t row, uint32_t kb) {
  constexpr uint32_t kAddressMask = (1u << 18) - 1;
  const uint32_t base = m.start + (row % 8) * m.pitch + (row / 8) * m.stride;
  if (m.swizzle == Swizzle::kNone) {
    return (base + kb % 16 + kb / 16 * m.leading) & kAddressMask;
  }
  return swizzled_offset((base + kb) & kAddressMask, m.swizzle);
}

enum class BlockScaledKind : uint8_t { kMxf8f6f4, kMxf4, kMxf4Nvf4 };

// Numbers of the mxf8f6f4 kind; the 4-bit kinds write e2m1 as 1 and decode to kE2m1.
enum class OperandType : uint8_t { kE4m3 = 0, kE5m2 = 1, kE2m3 = 3, kE3m2 = 4, kE2m1 = 5 };

struct InstructionDescriptor {
  OperandType a = OperandType::kE2m1;
  OperandType b = OperandType::kE2m1;
  bool negate_a = false;
  bool negate_b = false;
  bool ue8m0 = true;  // else ue4m3
  uint32_t m = 128;
  uint32_t n = 8;
  uint32_t scale_id_a = 0;
  uint32_t scale_id_b = 0;
};

struct DecodedInstruction {
  InstructionDescriptor instruction;
  std::string fault;
};
// `scales_per_row`: 1, 2 or 4 scales along K of one instruction; `cta_group`: 1 or 2.
DecodedInstruction decode_instruction(uint32_t descriptor, BlockScaledKind kind,
                                      uint32_t scales_per_row, uint32_t cta_group);

}  // namespace emu
