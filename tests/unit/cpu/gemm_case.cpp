// SPDX-License-Identifier: Apache-2.0
#include "unit/cpu/gemm_case.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace mxgemm::cpu {

using internal::CompareReport;
using internal::FormatInfo;
using internal::ReferenceOperand;
using internal::ScaleType;

namespace {

using Random = std::mt19937_64;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

// Codes of small integers in each 4- and 8-bit format.
uint8_t small_integer_code(Format format, Random& random) {
  static constexpr uint8_t kE2m1[] = {0, 2, 4, 5, 6, 7};                    // 0 1 2 3 4 6
  static constexpr uint8_t kE4m3[] = {0x00, 0x38, 0x40, 0x44, 0x48, 0x4A};  // 0 1 2 3 4 5
  static constexpr uint8_t kE5m2[] = {0x00, 0x3C, 0x40, 0x42, 0x44, 0x46};  // 0 1 2 3 4 6
  const auto index = random() % 6;
  const bool negative = (random() & 1) != 0;
  switch (format) {
    case Format::kMxf4:
    case Format::kNvf4:
      return static_cast<uint8_t>(kE2m1[index] | (negative ? 8 : 0));
    case Format::kMxf8E4m3:
      return static_cast<uint8_t>(kE4m3[index] | (negative ? 0x80 : 0));
    default:
      return static_cast<uint8_t>(kE5m2[index] | (negative ? 0x80 : 0));
  }
}

bool finite_code(Format format, uint8_t code) {
  alignas(4) const uint8_t value[4] = {code, 0, 0, 0};
  return internal::is_finite(internal::element_at(format, value, 0));
}

uint8_t element_code(Format format, Data data, Random& random) {
  if (data == Data::kExact) {
    return small_integer_code(format, random);
  }
  for (;;) {
    const auto code = static_cast<uint8_t>(random());
    const bool special_wanted = data == Data::kEdge && random() % 64 == 0;
    if (finite_code(format, code) || special_wanted) {
      return code;
    }
  }
}

uint8_t scale_code(ScaleType type, Data data, Random& random) {
  static constexpr uint8_t kEdges[] = {0, 1, 253, 254, 255, 127, 127, 127};
  static constexpr uint8_t kE4m3Edges[] = {0, 1, 0x7E, 0x7F, 0xB8, 0x38, 0x38, 0x38};
  if (type == ScaleType::kE8m0) {
    switch (data) {
      case Data::kExact:
        return static_cast<uint8_t>(pick(random, 126, 128));
      case Data::kNormal:
        return static_cast<uint8_t>(pick(random, 123, 131));
      case Data::kWide:
        return static_cast<uint8_t>(pick(random, 0, 254));
      case Data::kEdge:
        return kEdges[random() % 8];
    }
  }
  switch (data) {
    case Data::kExact:
      return static_cast<uint8_t>(pick(random, 6, 8) << 3);  // 0.5, 1, 2
    case Data::kNormal:
    case Data::kWide:
      return static_cast<uint8_t>(pick(random, 0, 0x7E) | (random() & 0x80));
    case Data::kEdge:
      break;
  }
  return kE4m3Edges[random() % 8];
}

float plain_value(Data data, Format format, Random& random) {
  if (data == Data::kExact) {
    return static_cast<float>(pick(random, -8, 8));
  }
  if (data == Data::kEdge && random() % 32 == 0) {
    static constexpr float kSpecial[] = {
        0.0f, -0.0f, __builtin_inff(), -__builtin_inff(), __builtin_nanf(""), 0x1p-149f};
    return kSpecial[random() % 6];
  }
  const float magnitude = 1.0f + static_cast<float>(random() & 0x7FFFFF) * 0x1p-23f;
  const int spread = data == Data::kNormal ? 4 : format == Format::kF16 ? 14 : 60;
  const float sign = (random() & 1) != 0 ? 1.0f : -1.0f;
  return sign * __builtin_ldexpf(magnitude, static_cast<int>(pick(random, -spread, spread)));
}

void store_plain(Format format, uint8_t* row, int64_t index, float value) {
  if (format == Format::kF32) {
    std::memcpy(row + 4 * index, &value, 4);
    return;
  }
  const uint16_t code =
      format == Format::kBf16 ? internal::bf16_encode(value) : internal::f16_encode(value);
  std::memcpy(row + 2 * index, &code, 2);
}

bool is_plain(Format format) {
  return !internal::is_block_scaled(format);
}

const FormatInfo& info_of(Format format) {
  return *internal::find_format(format);
}

int64_t row_bytes(Format format, int64_t elements) {
  return elements * info_of(format).element_bits / 8;
}

}  // namespace

