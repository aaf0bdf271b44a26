// SPDX-License-Identifier: Apache-2.0
// A kernel table for tests of the choice: what each row answers is data.
#pragma once

#include <array>
#include <cstdio>
#include <span>

#include "core/registry.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::test {

struct FakeAnswers {
  const char* refusal = "";  // "" = accepts
  int32_t rank = 0;
  uint64_t workspace = 0;
  int32_t prepare = MXGEMM_OK;
  int32_t run = MXGEMM_OK;
  // What the kernel saw.
  mxgemm_gemm_desc desc_seen = {};
  mxgemm_gemm_args args_seen = {};
  int runs = 0;
};

inline FakeAnswers answers[3];

template <int kRow>
mxgemm_kernel fake_kernel(int32_t isa, const char* arch, const char* name) {
  mxgemm_kernel kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.isa = isa;
  kernel.arch = arch;
  kernel.name = name;
  kernel.formats_a = uint64_t{1} << MXGEMM_MXF4 | uint64_t{1} << MXGEMM_BF16;
  kernel.formats_b = uint64_t{1} << MXGEMM_MXF4;
  kernel.formats_d = uint64_t{1} << MXGEMM_F32;
  kernel.accepts = [](const mxgemm_gemm_desc* desc, mxgemm_message why) -> int32_t {
    answers[kRow].desc_seen = *desc;
    std::snprintf(why.text, why.capacity, "%s", answers[kRow].refusal);
    return answers[kRow].refusal[0] == '\0' ? 1 : 0;
  };
  kernel.rank = [](const mxgemm_gemm_desc*) { return answers[kRow].rank; };
  kernel.workspace_size = [](const mxgemm_gemm_desc*) { return answers[kRow].workspace; };
  kernel.prepare = [](const mxgemm_gemm_desc*, mxgemm_message error) {
    std::snprintf(error.text, error.capacity, "prepare says no");
    return answers[kRow].prepare;
  };
  kernel.run = [](const mxgemm_gemm_desc*, const mxgemm_gemm_args* args, void*,
                  mxgemm_message error) {
    answers[kRow].args_seen = *args;
    ++answers[kRow].runs;
    std::snprintf(error.text, error.capacity, "run says no");
    return answers[kRow].run;
  };
  return kernel;
}

// Three kernels that every machine can run; set `answers` before use.
inline const internal::Registry& fake_registry() {
  static const std::array<mxgemm_kernel, 3> kernels = {
      fake_kernel<0>(MXGEMM_ISA_SCALAR, "one", "gemm_x"),
      fake_kernel<1>(MXGEMM_ISA_SCALAR, "one", "gemm_y"),
      fake_kernel<2>(MXGEMM_ISA_SCALAR, "two", "gemm_x")};
  static const internal::Registry registry{std::span<const mxgemm_kernel>(kernels)};
  return registry;
}

inline void reset_answers() {
  for (FakeAnswers& answer : answers) {
    answer = FakeAnswers();
  }
}

}  // namespace mxgemm::test
