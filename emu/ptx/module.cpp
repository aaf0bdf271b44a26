// SPDX-License-Identifier: Apache-2.0
#include "ptx/module.hpp"

namespace emu::ptx {
namespace {

// Calls find(scope) from the inside out until it gives something.
template <class Find>
auto walk(const std::vector<Scope>& scopes, uint32_t scope, Find find)
    -> decltype(find(scopes[0])) {
  while (true) {
    if (auto found = find(scopes[scope])) {
      return found;
    }
    if (scopes[scope].parent == scope) {
      return {};
    }
    scope = scopes[scope].parent;
  }
}

template <class Map>
std::optional<typename Map::mapped_type> look_up(const Map& map, std::string_view name) {
  const auto found = map.find(name);
  return found == map.end() ? std::nullopt : std::optional(found->second);
}

std::optional<uint32_t> look_up_range(const Scope& scope, std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
    --digits;
    // "%r12" may belong to %r<20> or to %r1<5>; a number has no leading zeros.
    const std::string_view number = name.substr(digits);
    if (number.size() > 9 || (number.size() > 1 && number[0] == '0')) {
      continue;
    }
    const auto found = scope.ranges.find(name.substr(0, digits));
    if (found == scope.ranges.end()) {
      continue;
    }
    uint32_t value = 0;
    for (const char c : number) {
      value = value * 10 + static_cast<uint32_t>(c - '0');
    }
    if (value < found->second.count) {
      return found->second.first + value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> Function::find_register(uint32_t scope, std::string_view wanted) const {
  return walk(scopes, scope, [&](const Scope& s) -> std::optional<uint32_t> {
    if (const auto single = look_up(s.registers, wanted)) {
      return single;
    }
    return s.ranges.empty() ? std::nullopt : look_up_range(s, wanted);
  });
}

std::optional<uint32_t> Function::find_variable(uint32_t scope, std::string_view wanted) const {
  return walk(scopes, scope, [&](const Scope& s) { return look_up(s.variables, wanted); });
}

std::optional<uint32_t> Function::find_label(uint32_t scope, std::string_view wanted) const {
  return walk(scopes, scope, [&](const Scope& s) { return look_up(s.labels, wanted); });
}

const std::vector<std::string_view>* Function::find_targets(uint32_t scope,
                                                            std::string_view wanted) const {
  return walk(scopes, scope, [&](const Scope& s) -> const std::vector<std::string_view>* {
    const auto found = s.targets.find(wanted);
    return found == s.targets.end() ? nullptr : &found->second;
  });
}

const Variable* Module::find_variable(std::string_view variable) const {
  const Variable* found = nullptr;
  for (const Variable& v : variables) {
    if (v.name == variable && (found == nullptr || found->is_extern)) {
      found = &v;
    }
  }
  return found;
}

const Function* Module::find_function(std::string_view function) const {
  const Function* found = nullptr;
  for (const Function& f : functions) {
    if (f.name == function && (found == nullptr || !found->has_body)) {
      found = &f;
    }
  }
  return found;
}

}  // namespace emu::ptx
