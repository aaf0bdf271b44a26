// SPDX-License-Identifier: Apache-2.0
#include "ptx/types.hpp"

#include <array>
#include <utility>

namespace emu::ptx {
namespace {

struct TypeRow {
  Type type;
  std::string_view name;
  unsigned bytes;
};

constexpr std::array<TypeRow, 22> kTypes = {{
    {Type::none, "none", 0},     {Type::pred, "pred", 0},   {Type::b8, "b8", 1},
    {Type::b16, "b16", 2},       {Type::b32, "b32", 4},     {Type::b64, "b64", 8},
    {Type::b128, "b128", 16},    {Type::u8, "u8", 1},       {Type::u16, "u16", 2},
    {Type::u32, "u32", 4},       {Type::u64, "u64", 8},     {Type::s8, "s8", 1},
    {Type::s16, "s16", 2},       {Type::s32, "s32", 4},     {Type::s64, "s64", 8},
    {Type::f16, "f16", 2},       {Type::f16x2, "f16x2", 4}, {Type::bf16, "bf16", 2},
    {Type::bf16x2, "bf16x2", 4}, {Type::tf32, "tf32", 4},   {Type::f32, "f32", 4},
    {Type::f64, "f64", 8},
}};

constexpr std::array<std::pair<Space, std::string_view>, 8> kSpaces = {{
    {Space::generic, "generic"},
    {Space::global, "global"},
    {Space::constant, "const"},
    {Space::shared, "shared"},
    {Space::shared_cta, "shared::cta"},
    {Space::shared_cluster, "shared::cluster"},
    {Space::local, "local"},
    {Space::param, "param"},
}};

}  // namespace

unsigned type_bytes(Type type) {
  return kTypes[static_cast<size_t>(type)].bytes;
}
std::string_view type_name(Type type) {
  return kTypes[static_cast<size_t>(type)].name;
}
bool is_signed(Type type) {
  return type >= Type::s8 && type <= Type::s64;
}
bool is_unsigned(Type type) {
  return type >= Type::u8 && type <= Type::u64;
}
bool is_float(Type type) {
  return type >= Type::f16;
}

std::optional<Type> type_from_name(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name && row.type != Type::none) {
      return row.type;
    }
  }
  return std::nullopt;
}

std::string_view space_name(Space space) {
  return kSpaces[static_cast<size_t>(space)].second;
}

std::optional<Space> space_from_name(std::string_view name) {
  if (name == "param::entry" || name == "param::func") {
    return Space::param;
  }
  for (const auto& [space, text] : kSpaces) {
    if (text == name && space != Space::generic) {
      return space;
    }
  }
  return std::nullopt;
}

}  // namespace emu::ptx
