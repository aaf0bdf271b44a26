// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic on sizes: rounding, and products and sums that notice overflow.
#pragma once

#include <concepts>
#include <optional>

namespace mxgemm::internal {

// Both need value >= 0, step > 0.
template <std::integral T>
constexpr T ceil_div(T value, T step) {
  return value / step + (value % step != 0 ? 1 : 0);
}

template <std::integral T>
constexpr T round_up(T value, T step) {
  return ceil_div(value, step) * step;
}

// Empty where the result does not fit T.
template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) {
    return std::nullopt;
  }
  return result;
}

template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace mxgemm::internal
