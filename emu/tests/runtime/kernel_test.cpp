// SPDX-License-Identifier: Apache-2.0
// Launches: through generated stubs, by function address, with attributes, in graphs; and what the
// runtime refuses before a kernel starts.
#include <algorithm>
#include <fstream>
#include <numeric>

#include "tests/runtime/emulated.hpp"
#include "tests/runtime/kernels.hpp"

namespace emu::tests {
namespace {

const void* address(void (*kernel)(int*)) {
  return reinterpret_cast<const void*>(kernel);
}

class Kernels : public EmulatedTest {
 protected:
  cudaError_t launch(void (*kernel)(int*), dim3 grid, dim3 cta, int* out, size_t shared = 0) {
    void* arguments[] = {&out};
    return cudaLaunchKernel(address(kernel), grid, cta, arguments, shared, nullptr);
  }
  cudaError_t launch_clusters(void (*kernel)(int*), unsigned grid, unsigned cluster, int* out) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {cluster, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(32);
    config.attrs = &attribute;
    config.numAttrs = 1;
    void* arguments[] = {&out};
    return cudaLaunchKernelExC(&config, address(kernel), arguments);
  }
  static std::string last_report() { return emu_last_report(); }
};

TEST_F(Kernels, RunThroughTheirStub) {
  DeviceArray<float> data(300);
  data.set(std::vector<float>(300, 2.0f));
  ASSERT_EQ(launch_scale(data.data(), 299, 3.0f, nullptr), cudaSuccess);
  const std::vector<float> back = data.get();
  EXPECT_EQ(back[0], 6.5f);
  EXPECT_EQ(back[298], 6.5f);
  EXPECT_EQ(back[299], 2.0f);
}

TEST_F(Kernels, NumberTheirThreadsInEveryDimension) {
  DeviceArray<int> out(2 * 3 * 2 * 4 * 2 * 3);
  ASSERT_EQ(launch(number_threads, dim3(2, 3, 2), dim3(4, 2, 3), out.data()), cudaSuccess);
  std::vector<int> expected(2 * 3 * 2 * 4 * 2 * 3);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(out.get(), expected);
}

TEST_F(Kernels, CopyTheirArgumentsAtTheCall) {
  DeviceArray<float> data(1);
  data.set({1.0f});
  float* pointer = data.data();
  int count = 1;
  float factor = 4.0f;
  void* arguments[] = {&pointer, &count, &factor};
  ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(scale), dim3(1), dim3(1), arguments, 0,
                             nullptr),
            cudaSuccess);
  factor = 100.0f;
  EXPECT_EQ(data.get()[0], 4.5f);
}

TEST_F(Kernels, UseDynamicSharedMemory) {
  std::vector<int> values(256);
  std::iota(values.begin(), values.end(), 0);
  DeviceArray<int> data(256);
  data.set(values);
  ASSERT_EQ(launch(reverse_in_shared, dim3(1), dim3(256), data.data(), 1024), cudaSuccess);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(data.get(), values);
}

TEST_F(Kernels, AddAtomically) {
  DeviceArray<int> total(1);
  total.set({0});
  ASSERT_EQ(launch(count_up, dim3(7), dim3(100), total.data()), cudaSuccess);
  EXPECT_EQ(total.get()[0], 700);
}

