// SPDX-License-Identifier: Apache-2.0
// Stream capture and graphs, with the error codes that CUDA documents (900 to 908).
#include <set>
#include <thread>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Captures : public EmulatedTest {
 protected:
  void SetUp() override {
    EmulatedTest::SetUp();
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&join_, cudaEventDisableTiming), cudaSuccess);
  }

  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, mode), cudaSuccess);
  }
  // The error of ending the capture, whose graph goes.
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    EXPECT_EQ(graph == nullptr, error != cudaSuccess);
    if (graph != nullptr) {
      cudaGraphDestroy(graph);
    }
    return error;
  }
  cudaGraphExec_t end_and_instantiate() {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);  // the instance does not need it
    return exec;
  }
  void replay(cudaGraphExec_t exec) {
    ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

 public:  // lists of calls use them
  cudaStream_t stream_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaEvent_t fork_ = nullptr;
  cudaEvent_t join_ = nullptr;
};

TEST_F(Captures, RunNothingUntilTheGraphIsLaunched) {
  DeviceArray<int> device(2);
  device.set({1, 2});
  PinnedArray<int> back(2);
  back[0] = back[1] = -1;
  begin();
  ASSERT_EQ(cudaMemsetAsync(device.data(), 0xFF, 4, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), device.data(), 8, cudaMemcpyDeviceToHost, stream_),
            cudaSuccess);
  const cudaGraphExec_t exec = end_and_instantiate();
  EXPECT_EQ(device.get(), (std::vector<int>{1, 2}));
  replay(exec);
  EXPECT_EQ(back[0], -1);
  EXPECT_EQ(back[1], 2);
  device.set({3, 4});  // replayed on changed data
  replay(exec);
  EXPECT_EQ(back[1], 4);
  EXPECT_EQ(device.get(), (std::vector<int>{-1, 4}));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream_), cudaErrorInvalidValue);
}

