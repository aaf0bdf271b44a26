// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include "exec/engine.hpp"
#include "isa/async_copy.hpp"
#include "isa/async_observer.hpp"
#include "isa/matrix_descriptor.hpp"
#include "isa/wgmma.hpp"

namespace emu {
namespace {

constexpr unsigned kChunk = 16;  // bytes that every swizzle keeps together

// Bit fields of the descriptor (specification 7.22); addresses count units of 16 bytes.
std::string decode_descriptor(uint64_t descriptor, SharedMatrix& matrix) {
  const auto field = [&](unsigned low, unsigned bits) {
    return static_cast<uint32_t>(descriptor >> low & ((1u << bits) - 1));
  };
  if (field(49, 3) != 0) {
    return "a wgmma descriptor with a base offset is not supported";
  }
  static constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k128B, Swizzle::k64B,
                                          Swizzle::k32B};
  static constexpr uint32_t kPitches[] = {16, 128, 64, 32};
  const uint32_t mode = field(62, 2);
  matrix = {field(0, 14) * kChunk, field(16, 14) * kChunk, field(32, 14) * kChunk, kSwizzles[mode],
            kPitches[mode]};
  return {};
}

using RowBytes = std::array<uint8_t, kWgmmaRowBytes>;

std::string read_row(const ExecContext& ctx, const WgmmaInputs& inputs, const SharedMatrix& matrix,
                     uint32_t row, RowBytes& bytes) {
  for (uint32_t kb = 0; kb < kWgmmaRowBytes; kb += kChunk) {
    const uint32_t offset = shared_matrix_offset(matrix, row, kb);
    if (!ctx.cta->shared.inside(offset, kChunk)) {
      return "a wgmma operand lies outside the CTA's shared memory: row " + std::to_string(row) +
             " at offset " + std::to_string(offset);
    }
    std::string fault = async_read_fault(*ctx.engine, *ctx.cta, offset, kChunk);
    if (!fault.empty()) {
      return fault;
    }
    operation_accesses(*ctx.engine, inputs.observed, inputs.origin, ctx.cta, offset, kChunk,
                       Access::read);
    std::memcpy(bytes.data() + kb, ctx.cta->shared.data() + offset, kChunk);
  }
  return {};
}

uint32_t code_of(const RowBytes& bytes, unsigned bits, unsigned k) {
  uint32_t code = 0;
  std::memcpy(&code, bytes.data() + k * bits / 8, bits / 8);
  return code;
}

// Codes of both operands: A [row][k], B [column / 8][k][8].
struct Codes {
  std::vector<uint32_t> a;
  std::vector<uint32_t> b;
};

std::string gather_a(const ExecContext& ctx, const WgmmaPlan& plan, const WgmmaInputs& inputs,
                     std::vector<uint32_t>& codes) {
  const unsigned k_size = plan.k();
  codes.resize(kWgmmaRows * k_size);
  if (inputs.a_registers != nullptr) {
    const unsigned elements = 32 / plan.a.bits;
    const uint32_t mask = plan.a.bits == 32 ? ~0u : (1u << plan.a.bits) - 1;
    for (unsigned index = 0; index < 4; ++index) {
      const auto* words = ctx.reg<uint32_t>(inputs.a_registers[index]);
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        for (unsigned j = 0; j < elements; ++j) {
          const MatrixPosition at = a_position(plan.a.bits, lane, index, j);
          codes[at.row * k_size + at.k] = words[lane] >> plan.a.bits * j & mask;
        }
      }
    }
    return {};
  }
  SharedMatrix matrix;
  std::string fault = decode_descriptor(inputs.a_descriptor, matrix);
  for (uint32_t row = 0; fault.empty() && row < kWgmmaRows; ++row) {
    RowBytes bytes;
    fault = read_row(ctx, inputs, matrix, ctx.warp->index % 4 * kWgmmaRows + row, bytes);
    for (unsigned k = 0; k < k_size; ++k) {
      codes[row * k_size + k] = code_of(bytes, plan.a.bits, k);
    }
  }
  return fault;
}

std::string gather_b(const ExecContext& ctx, const WgmmaPlan& plan, const WgmmaInputs& inputs,
                     std::vector<uint32_t>& codes) {
  const unsigned k_size = plan.k();
  codes.resize(plan.columns * k_size);
  SharedMatrix matrix;
  std::string fault = decode_descriptor(inputs.b_descriptor, matrix);
  for (uint32_t column = 0; fault.empty() && column < plan.columns; ++column) {
    RowBytes bytes;
    fault = read_row(ctx, inputs, matrix, column, bytes);
    uint32_t* to = codes.data() + column / num::kLaneColumns * num::kLaneColumns * k_size;
    for (unsigned k = 0; k < k_size; ++k) {
      to[k * num::kLaneColumns + column % num::kLaneColumns] = code_of(bytes, plan.b.bits, k);
    }
  }
  return fault;
}

