// SPDX-License-Identifier: Apache-2.0
// What happens to the sums of a GEMM: D = cast(act(fma(beta, C, fma(alpha', acc, bias)))), each
// step in fp32.
#pragma once

#include <cstdint>

#include "cpu/level.h"
#include "formats/activation.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cpu {

struct Epilogue {
  float alpha;  // alpha' of the contract: with the global scales
  float beta;
  internal::Activation activation;
  int plain_d;  // position in RowFunctions of D's and C's format
  int64_t element_bytes;
  int plain_bias;
  const uint8_t* bias;  // null: none
  int64_t bias_element_bytes;
  const uint8_t* c;  // null: not read
  int64_t c_row_bytes;
  uint8_t* d;
  int64_t d_row_bytes;
};

Epilogue make_epilogue(const mxgemm_gemm_desc& desc, const mxgemm_gemm_args& args);

// Where a work tile's epilogue works.
struct EpilogueTile {
  int64_t row0;
  int64_t rows;
  int64_t col0;
  int64_t cols;
  float* acc;
  int64_t acc_ld;
  float* bias;  // scratch for `cols` numbers each
  float* c;
};

void run_epilogue(const Epilogue& epilogue, const RowFunctions& functions,
                  const EpilogueTile& tile);

}  // namespace mxgemm::cpu