TEST_F(Kernels, VariablesLiveOncePerDevice) {
  const float half = 0.25f;
  ASSERT_EQ(cudaMemcpyToSymbol(offset_symbol(), &half, 4), cudaSuccess);
  float back = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&back, offset_symbol(), 4), cudaSuccess);
  EXPECT_EQ(back, 0.25f);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaMemcpyFromSymbol(&back, offset_symbol(), 4), cudaSuccess);
  EXPECT_EQ(back, 0.5f);
  size_t bytes = 0;
  ASSERT_EQ(cudaGetSymbolSize(&bytes, table_symbol()), cudaSuccess);
  EXPECT_EQ(bytes, 16u);
  const int nine = 9;
  ASSERT_EQ(cudaMemcpyToSymbol(table_symbol(), &nine, 4, 8), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(table_symbol(), &nine, 4, 13), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(&nine, &nine, 4), cudaErrorInvalidSymbol);
  void* pointer = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&pointer, table_symbol()), cudaSuccess);
  DeviceArray<int> out(4);
  int* data = out.data();
  void* arguments[] = {&data};
  ASSERT_EQ(cudaLaunchKernel(read_table_kernel(), dim3(1), dim3(4), arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(out.get(), (std::vector<int>{1, 2, 9, 4}));
}

TEST_F(Kernels, PrintAsOnADevice) {
  int value = 42;
  void* arguments[] = {&value};
  testing::internal::CaptureStdout();
  ASSERT_EQ(
      cudaLaunchKernel(reinterpret_cast<const void*>(say), dim3(1), dim3(2), arguments, 0, nullptr),
      cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "the value is 42\nthe value is 42\n");
}

TEST_F(Kernels, KnowTheirCluster) {
  start("9.0");
  DeviceArray<int> out(8);
  ASSERT_EQ(launch_clusters(cluster_ranks, 4, 2, out.data()), cudaSuccess);
  EXPECT_EQ(out.get(), (std::vector<int>{0, 2, 1, 2, 0, 2, 1, 2}));
  ASSERT_EQ(launch_clusters(exchange_in_cluster, 4, 2, out.data()), cudaSuccess);
  const std::vector<int> back = out.get();
  EXPECT_EQ(std::vector<int>(back.begin(), back.begin() + 4),
            (std::vector<int>{101, 100, 101, 100}));
}

TEST_F(Kernels, RefuseShapesThatDoNotFit) {
  start("9.0,8.6");
  DeviceArray<int> out(4);
  int* const data = out.data();
  EXPECT_EQ(launch(count_up, dim3(1), dim3(1025), data), cudaErrorInvalidConfiguration);
  EXPECT_NE(last_report().find("a CTA of 1025 x 1 x 1 threads"), std::string::npos)
      << last_report();
  EXPECT_EQ(launch(count_up, dim3(1), dim3(0), data), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(count_up, dim3(1), dim3(1, 1, 65), data), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(count_up, dim3(0), dim3(1), data), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(count_up, dim3(1, 65536), dim3(1), data), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch_clusters(cluster_ranks, 3, 2, data), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launch_clusters(cluster_ranks, 16, 16, data), cudaErrorInvalidClusterSize);
  ASSERT_EQ(cudaFuncSetAttribute(address(cluster_ranks),
                                 cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
            cudaSuccess);
  DeviceArray<int> wide(32);
  EXPECT_EQ(launch_clusters(cluster_ranks, 16, 16, wide.data()), cudaSuccess);
  EXPECT_EQ(wide.get()[31], 16);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(launch_clusters(cluster_ranks, 2, 2, data), cudaErrorInvalidClusterSize);
}

TEST_F(Kernels, GetTheSharedMemoryTheyAskedFor) {
  DeviceArray<int> data(256);
  data.set(std::vector<int>(256, 1));
  EXPECT_EQ(launch(reverse_in_shared, dim3(1), dim3(256), data.data(), 49153),
            cudaErrorInvalidValue);
  EXPECT_NE(last_report().find("49153 bytes of dynamic shared memory; at most 49152"),
            std::string::npos);
  const void* const kernel = address(reverse_in_shared);
  constexpr auto kDynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(cudaFuncSetAttribute(kernel, kDynamic, 101377), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, kDynamic, -1), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFuncSetAttribute(kernel, kDynamic, 101376), cudaSuccess);
  EXPECT_EQ(launch(reverse_in_shared, dim3(1), dim3(256), data.data(), 101376), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaFuncAttributes attributes;
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 101376);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_EQ(attributes.ptxVersion, 120);
  // Of this device only.
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 49152);
}

TEST_F(Kernels, OccupancyFollowsThreadsAndSharedMemory) {
  int count = -1;
  const void* const kernel = address(reverse_in_shared);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 256, 0), cudaSuccess);
  EXPECT_EQ(count, 6);  // 1536 threads
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 32, 0), cudaSuccess);
  EXPECT_EQ(count, 24);  // CTAs
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 32, 49152), cudaSuccess);
  EXPECT_EQ(count, 2);  // 102400 bytes, 1024 of each CTA for the system
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 32, 200000), cudaSuccess);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 0, 0),
            cudaErrorInvalidValue);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(256);
  ASSERT_EQ(cudaOccupancyMaxActiveClusters(&count, kernel, &config), cudaSuccess);
  EXPECT_EQ(count, 24);
  ASSERT_EQ(cudaOccupancyMaxPotentialClusterSize(&count, kernel, &config), cudaSuccess);
  EXPECT_EQ(count, 8);
}