std::string GemmOptions::text() const {
  return internal::format_text(
      "m%lldn%lldk%lld %s x %s -> %s, data %d, layouts %d %d, bias %s, alpha %g, beta %g, c %d, in "
      "place %d, pointers %d, "
      "packed %d, padding %lld, offset %lld, activation %d, seed %llu",
      static_cast<long long>(m), static_cast<long long>(n), static_cast<long long>(k),
      internal::format_name(a), internal::format_name(b), internal::format_name(d),
      static_cast<int>(data), static_cast<int>(layout_a), static_cast<int>(layout_b),
      internal::format_name(bias), alpha, beta, use_c, in_place, scalars_behind_pointers, packed,
      static_cast<long long>(row_padding), static_cast<long long>(offset),
      static_cast<int>(activation), static_cast<unsigned long long>(seed));
}

GemmCase::GemmCase(const GemmOptions& options) : options_(options) {
  desc_.flags = static_cast<uint32_t>((options.use_c ? MXGEMM_USE_C : 0) |
                                      (options.packed ? MXGEMM_PACKED_B : 0));
  desc_.m = options.m;
  desc_.n = options.n;
  desc_.k = options.k;
  desc_.format_a = static_cast<int32_t>(options.a);
  desc_.format_b = static_cast<int32_t>(options.b);
  desc_.format_d = static_cast<int32_t>(options.d);
  desc_.format_bias = static_cast<int32_t>(options.bias);
  desc_.scale_layout_a = static_cast<int32_t>(options.layout_a);
  desc_.scale_layout_b = static_cast<int32_t>(options.layout_b);
  desc_.activation = static_cast<int32_t>(options.activation);
  reference_.m = options.m;
  reference_.n = options.n;
  reference_.k = options.k;
  make_operand(options.a, options.m, options.layout_a, args_.a, reference_.a, options.seed * 2);
  make_operand(options.b, options.n, options.layout_b, args_.b, reference_.b, options.seed * 2 + 1);
  make_epilogue();
  if (options.packed) {
    pack_b();
  }
}

uint8_t* GemmCase::keep(std::vector<uint8_t> bytes) {
  buffers_.push_back(std::move(bytes));
  return buffers_.back().data();
}

