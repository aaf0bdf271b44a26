// SPDX-License-Identifier: Apache-2.0
#include "runtime/capture.hpp"

#include <algorithm>

namespace emu::runtime {
namespace {

void invalidate(Capture& capture) {
  capture.invalidated = true;
}

// What stands in front of new work in `stream`.
std::vector<WorkPtr> stream_needs(Session& s, const Stream& stream) {
  std::vector<WorkPtr> needs = {stream.last};
  const Device& device = s.rt.devices[static_cast<size_t>(stream.device)];
  if (stream.is_legacy) {
    for (const auto& [handle, other] : s.rt.streams) {
      if (other->device == stream.device && other->is_blocking()) {
        needs.push_back(other->last);
      }
    }
    needs.insert(needs.end(), device.orphans.begin(), device.orphans.end());
  } else if (stream.is_blocking()) {
    needs.push_back(device.legacy->last);
  }
  return needs;
}

// 906 where work in the legacy stream would wait for a stream that captures.
cudaError_t implicit_dependency_error(Session& s, const Stream& stream) {
  if (!stream.is_legacy) {
    return cudaSuccess;
  }
  bool refused = false;
  for (const auto& [handle, other] : s.rt.streams) {
    if (other->device == stream.device && other->is_blocking() && other->capture != nullptr) {
      invalidate(*other->capture);
      refused = true;
    }
  }
  return refused ? s.fail(cudaErrorStreamCaptureImplicit,
                          "the legacy default stream waits for every blocking stream, and one of "
                          "them captures; the capture is invalid now")
                 : cudaSuccess;
}

void join(const StreamPtr& stream, const Event& event) {
  stream->capture = event.capture;
  stream->capture->members.insert(stream.get());
  for (GraphNode* node : event.capture_ends) {
    if (std::find(stream->capture_ends.begin(), stream->capture_ends.end(), node) ==
        stream->capture_ends.end()) {
      stream->capture_ends.push_back(node);
    }
  }
}

// Everything that must have run before `ends` have.
std::set<const GraphNode*> ancestors(const std::vector<GraphNode*>& ends) {
  std::set<const GraphNode*> found(ends.begin(), ends.end());
  std::vector<const GraphNode*> open(ends.begin(), ends.end());
  while (!open.empty()) {
    const GraphNode* const node = open.back();
    open.pop_back();
    for (const GraphNode* need : node->needs) {
      if (found.insert(need).second) {
        open.push_back(need);
      }
    }
  }
  return found;
}

bool is_unjoined(const Capture& capture) {
  const std::set<const GraphNode*> joined = ancestors(capture.origin->capture_ends);
  for (const Stream* member : capture.members) {
    for (const GraphNode* end : member->capture_ends) {
      if (!joined.contains(end)) {
        return true;
      }
    }
  }
  return false;
}

// Why the capture cannot become a graph.
cudaError_t capture_fault(Session& s, const Capture& capture) {
  if (capture.invalidated) {
    return s.fail(cudaErrorStreamCaptureInvalidated,
                  "a call made during this capture is not allowed in one; no graph");
  }
  if (is_unjoined(capture)) {
    return s.fail(cudaErrorStreamCaptureUnjoined,
                  "another stream of this capture has work that the first does not wait for");
  }
  return cudaSuccess;
}

void enqueue_node(Session& s, const GraphExec::Node& node, const WorkPtr& begin,
                  std::vector<WorkPtr>* works) {
  std::vector<WorkPtr> needs = {begin};
  for (const size_t need : node.needs) {
    needs.push_back((*works)[need]);
  }
  works->push_back(s.executor().submit(s.lock, node.task, std::move(needs)));
}

// The graph becomes a part of the one that `stream` captures.
void inline_graph(const GraphExec& exec, Stream* stream) {
  std::vector<GraphNode*> added;
  for (const GraphExec::Node& node : exec.nodes) {
    std::vector<GraphNode*> needs;
    for (const size_t need : node.needs) {
      needs.push_back(added[need]);
    }
    if (needs.empty()) {
      needs = stream->capture_ends;
    }
    added.push_back(stream->capture->graph->add(node.task, std::move(needs)));
  }
  Task end;
  end.device = stream->device;
  end.what = "end of a graph";
  stream->capture_ends = {stream->capture->graph->add(std::move(end), std::move(added))};
}

}  // namespace

GraphNode* Graph::add(Task task, std::vector<GraphNode*> needs) {
  auto node = std::make_unique<GraphNode>();
  node->task = std::move(task);
  node->needs = std::move(needs);
  node->index = nodes.size();
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

bool forbids_unsafe_calls(const Capture& capture, cudaStreamCaptureMode thread_mode) {
  const bool is_own = capture.thread == std::this_thread::get_id();
  switch (thread_mode) {
    case cudaStreamCaptureModeRelaxed:
      return false;
    case cudaStreamCaptureModeThreadLocal:
      return is_own && capture.mode != cudaStreamCaptureModeRelaxed;
    case cudaStreamCaptureModeGlobal:
      break;
  }
  return (is_own && capture.mode != cudaStreamCaptureModeRelaxed) ||
         capture.mode == cudaStreamCaptureModeGlobal;
}

cudaError_t enqueue_error(Session& s, const StreamPtr& stream) {
  if (stream->capture != nullptr && stream->capture->invalidated) {
    return s.fail(cudaErrorStreamCaptureInvalidated, "the capture of this stream is invalid");
  }
  return implicit_dependency_error(s, *stream);
}

void enqueue_after(Session& s, const StreamPtr& stream, Task task, std::vector<WorkPtr> needs) {
  const std::vector<WorkPtr> before = stream_needs(s, *stream);
  needs.insert(needs.end(), before.begin(), before.end());
  if (stream->is_legacy) {
    s.rt.devices[static_cast<size_t>(stream->device)].orphans.clear();
  }
  // Under an eager policy the work runs inside submit and the lock is free meanwhile; another
  // thread's work in this stream may then overtake, as two threads' calls may anyway.
  stream->last = s.executor().submit(s.lock, std::move(task), std::move(needs));
}

bool waits_for_its_last_only(Session& s, const Stream& stream) {
  const std::vector<WorkPtr> needs = stream_needs(s, stream);
  return std::all_of(needs.begin(), needs.end(), [&](const WorkPtr& need) {
    return need == nullptr || need == stream.last || need->state == Work::State::kDone ||
           std::find(stream.last->needs.begin(), stream.last->needs.end(), need) !=
               stream.last->needs.end();
  });
}

cudaError_t enqueue(Session& s, const StreamPtr& stream, Task task) {
  const cudaError_t error = enqueue_error(s, stream);
  if (error != cudaSuccess) {
    return error;
  }
  if (stream->capture != nullptr) {
    stream->capture_ends = {
        stream->capture->graph->add(std::move(task), std::move(stream->capture_ends))};
    return cudaSuccess;
  }
  enqueue_after(s, stream, std::move(task), {});
  return cudaSuccess;
}

cudaError_t record_event(Session& s, const StreamPtr& stream, Event* event) {
  const cudaError_t error = enqueue_error(s, stream);
  if (error != cudaSuccess) {
    return error;
  }
  event->recorded = true;
  event->capture = stream->capture;
  event->capture_ends = stream->capture_ends;
  if (stream->capture != nullptr) {
    event->work = nullptr;
    return cudaSuccess;
  }
  Task task;
  task.kind = TaskKind::kRecord;
  task.what = "an event";
  task.device = stream->device;
  enqueue_after(s, stream, std::move(task), {});
  event->work = stream->last;
  return cudaSuccess;
}

cudaError_t wait_for_event(Session& s, const StreamPtr& stream, const Event& event) {
  const cudaError_t error = enqueue_error(s, stream);
  if (error != cudaSuccess) {
    return error;
  }
  if (event.capture != nullptr && event.capture->ended) {
    return s.fail(cudaErrorCapturedEvent,
                  "the event was last recorded in a capture, which has ended");
  }
  if (event.capture != nullptr) {
    if (stream->is_legacy) {
      invalidate(*event.capture);
      return s.fail(cudaErrorStreamCaptureImplicit,
                    "the legacy default stream cannot join a capture");
    }
    if (stream->capture != nullptr && stream->capture != event.capture) {
      invalidate(*event.capture);
      invalidate(*stream->capture);
      return s.fail(cudaErrorStreamCaptureMerge, "the event belongs to another capture");
    }
    join(stream, event);
    return cudaSuccess;
  }
  if (stream->capture != nullptr) {
    if (!event.recorded) {
      return cudaSuccess;
    }
    invalidate(*stream->capture);
    return s.fail(cudaErrorStreamCaptureIsolation,
                  "the event was recorded outside of the capture; the capture is invalid now");
  }
  Task task;
  task.kind = TaskKind::kEmpty;
  task.what = "waiting for an event";
  task.device = stream->device;
  enqueue_after(s, stream, std::move(task), {event.work});
  return cudaSuccess;
}

cudaError_t begin_capture(Session& s, const StreamPtr& stream, cudaStreamCaptureMode mode) {
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) {
    return s.fail(cudaErrorInvalidValue,
                  "mode is " + std::to_string(static_cast<int>(mode)) + "; allowed: 0, 1, 2");
  }
  if (stream->is_legacy) {
    return s.fail(cudaErrorStreamCaptureUnsupported, "the legacy default stream cannot capture");
  }
  if (stream->capture != nullptr) {
    return s.fail(cudaErrorIllegalState, "the stream captures already");
  }
  auto capture = std::make_shared<Capture>();
  capture->id = s.rt.next_id++;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->handle = s.rt.make_handle<cudaGraph_t>();
  capture->graph = std::make_unique<Graph>();
  capture->origin = stream.get();
  capture->members = {stream.get()};
  stream->capture = capture;
  stream->capture_ends.clear();
  s.rt.captures.insert(std::move(capture));
  return cudaSuccess;
}

void abandon_capture(Session& s, const std::shared_ptr<Capture>& capture) {
  capture->ended = true;
  for (Stream* member : capture->members) {
    member->capture_ends.clear();
    member->capture.reset();
  }
  s.rt.captures.erase(capture);
}

cudaError_t end_capture(Session& s, const StreamPtr& stream, cudaGraph_t* graph) {
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) {
    return s.fail(cudaErrorIllegalState, "the stream does not capture");
  }
  if (capture->origin != stream.get()) {
    invalidate(*capture);
    return s.fail(cudaErrorStreamCaptureUnmatched, "the capture was begun in another stream");
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed &&
      capture->thread != std::this_thread::get_id()) {
    invalidate(*capture);
    return s.fail(cudaErrorStreamCaptureWrongThread, "the capture was begun by another thread");
  }
  const cudaError_t fault = capture_fault(s, *capture);
  abandon_capture(s, capture);
  if (fault == cudaSuccess) {
    *graph = capture->handle;
    s.rt.graphs[capture->handle] = std::move(capture->graph);
  }
  return fault;
}

cudaError_t launch_graph(Session& s, GraphExec* exec, const StreamPtr& stream) {
  const cudaError_t error = enqueue_error(s, stream);
  if (error != cudaSuccess) {
    return error;
  }
  if (stream->capture != nullptr) {
    inline_graph(*exec, stream.get());
    return cudaSuccess;
  }
  Task mark;
  mark.what = "a graph";
  mark.device = stream->device;
  enqueue_after(s, stream, mark, {exec->last});
  const WorkPtr begin = stream->last;
  std::vector<WorkPtr> works;
  for (const GraphExec::Node& node : exec->nodes) {
    enqueue_node(s, node, begin, &works);
  }
  enqueue_after(s, stream, std::move(mark), std::move(works));
  exec->last = stream->last;
  return cudaSuccess;
}

cudaError_t refuse_capturing(Session& s, const StreamPtr& stream) {
  if (stream->capture == nullptr) {
    return cudaSuccess;
  }
  invalidate(*stream->capture);
  return s.fail(
      cudaErrorStreamCaptureUnsupported,
      "the stream captures and cannot be waited for or asked; the capture is invalid now");
}

}  // namespace emu::runtime
