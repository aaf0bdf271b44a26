// SPDX-License-Identifier: Apache-2.0
// Graphs, streams, workspaces, threads and failing launches on a CUDA device. Exit code 77 = no
// device here.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "abi/expect_status.hpp"
#include "device/cuda/gpu_call.hpp"
#include "support/places.hpp"
#include "support/quantize_call.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

struct Pair {
  Format a;
  Format b;
};
// Kernels of one pair, and one pair that only the general kernel takes.
constexpr Pair kPairs[] = {
    {Format::kMxf4, Format::kMxf4},         {Format::kNvf4, Format::kNvf4},
    {Format::kMxf8E4m3, Format::kMxf8E4m3}, {Format::kMxf8E4m3, Format::kMxf4},
    {Format::kBf16, Format::kMxf4},         {Format::kF16, Format::kMxf8E5m2}};

// Everything between construction and `finish` goes into a graph, under the strictest rules: a
// call that allocates, synchronises or uses the default stream breaks it.
class Capture {
 public:
  explicit Capture(const Stream& stream) : stream_(stream) {
    EXPECT_EQ(cudaStreamBeginCapture(stream.cuda(), cudaStreamCaptureModeGlobal), cudaSuccess);
  }
  ~Capture() {
    EXPECT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph_), cudaSuccess);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  void finish() {
    ASSERT_EQ(cudaStreamEndCapture(stream_.cuda(), &graph_), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&executable_, graph_, 0), cudaSuccess);
  }
  void replay() const {
    ASSERT_EQ(cudaGraphLaunch(executable_, stream_.cuda()), cudaSuccess);
    stream_.wait();
  }

 private:
  const Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

