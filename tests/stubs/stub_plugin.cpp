// SPDX-License-Identifier: Apache-2.0
// A GPU library without a GPU, for tests of what the core does with one. It works on the host
// memory that stub_runtime.cpp hands out. Built several times: STUB_ARCH ("sm120f"),
// STUB_CAPABILITIES (ranges) and STUB_MARK (what its kernels write) tell the builds apart;
// STUB_VERSION, STUB_NUMBER, STUB_SIZE, STUB_TABLE_ARCH, STUB_FAULT and STUB_SYMBOL make faulty
// ones. STUB_GENERAL adds a kernel and data functions that take everything.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

#ifndef STUB_VERSION
#define STUB_VERSION MXGEMM_VERSION_STRING
#endif
#ifndef STUB_NUMBER
#define STUB_NUMBER MXGEMM_PLUGIN_ABI_VERSION
#endif
#ifndef STUB_SIZE
#define STUB_SIZE sizeof(mxgemm_plugin_table)
#endif
#ifndef STUB_SYMBOL
#define STUB_SYMBOL mxgemm_plugin
#endif
#ifndef STUB_TABLE_ARCH
#define STUB_TABLE_ARCH STUB_ARCH
#endif

namespace {

// Seen by tests through dlsym.
std::atomic<int> prepares{0};
std::atomic<int> data_prepares{0};
std::atomic<int> inits{0};
std::atomic<int> last_device{-1};

const mxgemm_host_services* host = nullptr;

// alpha of a run that fails as a launch would.
constexpr float kFailingAlpha = -404.0f;

// A higher rank must not carry a kernel past a better library.
int32_t rank_of(const mxgemm_gemm_desc*) {
  return STUB_MARK == 80 ? 1000 : 1;
}

int32_t prepare(const mxgemm_gemm_desc* desc, mxgemm_message error) {
  ++prepares;
  last_device = desc->device_index;
  host->log(2, "stub " STUB_ARCH " prepares");
  if (desc->activation == MXGEMM_ACT_GELU_TANH) {  // the way to ask for a failure
    std::snprintf(error.text, error.capacity, "cudaErrorUnsupportedPtxVersion");
    return MXGEMM_CUDA_ERROR;
  }
  return MXGEMM_OK;
}

template <int kMark>
int32_t run(const mxgemm_gemm_desc* desc, const mxgemm_gemm_args* args, void*,
            mxgemm_message error) {
  last_device = desc->device_index;
  if (args->alpha == kFailingAlpha) {
    std::snprintf(error.text, error.capacity,
                  "the launch failed: cudaErrorLaunchOutOfResources (no resources)");
    return MXGEMM_CUDA_ERROR;
  }
  const uint16_t mark = kMark;
  std::memcpy(args->d, &mark, sizeof(mark));
  return MXGEMM_OK;
}

constexpr uint64_t bit(int32_t format) {
  return uint64_t{1} << format;
}
[[maybe_unused]] constexpr uint64_t kScaled =
    bit(MXGEMM_MXF4) | bit(MXGEMM_NVF4) | bit(MXGEMM_MXF8E4M3) | bit(MXGEMM_MXF8E5M2);
[[maybe_unused]] constexpr uint64_t kPlain = bit(MXGEMM_BF16) | bit(MXGEMM_F16) | bit(MXGEMM_F32);

#if defined(STUB_GENERAL)
int32_t accepts_all(const mxgemm_gemm_desc*, mxgemm_message) {
  return 1;
}

uint64_t large_workspace(const mxgemm_gemm_desc*) {
  return 1024;
}

const mxgemm_kernel kGeneral = {sizeof(mxgemm_kernel),
                                0,
                                STUB_TABLE_ARCH,
                                "gemm_any_any_any_64x64x32",
                                kScaled | kPlain,
                                kScaled,
                                kPlain,
                                64,
                                64,
                                32,
                                {1, 1, 1},
                                MXGEMM_ALLOW_LIMITED_SCALES,
                                0,
                                accepts_all,
                                rank_of,
                                large_workspace,
                                prepare,
                                run<STUB_MARK>};

int32_t data_prepare(int32_t device, mxgemm_message) {
  ++data_prepares;
  last_device = device;
  return MXGEMM_OK;
}

uint64_t quantize_workspace_size(const mxgemm_quantize_desc*) {
  return 512;
}

int32_t quantize(const mxgemm_quantize_desc* desc, const mxgemm_quantize_args* args, void*,
                 mxgemm_message error) {
  last_device = desc->device_index;
  if (desc->nonfinite == MXGEMM_NONFINITE_SATURATE) {  // the way to ask for a failure
    std::snprintf(error.text, error.capacity, "quantize: the launch failed: cudaErrorInvalidValue");
    return MXGEMM_CUDA_ERROR;
  }
  if (args->global_scale != nullptr) {
    *args->global_scale = 1.0f;
  }
  if (args->qdata != nullptr) {
    std::memset(args->qdata, 0x22, args->qdata_bytes);
    std::memset(args->scale, 127, args->scale_bytes);
  }
  return MXGEMM_OK;
}

int32_t dequantize(const mxgemm_dequantize_call* call, void*, mxgemm_message) {
  last_device = call->device_index;
  static_cast<float*>(call->dst)[0] = static_cast<float>(call->dst_ld);
  return MXGEMM_OK;
}

int32_t swizzle(const mxgemm_swizzle_call* call, void*, mxgemm_message) {
  last_device = call->device_index;
  call->dst[0] = static_cast<uint8_t>(call->ld);
  return MXGEMM_OK;
}

const mxgemm_data_functions kData = {sizeof(mxgemm_data_functions),
                                     0,
                                     data_prepare,
                                     quantize_workspace_size,
                                     quantize,
                                     dequantize,
                                     swizzle,
                                     nullptr};  // this library cannot unswizzle

const mxgemm_kernel* const kKernels[] = {&kGeneral};
const mxgemm_data_functions* const kDataFunctions = &kData;
#else
// fp4 kernels of real libraries want 16 bytes.
constexpr int32_t kAlignment = 16;

int32_t accepts_aligned(const mxgemm_gemm_desc* desc, mxgemm_message why) {
  if (desc->k == 0 || desc->k % 128 != 0) {
    std::snprintf(why.text, why.capacity, "K is %lld; it must be a multiple of 128 and not 0",
                  static_cast<long long>(desc->k));
    return 0;
  }
  return 1;
}

uint64_t small_workspace(const mxgemm_gemm_desc*) {
  return 256;
}

const mxgemm_kernel kAligned = {sizeof(mxgemm_kernel),
                                0,
                                STUB_TABLE_ARCH,
                                "gemm_mxf4_mxf4_bf16_128x128x128",
                                bit(MXGEMM_MXF4),
                                bit(MXGEMM_MXF4),
                                bit(MXGEMM_BF16),
                                128,
                                128,
                                128,
                                {kAlignment, kAlignment, kAlignment},
                                MXGEMM_ALLOW_ZERO_PRODUCTS,
                                0,
                                accepts_aligned,
                                rank_of,
                                small_workspace,
                                prepare,
                                run<STUB_MARK>};

const mxgemm_kernel* const kKernels[] = {&kAligned};
const mxgemm_data_functions* const kDataFunctions = nullptr;
#endif

[[maybe_unused]] const mxgemm_kernel* const kNoKernels[] = {nullptr};

const mxgemm_capability_range kCapabilities[] = {STUB_CAPABILITIES};

void init(const mxgemm_host_services* services) {
  ++inits;
  host = services;
}

mxgemm_plugin_table make_table() {
  mxgemm_plugin_table table{};
  table.abi_version = STUB_NUMBER;
  table.struct_size = STUB_SIZE;
  table.version = STUB_VERSION;
  table.arch = STUB_TABLE_ARCH;
  table.build_info = "stub compiler";
  table.capabilities = kCapabilities;
  table.num_capabilities = static_cast<int32_t>(std::size(kCapabilities));
  table.num_kernels = static_cast<int32_t>(std::size(kKernels));
  table.kernels = kKernels;
  table.data = kDataFunctions;
  table.init = init;
#if defined(STUB_FAULT)
  STUB_FAULT;
#endif
  return table;
}

}  // namespace

extern "C" {

const mxgemm_plugin_table* STUB_SYMBOL() {
  static const mxgemm_plugin_table table = make_table();
  return table.kernels == nullptr ? nullptr : &table;
}

int stub_prepares() {
  return prepares;
}
int stub_data_prepares() {
  return data_prepares;
}
int stub_inits() {
  return inits;
}
int stub_last_device() {
  return last_device;
}
}
