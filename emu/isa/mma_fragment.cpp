// SPDX-License-Identifier: Apache-2.0
#include "isa/mma_fragment.hpp"

namespace emu {
namespace {

template <unsigned kBits>
void gather(const ExecContext& ctx, const MmaShape& shape, const Operand* a, const Operand* b,
            MmaCodes& codes) {
  constexpr unsigned kElements = 32 / kBits;
  constexpr uint32_t kMask = kBits == 32 ? ~0u : (1u << kBits % 32) - 1;
  for (unsigned index = 0; index < shape.a_registers(); ++index) {
    const auto* words = ctx.reg<uint32_t>(a[index]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const MatrixPosition first = a_position(kBits, lane, index, 0);
      uint32_t* to = codes.a.data() + first.row * shape.k + first.k;
      for (unsigned j = 0; j < kElements; ++j) {
        to[j] = words[lane] >> kBits * j & kMask;
      }
    }
  }
  for (unsigned index = 0; index < shape.b_registers(); ++index) {
    const auto* words = ctx.reg<uint32_t>(b[index]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const MatrixPosition first = b_position(kBits, lane, index, 0);
      uint32_t* to = codes.b.data() + first.k * kMmaColumns + first.row;
      for (unsigned j = 0; j < kElements; ++j) {
        to[j * kMmaColumns] = words[lane] >> kBits * j & kMask;
      }
    }
  }
}

}  // namespace

void gather_codes(const ExecContext& ctx, const MmaShape& shape, const Operand* a, const Operand* b,
                  MmaCodes& codes) {
  switch (shape.bits) {
    case 8:
      return gather<8>(ctx, shape, a, b, codes);
    case 16:
      return gather<16>(ctx, shape, a, b, codes);
    default:
      return gather<32>(ctx, shape, a, b, codes);
  }
}

void gather_accumulators(const ExecContext& ctx, const Operand* c, bool f16,
                         MmaAccumulators& accumulators) {
  for (unsigned index = 0; index < 4; ++index) {
    const auto* words = ctx.reg<uint32_t>(c[f16 ? index / 2 : index]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const MatrixPosition at = d_position(lane, index);
      const uint32_t word = words[lane];
      accumulators[at.row * kMmaColumns + at.k] = f16 ? word >> 16 * (index % 2) & 0xFFFFu : word;
    }
  }
}

void scatter_accumulators(const ExecContext& ctx, const Operand* d, bool f16,
                          const MmaAccumulators& accumulators) {
  const auto value = [&](unsigned lane, unsigned index) {
    const MatrixPosition at = d_position(lane, index);
    return accumulators[at.row * kMmaColumns + at.k];
  };
  const unsigned registers = f16 ? 2 : 4;
  for (unsigned index = 0; index < registers; ++index) {
    if (d[index].is_sink()) {
      continue;
    }
    auto* words = ctx.reg<uint32_t>(d[index]);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      words[lane] =
          f16 ? value(lane, 2 * index) | value(lane, 2 * index + 1) << 16 : value(lane, index);
    }
  }
}

}  // namespace emu
