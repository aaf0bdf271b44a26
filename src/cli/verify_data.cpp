// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/program.hpp"
#include "cli/random.hpp"
#include "cli/threads.hpp"
#include "cli/verify_codes.hpp"
#include "cli/verify_edge.hpp"

namespace mxgemm::cli {
namespace {

using internal::find_format;
using internal::FormatInfo;
using internal::ScaleType;

// Streams of random numbers per operand.
enum Stream : uint64_t { kStreamA = 0, kStreamB = 8, kStreamC = 16, kStreamBias = 24 };

uint8_t scale_code(DataKind kind, ScaleType type, uint64_t bits) {
  const bool e8m0 = type == ScaleType::kE8m0;
  const auto pick = [&](uint32_t count) {
    return static_cast<uint32_t>(((bits >> 32) * count) >> 32);
  };
  switch (kind) {
    case DataKind::kExact: {
      // 1/2 … 2; the E4M3 ones use the mantissa, too.
      constexpr uint8_t kE4m3Scales[] = {0x30, 0x34, 0x38, 0x3A, 0x3C, 0x40};
      return e8m0 ? static_cast<uint8_t>(126 + pick(3)) : kE4m3Scales[pick(6)];
    }
    case DataKind::kWide:
      // All of E4M3's binades, the ignored sign bit set at random.
      return e8m0 ? static_cast<uint8_t>(127 - 20 + pick(41))
                  : static_cast<uint8_t>(pick(internal::kE4m3MaxCode + 1u) | (bits & 0x80));
    default:
      return e8m0 ? 127 : 0x38;
  }
}

// Values of C, bias and plain operands.
double plain_value(DataKind kind, const RandomStream& random, uint64_t i) {
  switch (kind) {
    case DataKind::kNormal:
      return random.normal(i);
    case DataKind::kUniform:
      return random.uniform(i);
    default:
      return 1.0;
  }
}

uint32_t operand_code(DataKind kind, Format format, const RandomStream& random, uint64_t i) {
  switch (kind) {
    case DataKind::kExact:
      // Every E2M1 code is a small multiple of 1/2; the others hold the integers to 8.
      return find_format(format)->element_bits == 4
                 ? random.below(i, 16)
                 : element_code(format, static_cast<int>(random.below(i, 17)) - 8);
    case DataKind::kWide:
      return wide_code(format, random.bits(i));
    default:
      return element_code(format, plain_value(kind, random, i));
  }
}

// Fills one operand whose images have their sizes.
class OperandMaker {
 public:
  OperandMaker(OperandData& operand, DataKind kind, uint64_t seed, uint64_t stream)
      : operand_(operand),
        info_(*find_format(operand.format)),
        kind_(kind),
        elements_(seed, stream),
        scales_(seed, stream + 1),
        edge_(operand.format, operand.cols, seed, stream + 2) {}

  void make() {
    if (operand_.rows == 0 || operand_.cols == 0) {
      return;
    }
    const bool quantised = kind_ == DataKind::kNormal || kind_ == DataKind::kUniform;
    if (quantised && is_block_scaled(operand_.format)) {
      // Chunks of about 4 MB of fp32.
      const int64_t chunk = std::max<int64_t>(1, (int64_t{1} << 20) / operand_.cols);
      for (int64_t row = 0; row < operand_.rows; row += chunk) {
        quantise_rows(row, std::min(chunk, operand_.rows - row));
      }
      return;
    }
    parallel_for(operand_.rows, host_threads(), [&](int64_t row) {
      if (kind_ == DataKind::kEdge) {
        make_edge_row(row);
      } else {
        make_row(row);
      }
    });
  }

 private:
  uint8_t* row_of(int64_t row) {
    return operand_.elements.payload() + row * operand_.ld * info_.element_bits / 8;
  }

  int64_t scale_cols() const {
    return is_block_scaled(operand_.format) ? operand_.cols / info_.block_size : 0;
  }

  uint8_t& scale_at(int64_t row, int64_t col) {
    const int64_t at = operand_.layout == ScaleLayout::kRowMajor
                           ? row * operand_.scale_ld + col
                           : internal::swizzled_scale_offset(row, col, scale_cols());
    return operand_.scale.payload()[at];
  }

