// SPDX-License-Identifier: Apache-2.0
// Driver functions that host code asks the runtime for: tensor maps, contexts; and what the
// library exports.
#include <cuda.h>
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Driver : public EmulatedTest {
 protected:
  template <typename Function>
  static Function* entry(const char* name) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult status;
    EXPECT_EQ(cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &status),
              cudaSuccess);
    EXPECT_EQ(status, cudaDriverEntryPointSuccess) << name;
    return reinterpret_cast<Function*>(address);
  }
};

// A of a block-scaled 4-bit GEMM with K = 512 (specification, appendix D).
struct MapCall {
  alignas(64) CUtensorMap map = {};
  cuuint64_t dims[3] = {512, 256, 1};
  cuuint64_t strides[2] = {256, 0};
  cuuint32_t box[3] = {128, 128, 1};
  cuuint32_t steps[3] = {1, 1, 1};
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
  cuuint32_t rank = 3;
  uint64_t address = 0x10000;

  CUresult encode(decltype(cuTensorMapEncodeTiled)* function) {
    return function(&map, type, rank, reinterpret_cast<void*>(address), dims, strides, box, steps,
                    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B,
                    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
};

TEST_F(Driver, EncodesTensorMapsAndLeavesTheWordThatOthersPatch) {
  auto* const encode = entry<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  ASSERT_NE(encode, nullptr);
  MapCall call;
  ASSERT_EQ(call.encode(encode), CUDA_SUCCESS) << emu_last_report();
  uint64_t word = 1;
  std::memcpy(&word, reinterpret_cast<const char*>(&call.map) + 8, sizeof(word));
  EXPECT_EQ(word, 0u);
}

TEST_F(Driver, RefusesTensorMapsAndSaysWhy) {
  auto* const encode = entry<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  ASSERT_NE(encode, nullptr);
  const auto refuses = [&](auto change) {
    MapCall call;
    change(&call);
    EXPECT_EQ(call.encode(encode), CUDA_ERROR_INVALID_VALUE);
    EXPECT_NE(std::string(emu_last_report()).find("cuTensorMapEncodeTiled returns"),
              std::string::npos);
  };
  refuses([](MapCall* call) { call->rank = 6; });
  refuses([](MapCall* call) { call->rank = 0; });
  refuses([](MapCall* call) { call->address = 0x10008; });
  refuses([](MapCall* call) { call->strides[0] = 8; });
  refuses([](MapCall* call) { call->box[0] = 257; });
  refuses([](MapCall* call) { call->dims[0] = 511; });
  refuses([](MapCall* call) { call->steps[1] = 9; });
  EXPECT_EQ(encode(nullptr, CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, nullptr, nullptr, nullptr, nullptr,
                   nullptr, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, PushesAndPopsThePrimaryContexts) {
  auto* const get = entry<decltype(cuDeviceGet)>("cuDeviceGet");
  auto* const retain = entry<decltype(cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain");
  auto* const push = entry<CUresult(CUcontext)>("cuCtxPushCurrent");
  auto* const pop = entry<CUresult(CUcontext*)>("cuCtxPopCurrent");
  CUdevice device = -1;
  CUcontext context = nullptr;
  CUcontext popped = nullptr;
  EXPECT_EQ(get(&device, 2), CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(get(&device, 1), CUDA_SUCCESS);
  ASSERT_EQ(retain(&context, device), CUDA_SUCCESS);
  EXPECT_EQ(pop(&popped), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(push(context), CUDA_SUCCESS);
  int current = -1;
  cudaGetDevice(&current);
  EXPECT_EQ(current, 1);
  ASSERT_EQ(pop(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, context);
  cudaGetDevice(&current);
  EXPECT_EQ(current, 0);
  EXPECT_EQ(push(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  set_option("EMU_FAULT", "lost@1");
  EXPECT_EQ(retain(&context, 1), CUDA_ERROR_DEVICE_UNAVAILABLE);
}

TEST_F(Driver, OtherFunctionsAreNotFound) {
  void* address = &address;
  cudaDriverEntryPointQueryResult status;
  EXPECT_EQ(
      cudaGetDriverEntryPointByVersion("cuMemAlloc", &address, 12000, cudaEnableDefault, &status),
      cudaSuccess);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
}

// Whatever the toolkit's header declares can be called, if only to hear that it is not emulated.
TEST_F(Driver, EveryFunctionOfTheHeaderIsExported) {
  std::ifstream file(EMU_TEST_CUDA_INCLUDE "/cuda_runtime_api.h");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex declaration(R"(CUDARTAPI\s+(cuda\w+)\s*\()");
  std::set<std::string> names;
  for (std::sregex_iterator match(header.begin(), header.end(), declaration), end; match != end;
       ++match) {
    names.insert((*match)[1]);
  }
  EXPECT_GT(names.size(), 250u);
  void* const library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  for (const std::string& name : names) {
    EXPECT_NE(dlvsym(library, name.c_str(), "libcudart.so.13"), nullptr) << name;
  }
}

}  // namespace
}  // namespace emu::tests
