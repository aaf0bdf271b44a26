// SPDX-License-Identifier: Apache-2.0
#include "cpu/epilogue.hpp"

#include <cmath>
#include <numbers>

#include "cpu/operand_index.hpp"
#include "formats/block_format.hpp"

namespace mxgemm::cpu {

namespace {

using internal::Activation;
using internal::Format;

// The activations in double: their error is then far below the rounding to fp32, and only a call of
// libm per output dearer.
double gelu(double x) {
  return 0.5 * x * std::erfc(-x * (0.5 * std::numbers::sqrt2));
}

double gelu_tanh(double x) {
  const double inner = std::sqrt(2.0 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

double silu(double x) {
  return x / (1.0 + std::exp(-x));
}

template <double (*kFunction)(double)>
void apply(int64_t count, float* row) {
  for (int64_t i = 0; i < count; ++i) {
    row[i] = static_cast<float>(kFunction(row[i]));
  }
}

void apply_activation(Activation activation, int64_t count, float* row) {
  switch (activation) {
    case Activation::kGelu:
      return apply<gelu>(count, row);
    case Activation::kGeluTanh:
      return apply<gelu_tanh>(count, row);
    case Activation::kSilu:
      return apply<silu>(count, row);
    case Activation::kNone:
    case Activation::kRelu:  // done with the linear part
      return;
  }
}

int64_t plain_bytes(int32_t format) {
  return internal::find_format(static_cast<Format>(format))->element_bits / 8;
}

// alpha and the global scales: those on the host are multiplied in double and rounded once, those
// behind pointers then follow in fp32.
float scale_of_product(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args) {
  const bool alpha_behind = (desc.flags & MXGEMM_ALPHA_ON_DEVICE) != 0;
  const bool a_behind = (desc.flags & MXGEMM_GLOBAL_SCALE_A_ON_DEVICE) != 0;
  const bool b_behind = (desc.flags & MXGEMM_GLOBAL_SCALE_B_ON_DEVICE) != 0;
  const double on_host = (alpha_behind ? 1.0 : args.alpha) *
                         (a_behind ? 1.0 : args.a.global_scale) *
                         (b_behind ? 1.0 : args.b.global_scale);
  float scale = static_cast<float>(on_host);
  scale = alpha_behind ? scale * *args.alpha_ptr : scale;
  scale = a_behind ? scale * *args.a.global_scale_ptr : scale;
  return b_behind ? scale * *args.b.global_scale_ptr : scale;
}

}  // namespace

Epilogue make_epilogue(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args) {
  Epilogue epilogue{};
  // Without products alpha is not looked at: it may be NaN. The sums are 0 then.
  epilogue.alpha = desc.k == 0 ? 0.0f : scale_of_product(desc, args);
  epilogue.beta = args.beta;
  epilogue.activation = static_cast<Activation>(desc.activation);
  epilogue.plain_d = plain_index(static_cast<Format>(desc.format_d));
  epilogue.element_bytes = plain_bytes(desc.format_d);
  if (desc.format_bias != MXGEMM_FORMAT_NONE) {
    epilogue.plain_bias = plain_index(static_cast<Format>(desc.format_bias));
    epilogue.bias_element_bytes = plain_bytes(desc.format_bias);
    epilogue.bias = static_cast<const uint8_t*>(args.bias);
  }
  if ((desc.flags & MXGEMM_USE_C) != 0 && args.beta != 0.0f) {
    epilogue.c = static_cast<const uint8_t*>(args.c);
    epilogue.c_row_bytes = args.ldc * epilogue.element_bytes;
  }
  epilogue.d = static_cast<uint8_t*>(args.d);
  epilogue.d_row_bytes = args.ldd * epilogue.element_bytes;
  return epilogue;
}

void run_epilogue(const Epilogue& epilogue, const RowFunctions& functions,
                  const EpilogueTile& tile) {
  const float* bias = nullptr;
  if (epilogue.bias != nullptr) {
    functions.load[epilogue.plain_bias](epilogue.bias + tile.col0 * epilogue.bias_element_bytes,
                                        tile.cols, tile.bias);
    bias = tile.bias;
  }
  const bool relu = epilogue.activation == Activation::kRelu;
  for (int64_t r = 0; r < tile.rows; ++r) {
    float* row = tile.acc + r * tile.acc_ld;
    const float* c = nullptr;
    if (epilogue.c != nullptr) {
      const uint8_t* source =
          epilogue.c + (tile.row0 + r) * epilogue.c_row_bytes + tile.col0 * epilogue.element_bytes;
      functions.load[epilogue.plain_d](source, tile.cols, tile.c);
      c = tile.c;
    }
    functions.linear(tile.cols, epilogue.alpha, bias, epilogue.beta, c, relu, row);
    apply_activation(epilogue.activation, tile.cols, row);
    functions.store[epilogue.plain_d](
        row, tile.cols,
        epilogue.d + (tile.row0 + r) * epilogue.d_row_bytes + tile.col0 * epilogue.element_bytes);
  }
}

}  // namespace mxgemm::cpu
