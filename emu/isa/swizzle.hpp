// SPDX-License-Identifier: Apache-2.0
// The XOR patterns by which tensor copies and matrix descriptors spread 16-byte chunks over the
// banks of shared memory.
#pragma once

#include <cstdint>

#include "isa/tensor_map.hpp"

namespace emu {

// `offset` is absolute within the CTA's shared memory. Only bits 4 and up move: a 16-byte chunk
// stays whole. k128BAtom32Flip8 also exchanges halves of a chunk and has no such form: its users
// refuse it.
constexpr uint32_t swizzled_offset(uint32_t offset, Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::k32B:
      return offset ^ ((offset >> 3) & 0x10);
    case Swizzle::k64B:
      return offset ^ ((offset >> 3) & 0x30);
    case Swizzle::k128B:
      return offset ^ ((offset >> 3) & 0x70);
    case Swizzle::k128BAtom32:
      return offset ^ ((offset >> 2) & 0x60);
    case Swizzle::k128BAtom64:
      return offset ^ ((offset >> 1) & 0x40);
    case Swizzle::kNone:
    case Swizzle::k128BAtom32Flip8:
      break;
  }
  return offset;
}

}  // namespace emu