TEST_F(Captures, PageableSourcesAreReadAtEachReplay) {
  DeviceArray<int> device(1);
  int host = 1;
  begin();
  ASSERT_EQ(cudaMemcpyAsync(device.data(), &host, 4, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  const cudaGraphExec_t exec = end_and_instantiate();
  for (host = 5; host < 7; ++host) {
    replay(exec);
    EXPECT_EQ(device.get()[0], host);
  }
  cudaGraphExecDestroy(exec);
}

TEST_F(Captures, NodesCanBeListed) {
  DeviceArray<int> device(1);
  begin();
  ASSERT_EQ(cudaMemsetAsync(device.data(), 0, 4, stream_), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                stream_, [](void*) {}, nullptr),
            cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  size_t count = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  ASSERT_EQ(count, 2u);
  cudaGraphNode_t nodes[3];
  count = 3;
  ASSERT_EQ(cudaGraphGetNodes(graph, nodes, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nodes[2], nullptr);
  cudaGraphNodeType type;
  ASSERT_EQ(cudaGraphNodeGetType(nodes[0], &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  ASSERT_EQ(cudaGraphNodeGetType(nodes[1], &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeHost);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaErrorInvalidValue);
}

TEST_F(Captures, TwoStreamsForkAndJoinByEvents) {
  static std::string log;
  const auto mark = [](cudaStream_t stream, const char* text) {
    ASSERT_EQ(cudaLaunchHostFunc(
                  stream, [](void* argument) { log += static_cast<const char*>(argument); },
                  const_cast<char*>(text)),
              cudaSuccess);
  };
  begin();
  mark(stream_, "a");
  ASSERT_EQ(cudaEventRecord(fork_, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(side_, fork_, 0), cudaSuccess);
  mark(side_, "x");
  mark(stream_, "b");
  ASSERT_EQ(cudaEventRecord(join_, side_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(stream_, join_, 0), cudaSuccess);
  mark(stream_, "c");
  const cudaGraphExec_t exec = end_and_instantiate();
  std::set<std::string> seen;
  for (int round = 0; round < 20; ++round) {
    log.clear();
    replay(exec);
    seen.insert(log);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"abxc", "axbc"}));
  cudaGraphExecDestroy(exec);
}

TEST_F(Captures, LaunchesOfOneGraphRunOneAfterAnother) {
  DeviceArray<int> device(1);
  DeviceArray<int> copy(1);
  begin();
  ASSERT_EQ(cudaMemsetAsync(device.data(), 1, 4, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(copy.data(), device.data(), 4, cudaMemcpyDeviceToDevice, stream_),
            cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(device.data(), 2, 4, stream_), cudaSuccess);
  const cudaGraphExec_t exec = end_and_instantiate();
  for (int seed = 1; seed < 20; ++seed) {
    set_option("EMU_SEED", std::to_string(seed));
    ASSERT_EQ(cudaGraphLaunch(exec, stream_), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, side_), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(copy.get()[0], 0x01010101);
  }
  cudaGraphExecDestroy(exec);
}

TEST_F(Captures, AGraphLaunchedIntoACaptureBecomesAPartOfIt) {
  DeviceArray<int> device(1);
  begin();
  ASSERT_EQ(cudaMemsetAsync(device.data(), 7, 4, stream_), cudaSuccess);
  const cudaGraphExec_t inner = end_and_instantiate();
  PinnedArray<int> back(1);
  begin();
  ASSERT_EQ(cudaGraphLaunch(inner, stream_), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(back.data(), device.data(), 4, cudaMemcpyDeviceToHost, stream_),
            cudaSuccess);
  const cudaGraphExec_t outer = end_and_instantiate();
  replay(outer);
  EXPECT_EQ(back[0], 0x07070707);
  cudaGraphExecDestroy(inner);
  cudaGraphExecDestroy(outer);
}

TEST_F(Captures, TellThatTheyCapture) {
  cudaStreamCaptureStatus status;
  ASSERT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  begin();
  unsigned long long id = 0;
  size_t count = 9;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* nodes = nullptr;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream_, [](void*) {}, nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaStreamGetCaptureInfo(stream_, &status, &id, &graph, &nodes, nullptr, &count),
            cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(id, 0u);
  EXPECT_NE(graph, nullptr);
  EXPECT_EQ(count, 1u);
  EXPECT_NE(nodes[0], nullptr);
  EXPECT_EQ(end(), cudaSuccess);
}

TEST_F(Captures, ForbidAllocatingWaitingAndAsking) {
  void* pointer = nullptr;
  using Call = cudaError_t (*)(Captures&, void**);
  const Call calls[] = {
      [](Captures&, void** out) { return cudaMalloc(out, 4); },
      [](Captures&, void** out) { return cudaMallocHost(out, 4); },
      [](Captures& t, void**) { return cudaStreamSynchronize(t.stream_); },
      [](Captures& t, void**) { return cudaStreamQuery(t.stream_); },
      [](Captures& t, void**) { return cudaStreamSynchronize(t.side_); },
      [](Captures&, void**) { return cudaDeviceSynchronize(); },
      [](Captures& t, void**) { return cudaEventQuery(t.join_); },
  };
  for (const Call& call : calls) {
    begin();
    EXPECT_EQ(call(*this, &pointer), cudaErrorStreamCaptureUnsupported);
    cudaStreamCaptureStatus status;
    ASSERT_EQ(cudaStreamIsCapturing(stream_, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(cudaLaunchHostFunc(
                  stream_, [](void*) {}, nullptr),
              cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  }
}

TEST_F(Captures, ForbidByTheirModeAndTheThreads) {
  DeviceArray<int> device(1);
  void* pointer = nullptr;
  const auto in_thread = [&](cudaStreamCaptureMode mode) {
    cudaError_t error = cudaSuccess;
    std::thread([&] {
      cudaThreadExchangeStreamCaptureMode(&mode);
      error = cudaMalloc(&pointer, 4);
    }).join();
    return error;
  };
  begin(cudaStreamCaptureModeGlobal);
  EXPECT_EQ(in_thread(cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(in_thread(cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(in_thread(cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin(cudaStreamCaptureModeThreadLocal);
  EXPECT_EQ(in_thread(cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
}

TEST_F(Captures, TheLegacyStreamNeitherCapturesNorWaitsForACapture) {
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  cudaStream_t blocking;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  DeviceArray<int> device(1);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaMemset(device.data(), 0, 4), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  // A non-blocking stream's capture leaves it alone.
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaMemset(device.data(), 0, 4), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
  cudaStreamDestroy(blocking);
}

TEST_F(Captures, EndWhereTheyBegan) {
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorIllegalState);
  begin();
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_EQ(end(), cudaSuccess);
  begin();
  std::thread([&] {
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(side_, fork_, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(side_, &graph), cudaErrorStreamCaptureUnmatched);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, WantEveryForkJoined) {
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, stream_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(side_, fork_, 0), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                side_, [](void*) {}, nullptr),
            cudaSuccess);
  EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
  // Both streams are free again.
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(side_), cudaSuccess);
}

TEST_F(Captures, DoNotMergeAndDoNotWaitForWorkOutside) {
  cudaEvent_t outside;
  ASSERT_EQ(cudaEventCreate(&outside), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(outside, side_), cudaSuccess);
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(stream_, outside, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin();
  ASSERT_EQ(cudaStreamBeginCapture(side_, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork_, side_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, fork_, 0), cudaErrorStreamCaptureMerge);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(side_, &graph), cudaErrorStreamCaptureInvalidated);
  cudaEventDestroy(outside);
}

TEST_F(Captures, LeaveEventsThatCannotBeAsked) {
  begin();
  ASSERT_EQ(cudaEventRecord(fork_, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaEventSynchronize(fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(end(), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(fork_), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaStreamWaitEvent(side_, fork_, 0), cudaErrorCapturedEvent);
  ASSERT_EQ(cudaEventRecord(fork_, stream_), cudaSuccess);  // recorded anew it is an event again
  EXPECT_EQ(cudaEventSynchronize(fork_), cudaSuccess);
}

TEST_F(Captures, AreLostWithTheirStream) {
  begin();
  ASSERT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 4), cudaSuccess);  // nothing captures any more
}

}  // namespace
}  // namespace emu::tests
