// SPDX-License-Identifier: Apache-2.0
// Bit fields and counting (specification 7.2).
#include <algorithm>
#include <bit>
#include <type_traits>

#include "isa/families.hpp"
#include "isa/lane_ops.hpp"

namespace emu {
namespace {

using ptx::Type;

// Position and length are promised for 0 to 255 only. The 32-bit forms take the low byte of each;
// the 64-bit ones are shifts by the whole number (measured on 9.0).
template <class T>
constexpr uint64_t field_number(uint32_t value) {
  return sizeof(T) == 8 ? value : value & 0xFF;
}

template <class T>
struct ExtractField {
  static T run(T a, uint32_t b, uint32_t c) {
    constexpr unsigned kWidth = 8 * sizeof(T);
    using Unsigned = std::make_unsigned_t<T>;
    const uint64_t position = field_number<T>(b);
    const uint64_t length = field_number<T>(c);
    if (length == 0) {
      return 0;
    }
    // Beyond the top: zeros, or the sign, which is that of the field's last bit inside the word.
    const auto bit = [&](uint64_t index) {
      return index < kWidth ? static_cast<unsigned>(static_cast<Unsigned>(a) >> index & 1) : 0u;
    };
    const uint64_t last = std::min<uint64_t>(position + length - 1, kWidth - 1);
    const bool fill = std::is_signed_v<T> && bit(last) != 0;
    Unsigned result = 0;
    for (unsigned index = 0; index < kWidth; ++index) {
      const bool inside = index < length && position + index < kWidth;
      result |= Unsigned{inside ? bit(position + index) : fill ? 1u : 0u} << index;
    }
    return static_cast<T>(result);
  }
};

void decode_bfe(DecodeContext& d) {
  const Type type = take_type(d);
  Handler handler = nullptr;
  switch (type) {
    case Type::u32:
      handler = lanes<ExtractField<uint32_t>, uint32_t, uint32_t, uint32_t, uint32_t>;
      break;
    case Type::s32:
      handler = lanes<ExtractField<int32_t>, int32_t, int32_t, uint32_t, uint32_t>;
      break;
    case Type::u64:
      handler = lanes<ExtractField<uint64_t>, uint64_t, uint64_t, uint32_t, uint32_t>;
      break;
    case Type::s64:
      handler = lanes<ExtractField<int64_t>, int64_t, int64_t, uint32_t, uint32_t>;
      break;
    default:
      break;
  }
  set_lanes(d, handler, type, {type, Type::u32, Type::u32});
}

template <class T>
struct InsertField {
  static T run(T field, T base, uint32_t b, uint32_t c) {
    constexpr unsigned kWidth = 8 * sizeof(T);
    const uint64_t position = field_number<T>(b);
    const uint64_t length = field_number<T>(c);
    if (length == 0 || position >= kWidth) {
      return base;
    }
    const T ones = length >= kWidth ? ~T{0} : (T{1} << length) - 1;
    const T mask = ones << position;
    return (base & ~mask) | (field << position & mask);
  }
};

void decode_bfi(DecodeContext& d) {
  const Type type = take_type(d);
  Handler handler = nullptr;
  if (type == Type::b32) {
    handler = lanes<InsertField<uint32_t>, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
  } else if (type == Type::b64) {
    handler = lanes<InsertField<uint64_t>, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>;
  }
  set_lanes(d, handler, type, {type, type, Type::u32, Type::u32});
}

// A mask of `length` ones from `position`; .wrap takes both modulo 32.
template <bool kWrap>
struct BitMask {
  static uint32_t run(uint32_t a, uint32_t b) {
    const uint32_t position = kWrap ? a & 31 : a;
    const uint32_t length = kWrap ? b & 31 : b;
    if (position >= 32 || length == 0) {
      return 0;
    }
    const uint32_t ones = length >= 32 ? ~0u : (1u << length) - 1;
    return ones << position;
  }
};
void decode_bmsk(DecodeContext& d) {
  const std::optional<size_t> mode = d.q.take_one_of({"wrap", "clamp"});
  if (!mode || take_type(d) != Type::b32) {
    d.reject("bmsk is .wrap or .clamp, .b32");
  }
  set_lanes(d,
            *mode == 0 ? lanes<BitMask<true>, uint32_t, uint32_t, uint32_t>
                       : lanes<BitMask<false>, uint32_t, uint32_t, uint32_t>,
            Type::b32, {Type::u32, Type::u32});
}

// The low `width` bits, extended; a width of zero gives zero.
template <class T, bool kWrap>
struct ExtendSign {
  static T run(T a, uint32_t b) {
    const uint32_t width = kWrap ? b & 31 : b;
    if (width == 0) {
      return 0;
    }
    if (width >= 32) {
      return a;
    }
    return static_cast<T>(static_cast<uint32_t>(a) << (32 - width)) >> (32 - width);
  }
};
void decode_szext(DecodeContext& d) {
  const std::optional<size_t> mode = d.q.take_one_of({"wrap", "clamp"});
  const Type type = take_type(d);
  if (!mode || (type != Type::s32 && type != Type::u32)) {
    d.reject("szext is .wrap or .clamp, .u32 or .s32");
  }
  const Handler handlers[] = {lanes<ExtendSign<int32_t, true>, int32_t, int32_t, uint32_t>,
                              lanes<ExtendSign<int32_t, false>, int32_t, int32_t, uint32_t>,
                              lanes<ExtendSign<uint32_t, true>, uint32_t, uint32_t, uint32_t>,
                              lanes<ExtendSign<uint32_t, false>, uint32_t, uint32_t, uint32_t>};
  set_lanes(d, handlers[(type == Type::u32 ? 2 : 0) + *mode], type, {type, Type::u32});
}

// --- counting
// --------------------------------------------------------------------------------------

template <class T>
struct PopulationCount {
  static uint32_t run(T a) { return static_cast<uint32_t>(std::popcount(a)); }
};
template <class T>
struct LeadingZeros {
  static uint32_t run(T a) { return static_cast<uint32_t>(std::countl_zero(a)); }
};
template <class T>
struct ReverseBits {
  static T run(T a) {
    T result = 0;
    for (unsigned index = 0; index < 8 * sizeof(T); ++index) {
      result = static_cast<T>(result << 1 | (a >> index & 1));
    }
    return result;
  }
};

template <template <class> class Op>
void decode_count(DecodeContext& d) {
  const Type type = take_type(d);
  Handler handler = nullptr;
  if (type == Type::b32) {
    handler = lanes<Op<uint32_t>, uint32_t, uint32_t>;
  } else if (type == Type::b64) {
    handler = lanes<Op<uint64_t>, uint32_t, uint64_t>;
  }
  set_lanes(d, handler, Type::u32, {type});
}

void decode_brev(DecodeContext& d) {
  const Type type = take_type(d);
  Handler handler = nullptr;
  if (type == Type::b32) {
    handler = lanes<ReverseBits<uint32_t>, uint32_t, uint32_t>;
  } else if (type == Type::b64) {
    handler = lanes<ReverseBits<uint64_t>, uint64_t, uint64_t>;
  }
  set_lanes(d, handler, type, {type});
}

// Position of the highest set bit; of the highest bit that differs from the sign.
template <class T, bool kShiftAmount>
struct FindLeading {
  static uint32_t run(T a) {
    constexpr unsigned kWidth = 8 * sizeof(T);
    auto bits = static_cast<std::make_unsigned_t<T>>(a);
    if constexpr (std::is_signed_v<T>) {
      bits = a < 0 ? ~bits : bits;
    }
    if (bits == 0) {
      return ~0u;
    }
    const auto zeros = static_cast<unsigned>(std::countl_zero(bits));
    return kShiftAmount ? zeros : kWidth - 1 - zeros;
  }
};

template <bool kShiftAmount>
Handler find_handler(Type type) {
  switch (type) {
    case Type::u32:
      return lanes<FindLeading<uint32_t, kShiftAmount>, uint32_t, uint32_t>;
    case Type::s32:
      return lanes<FindLeading<int32_t, kShiftAmount>, uint32_t, int32_t>;
    case Type::u64:
      return lanes<FindLeading<uint64_t, kShiftAmount>, uint32_t, uint64_t>;
    case Type::s64:
      return lanes<FindLeading<int64_t, kShiftAmount>, uint32_t, int64_t>;
    default:
      return nullptr;
  }
}
void decode_bfind(DecodeContext& d) {
  const bool shift_amount = d.q.take("shiftamt");
  const Type type = take_type(d);
  set_lanes(d, shift_amount ? find_handler<true>(type) : find_handler<false>(type), Type::u32,
            {type});
}

// The n-th set bit from `base` upwards (n > 0) or downwards (n < 0); n = 0: bit `base` itself.
struct FindNth {
  static uint32_t run(uint32_t mask, uint32_t base, int32_t n) {
    if (base >= 32) {
      return ~0u;
    }
    if (n == 0) {
      return (mask >> base & 1) != 0 ? base : ~0u;
    }
    const int step = n > 0 ? 1 : -1;
    int64_t left = n > 0 ? n : -int64_t{n};
    for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step) {
      if ((mask >> position & 1) != 0 && --left == 0) {
        return static_cast<uint32_t>(position);
      }
    }
    return ~0u;
  }
};
void decode_fns(DecodeContext& d) {
  if (take_type(d) != Type::b32) {
    d.reject("fns needs .b32");
  }
  set_lanes(d, lanes<FindNth, uint32_t, uint32_t, uint32_t, int32_t>, Type::b32,
            {Type::b32, Type::b32, Type::s32});
}

}  // namespace

void register_bit_field(OpcodeTable& table) {
  table.add("bfe", decode_bfe);
  table.add("bfi", decode_bfi);
  table.add("bmsk", decode_bmsk);
  table.add("szext", decode_szext);
  table.add("popc", decode_count<PopulationCount>);
  table.add("clz", decode_count<LeadingZeros>);
  table.add("brev", decode_brev);
  table.add("bfind", decode_bfind);
  table.add("fns", decode_fns);
}

}  // namespace emu
