// SPDX-License-Identifier: Apache-2.0
#include "cpu/quantize_kernels.hpp"

#include "cpu/cpu_backend.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cpu {

const QuantizeRowKernels* quantize_row_kernels(int32_t isa) {
#if defined(__x86_64__)
  if (isa >= MXGEMM_ISA_AVX512) {
    return &kAvx512QuantizeKernels;
  }
  if (isa >= MXGEMM_ISA_AVX2) {
    return &kAvx2QuantizeKernels;
  }
#else
  static_cast<void>(isa);
#endif
  return nullptr;
}

}  // namespace mxgemm::cpu
