// SPDX-License-Identifier: Apache-2.0
// From an exact dot product to what D must be: the epilogue, once in exact arithmetic and once as
// the fp32 chain.
#pragma once

#include "reference/exact_dot.hpp"
#include "reference/gemm_reference.hpp"

namespace mxgemm::internal {

ExpectedOutput expectation(const ReferenceProblem& problem, float alpha, const DotAccumulator& dot,
                           int64_t m, int64_t n);

}  // namespace mxgemm::internal
