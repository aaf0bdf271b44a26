// SPDX-License-Identifier: Apache-2.0
#include "isa/tcgen05_multiply.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "exec/engine.hpp"
#include "isa/async_copy.hpp"
#include "isa/async_observer.hpp"
#include "isa/tcgen05.hpp"
#include "num/matrix.hpp"

namespace emu {
namespace {

constexpr uint32_t kNoWarp = ~0u;
constexpr uint32_t kRowBytes = 32;  // of an operand's row in one instruction, whatever the kind
constexpr uint32_t kRunBytes = 16;  // contiguous under every swizzle
constexpr uint32_t kByteKindK = 32;
constexpr uint32_t kScaleLanes = 32;  // scales repeat in the four quarters of the lanes

// Thrown within this file only, from deep in an operation to the function that runs it.
struct OperandFault {
  std::string text;
};

using OperandRow = std::array<uint8_t, kRowBytes>;

// Who reads the operands.
struct Reader {
  const Engine& engine;
  uint64_t operation;
  const TensorMma& mma;
};

OperandRow read_row(const Reader& reader, Cta& cta, const SharedMatrix& matrix, uint32_t row) {
  OperandRow bytes;
  for (uint32_t kb = 0; kb < kRowBytes; kb += kRunBytes) {
    const uint32_t from = shared_matrix_offset(matrix, row, kb);
    if (!cta.shared.inside(from, kRunBytes)) {
      throw OperandFault{"tcgen05.mma reads shared offset " + std::to_string(from) +
                         ", outside the CTA's memory"};
    }
    if (std::string fault = async_read_fault(reader.engine, cta, from, kRunBytes); !fault.empty()) {
      throw OperandFault{std::move(fault)};
    }
    operation_accesses(reader.engine, reader.operation, reader.mma.origin, &cta, from, kRunBytes,
                       Access::read);
    std::memcpy(bytes.data() + kb, cta.shared.data() + from, kRunBytes);
  }
  return bytes;
}

// The rows of B in order of columns of D: with a pair, the second half comes from the odd CTA.
std::vector<OperandRow> read_b(const Reader& reader) {
  const TensorMma& mma = reader.mma;
  const auto per_cta = mma.instruction.n / static_cast<uint32_t>(mma.ctas.size());
  std::vector<OperandRow> rows;
  for (Cta* cta : mma.ctas) {
    for (uint32_t row = 0; row < per_cta; ++row) {
      rows.push_back(read_row(reader, *cta, mma.b, row));
    }
  }
  return rows;
}

std::vector<OperandRow> read_a(const Reader& reader, Cta& cta) {
  std::vector<OperandRow> rows;
  for (uint32_t row = 0; row < kTensorRowsPerCta; ++row) {
    rows.push_back(read_row(reader, cta, reader.mma.a, row));
  }
  return rows;
}

// Scale words of `rows` rows or columns.
std::vector<uint32_t> read_scales(const TensorMemory& memory, uint32_t column, uint32_t rows) {
  std::vector<uint32_t> words(rows);
  for (uint32_t r = 0; r < rows; ++r) {
    const uint32_t c = column + r / kScaleLanes;
    words[r] = memory.row(r % kScaleLanes)[c];
    for (uint32_t lane = r % kScaleLanes; lane < kTmemLanes; lane += kScaleLanes) {
      const bool written = memory.written(lane, c);
      if (!written || memory.row(lane)[c] != words[r]) {
        throw OperandFault{
            "scale factors in tensor memory lane " + std::to_string(lane) + ", column " +
            std::to_string(c) +
            (written ? " differ from those of the first 32 lanes" : " were never written")};
      }
    }
  }
  return words;
}

uint8_t scale_byte(uint32_t word, uint32_t index) {
  return static_cast<uint8_t>(word >> 8 * index);
}

// --- 4-bit kinds

std::vector<num::SplitScale> fp4_scales(const std::vector<uint32_t>& words, const TensorMma& mma,
                                        uint32_t id) {
  std::vector<num::SplitScale> scales;
  for (const uint32_t word : words) {
    for (uint32_t group = 0; group < num::kFp4Groups; ++group) {
      // One scale covers one or two groups of 16.
      const uint32_t index = mma.form.scales_per_row == 4 ? group : id + group / 2;
      const uint8_t code = scale_byte(word, index);
      scales.push_back(mma.instruction.ue8m0 ? num::split_ue8m0(code) : num::split_ue4m3(code));
    }
  }
  return scales;
}

float fp4_value(const OperandRow& row, uint32_t k, bool negate) {
  const unsigned code = row[k / 2] >> 4 * (k % 2) & 0xF;
  const float value = num::e2m1_values()[code];
  return negate ? -value : value;
}

struct Fp4B {
  std::vector<float> values;  // [n / 8][64][8]
};

Fp4B unpack_fp4_b(const TensorMma& mma, const std::vector<OperandRow>& rows) {
  Fp4B b;
  b.values.resize(rows.size() * num::kFp4K);
  for (uint32_t n = 0; n < rows.size(); ++n) {
    float* column = b.values.data() + n / 8 * 8 * num::kFp4K + n % 8;
    for (uint32_t k = 0; k < num::kFp4K; ++k) {
      column[k * 8] = fp4_value(rows[n], k, mma.instruction.negate_b);
    }
  }
  return b;
}

void multiply_fp4(const Engine& engine, const TensorMma& mma, const std::vector<OperandRow>& a_rows,
                  const Fp4B& b, const std::vector<uint32_t>& a_words,
                  const std::vector<uint32_t>& b_words, uint32_t* accumulators) {
  std::vector<float> a(size_t{kTensorRowsPerCta} * num::kFp4K);
  for (uint32_t m = 0; m < kTensorRowsPerCta; ++m) {
    for (uint32_t k = 0; k < num::kFp4K; ++k) {
      a[m * num::kFp4K + k] = fp4_value(a_rows[m], k, mma.instruction.negate_a);
    }
  }
  const auto a_scale = fp4_scales(a_words, mma, mma.instruction.scale_id_a);
  const auto b_scale = fp4_scales(b_words, mma, mma.instruction.scale_id_b);
  num::Fp4Product product;
  product.rows = kTensorRowsPerCta;
  product.columns = static_cast<int>(mma.instruction.n);
  product.a = a.data();
  product.b = b.values.data();
  product.a_scale = a_scale.data();
  product.b_scale = b_scale.data();
  const bool exact = engine.options().mma == MmaModel::exact;
  num::multiply_fp4(product, exact ? num::MmaModel::kExact : num::MmaModel::kHardware,
                    accumulators);
}

// --- 8-bit containers

num::ElementType element_type(OperandType type) {
  switch (type) {
    case OperandType::kE4m3:
      return num::ElementType::e4m3;
    case OperandType::kE5m2:
      return num::ElementType::e5m2;
    case OperandType::kE2m3:
      return num::ElementType::e2m3;
    case OperandType::kE3m2:
      return num::ElementType::e3m2;
    case OperandType::kE2m1:
      return num::ElementType::e2m1;
  }
  return num::ElementType::e2m1;
}

uint32_t element_bits(OperandType type) {
  switch (type) {
    case OperandType::kE4m3:
    case OperandType::kE5m2:
      return 8;
    case OperandType::kE2m1:
      return 4;
    default:
      return 6;
  }
}

// Each 16-byte group holds 16 elements, packed from its beginning.
uint32_t element_code(const OperandRow& row, uint32_t k, uint32_t bits) {
  const uint32_t bit = k % 16 * bits;
  const uint32_t at = k / 16 * kRunBytes + bit / 8;
  // The last element of a group ends in the group's data, so the second byte exists when it is
  // needed.
  const uint32_t low = row[at];
  const uint32_t high = bit % 8 + bits > 8 ? row[at + 1] : 0;
  return (low | high << 8) >> bit % 8 & ((1u << bits) - 1);
}

struct SplitRows {
  std::vector<int32_t> significand;
  std::vector<int32_t> exponent;
};

// `columnwise`: [n / 8][k][8], else [rows][k].
SplitRows split_rows(const std::vector<OperandRow>& rows, OperandType type, bool negate,
                     bool columnwise) {
  SplitRows result;
  result.significand.resize(rows.size() * kByteKindK);
  result.exponent.resize(rows.size() * kByteKindK);
  const auto& table = num::split_table(element_type(type));
  const uint32_t bits = element_bits(type);
  for (uint32_t r = 0; r < rows.size(); ++r) {
    for (uint32_t k = 0; k < kByteKindK; ++k) {
      const num::SplitElement element = table[element_code(rows[r], k, bits)];
      const size_t at = columnwise ? r / 8 * 8 * kByteKindK + k * 8 + r % 8 : r * kByteKindK + k;
      result.significand[at] = negate ? -element.significand : element.significand;
      result.exponent[at] = element.exponent;
    }
  }
  return result;
}

std::vector<int32_t> byte_kind_scales(const std::vector<uint32_t>& words, uint32_t id) {
  std::vector<int32_t> exponents;
  for (const uint32_t word : words) {
    exponents.push_back(num::split_ue8m0(scale_byte(word, id)).exponent);
  }
  return exponents;
}

void multiply_bytes(const Engine& engine, const TensorMma& mma,
                    const std::vector<OperandRow>& a_rows, const SplitRows& b,
                    const std::vector<uint32_t>& a_words, const std::vector<uint32_t>& b_words,
                    uint32_t* accumulators) {
  const InstructionDescriptor& d = mma.instruction;
  const SplitRows a = split_rows(a_rows, d.a, d.negate_a, /*columnwise=*/false);
  const std::vector<int32_t> a_scale = byte_kind_scales(a_words, d.scale_id_a);
  const std::vector<int32_t> b_scale = byte_kind_scales(b_words, d.scale_id_b);
  num::SplitProduct product;
  product.rows = kTensorRowsPerCta;
  product.columns = static_cast<int>(d.n);
  product.k = kByteKindK;
  product.product_fraction =
      num::mantissa_bits(element_type(d.a)) + num::mantissa_bits(element_type(d.b));
  product.a_significand = a.significand.data();
  product.a_exponent = a.exponent.data();
  product.b_significand = b.significand.data();
  product.b_exponent = b.exponent.data();
  product.a_scale = a_scale.data();
  product.b_scale = b_scale.data();
  num::Accumulation accumulation;
  const bool exact = engine.options().mma == MmaModel::exact;
  accumulation.model = exact ? num::MmaModel::kExact : num::MmaModel::kHardware;
  accumulation.fraction_bits = num::kTensorFraction;
  num::multiply(product, accumulation, accumulators);
}

// --- one instruction

void load_accumulators(const TensorMemory& memory, const TensorMma& mma,
                       std::vector<uint32_t>& values) {
  const uint32_t n = mma.instruction.n;
  for (uint32_t row = 0; row < kTensorRowsPerCta; ++row) {
    for (uint32_t c = 0; c < n; ++c) {
      if (!memory.written(row, mma.d_column + c)) {
        throw OperandFault{
            "tcgen05.mma accumulates onto tensor memory that was never written: lane " +
            std::to_string(row) + ", column " + std::to_string(mma.d_column + c)};
      }
    }
    std::copy_n(memory.row(row) + mma.d_column, n, values.begin() + row * n);
  }
}

template <class Multiply>
void run_in_cta(const Reader& reader, Cta& cta, Multiply multiply) {
  const TensorMma& mma = reader.mma;
  CtaTensor& tensor = cta_tensor(cta);
  const uint32_t n = mma.instruction.n;
  if (std::string fault = unread_fault(tensor, 0, kTmemLanes, mma.d_column, n, kNoWarp);
      !fault.empty()) {
    throw OperandFault{std::move(fault)};
  }
  std::vector<uint32_t> accumulators(size_t{kTensorRowsPerCta} * n, 0);
  if (mma.accumulates) {
    load_accumulators(tensor.memory, mma, accumulators);
  }
  const std::vector<OperandRow> a = read_a(reader, cta);
  multiply(a, read_scales(tensor.memory, mma.a_scale_column, kTensorRowsPerCta),
           read_scales(tensor.memory, mma.b_scale_column, n), accumulators.data());
  for (uint32_t row = 0; row < kTensorRowsPerCta; ++row) {
    std::copy_n(accumulators.begin() + row * n, n, tensor.memory.row(row) + mma.d_column);
    tensor.memory.mark_written(row, mma.d_column, n);
  }
}

void run_all(const Reader& reader) {
  const TensorMma& mma = reader.mma;
  const Engine& engine = reader.engine;
  const std::vector<OperandRow> b_rows = read_b(reader);
  if (mma.form.kind == BlockScaledKind::kMxf8f6f4) {
    const SplitRows b =
        split_rows(b_rows, mma.instruction.b, mma.instruction.negate_b, /*columnwise=*/true);
    for (Cta* cta : mma.ctas) {
      run_in_cta(reader, *cta, [&](const auto& a, const auto& sa, const auto& sb, auto* c) {
        multiply_bytes(engine, mma, a, b, sa, sb, c);
      });
    }
    return;
  }
  const Fp4B b = unpack_fp4_b(mma, b_rows);
  for (Cta* cta : mma.ctas) {
    run_in_cta(reader, *cta, [&](const auto& a, const auto& sa, const auto& sb, auto* c) {
      multiply_fp4(engine, mma, a, b, sa, sb, c);
    });
  }
}

}  // namespace

void run_tensor_mma(Engine& engine, uint64_t operation, const TensorMma& mma) {
  try {
    run_all({engine, operation, mma});
  } catch (const OperandFault& fault) {
    engine.fault(mma.origin, FaultKind::launch_failure, fault.text);
    return;
  }
  for (Cta* cta : mma.ctas) {
    CtaTensor& tensor = cta_tensor(*cta);
    for (uint32_t c = mma.d_column; c < mma.d_column + mma.instruction.n; ++c) {
      --tensor.queued_writes[c];
    }
    --cta->pending_async;
  }
}

}  // namespace emu
