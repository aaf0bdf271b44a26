// SPDX-License-Identifier: Apache-2.0
// PTX's fundamental types and state spaces.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace emu::ptx {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f64,
};

// Bytes of one value in memory and in a register; 0 for none and pred.
unsigned type_bytes(Type type);
bool is_signed(Type type);    // s8..s64
bool is_unsigned(Type type);  // u8..u64
bool is_float(Type type);     // f16..f64, packed ones included
std::string_view type_name(Type type);
// "f32" (no dot); empty for anything that is not a fundamental type.
std::optional<Type> type_from_name(std::string_view name);

// The space that an instruction or a variable names. `shared` is the unqualified spelling, which
// means the executing CTA's own window, as shared_cta does.
enum class Space : uint8_t {
  generic,
  global,
  constant,
  shared,
  shared_cta,
  shared_cluster,
  local,
  param,
};

std::string_view space_name(Space space);
// "global", "const", "shared", "shared::cta", "shared::cluster", "local", "param",
// "param::entry", "param::func".
std::optional<Space> space_from_name(std::string_view name);
inline bool is_shared(Space space) {
  return space == Space::shared || space == Space::shared_cta || space == Space::shared_cluster;
}

}  // namespace emu::ptx
