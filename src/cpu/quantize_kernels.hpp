// SPDX-License-Identifier: Apache-2.0
// The tables of quantising row kernels, one per ISA level that has them.
#pragma once

#include "quantize/row_kernels.h"

namespace mxgemm::cpu {

extern const QuantizeRowKernels kAvx2QuantizeKernels;
extern const QuantizeRowKernels kAvx512QuantizeKernels;

}  // namespace mxgemm::cpu