// Kind of fault 54; stays first, so that these are the first calls of the process.
TEST(AaFirstUse, ByManyThreadsAtOnce) {
  constexpr int kThreads = 16;
  const int rounds = test_size(60, 3);
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int index = 0; index < kThreads; ++index) {
    threads.emplace_back([&ready, index, rounds] {
      const Pair pair = kPairs[index % 6];
      const Operand a = exact_operand(pair.a, 1 + 5 * index, 96, 1);
      const Operand b = exact_operand(pair.b, 40 + index, 96, 2);
      ++ready;
      while (ready < kThreads) {  // all start together
        std::this_thread::yield();
      }
      GpuCall call(a, b);
      const Plan plan(call.desc);
      call.give_workspace(plan.workspace_bytes);
      const Stream stream;
      const std::vector<float> expected = cpu_result(a, b);
      for (int round = 0; round < rounds; ++round) {
        call.poison();
        call.run(plan, stream);
        stream.wait();
        EXPECT_EQ(call.result(), expected) << "thread " << index;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

// Kind of fault 53.
TEST(Graphs, EveryKernelIsCapturedAndReplayedWithChangedData) {
  const Stream stream;
  for (const Pair& pair : kPairs) {
    for (const int64_t m : {1, 48, 200}) {
      const int64_t k = test_size<int64_t>(1024, 128);
      const Operand first = exact_operand(pair.a, m, k, 3);
      const Operand b = exact_operand(pair.b, 136, k, 4);
      GpuCall call(first, b);
      for (const std::string& id : cuda_kernels_for(call.desc)) {
        SCOPED_TRACE(testing::Message() << id << ", M = " << m);
        const Plan plan(call.desc, id);
        call.give_workspace(plan.workspace_bytes);
        Capture capture(stream);
        call.run(plan, stream);
        ASSERT_NO_FATAL_FAILURE(capture.finish());
        for (uint64_t seed = 10; seed < 13; ++seed) {
          const Operand changed = exact_operand(pair.a, m, k, seed);
          call.set_a(changed);
          call.poison();
          capture.replay();
          ASSERT_EQ(call.result(), cpu_result(changed, b));
        }
      }
    }
  }
}

// Quantises bf16 rows on the device into call's A.
struct Activations {
  Activations(int64_t rows, int64_t cols) : numbers(kGpu, static_cast<uint64_t>(rows * cols) * 4) {
    desc.format_src = MXGEMM_F32;
    desc.format = MXGEMM_MXF4;
    desc.device_kind = kGpu.kind;
    desc.scale_layout = MXGEMM_SCALE_SWIZZLE_32_4_4;
    desc.scale_rule = MXGEMM_SCALE_RULE_FLOOR;
    desc.rows = rows;
    desc.cols = cols;
  }
  // The same numbers on the device and, quantised, for the CPU.
  Operand set(uint64_t seed) const {
    Random random(seed);
    std::vector<float> values(static_cast<size_t>(desc.rows * desc.cols));
    for (float& value : values) {
      value = static_cast<float>(random.integer(-6, 6));
    }
    upload(values.data(), values.size() * sizeof(float), numbers);
    Operand operand(Format::kMxf4, desc.rows, desc.cols);
    quantize_into(values, MXGEMM_SCALE_RULE_FLOOR, &operand);
    return operand;
  }
  void quantize(const GpuCall& call, const Stream& stream) const {
    mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
    args.src = numbers.data();
    args.src_bytes = numbers.bytes();
    args.qdata = call.a_data.data();
    args.qdata_bytes = call.a_data.bytes();
    args.scale = call.a_scale.data();
    args.scale_bytes = call.a_scale.bytes();
    ASSERT_EQ(mxgemm_quantize(&desc, &args, stream.handle), MXGEMM_OK) << mxgemm_last_error();
  }

  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  DeviceBuffer numbers;
};

TEST(Graphs, QuantizeAndGemmInOne) {
  const Stream stream;
  const Operand b = exact_operand(Format::kMxf4, 72, 160, 5);
  const Activations activations(33, 160);
  GpuCall call(Operand(Format::kMxf4, 33, 160), b);
  const Plan plan(call.desc);
  call.give_workspace(plan.workspace_bytes);
  activations.quantize(call, stream);  // once before, as a caller warms up
  stream.wait();
  Capture capture(stream);
  activations.quantize(call, stream);
  call.run(plan, stream);
  ASSERT_NO_FATAL_FAILURE(capture.finish());
  for (uint64_t seed = 20; seed < 24; ++seed) {
    const Operand a = activations.set(seed);
    call.poison();
    capture.replay();
    EXPECT_EQ(call.result(), cpu_result(a, b)) << seed;
  }
}

// Kind of fault 55. D grows by the product each time, so that one early read shows for good.
TEST(Streams, QuantizeThenGemmTenThousandTimes) {
  const int rounds = test_size(10000, 20);
  const Stream stream;
  Operand b(Format::kMxf4, 64, 64);
  b.fill(1.0);
  const Activations activations(16, 64);
  GpuCall call(Operand(Format::kMxf4, 16, 64), b);
  call.desc.flags |= MXGEMM_USE_C;
  call.args.c = call.args.d;
  call.args.c_bytes = call.args.d_bytes;
  call.args.beta = 1.0f;
  const Plan plan(call.desc);
  call.give_workspace(plan.workspace_bytes);
  const std::vector<float> zeros(16 * 64, 0.0f);
  upload(zeros.data(), zeros.size() * sizeof(float), call.d);
  const std::vector<float> ones_and_twos[] = {std::vector<float>(16 * 64, 1.0f),
                                              std::vector<float>(16 * 64, 2.0f)};
  const DeviceBuffer numbers[] = {{kGpu, ones_and_twos[0].data(), 16 * 64 * 4},
                                  {kGpu, ones_and_twos[1].data(), 16 * 64 * 4}};
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int round = 0; round < rounds; ++round) {
    ASSERT_EQ(cudaMemcpyAsync(activations.numbers.data(), numbers[round % 2].data(), 16 * 64 * 4,
                              cudaMemcpyDeviceToDevice, stream.cuda()),
              cudaSuccess);
    activations.quantize(call, stream);
    call.run(plan, stream);
  }
  stream.wait();
  EXPECT_EQ(call.result(), std::vector<float>(16 * 64, 64.0f * 1.5f * static_cast<float>(rounds)));
}

TEST(Streams, OnePlanOnTwoStreamsWithAWorkspaceEach) {
  const int64_t k = test_size<int64_t>(8192, 256);
  for (const Pair& pair : kPairs) {
    const Operand a[] = {exact_operand(pair.a, 16, k, 6), exact_operand(pair.a, 16, k, 7)};
    const Operand b = exact_operand(pair.b, 264, k, 8);
    GpuCall calls[] = {{a[0], b}, {a[1], b}};
    const Plan plan(calls[0].desc);
    const Stream streams[2];
    for (GpuCall& call : calls) {
      call.give_workspace(plan.workspace_bytes);
    }
    for (int round = 0; round < test_size(50, 2); ++round) {
      calls[0].run(plan, streams[0]);
      calls[1].run(plan, streams[1]);
    }
    for (int index : {0, 1}) {
      streams[index].wait();
      // Sums of 8192 small products are exact in fp32.
      EXPECT_EQ(calls[index].result(), cpu_result(a[index], b)) << calls[index].desc.format_a;
    }
  }
}

TEST(Streams, TwoPlansShareAWorkspaceOnOneStream) {
  const int64_t k = test_size<int64_t>(4096, 128);
  const Operand b = exact_operand(Format::kMxf4, 264, k, 9);
  const Operand a[] = {exact_operand(Format::kBf16, 1, k, 10),
                       exact_operand(Format::kMxf4, 24, k, 11)};
  GpuCall calls[] = {{a[0], b}, {a[1], b}};
  const Plan plans[] = {Plan(calls[0].desc), Plan(calls[1].desc)};
  const uint64_t bytes = std::max(plans[0].workspace_bytes, plans[1].workspace_bytes);
  const std::vector<uint8_t> dirt(bytes, 0xFF);  // what is in it beforehand does not matter
  const DeviceBuffer shared(kGpu, dirt.data(), bytes);
  const Stream stream;
  for (GpuCall& call : calls) {
    call.args.workspace = shared.data();
    call.args.workspace_bytes = bytes;
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int round = 0; round < test_size(50, 2); ++round) {
    calls[0].run(plans[0], stream);
    calls[1].run(plans[1], stream);
  }
  stream.wait();
  EXPECT_EQ(calls[0].result(), cpu_result(a[0], b));
  EXPECT_EQ(calls[1].result(), cpu_result(a[1], b));
}

// Kind of fault 52: a launch that fails is a failure of the call, which names kernel and error, and
// leaves nothing behind.
TEST(Errors, AFailingLaunchNamesKernelAndError) {
  const Stream stream;
  const Operand a = exact_operand(Format::kMxf4, 8, 128, 12);
  const Operand b = exact_operand(Format::kMxf4, 24, 128, 13);
  GpuCall call(a, b);
  for (const std::string& id : cuda_kernels_for(call.desc)) {
    const Plan plan(call.desc, id);
    call.give_workspace(plan.workspace_bytes);
    ASSERT_EQ(cudaStreamBeginCapture(stream.cuda(), cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_NE(cudaStreamSynchronize(stream.cuda()), cudaSuccess) << "breaks the capture";
    expect_status(MXGEMM_CUDA_ERROR, mxgemm_run(plan.handle, &call.args, stream.handle),
                  {id.c_str(), "cudaErrorStreamCaptureInvalidated"});
    const std::string message = mxgemm_last_error();
    const std::string name = id.substr(id.rfind(':') + 1);
    EXPECT_EQ(message.find(name), message.rfind(name)) << "named once: " << message;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "nothing of ours is left";
    cudaGraph_t graph = nullptr;
    EXPECT_NE(cudaStreamEndCapture(stream.cuda(), &graph), cudaSuccess);
    cudaGetLastError();
    call.poison();
    call.run(plan, stream);
    stream.wait();
    EXPECT_EQ(call.result(), cpu_result(a, b)) << id;
  }
}

// Kind of fault 33: before any launch, and by name.
TEST(Errors, EveryPointerIntoHostMemoryIsNamed) {
  int reaches_host = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&reaches_host, cudaDevAttrPageableMemoryAccess, 0), cudaSuccess);
  if (reaches_host != 0) {
    GTEST_SKIP() << "this device reaches ordinary host memory";
  }
  const Operand a = exact_operand(Format::kNvf4, 8, 128, 14);
  GpuCall call(a, a);
  call.desc.flags |= MXGEMM_USE_C | MXGEMM_ALPHA_ON_DEVICE | MXGEMM_GLOBAL_SCALE_A_ON_DEVICE |
                     MXGEMM_GLOBAL_SCALE_B_ON_DEVICE;
  call.desc.format_bias = MXGEMM_F32;
  const Plan plan(call.desc);
  call.give_workspace(std::max<uint64_t>(plan.workspace_bytes, 256));
  const DeviceBuffer room(kGpu, 4096);
  alignas(256) static uint8_t host[4096];
  mxgemm_gemm_args good = call.args;
  good.c = room.data();
  good.c_bytes = good.d_bytes;
  good.bias = room.data() + 1024;
  good.bias_bytes = 32;
  good.alpha_ptr = reinterpret_cast<const float*>(room.data() + 2048);
  good.a.global_scale_ptr = good.alpha_ptr;
  good.b.global_scale_ptr = good.alpha_ptr;
  expect_ok(mxgemm_run(plan.handle, &good, nullptr));
  const auto* host_floats = reinterpret_cast<const float*>(&host[0]);
  const auto refuses = [&](const char* name, auto change) {
    mxgemm_gemm_args bad = good;
    change(&bad);
    expect_invalid(mxgemm_run(plan.handle, &bad, nullptr), {name, "in host memory"});
  };
  refuses("args.a.data is", [&](mxgemm_gemm_args* bad) { bad->a.data = host; });
  refuses("args.a.scale is", [&](mxgemm_gemm_args* bad) { bad->a.scale = host; });
  refuses("args.b.data is", [&](mxgemm_gemm_args* bad) { bad->b.data = host; });
  refuses("args.b.scale is", [&](mxgemm_gemm_args* bad) { bad->b.scale = host; });
  refuses("args.c is", [&](mxgemm_gemm_args* bad) { bad->c = host; });
  refuses("args.d is", [&](mxgemm_gemm_args* bad) { bad->d = host; });
  refuses("args.bias is", [&](mxgemm_gemm_args* bad) { bad->bias = host; });
  refuses("args.alpha_ptr is", [&](mxgemm_gemm_args* bad) { bad->alpha_ptr = host_floats; });
  refuses("args.a.global_scale_ptr is",
          [&](mxgemm_gemm_args* bad) { bad->a.global_scale_ptr = host_floats; });
  refuses("args.b.global_scale_ptr is",
          [&](mxgemm_gemm_args* bad) { bad->b.global_scale_ptr = host_floats; });
  refuses("args.workspace is", [&](mxgemm_gemm_args* bad) { bad->workspace = host; });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

// Bytes of the heap in use. Unlike resident memory they do not depend on how free blocks lie.
int64_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

// Kind of fault 56.
TEST(Memory, PlansDoNotPileUpWithFreshScalars) {
  const int calls = test_size(20000, 200);
  const Operand b = exact_operand(Format::kMxf4, 64, 64, 15);
  const DeviceBuffer alphas(kGpu, static_cast<uint64_t>(calls) * sizeof(float));
  ASSERT_EQ(cudaMemset(alphas.data(), 0, alphas.bytes()), cudaSuccess);
  std::vector<std::unique_ptr<GpuCall>> shapes;
  for (int64_t m = 1; m <= 8; ++m) {
    shapes.push_back(std::make_unique<GpuCall>(exact_operand(Format::kMxf4, m, 64, 16), b));
    shapes.back()->desc.flags |= MXGEMM_ALPHA_ON_DEVICE;
    shapes.back()->give_workspace(Plan(shapes.back()->desc).workspace_bytes);
  }
  const auto call = [&](int index) {
    GpuCall& shape = *shapes[static_cast<size_t>(index % 8)];
    shape.args.alpha_ptr = reinterpret_cast<const float*>(alphas.data()) + index;
    expect_ok(mxgemm_gemm(&shape.desc, &shape.args, nullptr));
  };
  for (int index = 0; index < calls / 10; ++index) {
    call(index);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const int64_t before = heap_bytes();
  for (int index = 0; index < calls; ++index) {
    call(index);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  // An entry of the cache takes 370 bytes.
  EXPECT_LT(heap_bytes() - before, (int64_t{32} << 10) + int64_t{calls} * 64);
}

}  // namespace
}  // namespace mxgemm::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("skipped: this machine has no GPU\n");
    return 77;
  }
  return RUN_ALL_TESTS();
}
