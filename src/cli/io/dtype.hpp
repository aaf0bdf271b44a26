// SPDX-License-Identifier: Apache-2.0
// Element types of tensors in files, by the names of the safetensors format, and sizes of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace mxgemm::cli {

using internal::Status;

enum class Dtype {
  kBool,
  kF4,
  kF6E2m3,
  kF6E3m2,
  kU8,
  kI8,
  kF8E5m2,
  kF8E4m3,
  kF8E8m0,
  kF8E4m3Fnuz,
  kF8E5m2Fnuz,
  kI16,
  kU16,
  kF16,
  kBf16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

// Shapes are lists of dimensions, each in 0 … 2^63 - 1.
using Shape = std::vector<int64_t>;

// numpy's limit; a longer shape only makes messages and loops long.
constexpr size_t kMaxRank = 64;

// "F8_E4M3" for kF8E4m3.
const char* dtype_name(Dtype dtype);
// Bits of an element: 4, 6, 8, 16, 32 or 64.
int dtype_bits(Dtype dtype);
// Empty for a name that the format does not know.
std::optional<Dtype> find_dtype(std::string_view name);
// Every name, for messages: "BOOL, F4, …".
std::string dtype_names();

// Bytes of a tensor. Types of less than a byte are packed along the last dimension, whose rows must
// be whole bytes: IO_ERROR names the dimension that is not (F4: odd; F6: no multiple of 4), and
// says so where the size does not fit 63 bits. The shape is the logical one.
Status tensor_bytes(Dtype dtype, const Shape& shape, uint64_t* bytes);

// "[2, 8]".
std::string shape_text(const Shape& shape);

}  // namespace mxgemm::cli