TEST_F(Kernels, RegistersLimitWhereAFileTellsThem) {
  const std::string file = testing::TempDir() + "kernel_registers.txt";
  std::ofstream(file) << "reverse_in_shared 100\n";
  set_option("EMU_REGISTERS", file);
  const void* const kernel = address(reverse_in_shared);
  cudaFuncAttributes attributes;
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, kernel), cudaSuccess);
  EXPECT_EQ(attributes.numRegs, 100);
  int count = -1;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, 256, 0), cudaSuccess);
  EXPECT_EQ(count, 2);  // 256 x 104 of 65536
  DeviceArray<int> out(1024);
  EXPECT_EQ(launch(reverse_in_shared, dim3(1), dim3(1024), out.data()),
            cudaErrorLaunchOutOfResources);
  EXPECT_NE(last_report().find("1024 threads of 100 registers"), std::string::npos);
  set_option("EMU_REGISTERS", "");
}

TEST_F(Kernels, CooperativeGridsMustBeResident) {
  DeviceArray<int> total(1);
  total.set({0});
  int* data = total.data();
  void* arguments[] = {&data};
  EXPECT_EQ(
      cudaLaunchCooperativeKernel(address(count_up), dim3(25), dim3(256), arguments, 0, nullptr),
      cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(
      cudaLaunchCooperativeKernel(address(count_up), dim3(24), dim3(256), arguments, 0, nullptr),
      cudaSuccess);
  EXPECT_EQ(total.get()[0], 24 * 256);
}

TEST_F(Kernels, UnknownAttributesAreNotSupported) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.attrs = &attribute;
  config.numAttrs = 1;
  EXPECT_EQ(cudaLaunchKernelExC(&config, address(count_up), nullptr), cudaErrorNotSupported);
  EXPECT_EQ(cudaLaunchKernelExC(nullptr, address(count_up), nullptr), cudaErrorInvalidValue);
}

TEST_F(Kernels, AProgrammaticLaunchWaitsWhereItSaysSo) {
  for (int seed = 1; seed <= 10; ++seed) {
    start("9.0");
    set_option("EMU_SEED", std::to_string(seed));
    set_option("EMU_SCHED", "late");
    DeviceArray<int> first(64);
    DeviceArray<int> second(64);
    ASSERT_EQ(launch(first_of_two, dim3(1), dim3(64), first.data()), cudaSuccess);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(64);
    config.attrs = &attribute;
    config.numAttrs = 1;
    const int* from = first.data();
    int* to = second.data();
    void* arguments[] = {&from, &to};
    ASSERT_EQ(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(second_of_two), arguments),
              cudaSuccess);
    EXPECT_EQ(second.get()[63], 64);
    set_option("EMU_SCHED", "plain");
  }
}

// Between the two kernels stands work of the legacy stream, which blocking streams wait for.
TEST_F(Kernels, AProgrammaticLaunchDoesNotOvertakeTheLegacyStream) {
  start("9.0");
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  DeviceArray<int> first(64);
  DeviceArray<int> second(64);
  int* to = first.data();
  void* first_arguments[] = {&to};
  ASSERT_EQ(cudaLaunchKernel(address(first_of_two), dim3(1), dim3(64), first_arguments, 0, stream),
            cudaSuccess);
  ASSERT_EQ(cudaMemset(first.data(), 0x11, 4), cudaSuccess);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const int* from = first.data();
  int* target = second.data();
  void* arguments[] = {&from, &target};
  ASSERT_EQ(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(second_of_two), arguments),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(second.get()[0], 0x11111111);
  cudaStreamDestroy(stream);
}

TEST_F(Kernels, AreReplayedByGraphsWithTheArgumentsOfTheCapture) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  DeviceArray<float> data(4);
  cudaFuncAttributes attributes;  // loads the module, which a capture does not allow
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(scale)), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(launch_scale(data.data(), 4, 2.0f, stream), cudaSuccess);
  cudaGraph_t graph;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (const float start : {1.0f, 10.0f}) {
    data.set({start, start, start, start});
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(data.get()[3], 4 * start + 1.5f);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_F(Kernels, TheFirstLoadOfAModuleEndsACapture) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  DeviceArray<float> data(4);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(launch_scale(data.data(), 4, 2.0f, stream), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStreamDestroy(stream);
}

TEST_F(Kernels, AStreamOfAnotherDeviceIsRefused) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  DeviceArray<float> data(4);
  EXPECT_EQ(launch_scale(data.data(), 4, 2.0f, stream), cudaErrorInvalidResourceHandle);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace emu::tests
