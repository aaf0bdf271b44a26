// SPDX-License-Identifier: Apache-2.0
// The functions on block-scaled data of one GPU library, on device 0 of this machine.
//
//   cuda_data_test LIBRARY [GoogleTest's arguments]
//
// MXGEMM_TEST_QUICK=1: fewer cases, for compute-sanitizer. MXGEMM_TEST_LARGE=1: also what needs
// some 12 GiB on the device.
#include "device/cuda/data_cases.hpp"

namespace mxgemm::test {

const mxgemm_data_functions* functions = nullptr;

namespace {

// A small matrix is quantised inside a capture; replays see what its source holds by then.
TEST(CudaData, CallsStandInsideACapture) {
  constexpr int64_t kRows = 64;
  constexpr int64_t kCols = 256;
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = MXGEMM_F32;
  desc.format = MXGEMM_NVF4;
  desc.global_scale_mode = MXGEMM_GLOBAL_SCALE_COMPUTE;
  desc.rows = kRows;
  desc.cols = kCols;
  const DeviceBytes src(Bytes(kRows * kCols * sizeof(float), 0));
  const DeviceBytes qdata(Bytes(kRows * kCols / 2, 0xA5));
  const DeviceBytes scale(Bytes(kRows * kCols / 16, 0xA5));
  const DeviceBytes global_scale(bytes_of(0.0f));
  const DeviceBytes workspace(Bytes(functions->quantize_workspace_size(&desc), 0xA5));
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = src.data();
  args.src_ld = kCols;
  args.qdata = qdata.data();
  args.qdata_ld = kCols;
  args.scale = scale.data();
  args.scale_ld = kCols / 16;
  args.global_scale = reinterpret_cast<float*>(global_scale.data());
  args.workspace = workspace.data();

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  char text[512] = "";
  EXPECT_EQ(functions->quantize(&desc, &args, stream, {text, sizeof(text)}), MXGEMM_OK) << text;
  must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  must(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  std::mt19937 engine(4);
  for (const Data data : {Data::kNormal, Data::kWide, Data::kBits}) {
    const Bytes numbers = random_numbers(MXGEMM_F32, kRows * kCols, data, &engine);
    must(cudaMemcpy(src.data(), numbers.data(), numbers.size(), cudaMemcpyHostToDevice), "copy");
    // A copy of pageable memory may still be under way, and this stream waits for no other.
    must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    must(cudaGraphLaunch(executable, stream), "cudaGraphLaunch");
    must(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    Bytes expected_qdata(kRows * kCols / 2);
    Bytes expected_scale(kRows * kCols / 16);
    float expected_global_scale = 0.0f;
    mxgemm_quantize_args on_cpu = args;
    on_cpu.src = numbers.data();
    on_cpu.src_bytes = numbers.size();
    on_cpu.qdata = expected_qdata.data();
    on_cpu.qdata_bytes = expected_qdata.size();
    on_cpu.scale = expected_scale.data();
    on_cpu.scale_bytes = expected_scale.size();
    on_cpu.global_scale = &expected_global_scale;
    ASSERT_EQ(mxgemm_quantize(&desc, &on_cpu, nullptr), MXGEMM_OK) << mxgemm_last_error();
    expect_same(qdata.download(), expected_qdata, "qdata");
    expect_same(scale.download(), expected_scale, "scale");
    expect_same(global_scale.download(), bytes_of(expected_global_scale), "global scale");
  }
  must(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  must(cudaStreamDestroy(stream), "cudaStreamDestroy");
}

void fill_with_copies(const Bytes& pattern, int64_t copies, const DeviceBytes& all) {
  for (int64_t i = 0; i < copies; ++i) {
    must(cudaMemcpy(all.data() + static_cast<size_t>(i) * pattern.size(), pattern.data(),
                    pattern.size(), cudaMemcpyHostToDevice),
         "cudaMemcpy");
  }
}

// More than 2^32 elements in more rows than 65535 CTAs take: what is right for the first rows must
// come again for the last.
TEST(CudaData, CountsElementsAndRowsIn64Bits) {
  if (!is_set("MXGEMM_TEST_LARGE")) {
    GTEST_SKIP() << "needs 12 GiB on the device; MXGEMM_TEST_LARGE=1 runs it";
  }
  constexpr int64_t kPatternRows = int64_t{1} << 20;
  constexpr int64_t kCopies = 65;
  constexpr int64_t kCols = 64;
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = MXGEMM_BF16;
  desc.format = MXGEMM_MXF4;
  desc.rows = kPatternRows;
  desc.cols = kCols;
  std::mt19937 engine(5);
  const Bytes pattern = random_numbers(MXGEMM_BF16, kPatternRows * kCols, Data::kNormal, &engine);
  Bytes expected_qdata(kPatternRows * kCols / 2);
  Bytes expected_scale(kPatternRows * kCols / 32);
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = pattern.data();
  args.src_bytes = pattern.size();
  args.src_ld = kCols;
  args.qdata = expected_qdata.data();
  args.qdata_bytes = expected_qdata.size();
  args.qdata_ld = kCols;
  args.scale = expected_scale.data();
  args.scale_bytes = expected_scale.size();
  args.scale_ld = kCols / 32;
  ASSERT_EQ(mxgemm_quantize(&desc, &args, nullptr), MXGEMM_OK) << mxgemm_last_error();

  desc.rows = kPatternRows * kCopies;
  const DeviceBytes src(pattern.size() * kCopies);
  fill_with_copies(pattern, kCopies, src);
  const DeviceBytes qdata(expected_qdata.size() * kCopies);
  const DeviceBytes scale(expected_scale.size() * kCopies);
  args.src = src.data();
  args.qdata = qdata.data();
  args.scale = scale.data();
  char text[512] = "";
  ASSERT_EQ(functions->quantize(&desc, &args, nullptr, {text, sizeof(text)}), MXGEMM_OK) << text;
  must(cudaDeviceSynchronize(), "quantize");
  const Bytes all_qdata = qdata.download();
  const Bytes all_scale = scale.download();
  for (int64_t i = 0; i < kCopies; ++i) {
    const auto copy = static_cast<size_t>(i);
    ASSERT_EQ(std::memcmp(all_qdata.data() + copy * expected_qdata.size(), expected_qdata.data(),
                          expected_qdata.size()),
              0)
        << "copy " << i;
    ASSERT_EQ(std::memcmp(all_scale.data() + copy * expected_scale.size(), expected_scale.data(),
                          expected_scale.size()),
              0)
        << "copy " << i;
  }
}

}  // namespace
}  // namespace mxgemm::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: cuda_data_test LIBRARY [GoogleTest's arguments]\n");
    return 2;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: this machine has no GPU\n");
    return 77;  // CTest's SKIP_RETURN_CODE here
  }
  mxgemm::test::functions = &mxgemm::test::open_data_functions(argv[1]);
  return RUN_ALL_TESTS();
}
