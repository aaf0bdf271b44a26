// SPDX-License-Identifier: Apache-2.0
// The controls of docs/decisions/0003 on a real device: the kernel whose stub was never registered
// must fail as it did in the field, and its cured twin must run.
//
//   cuda_control_test FOLDER        of libcontrol_unregistered.so and libcontrol_registered.so
//
// Prints what the uncured kernel's launch said. Exit code 77 = no device here.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

std::string folder;

// What control_launch of the library answers; `written` is what its kernel left.
int launch(const std::string& name, int* written) {
  const std::string path = folder + "/libcontrol_" + name + ".so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return -1;
  }
  using Launch = int (*)(int*);
  const auto function = reinterpret_cast<Launch>(dlsym(library, "control_launch"));
  int* out = nullptr;
  if (function == nullptr ||
      cudaMalloc(reinterpret_cast<void**>(&out), sizeof(int)) != cudaSuccess ||
      cudaMemset(out, 0, sizeof(int)) != cudaSuccess) {
    ADD_FAILURE() << path << " cannot be tried";
    return -1;
  }
  const int result = function(out);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(written, out, sizeof(int), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaFree(out), cudaSuccess);
  return result;
}

TEST(Control, TheUncuredKernelFailsWithInvalidResourceHandle) {
  int written = -1;
  const int result = launch("unregistered", &written);
  const auto error = static_cast<cudaError_t>(result);
  std::printf("uncured: error %d, %s (%s)\n", result, cudaGetErrorName(error),
              cudaGetErrorString(error));
  EXPECT_EQ(result, static_cast<int>(cudaErrorInvalidResourceHandle));
  EXPECT_EQ(result, 400);
  EXPECT_EQ(written, 0) << "it ran";
}

TEST(Control, TheCuredTwinRuns) {
  int written = -1;
  EXPECT_EQ(launch("registered", &written), static_cast<int>(cudaSuccess));
  EXPECT_EQ(written, 1);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: cuda_control_test FOLDER [GoogleTest's arguments]\n");
    return 2;
  }
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::printf("skipped: this machine has no GPU\n");
    return 77;
  }
  folder = argv[1];
  return RUN_ALL_TESTS();
}
