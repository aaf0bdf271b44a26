// SPDX-License-Identifier: Apache-2.0
// dp4a and dp2a: products of bytes, or of halves and bytes, added to a word (specification 7.1).
#include <type_traits>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

// -----------------------------------------------------------------------------------

enum DotFlag : uint8_t { kSignedA = 1, kSignedB = 2, kHigh = 4 };

struct Dot4 {
  static uint32_t run(const Instr& i, uint32_t a, uint32_t b, uint32_t c) {
    for (int shift = 0; shift < 32; shift += 8) {
      const int x = (i.mode & kSignedA) != 0 ? static_cast<int8_t>(a >> shift)
                                             : static_cast<uint8_t>(a >> shift);
      const int y = (i.mode & kSignedB) != 0 ? static_cast<int8_t>(b >> shift)
                                             : static_cast<uint8_t>(b >> shift);
      c += static_cast<uint32_t>(x * y);
    }
    return c;
  }
};
struct Dot2 {
  static uint32_t run(const Instr& i, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t bytes = (i.mode & kHigh) != 0 ? b >> 16 : b;
    for (int half = 0; half < 2; ++half) {
      const int64_t x = (i.mode & kSignedA) != 0 ? static_cast<int16_t>(a >> 16 * half)
                                                 : static_cast<uint16_t>(a >> 16 * half);
      const int64_t y = (i.mode & kSignedB) != 0 ? static_cast<int8_t>(bytes >> 8 * half)
                                                 : static_cast<uint8_t>(bytes >> 8 * half);
      c += static_cast<uint32_t>(x * y);
    }
    return c;
  }
};

template <class Op>
void decode_dot(DecodeContext& d) {
  if (std::is_same_v<Op, Dot2>) {
    const std::optional<size_t> half = d.q.take_one_of({"lo", "hi"});
    if (!half) {
      d.reject(".lo or .hi is missing");
    }
    d.instr.mode = *half == 1 ? kHigh : 0;
  }
  const Type a = take_type(d);
  const Type b = take_type(d);
  const auto right = [](Type type) { return type == Type::s32 || type == Type::u32; };
  if (!right(a) || !right(b)) {
    d.reject("types are .s32 or .u32");
  }
  d.instr.mode |=
      static_cast<uint8_t>((a == Type::s32 ? kSignedA : 0) | (b == Type::s32 ? kSignedB : 0));
  set_lanes(d, lanes_with_fields<Op, uint32_t, uint32_t, uint32_t, uint32_t>, Type::b32,
            {Type::b32, Type::b32, Type::b32});
}

}  // namespace

void register_dot(OpcodeTable& table) {
  table.add("dp4a", decode_dot<Dot4>);
  table.add("dp2a", decode_dot<Dot2>);
}

}  // namespace emu
