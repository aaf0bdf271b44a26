// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch.hpp"

#include <algorithm>
#include <cstring>

#include "check/registration.hpp"
#include "runtime/capture.hpp"

namespace emu::runtime {
namespace {

Dim3 to_dim3(const dim3& dims) {
  return {dims.x, dims.y, dims.z};
}

uint64_t accessible_devices(const Device& device, int index) {
  uint64_t mask = uint64_t{1} << index;
  for (const int peer : device.peers) {
    mask |= uint64_t{1} << peer;
  }
  return mask;
}

// The kernel's own cluster size where the launch names none.
void take_required_cluster(const Code& code, LaunchShape* shape) {
  const uint32_t(&required)[3] = code.function->reqnctapercluster;
  if (!shape->has_cluster && required[0] != 0) {
    shape->cluster = dim3(required[0], std::max(required[1], 1U), std::max(required[2], 1U));
    shape->has_cluster = true;
  }
}

cudaError_t copy_arguments(Session& s, const LoadedKernel& kernel, void** arguments,
                           std::vector<uint8_t>* params) {
  params->assign(kernel.code->param_bytes, 0);
  for (size_t index = 0; index < kernel.code->params.size(); ++index) {
    const KernelParam& param = kernel.code->params[index];
    if (arguments == nullptr || arguments[index] == nullptr) {
      return s.fail(cudaErrorInvalidValue,
                    check::demangled(kernel.kernel->name) + ": argument " + std::to_string(index) +
                        " of " + std::to_string(kernel.code->params.size()) + " is missing");
    }
    std::memcpy(params->data() + param.offset, arguments[index], param.bytes);
  }
  return cudaSuccess;
}

LaunchRequest make_request(Session& s, const LoadedKernel& kernel, const LaunchShape& shape,
                           std::vector<uint8_t> params) {
  LaunchRequest request;
  request.program = kernel.program;
  request.kernel = kernel.code;
  request.instance = kernel.instance.get();
  request.grid = to_dim3(shape.grid);
  request.block = to_dim3(shape.cta);
  request.cluster = to_dim3(shape.cluster);
  request.has_cluster = shape.has_cluster;
  request.dynamic_shared_bytes = static_cast<uint32_t>(shape.dynamic_shared);
  request.params = std::move(params);
  request.device = device_facts(s.device().spec, s.device_index());
  request.accessible_devices = accessible_devices(s.device(), s.device_index());
  request.memory = &s.rt.memory;
  request.grid_id = s.rt.next_grid++;
  request.cooperative = shape.cooperative;
  request.programmatic = shape.programmatic;
  request.library = kernel.kernel->binary->library;
  return request;
}

// Runs the launches of `chain`, of which all but the first may begin before their predecessor ends.
Outcome run_chain(Runtime& rt, const KernelChain& chain) {
  Outcome outcome;
  for (const LaunchResult& result : launch_chain(chain.requests, rt.options)) {
    outcome.steps += result.warp_instructions;
    if (!result.ok() && outcome.error == cudaSuccess) {
      outcome.error = static_cast<cudaError_t>(result.error());
      outcome.report = result.fault.report.empty() ? result.fault.text : result.fault.report;
    }
  }
  return outcome;
}

Task kernel_task(Session& s, const LoadedKernel& kernel, LaunchRequest request) {
  Task task;
  task.kind = TaskKind::kKernel;
  task.what = check::demangled(kernel.kernel->name);
  task.device = s.device_index();
  auto chain = std::make_shared<KernelChain>();
  chain->requests.push_back(std::move(request));
  task.chain = chain;
  // The instance is held as long as the launch may run.
  task.run = [&rt = s.rt, chain, instance = kernel.instance] {
    rt.kernels_run += chain->requests.size();
    return run_chain(rt, *chain);
  };
  return task;
}

// A programmatic launch right behind a kernel that has not run joins it.
bool joins_predecessor(Session& s, const Stream& stream, const Task& task) {
  return task.chain->requests.front().programmatic && stream.capture == nullptr &&
         stream.last != nullptr && stream.last->state == Work::State::kPending &&
         stream.last->task.kind == TaskKind::kKernel && stream.last->task.device == task.device &&
         waits_for_its_last_only(s, stream);
}

cudaError_t injected_fault(Session& s, const std::string& name) {
  const int device = s.device_index();
  ++s.rt.counters.launches;
  // Both count every launch, also where both are set.
  const bool once = s.rt.faults.strikes(Injection::kLaunchOnce, device);
  if (s.rt.faults.strikes(Injection::kLaunch, device)) {
    s.device().sticky = cudaErrorLaunchFailure;
    return s.fail(cudaErrorLaunchFailure, name + ": EMU_FAULT lets this launch fail for good");
  }
  return once ? s.fail(cudaErrorLaunchOutOfResources, name + ": EMU_FAULT lets this launch fail")
              : cudaSuccess;
}

}  // namespace

cudaError_t graph_launch_fault(Session& s) {
  return injected_fault(s, "a graph");
}

cudaError_t launch_kernel(Session& s, const void* stub_or_handle, LaunchShape shape,
                          void** arguments, cudaStream_t stream_handle, cudaError_t unregistered,
                          const void* caller) {
  const StreamPtr stream = s.find_stream(stream_handle);
  if (stream == nullptr) {
    return cudaErrorInvalidResourceHandle;
  }
  const LoadedKernel kernel = load_kernel(s, stub_or_handle, unregistered, caller);
  if (kernel.error != cudaSuccess) {
    return kernel.error;
  }
  if (stream->device != s.device_index()) {
    return s.fail(cudaErrorInvalidResourceHandle,
                  check::demangled(kernel.kernel->name) + ": the stream belongs to device " +
                      std::to_string(stream->device) + ", device " +
                      std::to_string(s.device_index()) + " is current");
  }
  take_required_cluster(*kernel.code, &shape);
  cudaError_t error = shape_error(s, kernel, shape);
  std::vector<uint8_t> params;
  if (error == cudaSuccess) {
    error = copy_arguments(s, kernel, arguments, &params);
  }
  if (error == cudaSuccess && stream->capture == nullptr) {
    error = injected_fault(s, check::demangled(kernel.kernel->name));
  }
  if (error != cudaSuccess) {
    return error;
  }
  Task task = kernel_task(s, kernel, make_request(s, kernel, shape, std::move(params)));
  if (joins_predecessor(s, *stream, task)) {
    stream->last->task.chain->requests.push_back(std::move(task.chain->requests.front()));
    return cudaSuccess;
  }
  return enqueue(s, stream, std::move(task));
}

}  // namespace emu::runtime
