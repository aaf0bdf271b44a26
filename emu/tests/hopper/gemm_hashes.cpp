// SPDX-License-Identifier: Apache-2.0
// Runs the cases of gemm_cases.hpp, on a GPU or under the emulated runtime. Prints the hashes of
// the wide ones, which a GPU's run keeps as emu/tests/golden/hopper_gemm.txt.
#include <cstdio>

#include "gemm_cases.hpp"

int main() {
  for (const emu::tests::GemmSize& size : emu::tests::kGemmSizes) {
    const std::string complaint = emu::tests::check_exact_product(size);
    if (!complaint.empty()) {
      std::fprintf(stderr, "gemm_hashes: %s\n", complaint.c_str());
      return 1;
    }
  }
  for (const emu::tests::GemmSize& size : emu::tests::kGemmSizes) {
    std::printf("%s\n", emu::tests::wide_hash(size).c_str());
  }
  return 0;
}
