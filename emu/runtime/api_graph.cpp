// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs.
#include <algorithm>

#include "runtime/capture.hpp"
#include "runtime/launch.hpp"

using namespace emu::runtime;

namespace {

cudaStreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) {
    return cudaStreamCaptureStatusNone;
  }
  return stream.capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
}

template <typename Body>
cudaError_t with_stream(const char* name, cudaStream_t handle, const Body& body) {
  return device_api(name, [&](Session& s) {
    const StreamPtr stream = s.find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : body(s, stream);
  });
}

// The graph behind a handle; null after an error.
Graph* find_graph(Session& s, cudaGraph_t handle) {
  const auto found = s.rt.graphs.find(handle);
  if (found == s.rt.graphs.end()) {
    s.fail(cudaErrorInvalidValue, "there is no such graph");
    return nullptr;
  }
  return found->second.get();
}

std::unique_ptr<GraphExec> instantiate_graph(const Graph& graph) {
  auto exec = std::make_unique<GraphExec>();
  for (const std::unique_ptr<GraphNode>& node : graph.nodes) {
    GraphExec::Node copy;
    copy.task = node->task;
    std::transform(node->needs.begin(), node->needs.end(), std::back_inserter(copy.needs),
                   [](const GraphNode* need) { return need->index; });
    exec->nodes.push_back(std::move(copy));
  }
  return exec;
}

cudaError_t instantiate_api(const char* name, cudaGraphExec_t* out, cudaGraph_t handle,
                            unsigned long long flags) {
  return device_api(name, [&](Session& s) {
    if (out == nullptr || flags != 0) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null, or flags is " +
                                               std::to_string(flags) + "; allowed: 0");
    }
    *out = nullptr;
    const Graph* const graph = find_graph(s, handle);
    if (graph == nullptr) {
      return cudaErrorInvalidValue;
    }
    *out = s.rt.make_handle<cudaGraphExec_t>();
    s.rt.graph_execs[*out] = instantiate_graph(*graph);
    return cudaSuccess;
  });
}

cudaGraphNodeType type_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
      return cudaGraphNodeTypeKernel;
    case TaskKind::kCopy:
      return cudaGraphNodeTypeMemcpy;
    case TaskKind::kSet:
      return cudaGraphNodeTypeMemset;
    case TaskKind::kHost:
      return cudaGraphNodeTypeHost;
    case TaskKind::kEmpty:
    case TaskKind::kRecord:
      break;
  }
  return cudaGraphNodeTypeEmpty;
}

cudaGraphNode_t node_handle(GraphNode* node) {
  return reinterpret_cast<cudaGraphNode_t>(node);
}

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return with_stream("cudaStreamBeginCapture", handle, [&](Session& s, const StreamPtr& stream) {
    return begin_capture(s, stream, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return with_stream("cudaStreamEndCapture", handle, [&](Session& s, const StreamPtr& stream) {
    return graph == nullptr ? s.fail(cudaErrorInvalidValue, "the pointer for the graph is null")
                            : end_capture(s, stream, graph);
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return with_stream("cudaStreamIsCapturing", handle, [&](Session& s, const StreamPtr& stream) {
    if (status == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the result is null");
    }
    const cudaError_t error = enqueue_error(s, stream);  // 906 of the legacy stream
    *status = status_of(*stream);
    return error == cudaErrorStreamCaptureImplicit ? error : cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return with_stream("cudaStreamGetCaptureInfo", handle, [&](Session& s, const StreamPtr& stream) {
    if (status == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the status is null");
    }
    *status = status_of(*stream);
    if (*status != cudaStreamCaptureStatusActive) {
      return cudaSuccess;
    }
    if (id != nullptr) {
      *id = stream->capture->id;
    }
    if (graph != nullptr) {
      *graph = stream->capture->handle;
    }
    if (dependencies != nullptr) {
      *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream->capture_ends.data());
    }
    if (edges != nullptr) {
      *edges = nullptr;
    }
    if (count != nullptr) {
      *count = stream->capture_ends.size();
    }
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api("cudaThreadExchangeStreamCaptureMode", [&](Session& s) {
    if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal ||
        *mode > cudaStreamCaptureModeRelaxed) {
      return s.fail(cudaErrorInvalidValue, "the pointer is null, or the mode is none of 0, 1, 2");
    }
    std::swap(*mode, this_thread().capture_mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph,
                                 unsigned long long flags) {
  return instantiate_api("cudaGraphInstantiate", out, graph, flags);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph,
                                          unsigned long long flags) {
  return instantiate_api("cudaGraphInstantiateWithFlags", out, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return with_stream("cudaGraphLaunch", stream_handle, [&](Session& s, const StreamPtr& stream) {
    const auto found = s.rt.graph_execs.find(handle);
    if (found == s.rt.graph_execs.end()) {
      return s.fail(cudaErrorInvalidValue, "there is no such instantiated graph");
    }
    const cudaError_t error = stream->capture == nullptr ? graph_launch_fault(s) : cudaSuccess;
    return error != cudaSuccess ? error : launch_graph(s, found->second.get(), stream);
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return with_stream("cudaGraphUpload", stream_handle, [&](Session& s, const StreamPtr&) {
    return s.rt.graph_execs.contains(handle)
               ? cudaSuccess
               : s.fail(cudaErrorInvalidValue, "there is no such instantiated graph");
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  return device_api("cudaGraphGetNodes", [&](Session& s) {
    const Graph* const graph = find_graph(s, handle);
    if (graph == nullptr) {
      return cudaErrorInvalidValue;
    }
    if (count == nullptr) {
      return s.fail(cudaErrorInvalidValue, "the pointer for the count is null");
    }
    if (nodes == nullptr) {
      *count = graph->nodes.size();
      return cudaSuccess;
    }
    // Room beyond the last node is set to null, as documented.
    for (size_t index = 0; index < *count; ++index) {
      nodes[index] = index < graph->nodes.size() ? node_handle(graph->nodes[index].get()) : nullptr;
    }
    *count = std::min(*count, graph->nodes.size());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return device_api("cudaGraphNodeGetType", [&](Session& s) {
    for (const auto& [handle, graph] : s.rt.graphs) {
      for (const std::unique_ptr<GraphNode>& each : graph->nodes) {
        if (node_handle(each.get()) == node && type != nullptr) {
          *type = type_of(each->task.kind);
          return cudaSuccess;
        }
      }
    }
    return s.fail(cudaErrorInvalidValue, "there is no such node, or the pointer is null");
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return device_api("cudaGraphDestroy", [&](Session& s) {
    return s.rt.graphs.erase(handle) == 1 ? cudaSuccess
                                          : s.fail(cudaErrorInvalidValue, "there is no such graph");
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return device_api("cudaGraphExecDestroy", [&](Session& s) {
    return s.rt.graph_execs.erase(handle) == 1
               ? cudaSuccess
               : s.fail(cudaErrorInvalidValue, "there is no such instantiated graph");
  });
}

}  // extern "C"
