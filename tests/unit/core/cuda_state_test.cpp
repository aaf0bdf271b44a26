// SPDX-License-Identifier: Apache-2.0
// Fake devices, and what is said where CUDA is not to be had.
#include "core/cuda_state.hpp"

#include <gtest/gtest.h>

#include "support/library_folder.hpp"

namespace mxgemm::internal {
namespace {

using test::LibraryFolder;

TEST(FakeDevices, Lists) {
  std::vector<mxgemm_cuda_device> devices;
  ASSERT_TRUE(parse_fake_devices("12.0,9.0,12.1,10.3,8.6", &devices).ok());
  std::vector<int32_t> capabilities;
  for (const mxgemm_cuda_device& device : devices) {
    capabilities.push_back(device.capability);
    EXPECT_STREQ(device.name, "fake device");
  }
  EXPECT_EQ(capabilities, (std::vector<int32_t>{120, 90, 121, 103, 86}));
}

TEST(FakeDevices, NothingElse) {
  for (const char* text :
       {"",         ",",         "12",    "12.",   ".0",   "12.0,",        ",12.0", "12.0,,9.0",
        "12.0 9.0", "12.0, 9.0", " 12.0", "12.10", "-1.0", "0.5",          "100.0", "a.0",
        "12.a",     "12,0",      "sm120", "1e1.0", "+8.0", "99999999999.0"}) {
    std::vector<mxgemm_cuda_device> devices;
    const Status status = parse_fake_devices(text, &devices);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(status.message().find("MXGEMM_FAKE_DEVICES is \"" + std::string(text) + "\""),
              std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find("12.0,9.0,12.1"), std::string::npos);
  }
}

void expect_absent(const std::string& path, const std::string& reason) {
  const CudaState state = read_cuda_devices(path);
  EXPECT_TRUE(state.devices.empty());
  EXPECT_NE(state.absence.find(reason), std::string::npos) << state.absence;
}

TEST(CudaRuntime, Absent) {
  LibraryFolder folder;
  expect_absent(folder.file("cuda"), "this installation has no CUDA backend: there is no file /");
  folder.add("no_cuda/cuda");
  expect_absent(folder.file("cuda"), "libstub_absent.so: cannot open shared object file");
}

TEST(CudaRuntime, Faulty) {
  LibraryFolder other;
  other.add("whole/sm80", "cuda");
  expect_absent(other.file("cuda"), "undefined symbol: mxgemm_cuda_runtime");
  LibraryFolder cut;
  cut.add("whole/cuda");
  cut.cut("cuda", 5000);
  expect_absent(cut.file("cuda"), "the file is cut short");
}

TEST(CudaRuntime, DevicesAndNone) {
  const LibraryFolder folder = {"whole/cuda"};
  setenv("STUB_DEVICES", "12.0,9.0", 1);
  const CudaState two = read_cuda_devices(folder.file("cuda"));
  ASSERT_EQ(two.devices.size(), 2u);
  EXPECT_EQ(two.devices[0].capability, 120);
  EXPECT_EQ(two.devices[1].capability, 90);
  EXPECT_STREQ(two.devices[1].name, "stub device 1");
  unsetenv("STUB_DEVICES");
  const CudaState none = read_cuda_devices(folder.file("cuda"));
  EXPECT_TRUE(none.devices.empty());
  EXPECT_NE(none.absence.find("cudaErrorNoDevice"), std::string::npos) << none.absence;
  EXPECT_NE(none.runtime, nullptr) << "it is loaded all the same";
}

}  // namespace
}  // namespace mxgemm::internal