void GemmCase::make_operand(Format format, int64_t rows, ScaleLayout layout,
                            mxgemm_operand& operand, ReferenceOperand& reference, uint64_t seed) {
  Random random(seed);
  const FormatInfo& info = info_of(format);
  const int64_t padding = info.element_bits == 4 ? options_.row_padding * 2 : options_.row_padding;
  const int64_t ld = options_.k + padding;
  // Exactly as long as needed: a read past the end is seen by the address sanitizer.
  const int64_t bytes = rows == 0 ? 0 : row_bytes(format, (rows - 1) * ld + options_.k);
  uint8_t* data = keep(std::vector<uint8_t>(static_cast<size_t>(bytes + options_.offset), 0x7F)) +
                  options_.offset;
  for (int64_t r = 0; r < rows; ++r) {
    uint8_t* row = data + row_bytes(format, r * ld);
    for (int64_t i = 0; i < options_.k; ++i) {
      if (is_plain(format)) {
        store_plain(format, row, i, plain_value(options_.data, format, random));
      } else if (info.element_bits == 8) {
        row[i] = element_code(format, options_.data, random);
      } else if (i % 2 == 0) {
        row[i / 2] = internal::pack_nibbles(element_code(format, options_.data, random),
                                            element_code(format, options_.data, random));
      }
    }
  }
  operand.data = data;
  operand.data_bytes = static_cast<uint64_t>(bytes);
  operand.ld = ld;
  reference.format = format;
  reference.data = data;
  reference.ld = ld;
  if (is_plain(format)) {
    return;
  }
  const int64_t cols = options_.k / info.block_size;
  const bool swizzled = layout == ScaleLayout::kSwizzle32x4x4;
  const int64_t scale_ld = swizzled ? 0 : cols + options_.row_padding;
  const int64_t scale_bytes = swizzled    ? internal::swizzled_scale_bytes(rows, cols)
                              : rows == 0 ? 0
                                          : (rows - 1) * scale_ld + cols;
  // Padding is NaN in every scale format.
  uint8_t* scale = keep(std::vector<uint8_t>(static_cast<size_t>(scale_bytes), 0xFF));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      scale[swizzled ? internal::swizzled_scale_offset(r, c, cols) : r * scale_ld + c] =
          scale_code(info.scale_type, options_.data, random);
    }
  }
  operand.scale = scale;
  operand.scale_bytes = static_cast<uint64_t>(scale_bytes);
  operand.scale_ld = scale_ld;
  reference.scale = ScaleView{scale, layout, scale_ld, cols};
}

void GemmCase::make_epilogue() {
  Random random(options_.seed * 31 + 7);
  const int64_t ld = options_.n + options_.row_padding;
  const int64_t bytes = row_bytes(options_.d, options_.m * ld) + 64;
  global_a_ = options_.a == Format::kNvf4 ? 0.5f : 1.0f;
  global_b_ = options_.b == Format::kNvf4 ? 4.0f : 1.0f;
  alpha_value_ = options_.alpha;
  args_.alpha = options_.alpha;
  args_.beta = options_.beta;
  args_.a.global_scale = global_a_;
  args_.b.global_scale = global_b_;
  reference_.factors.alpha = options_.alpha;
  reference_.factors.global_scale_a = global_a_;
  reference_.factors.global_scale_b = global_b_;
  if (options_.scalars_behind_pointers) {
    desc_.flags |=
        MXGEMM_ALPHA_ON_DEVICE | MXGEMM_GLOBAL_SCALE_A_ON_DEVICE | MXGEMM_GLOBAL_SCALE_B_ON_DEVICE;
    args_.alpha_ptr = &alpha_value_;
    args_.a.global_scale_ptr = &global_a_;
    args_.b.global_scale_ptr = &global_b_;
    // Not to be looked at then.
    args_.alpha = args_.a.global_scale = args_.b.global_scale = 1000.0f;
    reference_.factors.alpha_on_device = true;
    reference_.factors.global_scale_a_on_device = true;
    reference_.factors.global_scale_b_on_device = true;
  }
  reference_.activation = options_.activation;
  reference_.beta = options_.beta;
  reference_.format_d = options_.d;
  reference_.format_bias = options_.bias;
  if (options_.bias != Format::kNone) {
    uint8_t* bias =
        keep(std::vector<uint8_t>(static_cast<size_t>(row_bytes(options_.bias, options_.n))));
    for (int64_t i = 0; i < options_.n; ++i) {
      store_plain(options_.bias, bias, i, plain_value(Data::kExact, options_.bias, random));
    }
    args_.bias = bias;
    reference_.bias = bias;
  }
  d_.resize(static_cast<size_t>(bytes + options_.offset));
  internal::fill_poison(d_.data(), d_.size());
  args_.d = d_.data() + options_.offset;
  args_.ldd = ld;
  args_.ldc = ld;
  if (options_.use_c) {
    uint8_t* c = options_.in_place ? static_cast<uint8_t*>(args_.d)
                                   : keep(std::vector<uint8_t>(static_cast<size_t>(bytes)));
    for (int64_t r = 0; r < options_.m; ++r) {
      for (int64_t i = 0; i < options_.n; ++i) {
        store_plain(options_.d, c, r * ld + i, plain_value(Data::kExact, options_.d, random));
      }
    }
    args_.c = c;
    reference_.ldc = ld;
  }
  d_before_ = d_;
  reference_.c = options_.in_place ? d_before_.data() + options_.offset : args_.c;
}

