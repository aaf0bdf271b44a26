// SPDX-License-Identifier: Apache-2.0
#include "core/gpu_data.hpp"

#include <pthread.h>

#include <mutex>
#include <set>
#include <utility>

#include "base/require.hpp"
#include "core/backend_call.hpp"
#include "core/device.hpp"
#include "core/loader.hpp"
#include "core/run_arguments.hpp"

namespace mxgemm::internal {
namespace {

using Functions = mxgemm_data_functions;

// A library's functions and its name for messages.
struct Source {
  const Functions* functions = nullptr;
  const GpuLibrary* library = nullptr;
};

// What has been prepared, by library and device.
struct Prepared {
  std::mutex mutex;
  std::set<std::pair<const Functions*, int32_t>> done;
};

Prepared& prepared() {
  static Prepared* const made = [] {
    // Held across a fork, so that no other thread holds it in the child.
    pthread_atfork([] { prepared().mutex.lock(); }, [] { prepared().mutex.unlock(); },
                   [] { prepared().mutex.unlock(); });
    return new Prepared();
  }();
  return *made;
}

// A failure has the library's name before it, and must not be found again by the next call.
template <typename Function, typename... Arguments>
Status call_library(const Source& source, Function function, Arguments... arguments) {
  const Status status = call_backend(function, arguments...);
  forget_device_error(MXGEMM_DEVICE_CUDA, status.code());
  return status.ok()
             ? status
             : Status(status.code(), format_text("cuda:%s: %s", source.library->arch.text.c_str(),
                                                 status.message().c_str()));
}

Status prepare(const Source& source, int32_t device_index) {
  if (source.functions->prepare == nullptr) {
    return {};
  }
  const std::lock_guard<std::mutex> lock(prepared().mutex);
  const std::pair<const Functions*, int32_t> key = {source.functions, device_index};
  if (prepared().done.count(key) != 0) {
    return {};
  }
  MXGEMM_TRY(call_library(source, source.functions->prepare, device_index));
  prepared().done.insert(key);
  return {};
}

// The best library of the device that has the function, prepared. `what` names it for messages.
template <typename Member>
Status find_source(int32_t device_index, Member member, const char* what, Source* source) {
  int32_t capability = 0;
  MXGEMM_TRY(device_capability(MXGEMM_DEVICE_CUDA, device_index, &capability));
  Loader* loader = nullptr;
  MXGEMM_TRY(gpu_loader(&loader));
  std::string reasons;
  for (const LibraryChoice& choice : loader->choices(capability)) {
    const bool serves = choice.refusal.empty();
    const Functions* functions = serves ? choice.library->table->data : nullptr;
    if (functions != nullptr && functions->*member != nullptr) {
      *source = {functions, choice.library};
      return prepare(*source, device_index);
    }
    reasons += format_text("\ncuda:%s: %s", choice.library->arch.text.c_str(),
                           serves ? "it lacks the function" : choice.refusal.c_str());
  }
  return {StatusCode::kUnsupported,
          format_text("no library can %s on cuda:%d (compute capability %s)%s", what, device_index,
                      capability_text(capability).c_str(), reasons.c_str())};
}

uint64_t quantize_workspace_size(const Source& source, const mxgemm_quantize_desc& desc) {
  const auto size = source.functions->quantize_workspace_size;
  return size == nullptr ? 0 : size(&desc);
}

Status check_quantize_workspace(const mxgemm_quantize_args& args, uint64_t needed,
                                const QuantizeBufferRegions& regions) {
  if (args.workspace_bytes < needed || (args.workspace == nullptr && needed > 0)) {
    return {StatusCode::kWorkspaceTooSmall,
            format_text("args.workspace is %p and args.workspace_bytes is %llu; "
                        "mxgemm_quantize_workspace_size says %llu",
                        args.workspace, static_cast<unsigned long long>(args.workspace_bytes),
                        static_cast<unsigned long long>(needed))};
  }
  constexpr uint64_t kAlignment = 256;  // what device allocations have
  Region region;
  MXGEMM_TRY(check_buffer({"args.workspace", "args.workspace_bytes", nullptr}, args.workspace,
                          args.workspace_bytes, needed, kAlignment, &region));
  MXGEMM_TRY(check_disjoint(region, regions.src));
  MXGEMM_TRY(check_disjoint(region, regions.qdata));
  MXGEMM_TRY(check_disjoint(region, regions.scale));
  return check_disjoint(region, regions.global_scale);
}

}  // namespace

Status gpu_quantize_workspace_size(const mxgemm_quantize_desc& desc, uint64_t* bytes) {
  MXGEMM_TRY(check_runnable(kDescDevice, desc.device_kind, desc.device_index));
  Source source;
  MXGEMM_TRY(find_source(desc.device_index, &Functions::quantize, "quantise", &source));
  *bytes = quantize_workspace_size(source, desc);
  return {};
}

Status gpu_quantize(const mxgemm_quantize_desc& desc, const mxgemm_quantize_args& args,
                    void* stream, const QuantizeBufferRegions& regions) {
  Source source;
  MXGEMM_TRY(find_source(desc.device_index, &Functions::quantize, "quantise", &source));
  const uint64_t needed = quantize_workspace_size(source, desc);
  MXGEMM_TRY(check_quantize_workspace(args, needed, regions));
  const bool is_empty = desc.rows == 0 || desc.cols == 0;
  const NamedPointer pointers[] = {{"args.src", is_empty ? nullptr : args.src},
                                   {"args.qdata", is_empty ? nullptr : args.qdata},
                                   {"args.scale", is_empty ? nullptr : args.scale},
                                   {"args.global_scale", args.global_scale},
                                   {"args.workspace", args.workspace}};
  MXGEMM_TRY(check_memory(kDescDevice.index, desc.device_index, pointers));
  return call_library(source, source.functions->quantize, &desc, &args, stream);
}

Status gpu_dequantize(const mxgemm_dequantize_call& call, void* stream) {
  Source source;
  MXGEMM_TRY(find_source(call.device_index, &Functions::dequantize, "dequantise", &source));
  const NamedPointer pointers[] = {{"src.data", call.src->data},
                                   {"src.scale", call.src->scale},
                                   {"src.global_scale_ptr", call.src->global_scale_ptr},
                                   {"dst", call.dst}};
  MXGEMM_TRY(check_memory(kDeviceArguments.index, call.device_index, pointers));
  return call_library(source, source.functions->dequantize, &call, stream);
}

Status gpu_swizzle(const mxgemm_swizzle_call& call, bool to_swizzled, void* stream) {
  Source source;
  const auto member = to_swizzled ? &Functions::swizzle : &Functions::unswizzle;
  MXGEMM_TRY(find_source(call.device_index, member,
                         to_swizzled ? "swizzle scales" : "unswizzle scales", &source));
  const NamedPointer pointers[] = {{"src", call.src}, {"dst", call.dst}};
  MXGEMM_TRY(check_memory(kDeviceArguments.index, call.device_index, pointers));
  return call_library(source, source.functions->*member, &call, stream);
}

}  // namespace mxgemm::internal
