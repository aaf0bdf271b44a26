// SPDX-License-Identifier: Apache-2.0
// Part of mxgemm.hpp: the enums of the C ABI as enum classes, the exception, plain elements in
// memory.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <stdexcept>
#include <string>

#include "mxgemm/mxgemm.h"

namespace mxgemm {

enum class Status : int32_t {
  kOk = MXGEMM_OK,
  kInvalidArgument = MXGEMM_INVALID_ARGUMENT,
  kUnsupported = MXGEMM_UNSUPPORTED,
  kDeviceUnavailable = MXGEMM_DEVICE_UNAVAILABLE,
  kOutOfMemory = MXGEMM_OUT_OF_MEMORY,
  kWorkspaceTooSmall = MXGEMM_WORKSPACE_TOO_SMALL,
  kCudaError = MXGEMM_CUDA_ERROR,
  kPluginError = MXGEMM_PLUGIN_ERROR,
  kIoError = MXGEMM_IO_ERROR,
  kInternal = MXGEMM_INTERNAL,
};
enum class Format : int32_t {
  kNone = MXGEMM_FORMAT_NONE,
  kMxf4 = MXGEMM_MXF4,
  kNvf4 = MXGEMM_NVF4,
  kMxf8E4m3 = MXGEMM_MXF8E4M3,
  kMxf8E5m2 = MXGEMM_MXF8E5M2,
  kBf16 = MXGEMM_BF16,
  kF16 = MXGEMM_F16,
  kF32 = MXGEMM_F32,
};
enum class ScaleLayout : int32_t {
  kRowMajor = MXGEMM_SCALE_ROW_MAJOR,
  kSwizzle32x4x4 = MXGEMM_SCALE_SWIZZLE_32_4_4,
};
enum class Activation : int32_t {
  kNone = MXGEMM_ACT_NONE,
  kRelu = MXGEMM_ACT_RELU,
  kGelu = MXGEMM_ACT_GELU,
  kGeluTanh = MXGEMM_ACT_GELU_TANH,
  kSilu = MXGEMM_ACT_SILU,
};
enum class DeviceKind : int32_t { kCpu = MXGEMM_DEVICE_CPU, kCuda = MXGEMM_DEVICE_CUDA };
enum class Isa : int32_t {
  kScalar = MXGEMM_ISA_SCALAR,
  kAvx2 = MXGEMM_ISA_AVX2,
  kAvx512 = MXGEMM_ISA_AVX512,
  kAmx = MXGEMM_ISA_AMX,
};
enum class ScaleRule : int32_t {
  kDefault = MXGEMM_SCALE_RULE_DEFAULT,
  kFloor = MXGEMM_SCALE_RULE_FLOOR,
  kCeil = MXGEMM_SCALE_RULE_CEIL,
  kEven = MXGEMM_SCALE_RULE_EVEN,
  kRceil = MXGEMM_SCALE_RULE_RCEIL,
  kNearest = MXGEMM_SCALE_RULE_NEAREST,
  kMse = MXGEMM_SCALE_RULE_MSE,
};
enum class Nonfinite : int32_t {
  kNan = MXGEMM_NONFINITE_NAN,
  kSaturate = MXGEMM_NONFINITE_SATURATE
};
enum class Rounding : int32_t {
  kNearestEven = MXGEMM_ROUND_NEAREST_EVEN,
  kStochastic = MXGEMM_ROUND_STOCHASTIC,
};
enum class GlobalScaleMode : int32_t {
  kDefault = MXGEMM_GLOBAL_SCALE_DEFAULT,
  kOne = MXGEMM_GLOBAL_SCALE_ONE,
  kCompute = MXGEMM_GLOBAL_SCALE_COMPUTE,
  kGiven = MXGEMM_GLOBAL_SCALE_GIVEN,
};
enum class Preset : int32_t {
  kDefault = MXGEMM_PRESET_DEFAULT,
  kOcp = MXGEMM_PRESET_OCP,
  kTorchao = MXGEMM_PRESET_TORCHAO,
  kCuda = MXGEMM_PRESET_CUDA,
};

// What a call that failed throws; what() names the argument, its value and what is allowed.
class Error : public std::runtime_error {
 public:
  Error(Status code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Status code() const noexcept { return code_; }

 private:
  Status code_;
};

namespace detail {

inline void check(mxgemm_status status) {
  if (status != MXGEMM_OK) {
    throw Error(static_cast<Status>(status), mxgemm_last_error());
  }
}

// Text of a C function that fills (buffer, capacity, needed).
template <typename Function>
std::string text(Function&& function) {
  size_t needed = 0;
  check(function(nullptr, size_t{0}, &needed));
  std::string result(needed, '\0');
  check(function(result.data(), result.size(), &needed));
  result.resize(needed - 1);
  return result;
}

// rows x cols as the size of a vector.
inline size_t element_count(int64_t rows, int64_t cols) {
  uint64_t bytes = 0;
  check(mxgemm_qdata_size(MXGEMM_F32, rows, cols, &bytes));
  return static_cast<size_t>(bytes / sizeof(float));
}

// Bytes of rows x cols scales, swizzled: those of a matrix with cols blocks in a row.
inline size_t swizzled_size(int64_t rows, int64_t cols) {
  uint64_t bytes = 0;
  const int64_t block = 32;
  check(mxgemm_scale_size(MXGEMM_MXF4, MXGEMM_SCALE_SWIZZLE_32_4_4, rows,
                          cols > INT64_MAX / block ? -1 : cols * block, &bytes));
  return static_cast<size_t>(bytes);
}

template <typename Enum>
constexpr int32_t value(Enum item) {
  return static_cast<int32_t>(item);
}

}  // namespace detail

inline std::string version() {
  return mxgemm_version();
}

// 16-bit elements by their bits.
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

template <typename T>
concept PlainElement = std::same_as<T, float> || std::same_as<T, Bf16> || std::same_as<T, F16>;

template <PlainElement T>
constexpr Format kFormatOf = std::same_as<T, float>  ? Format::kF32
                             : std::same_as<T, Bf16> ? Format::kBf16
                                                     : Format::kF16;

// Plain numbers in memory that somebody else owns; converts from vectors, arrays and spans of
// float, Bf16, F16.
struct Elements {
  Format format = Format::kNone;
  const void* data = nullptr;
  size_t bytes = 0;

  Elements() = default;
  template <std::ranges::contiguous_range Range>
  requires std::ranges::borrowed_range<Range> && std::ranges::sized_range<Range> &&
      PlainElement<std::ranges::range_value_t<Range>>
      Elements(Range&& range)  // NOLINT: meant to convert
      : format(kFormatOf<std::ranges::range_value_t<Range>>),
        data(std::ranges::data(range)),
        bytes(std::ranges::size(range) * sizeof(std::ranges::range_value_t<Range>)) {}
};

}  // namespace mxgemm
