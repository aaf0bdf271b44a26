// SPDX-License-Identifier: Apache-2.0
// Problems for hopper_gemm: exact ones, whose products anyone can check, and wide ones, whose bits
// only the accumulation of the hardware explains.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gemm.hpp"

namespace emu::tests {

struct GemmSize {
  int m;
  int n;
  int k;
};

inline constexpr GemmSize kGemmSizes[] = {{128, 64, 64},  {1, 8, 8},      {64, 64, 512},
                                          {133, 72, 136}, {300, 136, 80}, {65, 130, 320}};

inline std::string name_of(const GemmSize& size) {
  std::ostringstream out;
  out << size.m << "x" << size.n << "x" << size.k;
  return out.str();
}

// Small integers as bf16: no order of summation rounds.
inline std::vector<int> gemm_integers(int count, std::mt19937& random) {
  std::vector<int> values(static_cast<size_t>(count));
  for (int& value : values) {
    value = static_cast<int>(random() % 9) - 4;
  }
  return values;
}
inline std::vector<uint16_t> gemm_codes(const std::vector<int>& values) {
  std::vector<uint16_t> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(values[i]));
    result[i] = static_cast<uint16_t>(bits >> 16);
  }
  return result;
}

// The complaint, or "".
inline std::string check_exact_product(const GemmSize& size) {
  std::mt19937 random(5);
  const std::vector<int> a = gemm_integers(size.m * size.k, random);
  const std::vector<int> b = gemm_integers(size.n * size.k, random);
  std::vector<float> d(static_cast<size_t>(size.m) * size.n, -1e30f);
  if (const char* error = hopper_gemm(size.m, size.n, size.k, gemm_codes(a).data(),
                                      gemm_codes(b).data(), d.data())) {
    return error;
  }
  for (int m = 0; m < size.m; ++m) {
    for (int n = 0; n < size.n; ++n) {
      int sum = 0;
      for (int k = 0; k < size.k; ++k) {
        sum += a[m * size.k + k] * b[n * size.k + k];
      }
      const float got = d[static_cast<size_t>(m) * size.n + n];
      if (got != static_cast<float>(sum)) {
        return name_of(size) + " at " + std::to_string(m) + ", " + std::to_string(n) + ": " +
               std::to_string(got) + " instead of " + std::to_string(sum);
      }
    }
  }
  return {};
}

// bf16 over 24 binades, so that nearly every sum is cut somewhere.
inline std::vector<uint16_t> wide_codes(int count, std::mt19937& random) {
  std::vector<uint16_t> codes(static_cast<size_t>(count));
  for (uint16_t& code : codes) {
    const uint32_t exponent = 127 - 12 + random() % 24;
    code = static_cast<uint16_t>((random() & 0x8000u) | exponent << 7 | (random() & 0x7Fu));
  }
  return codes;
}

// "MxNxK <hash of the bits of D>" for wide data (FNV-1a, 64 bits); the error's name on failure.
inline std::string wide_hash(const GemmSize& size) {
  std::mt19937 random(11);
  const std::vector<uint16_t> a = wide_codes(size.m * size.k, random);
  const std::vector<uint16_t> b = wide_codes(size.n * size.k, random);
  std::vector<float> d(static_cast<size_t>(size.m) * size.n);
  if (const char* error = hopper_gemm(size.m, size.n, size.k, a.data(), b.data(), d.data())) {
    return name_of(size) + " " + error;
  }
  uint64_t hash = 0xCBF29CE484222325u;
  for (const float value : d) {
    const auto bits = std::bit_cast<uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ (bits >> shift & 0xFF)) * 0x100000001B3u;
    }
  }
  std::ostringstream out;
  out << name_of(size) << " " << std::hex << hash;
  return out.str();
}

}  // namespace emu::tests
