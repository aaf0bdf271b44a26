// SPDX-License-Identifier: Apache-2.0
// Streams that record instead of running, and the graphs this makes.
#pragma once

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime/session.hpp"
#include "runtime/state.hpp"

namespace emu::runtime {

struct GraphNode {
  Task task;
  std::vector<GraphNode*> needs;
  size_t index = 0;  // in its graph
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  GraphNode* add(Task task, std::vector<GraphNode*> needs);
};

struct GraphExec {
  struct Node {
    Task task;
    std::vector<size_t> needs;
  };
  std::vector<Node> nodes;  // each after those it needs
  WorkPtr last;             // of its latest launch: launches of one graph run one after another
};

struct Capture {
  uint64_t id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  cudaGraph_t handle = nullptr;
  std::unique_ptr<Graph> graph;
  Stream* origin = nullptr;
  std::set<Stream*> members;
  bool invalidated = false;
  bool ended = false;
};

// Whether `capture` forbids calls that may wait or change what is captured, for a calling thread of
// this mode.
bool forbids_unsafe_calls(const Capture& capture, cudaStreamCaptureMode thread_mode);

// Puts `task` into `stream`: into its queue, or into the graph that it captures.
cudaError_t enqueue(Session& s, const StreamPtr& stream, Task task);
// As above, after `needs`, too. Never during a capture.
void enqueue_after(Session& s, const StreamPtr& stream, Task task, std::vector<WorkPtr> needs);
// Whether new work in the stream, whose last work is pending, would wait for nothing else.
bool waits_for_its_last_only(Session& s, const Stream& stream);
// Errors that enqueueing would give.
cudaError_t enqueue_error(Session& s, const StreamPtr& stream);

cudaError_t wait_for_event(Session& s, const StreamPtr& stream, const Event& event);
cudaError_t record_event(Session& s, const StreamPtr& stream, Event* event);
cudaError_t begin_capture(Session& s, const StreamPtr& stream, cudaStreamCaptureMode mode);
// Ends it without a graph.
void abandon_capture(Session& s, const std::shared_ptr<Capture>& capture);
cudaError_t end_capture(Session& s, const StreamPtr& stream, cudaGraph_t* graph);
cudaError_t launch_graph(Session& s, GraphExec* exec, const StreamPtr& stream);

// 900 and an invalid capture where `stream` captures: it cannot be waited for.
cudaError_t refuse_capturing(Session& s, const StreamPtr& stream);

}  // namespace emu::runtime