void GemmCase::pack_b() {
  const uint64_t bytes = packed_size(options_.b, options_.n, options_.k).value();
  // Packed weights are 64-byte aligned.
  uint8_t* memory = keep(std::vector<uint8_t>(bytes + 63));
  auto* packed = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory) + 63) / 64 * 64);
  pack(options_.b, options_.n, options_.k, args_.b.data, row_bytes(options_.b, args_.b.ld),
       reference_.b.scale, packed, parallel_for());
  args_.b.data = packed;
  args_.b.data_bytes = bytes;
  args_.b.scale = nullptr;
  args_.b.ld = 0;
}

bool GemmCase::accepts(const mxgemm_kernel& kernel, const GemmOptions& options) {
  const auto has = [](uint64_t set, Format format) {
    return (set >> static_cast<int>(format) & 1) != 0;
  };
  return kernel.isa <= isa_offered() && has(kernel.formats_a, options.a) &&
         has(kernel.formats_b, options.b) && has(kernel.formats_d, options.d);
}

int32_t GemmCase::multiply(const mxgemm_kernel& kernel, uint64_t workspace_bytes) {
  d_ = d_before_;
  args_.d = d_.data() + options_.offset;
  args_.c = options_.in_place ? args_.d : args_.c;
  args_.workspace_bytes = workspace_bytes != 0 ? workspace_bytes : kernel.workspace_size(&desc_);
  // NaN in every format: nothing may be read before it is written.
  workspace_.assign(args_.workspace_bytes + 255, 0xFF);
  args_.workspace =
      reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(workspace_.data()) + 255) / 256 * 256);
  char text[256] = "";
  const mxgemm_message message = {text, sizeof text};
  const int32_t prepared = kernel.prepare(&desc_, message);
  return prepared != MXGEMM_OK ? prepared : kernel.run(&desc_, &args_, nullptr, message);
}

std::string GemmCase::run(const mxgemm_kernel& kernel) {
  const int32_t status = multiply(kernel);
  if (status != MXGEMM_OK) {
    return internal::format_text("%s: status %d", kernel.name, status);
  }
  report_ =
      internal::compare_gemm(reference_, internal::OutputView{options_.d, args_.d, args_.ldd}, 1);
  const internal::GuardReport guard =
      internal::check_guard(d_.data(), d_.size(), static_cast<uint64_t>(options_.offset),
                            options_.d, options_.m, options_.n, args_.ldd);
  if (report_.pass() && guard.pass()) {
    return "";
  }
  return std::string(kernel.arch) + ":" + kernel.name + " " + options_.text() + "\n" +
         report_.failures() + guard.where;
}

std::vector<const mxgemm_kernel*> kernels_for(const GemmOptions& options) {
  std::vector<const mxgemm_kernel*> result;
  for (const mxgemm_kernel& kernel : kernels()) {
    if (GemmCase::accepts(kernel, options)) {
      result.push_back(&kernel);
    }
  }
  return result;
}

void expect_right(const GemmOptions& options) {
  GemmCase gemm(options);
  for (const mxgemm_kernel* kernel : kernels_for(options)) {
    EXPECT_EQ(gemm.run(*kernel), "");
  }
}

}  // namespace mxgemm::cpu
