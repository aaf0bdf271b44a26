// SPDX-License-Identifier: Apache-2.0
// Every subcommand, in the order of `mxgemm --help`.
#pragma once

#include "cli/program.hpp"

namespace mxgemm::cli {

void register_info(Program& program);
void register_quantize(Program& program);
void register_dequantize(Program& program);
void register_gemm(Program& program);
void register_inspect(Program& program);
void register_verify(Program& program);
void register_bench(Program& program);
void register_explain(Program& program);

}  // namespace mxgemm::cli
