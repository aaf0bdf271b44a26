// SPDX-License-Identifier: Apache-2.0
// Entry points of the driver library that libraries ask the runtime for.
#include <cuda.h>

#include <cstring>

#include "isa/tensor_map.hpp"
#include "runtime/driver_context.hpp"
#include "runtime/session.hpp"

using namespace emu;
using namespace emu::runtime;

namespace {

CUresult refuse(const std::string& why) {
  process_runtime().report("cuTensorMapEncodeTiled returns CUDA_ERROR_INVALID_VALUE: " + why);
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult encode_tiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                      const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                      CUtensorMapFloatOOBfill fill) {
  if (out == nullptr || dims == nullptr || box == nullptr || element_strides == nullptr ||
      (strides == nullptr && rank > 1)) {
    return refuse("a pointer is null");
  }
  if (reinterpret_cast<uintptr_t>(out) % kTensorMapAlignment != 0) {
    return refuse("the tensor map is not aligned to 64 bytes");
  }
  if (rank < 1 || rank > kTensorMapMaxRank) {
    return refuse("rank is " + std::to_string(rank) + "; allowed: 1..5");
  }
  TensorMap map;
  map.address = reinterpret_cast<uint64_t>(address);
  map.type = static_cast<TensorType>(type);
  map.rank = rank;
  std::copy_n(dims, rank, map.dims.begin());
  std::copy_n(strides, rank - 1, map.strides.begin());
  std::copy_n(box, rank, map.box.begin());
  std::copy_n(element_strides, rank, map.element_strides.begin());
  map.interleave = static_cast<Interleave>(interleave);
  map.swizzle = static_cast<Swizzle>(swizzle);
  map.l2_promotion = static_cast<uint8_t>(promotion);
  map.fill = static_cast<OutOfBoundsFill>(fill);
  const std::string fault = tensor_map_fault(map);
  if (!fault.empty()) {
    return refuse(fault);
  }
  const TensorMapObject object = encode_tensor_map(map);
  std::memcpy(out, object.data(), object.size());
  return CUDA_SUCCESS;
}

// Moves an encoded tensor to another address.
CUresult replace_address(CUtensorMap* map, void* address) {
  if (map == nullptr) {
    return refuse("the tensor map is null");
  }
  DecodedTensorMap decoded = decode_tensor_map(reinterpret_cast<const std::byte*>(map));
  decoded.map.address = reinterpret_cast<uint64_t>(address);
  const std::string fault = decoded.fault.empty() ? tensor_map_fault(decoded.map) : decoded.fault;
  if (!fault.empty()) {
    return refuse(fault);
  }
  const TensorMapObject object = encode_tensor_map(decoded.map);
  std::memcpy(map, object.data(), object.size());
  return CUDA_SUCCESS;
}

CUresult error_text(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult error_name(CUresult error, const char** name) {
  *name = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

struct EntryPoint {
  const char* name;
  void* function;
};

const EntryPoint kEntryPoints[] = {
    {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(encode_tiled)},
    {"cuTensorMapReplaceAddress", reinterpret_cast<void*>(replace_address)},
    {"cuDeviceGet", reinterpret_cast<void*>(device_get)},
    {"cuDevicePrimaryCtxRetain", reinterpret_cast<void*>(primary_context_retain)},
    {"cuDevicePrimaryCtxRelease", reinterpret_cast<void*>(primary_context_release)},
    {"cuCtxPushCurrent", reinterpret_cast<void*>(context_push)},
    {"cuCtxPopCurrent", reinterpret_cast<void*>(context_pop)},
    {"cuCtxGetCurrent", reinterpret_cast<void*>(context_current)},
    {"cuGetErrorString", reinterpret_cast<void*>(error_text)},
    {"cuGetErrorName", reinterpret_cast<void*>(error_name)},
};

cudaError_t entry_point(const char* call, const char* symbol, void** function,
                        cudaDriverEntryPointQueryResult* status) {
  return api(call, [&](Session& s) {
    if (symbol == nullptr || function == nullptr) {
      return s.fail(cudaErrorInvalidValue, "a pointer is null");
    }
    *function = nullptr;
    for (const EntryPoint& each : kEntryPoints) {
      if (std::strcmp(each.name, symbol) == 0) {
        *function = each.function;
      }
    }
    if (*function == nullptr) {
      s.rt.report(std::string(call) + ": the driver function " + symbol + " is not emulated");
    }
    if (status != nullptr) {
      *status =
          *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point("cudaGetDriverEntryPoint", symbol, function, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return entry_point("cudaGetDriverEntryPointByVersion", symbol, function, status);
}

}  // extern "C"
