// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include "runtime/copies.hpp"
#include "runtime/modules.hpp"

using namespace emu::runtime;

namespace {

CopyPlan linear(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  CopyPlan plan;
  plan.dst = dst;
  plan.dst_pitch = bytes;
  plan.src = src;
  plan.src_pitch = bytes;
  plan.width = bytes;
  plan.kind = kind;
  return plan;
}

CopyPlan peer(void* dst, int dst_device, const void* src, int src_device, size_t bytes) {
  CopyPlan plan = linear(dst, src, bytes, cudaMemcpyDefault);
  plan.dst_device = dst_device;
  plan.src_device = src_device;
  return plan;
}

cudaError_t run_copy(const char* name, const CopyPlan& plan, cudaStream_t stream,
                     bool synchronous) {
  return device_api(name, [&](Session& s) { return copy(s, plan, stream, synchronous); });
}

SetPlan rows(void* dst, size_t pitch, int value, size_t width, size_t height) {
  SetPlan plan;
  plan.dst = dst;
  plan.pitch = pitch;
  plan.value = value;
  plan.width = width;
  plan.height = height;
  return plan;
}

cudaError_t run_set(const char* name, const SetPlan& plan, cudaStream_t stream) {
  return device_api(name, [&](Session& s) { return set(s, plan, stream); });
}

// The part of a variable that a copy names, as a pointer; null after an error.
cudaError_t symbol_pointer(Session& s, const void* symbol, size_t offset, size_t bytes,
                           void** pointer) {
  const LoadedVariable variable = load_variable(s, symbol);
  if (variable.error != cudaSuccess) {
    return variable.error;
  }
  if (offset > variable.bytes || bytes > variable.bytes - offset) {
    return s.fail(cudaErrorInvalidValue, std::to_string(bytes) + " bytes at offset " +
                                             std::to_string(offset) + " of a variable of " +
                                             std::to_string(variable.bytes) + " bytes");
  }
  *pointer = reinterpret_cast<void*>(variable.address + offset);
  return cudaSuccess;
}

cudaError_t to_symbol(const char* name, const void* symbol, const void* src, size_t bytes,
                      size_t offset, cudaMemcpyKind kind, cudaStream_t stream, bool synchronous) {
  return device_api(name, [&](Session& s) {
    void* pointer = nullptr;
    const cudaError_t error = symbol_pointer(s, symbol, offset, bytes, &pointer);
    return error != cudaSuccess ? error
                                : copy(s, linear(pointer, src, bytes, kind), stream, synchronous);
  });
}

cudaError_t from_symbol(const char* name, void* dst, const void* symbol, size_t bytes,
                        size_t offset, cudaMemcpyKind kind, cudaStream_t stream, bool synchronous) {
  return device_api(name, [&](Session& s) {
    void* pointer = nullptr;
    const cudaError_t error = symbol_pointer(s, symbol, offset, bytes, &pointer);
    return error != cudaSuccess ? error
                                : copy(s, linear(dst, pointer, bytes, kind), stream, synchronous);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind) {
  return run_copy("cudaMemcpy", linear(dst, src, bytes, kind), nullptr, true);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return run_copy("cudaMemcpyAsync", linear(dst, src, bytes, kind), stream, false);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return run_copy("cudaMemcpy2D", {dst, dst_pitch, src, src_pitch, width, height, kind}, nullptr,
                  true);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return run_copy("cudaMemcpy2DAsync", {dst, dst_pitch, src, src_pitch, width, height, kind},
                  stream, false);
}

cudaError_t cudaMemcpyPeer(void* dst, int dst_device, const void* src, int src_device,
                           size_t bytes) {
  return run_copy("cudaMemcpyPeer", peer(dst, dst_device, src, src_device, bytes), nullptr, true);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device,
                                size_t bytes, cudaStream_t stream) {
  return run_copy("cudaMemcpyPeerAsync", peer(dst, dst_device, src, src_device, bytes), stream,
                  false);
}

cudaError_t cudaMemset(void* dst, int value, size_t bytes) {
  return run_set("cudaMemset", rows(dst, bytes, value, bytes, 1), nullptr);
}

cudaError_t cudaMemsetAsync(void* dst, int value, size_t bytes, cudaStream_t stream) {
  return run_set("cudaMemsetAsync", rows(dst, bytes, value, bytes, 1), stream);
}

cudaError_t cudaMemset2D(void* dst, size_t pitch, int value, size_t width, size_t height) {
  return run_set("cudaMemset2D", rows(dst, pitch, value, width, height), nullptr);
}

cudaError_t cudaMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return run_set("cudaMemset2DAsync", rows(dst, pitch, value, width, height), stream);
}

cudaError_t cudaGetSymbolAddress(void** out, const void* symbol) {
  return device_api("cudaGetSymbolAddress", [&](Session& s) {
    if (out == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
    }
    return symbol_pointer(s, symbol, 0, 0, out);
  });
}

cudaError_t cudaGetSymbolSize(size_t* out, const void* symbol) {
  return device_api("cudaGetSymbolSize", [&](Session& s) {
    if (out == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
    }
    const LoadedVariable variable = load_variable(s, symbol);
    *out = variable.bytes;
    return variable.error;
  });
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return to_symbol("cudaMemcpyToSymbol", symbol, src, bytes, offset, kind, nullptr, true);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t bytes,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return to_symbol("cudaMemcpyToSymbolAsync", symbol, src, bytes, offset, kind, stream, false);
}

cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return from_symbol("cudaMemcpyFromSymbol", dst, symbol, bytes, offset, kind, nullptr, true);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return from_symbol("cudaMemcpyFromSymbolAsync", dst, symbol, bytes, offset, kind, stream, false);
}

}  // extern "C"
