// SPDX-License-Identifier: Apache-2.0
// The 128-byte tensor map: what it says, when it is valid, and how its bytes are laid out. Pure
// functions: the encoder (cuTensorMapEncodeTiled) and the interpreter of tensor copies share them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace emu {

// The numbers are those of the driver interface.
enum class TensorType : uint8_t {
  kU8 = 0,
  kU16 = 1,
  kU32 = 2,
  kS32 = 3,
  kU64 = 4,
  kS64 = 5,
  kF16 = 6,
  kF32 = 7,
  kF64 = 8,
  kBf16 = 9,
  kF32Ftz = 10,
  kTf32 = 11,
  kTf32Ftz = 12,
  kU4Packed = 13,   // 16U4_ALIGN8B: two elements per byte everywhere
  kU4Align16 = 14,  // 16U4_ALIGN16B: 16 elements = 8 data bytes + 8 pad bytes in shared memory
  kU6Align16 = 15,  // 16U6_ALIGN16B: 16 elements = 12 data bytes + 4 pad bytes in shared memory
};

enum class Swizzle : uint8_t {
  kNone = 0,
  k32B = 1,
  k64B = 2,
  k128B = 3,
  k128BAtom32 = 4,
  k128BAtom32Flip8 = 5,
  k128BAtom64 = 6,
};

enum class Interleave : uint8_t { kNone = 0, k16B = 1, k32B = 2 };
enum class OutOfBoundsFill : uint8_t { kZeros = 0, kNan = 1 };

inline constexpr uint32_t kTensorMapMaxRank = 5;
inline constexpr std::size_t kTensorMapBytes = 128;
inline constexpr std::size_t kTensorMapAlignment = 64;

// Entries past the rank are as of extent 1: the encoder fills them, decode returns them.
struct TensorMap {
  uint64_t address = 0;
  TensorType type = TensorType::kU8;
  uint32_t rank = 1;
  std::array<uint64_t, kTensorMapMaxRank> dims{1, 1, 1, 1, 1};  // elements
  std::array<uint64_t, kTensorMapMaxRank - 1> strides{};        // bytes, of dimensions 1..
  std::array<uint32_t, kTensorMapMaxRank> box{1, 1, 1, 1, 1};   // elements
  std::array<uint32_t, kTensorMapMaxRank> element_strides{1, 1, 1, 1, 1};  // [0] has no effect
  Interleave interleave = Interleave::kNone;
  Swizzle swizzle = Swizzle::kNone;
  uint8_t l2_promotion = 0;  // kept, without effect
  OutOfBoundsFill fill = OutOfBoundsFill::kZeros;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

using TensorMapObject = std::array<std::byte, kTensorMapBytes>;

// Bits of one element in global memory.
uint32_t tensor_element_bits(TensorType type);
// Bytes that a row of the box takes in shared memory, padding of the aligned types included.
uint32_t tensor_row_shared_bytes(const TensorMap& map);
// From row to row of the box in shared memory: with a swizzle all the bytes that it spans, however
// few a row has.
uint32_t tensor_row_pitch(const TensorMap& map);
// Rows of the box in shared memory: the product of ceil(box / element stride) over dimensions 1..
uint64_t tensor_box_rows(const TensorMap& map);
// Data bytes of the full box: what a load signals. Padding does not count, elements outside the
// tensor do.
uint64_t tensor_box_data_bytes(const TensorMap& map);
// The full box, padding included, without the gaps between its rows.
uint64_t tensor_box_linear_bytes(const TensorMap& map);
// Shared memory that the full box takes, with the gaps.
uint64_t tensor_box_shared_bytes(const TensorMap& map);

// Empty when `map` is valid; else one line that names the argument, its value and what is allowed.
// The enumerations may hold numbers outside their lists: those are reported too.
std::string tensor_map_fault(const TensorMap& map);

// `map` must be valid.
TensorMapObject encode_tensor_map(const TensorMap& map);

struct DecodedTensorMap {
  TensorMap map;
  std::string fault;  // empty when the bytes are an intact tensor map
};
DecodedTensorMap decode_tensor_map(const std::byte* object);

}  // namespace emu
