// SPDX-License-Identifier: Apache-2.0
// What the core sees of the CPU backend.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/parallel.hpp"
#include "base/status.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "plugin/plugin_abi.h"
#include "quantize/row_kernels.h"

namespace mxgemm::cpu {

using internal::Format;
using internal::ParallelFor;
using internal::ScaleLayout;
using internal::ScaleView;
using internal::Status;

// ---- isa.cpp: levels (values of mxgemm_isa)
// -------------------------------------------------------------------------

constexpr int32_t kNumIsaLevels = 4;
// "scalar", "avx2", "avx512", "amx"; "unknown" outside.
const char* isa_name(int32_t isa);
// Level of that name, -1 if there is none.
int32_t isa_from_name(const char* name);
// Highest level that the CPU has, the OS enables and this build contains. Detected once.
int32_t isa_offered();
// Why `isa` is not offered ("this CPU has no avx512_vbmi"), "" if it is.
const char* isa_refusal(int32_t isa);

// ---- threads.cpp: threads
// ---------------------------------------------------------------------------------------

// The way to run parallel work now: the caller's parallel_for if one is set, else the pool. Starts
// nothing by itself; the first use of the pool (or warm_up) starts its threads.
ParallelFor parallel_for();
// INVALID_ARGUMENT where MXGEMM_NUM_THREADS is set and no number of threads. To be asked before the
// default is used.
Status check_thread_environment();
// MXGEMM_NUM_THREADS, else the CPUs this process may use: affinity mask and cgroup quota (rounded
// up). At least 1.
int32_t default_num_threads();
// 0 = default. Work that begins from now on uses that many; what is running goes on as it is.
Status set_num_threads(int32_t num_threads);
int32_t num_threads();
// nullptr call = back to the pool.
void set_parallel_for(ParallelFor::Call call, void* context);
// Starts the pool's threads so that the next use allocates nothing.
void warm_up();

// ---- kernels.cpp: GEMM kernels
// --------------------------------------------------------------------------------------

// Every kernel of this build, best first, those of levels that this machine lacks included.
std::span<const mxgemm_kernel> kernels();

// SIMD row kernels for quantising, best at or below `isa`; nullptr for scalar.
const QuantizeRowKernels* quantize_row_kernels(int32_t isa);

// ---- pack.cpp: prepared weights
// -------------------------------------------------------------------------------------

// Shape checks (block multiple, overflow of the plain form) are the core's. Empty where the packed
// form, which is padded, exceeds 2^63 - 1 bytes.
std::optional<uint64_t> packed_size(Format format, int64_t n, int64_t k);
void pack(Format format, int64_t n, int64_t k, const void* data, int64_t row_bytes,
          const ScaleView& scale, void* packed, const ParallelFor& parallel_for);
// INVALID_ARGUMENT (naming b.data) unless `packed` is a packed operand of this version, format and
// shape.
Status check_packed(const void* packed, uint64_t bytes, Format format, int64_t n, int64_t k);

}  // namespace mxgemm::cpu