void negate(std::vector<int32_t>& significands) {
  for (int32_t& significand : significands) {
    significand = -significand;
  }
}

void multiply_floating(const ExecContext& ctx, const WgmmaPlan& plan, const Codes& codes,
                       std::vector<uint32_t>& sums) {
  std::vector<int32_t> a_significand(codes.a.size());
  std::vector<int32_t> a_exponent(codes.a.size());
  std::vector<int32_t> b_significand(codes.b.size());
  std::vector<int32_t> b_exponent(codes.b.size());
  num::split(plan.a.type, plan.a.right_shift, codes.a, a_significand.data(), a_exponent.data());
  num::split(plan.b.type, plan.b.right_shift, codes.b, b_significand.data(), b_exponent.data());
  if (plan.negate_a) {
    negate(a_significand);
  }
  if (plan.negate_b) {
    negate(b_significand);
  }
  num::SplitProduct product;
  product.rows = kWgmmaRows;
  product.columns = static_cast<int>(plan.columns);
  product.k = static_cast<int>(plan.k());
  product.product_fraction = num::mantissa_bits(plan.a.type) + num::mantissa_bits(plan.b.type);
  product.a_significand = a_significand.data();
  product.a_exponent = a_exponent.data();
  product.b_significand = b_significand.data();
  product.b_exponent = b_exponent.data();
  num::Accumulation accumulation;
  accumulation.model = mma_model(ctx);
  accumulation.f16_result = plan.f16_accumulators;
  if (plan.a.bits == 8) {
    accumulation.fraction_bits = num::kFp8WgmmaFraction;
    accumulation.result_fraction = num::kFp8WgmmaFraction;
  }
  num::multiply(product, accumulation, sums.data());
}

void multiply_integers(const WgmmaPlan& plan, const Codes& codes, std::vector<uint32_t>& sums) {
  const auto values = [](const std::vector<uint32_t>& from, bool is_signed) {
    std::vector<int32_t> result(from.size());
    for (size_t i = 0; i < from.size(); ++i) {
      const auto byte = static_cast<uint8_t>(from[i]);
      result[i] = is_signed ? static_cast<int8_t>(byte) : byte;
    }
    return result;
  };
  num::multiply_int8(kWgmmaRows, static_cast<int>(plan.columns), static_cast<int>(plan.k()),
                     values(codes.a, plan.a.is_signed).data(),
                     values(codes.b, plan.b.is_signed).data(), plan.satfinite, sums.data());
}

// The value of D that a lane has, in registers of one value or (f16) of two.
uint32_t read_value(const WgmmaPlan& plan, const uint32_t* registers, unsigned lane,
                    unsigned value) {
  return plan.f16_accumulators ? registers[value / 2 * kLanes + lane] >> 16 * (value % 2) & 0xFFFFu
                               : registers[value * kLanes + lane];
}

void write_value(const WgmmaPlan& plan, uint32_t* registers, unsigned lane, unsigned value,
                 uint32_t bits) {
  if (!plan.f16_accumulators) {
    registers[value * kLanes + lane] = bits;
    return;
  }
  uint32_t& both = registers[value / 2 * kLanes + lane];
  const unsigned shift = 16 * (value % 2);
  both = (both & ~(0xFFFFu << shift)) | bits << shift;
}

}  // namespace

std::string wgmma_multiply(const ExecContext& ctx, const WgmmaPlan& plan, const WgmmaInputs& inputs,
                           uint32_t* accumulators) {
  Codes codes;
  std::string fault = gather_a(ctx, plan, inputs, codes.a);
  if (fault.empty()) {
    fault = gather_b(ctx, plan, inputs, codes.b);
  }
  if (!fault.empty()) {
    return fault;
  }
  const unsigned values = plan.columns / 2;
  std::vector<uint32_t> sums(kWgmmaRows * plan.columns, 0);
  if (inputs.accumulate) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned value = 0; value < values; ++value) {
        const MatrixPosition at = wgmma_d_position(lane, value);
        sums[at.row * plan.columns + at.k] = read_value(plan, accumulators, lane, value);
      }
    }
  }
  if (plan.a.kind == MmaElement::Kind::integer) {
    multiply_integers(plan, codes, sums);
  } else {
    multiply_floating(ctx, plan, codes, sums);
  }
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned value = 0; value < values; ++value) {
      const MatrixPosition at = wgmma_d_position(lane, value);
      write_value(plan, accumulators, lane, value, sums[at.row * plan.columns + at.k]);
    }
  }
  return {};
}

}  // namespace emu
