// SPDX-License-Identifier: Apache-2.0
// What both files of mma.sync share.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "isa/decode.hpp"
#include "isa/mma_fragment.hpp"
#include "num/matrix.hpp"

namespace emu {

// An operand's element type as PTX names it, and its place in a register.
struct MmaElement {
  enum class Kind : uint8_t { floating, integer };
  Kind kind = Kind::floating;
  num::ElementType type = num::ElementType::f16;
  bool is_signed = false;  // integers
  unsigned bits = 16;      // of its container
  int right_shift = 0;     // of the code in its container
};
// nullopt: not an element type. `packed`: 4-bit types without padding (K = 64).
std::optional<MmaElement> mma_element(std::string_view name, bool packed);

// The type names of the opcode in their order (D, A, B, C, and of scales), taken.
std::vector<std::string_view> take_mma_types(DecodeContext& d);

// The elements of one operand as registers of type `slot`; rejects any other number of them.
void add_fragment(DecodeContext& d, size_t index, ptx::Type slot, unsigned registers, bool result,
                  const char* name);

// kind::mxf8f6f4, mxf4 and mxf4nvf4 with .block_scale: isa/mma_block_scale.cpp.
void decode_mma_block_scale(DecodeContext& d, std::string_view kind);

// Capabilities 9.0 to 10.3 multiply no 8-bit floating point in mma.sync: isa/mma_unpacked.cpp.
bool unpacks_fp8(uint32_t capability);
// D = C + A B as they do it. e4m3 or e5m2.
void multiply_unpacked(const MmaShape& shape, num::ElementType a, num::ElementType b,
                       bool f16_accumulators, const MmaCodes& codes, MmaAccumulators& accumulators);

// All lanes of the warp, or a fault.
bool mma_warp_is_whole(ExecContext& ctx, uint32_t active);
num::MmaModel mma_model(const ExecContext& ctx);

}  // namespace emu
