// SPDX-License-Identifier: Apache-2.0
#include "cli/io/dtype.hpp"

#include <iterator>

#include "base/math.hpp"
#include "cli/io/file_error.hpp"

namespace mxgemm::cli {
namespace {

struct DtypeInfo {
  const char* name;
  int bits;
};

// In the order of the enum.
constexpr DtypeInfo kDtypes[] = {
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
};
static_assert(std::size(kDtypes) == static_cast<size_t>(Dtype::kU64) + 1);

const DtypeInfo& info(Dtype dtype) {
  return kDtypes[static_cast<size_t>(dtype)];
}

}  // namespace

const char* dtype_name(Dtype dtype) {
  return info(dtype).name;
}

int dtype_bits(Dtype dtype) {
  return info(dtype).bits;
}

std::optional<Dtype> find_dtype(std::string_view name) {
  for (size_t i = 0; i < std::size(kDtypes); ++i) {
    if (name == kDtypes[i].name) {
      return static_cast<Dtype>(i);
    }
  }
  return std::nullopt;
}

std::string dtype_names() {
  std::string names;
  for (const DtypeInfo& entry : kDtypes) {
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return names;
}

Status tensor_bytes(Dtype dtype, const Shape& shape, uint64_t* bytes) {
  const int bits = dtype_bits(dtype);
  // The largest product whose count of bits still fits.
  std::optional<int64_t> total = bits;
  bool has_elements = true;
  for (const int64_t dimension : shape) {
    has_elements = has_elements && dimension != 0;
    if (dimension != 0 && total.has_value()) {
      total = internal::checked_mul(*total, dimension);
    }
  }
  // A zero dimension does not excuse others whose product overflows: readers multiply left to
  // right.
  if (!total.has_value()) {
    return file_error("shape %s of %s is too large: its size does not fit 64 bits",
                      shape_text(shape).c_str(), dtype_name(dtype));
  }
  if (bits < 8) {
    const int64_t step = bits == 4 ? 2 : 4;  // elements in the fewest whole bytes
    const int64_t last = shape.empty() ? 1 : shape.back();
    if (last % step != 0) {
      const std::string where =
          shape.empty() ? "a scalar" : "dimension " + std::to_string(shape.size() - 1);
      return file_error(
          "shape %s of %s: %s is %lld, not a multiple of %lld (rows of %d-bit "
          "elements must be whole bytes)",
          shape_text(shape).c_str(), dtype_name(dtype), where.c_str(), static_cast<long long>(last),
          static_cast<long long>(step), bits);
    }
  }
  *bytes = has_elements ? static_cast<uint64_t>(*total) / 8 : 0;
  return {};
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace mxgemm::cli
