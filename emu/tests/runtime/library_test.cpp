// SPDX-License-Identifier: Apache-2.0
// Libraries from PTX text in memory: cudaLibraryLoadData and what goes with it.
#include <string>

#include "tests/runtime/emulated.hpp"

namespace emu::tests {
namespace {

class Library : public EmulatedTest {};

std::string twice(const std::string& target) {
  return ".version 8.8\n.target " + target + R"(
.address_size 64
.visible .entry twice(.param .u64 data)
{
  .reg .b64 at;
  .reg .b32 value;
  ld.param.u64 at, [data];
  ld.global.u32 value, [at];
  add.u32 value, value, value;
  st.global.u32 [at], value;
  ret;
}
)";
}

cudaError_t load(cudaLibrary_t* library, const std::string& text) {
  return cudaLibraryLoadData(library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
}

TEST_F(Library, RunsItsKernels) {
  cudaLibrary_t library = nullptr;
  ASSERT_EQ(load(&library, twice("sm_120f")), cudaSuccess) << emu_last_report();
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "twice"), cudaSuccess);
  cudaKernel_t again = nullptr;
  ASSERT_EQ(cudaLibraryGetKernel(&again, library, "twice"), cudaSuccess);
  EXPECT_EQ(kernel, again);
  DeviceArray<uint32_t> data(1);
  data.set({21});
  void* address = data.data();
  void* arguments[] = {&address};
  ASSERT_EQ(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
  uint32_t result = 0;
  ASSERT_EQ(cudaMemcpy(&result, address, sizeof(result), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(result, 42u);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
  EXPECT_EQ(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
  EXPECT_NE(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr), cudaSuccess);
}

TEST_F(Library, SaysWhyItCannotBeLoaded) {
  cudaLibrary_t library = nullptr;
  EXPECT_EQ(load(&library, twice("sm_90a")), cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(load(&library, twice("sm_120a") + "garbage"), cudaErrorInvalidPtx);
  EXPECT_EQ(load(&library, "no PTX"), cudaErrorInvalidKernelImage);
  EXPECT_EQ(load(&library,
                 "\x7F"
                 "ELF"),
            cudaErrorNotSupported);
  ASSERT_EQ(load(&library, twice("sm_80")), cudaSuccess);
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(cudaLibraryGetKernel(&kernel, library, "thrice"), cudaErrorSymbolNotFound);
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
}

}  // namespace
}  // namespace emu::tests