  void make_row(int64_t row) {
    for (int64_t c = 0; c < scale_cols(); ++c) {
      scale_at(row, c) = scale_code(kind_, info_.scale_type,
                                    scales_.bits(static_cast<uint64_t>(row * scale_cols() + c)));
    }
    for (int64_t k = 0; k < operand_.cols; ++k) {
      const uint32_t code = operand_code(kind_, operand_.format, elements_,
                                         static_cast<uint64_t>(row * operand_.cols + k));
      store_element(operand_.format, row_of(row), k, code);
    }
  }

  void make_edge_row(int64_t row) {
    const EdgeRow edge = edge_.row(row);
    for (int64_t c = 0; c < scale_cols(); ++c) {
      scale_at(row, c) = edge_.scale_code(edge, row, c);
    }
    for (int64_t k = 0; k < operand_.cols; ++k) {
      store_element(operand_.format, row_of(row), k, edge_.element(edge, row, k));
    }
  }

  void quantise_rows(int64_t first, int64_t count) {
    const int64_t cols = operand_.cols;
    std::vector<float> source(static_cast<size_t>(count * cols));
    parallel_for(count, host_threads(), [&](int64_t r) {
      for (int64_t k = 0; k < cols; ++k) {
        source[static_cast<size_t>(r * cols + k)] = static_cast<float>(
            plain_value(kind_, elements_, static_cast<uint64_t>((first + r) * cols + k)));
      }
    });
    std::vector<uint8_t> scales(static_cast<size_t>(count * scale_cols()));
    mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
    desc.format_src = MXGEMM_F32;
    desc.format = static_cast<int32_t>(operand_.format);
    desc.rows = count;
    desc.cols = cols;
    desc.global_scale_mode =
        info_.has_global_scale ? MXGEMM_GLOBAL_SCALE_GIVEN : MXGEMM_GLOBAL_SCALE_DEFAULT;
    mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
    args.src = source.data();
    args.src_bytes = source.size() * sizeof(float);
    args.qdata = row_of(first);
    args.qdata_bytes = matrix_bytes(operand_.format, count, cols, operand_.ld);
    args.qdata_ld = operand_.ld;
    args.scale = scales.data();
    args.scale_bytes = scales.size();
    args.global_scale = info_.has_global_scale ? &operand_.global_scale : nullptr;
    check(mxgemm_quantize(&desc, &args, nullptr), "quantising test data");
    for (int64_t r = 0; r < count; ++r) {
      for (int64_t c = 0; c < scale_cols(); ++c) {
        scale_at(first + r, c) = scales[static_cast<size_t>(r * scale_cols() + c)];
      }
    }
  }

  OperandData& operand_;
  const FormatInfo& info_;
  DataKind kind_;
  RandomStream elements_;
  RandomStream scales_;
  EdgeData edge_;
};

// Global scales of A and B: powers of two where products must stay exact, apart from each other
// where they may not be exchanged, and for quantised numbers about what their largest needs (amax /
// 2688).
float global_scale(DataKind kind, bool is_b) {
  switch (kind) {
    case DataKind::kExact:
      return is_b ? 0.25f : 2.0f;
    case DataKind::kNormal:
      return is_b ? 4.5f / 2688.0f : 4.9f / 2688.0f;
    case DataKind::kUniform:
      return 1.0f / 2688.0f;
    case DataKind::kOnes:
      return 1.0f;
    case DataKind::kWide:
      return is_b ? 1.11f * 0x1p15f : 1.37f * 0x1p-20f;
    case DataKind::kEdge:
      return is_b ? 0x1p50f : 0x1p-60f;
  }
  return 1.0f;
}

OperandData make_operand(const Problem& problem, bool is_b, DataKind kind, uint64_t seed) {
  OperandData operand;
  operand.format = is_b ? problem.b : problem.a;
  operand.rows = is_b ? problem.n : problem.m;
  operand.cols = problem.k;
  operand.ld = is_b ? ldb(problem) : lda(problem);
  operand.layout = problem.scales;
  const FormatInfo& info = *find_format(operand.format);
  operand.elements =
      Image(matrix_bytes(operand.format, operand.rows, operand.cols, operand.ld), problem.offset);
  operand.scale =
      Image(scale_bytes(problem, operand.format, operand.rows, operand.ld), problem.offset);
  if (operand.layout == ScaleLayout::kRowMajor) {
    operand.scale_ld = scale_row_bytes(operand.format, operand.ld);
  }
  const uint8_t nan = info.scale_type == ScaleType::kE4m3 ? 0x7F : internal::kE8m0Nan;
  std::fill_n(operand.scale.payload(), operand.scale.payload_bytes, problem.pad_zero ? 0 : nan);
  operand.global_scale = info.has_global_scale ? global_scale(kind, is_b) : 1.0f;
  OperandMaker(operand, kind, seed, is_b ? kStreamB : kStreamA).make();
  return operand;
}

// C and bias.
uint32_t addend_code(DataKind kind, Format format, const RandomStream& random, uint64_t i) {
  switch (kind) {
    case DataKind::kExact:
      return element_code(format, (static_cast<int>(random.below(i, 65)) - 32) / 4.0);
    case DataKind::kWide:
      return wide_code(format, random.bits(i));
    case DataKind::kEdge:
      return edge_addend(format, random.bits(i));
    default:
      return element_code(format, plain_value(kind, random, i));
  }
}

Image make_addend(Format format, int64_t rows, int64_t cols, int64_t ld, int64_t offset,
                  DataKind kind, const RandomStream& random) {
  Image image(matrix_bytes(format, rows, cols, ld), offset);
  const int64_t row_bytes = ld * find_format(format)->element_bits / 8;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      store_element(format, image.payload() + row * row_bytes, col,
                    addend_code(kind, format, random, static_cast<uint64_t>(row * cols + col)));
    }
  }
  return image;
}

}  // namespace

