// SPDX-License-Identifier: Apache-2.0
// One process, devices of several generations: every device gets the library that is for it, its
// results are right, and nothing is taken from another device's memory. EMU_DEVICES lists them;
// MXGEMM_TEST_ARCHS lists the GPU libraries that were built.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <thread>

#include "end_to_end/device_gemm.hpp"

namespace mxgemm::test {
namespace {

int device_count() {
  int32_t count = 0;
  EXPECT_EQ(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count), MXGEMM_OK) << mxgemm_last_error();
  return count;
}

int capability(int device) {
  int major = 0;
  int minor = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), cudaSuccess);
  return 10 * major + minor;
}

bool is_built(const std::string& arch) {
  const char* const list = std::getenv("MXGEMM_TEST_ARCHS");
  std::istringstream words(list != nullptr ? list : "");
  return std::find(std::istream_iterator<std::string>(words), {}, arch) !=
         std::istream_iterator<std::string>();
}

// The library that a device of this capability runs MXFP4 with.
std::string library_for(int capability) {
  if ((capability == 120 || capability == 121) && is_built("sm120f")) {
    return "sm120f";
  }
  if ((capability == 100 || capability == 103) && is_built("sm100f")) {
    return "sm100f";
  }
  return "sm80";
}

struct Problem {
  explicit Problem(uint64_t seed)
      : a(exact_operand(Format::kMxf4, 40, 128, seed)),
        b(exact_operand(Format::kMxf4, 136, 128, seed + 100)),
        expected(cpu_result(a, b)) {}
  Operand a;
  Operand b;
  std::vector<float> expected;
};

TEST(MixedMachine, EveryDeviceUsesItsOwnLibraryInTurn) {
  ASSERT_GT(device_count(), 1);
  for (int round = 0; round < 2; ++round) {
    for (int device = 0; device < device_count(); ++device) {
      SCOPED_TRACE(testing::Message() << "device " << device << ", " << capability(device));
      const Problem problem(static_cast<uint64_t>(10 * round + device));
      const DeviceGemm gemm(gpu(device), problem.a, problem.b);
      EXPECT_EQ(gemm.kernel().rfind("cuda:" + library_for(capability(device)) + ":", 0), 0u)
          << gemm.kernel();
      ASSERT_EQ(gemm.run(), MXGEMM_OK) << mxgemm_last_error();
      EXPECT_EQ(gemm.result(), problem.expected);
    }
  }
}

TEST(MixedMachine, TheDeviceThatIsCurrentStaysSo) {
  const int last = device_count() - 1;
  ASSERT_EQ(cudaSetDevice(last), cudaSuccess);
  const Problem problem(1);
  const DeviceGemm gemm(gpu(0), problem.a, problem.b);
  ASSERT_EQ(gemm.run(), MXGEMM_OK) << mxgemm_last_error();
  EXPECT_EQ(gemm.result(), problem.expected);
  int current = -1;
  EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
  EXPECT_EQ(current, last);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST(MixedMachine, FourThreadsInterleaveTheDevices) {
  constexpr int kThreads = 4;
  const Problem problem(2);
  const int devices = device_count();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int step = 0; step < 2 * devices; ++step) {
        const DeviceGemm gemm(gpu((thread + step) % devices), problem.a, problem.b);
        wrong += gemm.run() != MXGEMM_OK;
        wrong += gemm.result() != problem.expected;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

// Every pointer of a call must lie on the plan's device; the message names argument and device.
TEST(MixedMachine, AnOperandOnAnotherDeviceIsRefused) {
  const Problem problem(3);
  const int devices = device_count();
  for (int device = 0; device < devices; ++device) {
    const int other = (device + 1) % devices;
    const DeviceGemm here(gpu(device), problem.a, problem.b);
    const DeviceGemm there(gpu(other), problem.a, problem.b);
    const auto refuses = [&](const char* name, auto change) {
      mxgemm_gemm_args args = here.args;
      change(&args);
      EXPECT_EQ(mxgemm_run(here.plan(), &args, here.stream()), MXGEMM_INVALID_ARGUMENT);
      const std::string message = mxgemm_last_error();
      EXPECT_NE(message.find(name), std::string::npos) << message;
      EXPECT_NE(message.find("cuda:" + std::to_string(other)), std::string::npos) << message;
    };
    refuses("args.a.data", [&](mxgemm_gemm_args* args) { args->a.data = there.args.a.data; });
    refuses("args.a.scale", [&](mxgemm_gemm_args* args) { args->a.scale = there.args.a.scale; });
    refuses("args.b.data", [&](mxgemm_gemm_args* args) { args->b.data = there.args.b.data; });
    refuses("args.d", [&](mxgemm_gemm_args* args) { args->d = there.args.d; });
    ASSERT_EQ(here.run(), MXGEMM_OK) << mxgemm_last_error();
    EXPECT_EQ(here.result(), problem.expected);
  }
}

class Graph {
 public:
  explicit Graph(const DeviceGemm& gemm) : gemm_(gemm) {
    const auto stream = static_cast<cudaStream_t>(gemm.stream());
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(gemm.run(), MXGEMM_OK) << mxgemm_last_error();
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&exec_, graph_, 0), cudaSuccess);
  }
  ~Graph() {
    cudaGraphExecDestroy(exec_);
    cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() const {
    EXPECT_EQ(cudaGraphLaunch(exec_, static_cast<cudaStream_t>(gemm_.stream())), cudaSuccess);
  }

 private:
  const DeviceGemm& gemm_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

// A plan's kernel is loaded when the plan is made, or its first run would break the capture.
TEST(MixedMachine, GraphsAreReplayedWithChangedDataOnEveryDevice) {
  for (int device = 0; device < device_count(); ++device) {
    SCOPED_TRACE(testing::Message() << "device " << device);
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    Problem problem(4);
    const DeviceGemm gemm(gpu(device), problem.a, problem.b);
    const Graph graph(gemm);
    for (uint64_t seed = 20; seed < 22; ++seed) {
      const Operand changed = exact_operand(Format::kMxf4, 40, 128, seed);
      gemm.set_a(changed);
      graph.launch();
      EXPECT_EQ(gemm.result(), cpu_result(changed, problem.b));
    }
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

// K is long enough that the sm80 kernels split it and need their workspaces.
TEST(MixedMachine, TwoGraphsWithTheirOwnWorkspacesRunInAnyOrder) {
  for (int device = 0; device < device_count(); ++device) {
    SCOPED_TRACE(testing::Message() << "device " << device);
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    const Operand b = exact_operand(Format::kMxf4, 72, 512, 7);
    const Operand a[] = {exact_operand(Format::kMxf4, 8, 512, 5),
                         exact_operand(Format::kMxf4, 8, 512, 6)};
    const DeviceGemm first(gpu(device), a[0], b);
    const DeviceGemm second(gpu(device), a[1], b);
    const Graph graphs[] = {Graph(first), Graph(second)};
    for (int seed = 1; seed <= 4; ++seed) {
      ASSERT_EQ(emu_set_option("EMU_SEED", std::to_string(seed).c_str()), 0);
      graphs[seed % 2].launch();
      graphs[1 - seed % 2].launch();
      EXPECT_EQ(second.result(), cpu_result(a[1], b));
      EXPECT_EQ(first.result(), cpu_result(a[0], b));
    }
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

}  // namespace
}  // namespace mxgemm::test