DataKind parse_data_kind(std::string_view name) {
  for (size_t i = 0; i < std::size(kDataKindNames); ++i) {
    if (name == kDataKindNames[i]) {
      return static_cast<DataKind>(i);
    }
  }
  throw CommandError(kExitBadCommandLine, fmt::format("--data is '{}', allowed are {}", name,
                                                      fmt::join(kDataKindNames, ", ")));
}

internal::ScaleView OperandData::scale_view() const {
  return {scale.bytes.empty() ? nullptr : scale.payload(), layout, scale_ld,
          is_block_scaled(format) ? cols / find_format(format)->block_size : 0};
}

ProblemData make_data(const Problem& problem, DataKind kind, uint64_t seed) {
  ProblemData data;
  data.problem = problem;
  data.a = make_operand(problem, false, kind, seed);
  data.b = make_operand(problem, true, kind, seed);
  if (problem.beta && *problem.beta == 0.0f) {
    data.c = Image(matrix_bytes(problem.d, problem.m, problem.n, ldc(problem)), problem.offset);
  } else if (problem.beta) {
    data.c = make_addend(problem.d, problem.m, problem.n, ldc(problem), problem.offset, kind,
                         RandomStream(seed, kStreamC));
  }
  if (problem.bias != Format::kNone) {
    data.bias = make_addend(problem.bias, 1, problem.n, problem.n, problem.offset, kind,
                            RandomStream(seed, kStreamBias));
  }
  // A scalar that no default hides; a power of two for the kinds that must be exact.
  const bool exact = kind == DataKind::kExact || kind == DataKind::kOnes;
  data.alpha = !problem.alpha_on_device ? problem.alpha : exact ? 0.5f : 0.7f;
  return data;
}

internal::ReferenceProblem reference_problem(const ProblemData& data) {
  const Problem& p = data.problem;
  internal::ReferenceProblem reference;
  reference.m = p.m;
  reference.n = p.n;
  reference.k = p.k;
  reference.a = {data.a.format, data.a.elements.payload(), data.a.ld, data.a.scale_view()};
  reference.b = {data.b.format, data.b.elements.payload(), data.b.ld, data.b.scale_view()};
  const bool on_device = p.alpha_on_device;
  reference.factors = {data.alpha,
                       data.a.global_scale,
                       data.b.global_scale,
                       on_device,
                       on_device && find_format(p.a)->has_global_scale,
                       on_device && find_format(p.b)->has_global_scale};
  reference.beta = p.beta.value_or(0.0f);
  if (p.beta) {
    reference.c = data.c.payload();
    reference.ldc = ldc(p);
  }
  if (p.bias != Format::kNone) {
    reference.bias = data.bias.payload();
    reference.format_bias = p.bias;
  }
  reference.activation = static_cast<internal::Activation>(p.activation);
  reference.format_d = p.d;
  return reference;
}

}  // namespace mxgemm::cli
