// SPDX-License-Identifier: Apache-2.0
// What the environment variables of the GPU side do, and that CPU calls load nothing. They are read
// once per process, so CTest runs this program once per setting.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "abi/gemm_call.hpp"
#include "mxgemm/mxgemm.h"

namespace {

using mxgemm::test::GemmCall;

int failures = 0;

void expect(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s (last error: %s)\n", what, mxgemm_last_error());
    ++failures;
  }
}

void expect_error(mxgemm_status status, mxgemm_status expected, const char* part) {
  expect(status == expected, mxgemm_status_string(status));
  expect(std::strstr(mxgemm_last_error(), part) != nullptr, part);
}

void expect_cpu_works() {
  GemmCall call;
  expect(call.run() == MXGEMM_OK && call.d[0] == 64.0f, "the CPU is as ever");
}

// Whether a GPU library is mapped into this process.
bool has_loaded_gpu_library() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libmxgemm_") != std::string::npos || line.find("libcuda") != std::string::npos) {
      return true;
    }
  }
  return false;
}

void expect_all_cuda_calls_fail(mxgemm_status expected, const char* part) {
  int32_t count = 0;
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  mxgemm_plan* plan = nullptr;
  GemmCall call;
  call.desc.device_kind = MXGEMM_DEVICE_CUDA;
  expect_error(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count), expected, part);
  expect_error(mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, 0, &info), expected, part);
  expect_error(mxgemm_plan_create(&call.desc, nullptr, &plan), expected, part);
  expect_error(mxgemm_explain(&call.desc, nullptr, 0, nullptr), expected, part);
  expect_error(call.run(), expected, part);
  expect_error(mxgemm_library_count(&count), expected, part);
  expect_cpu_works();
}

void bad_fake_devices(const char* value) {
  setenv("MXGEMM_FAKE_DEVICES", value, 1);
  expect_all_cuda_calls_fail(MXGEMM_INVALID_ARGUMENT,
                             (std::string("MXGEMM_FAKE_DEVICES is \"") + value + "\"").c_str());
}

void bad_plugin_dir(const char* value) {
  setenv("MXGEMM_PLUGIN_DIR", value, 1);
  expect_all_cuda_calls_fail(MXGEMM_INVALID_ARGUMENT,
                             (std::string("MXGEMM_PLUGIN_DIR is \"") + value + "\"").c_str());
  int32_t count = 0;
  expect_error(mxgemm_kernel_count(&count), MXGEMM_INVALID_ARGUMENT, "absolute path of a folder");
}

void cpu_loads_nothing() {
  setenv("MXGEMM_PLUGIN_DIR", MXGEMM_STUBS "/whole", 1);
  setenv("MXGEMM_FORCE", "scalar", 1);
  int32_t count = 0;
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_cpu_works();
  GemmCall call;
  mxgemm_plan* plan = nullptr;
  char text[4096];
  expect(mxgemm_plan_create(&call.desc, nullptr, &plan) == MXGEMM_OK, "plan");
  expect(mxgemm_plan_explain(plan, text, sizeof(text), nullptr) == MXGEMM_OK, "explain");
  mxgemm_plan_destroy(plan);
  expect(mxgemm_plan_create(&call.desc, "cpu:scalar:gemm_any_any_any_16x16x32", &plan) == MXGEMM_OK,
         "plan by id");
  mxgemm_plan_destroy(plan);
  expect(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info) == MXGEMM_OK, "info");
  expect(!has_loaded_gpu_library(), "calls for the CPU load nothing");
  expect(mxgemm_kernel_count(&count) == MXGEMM_OK, "kernel count");
  expect(has_loaded_gpu_library(), "the look at /proc/self/maps finds one when it is there");
}

// The runtime library needs one that is not installed.
void no_cuda() {
  setenv("MXGEMM_PLUGIN_DIR", MXGEMM_STUBS "/no_cuda", 1);
  int32_t count = -1;
  expect(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count) == MXGEMM_OK && count == 0, "no devices");
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_error(mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, 0, &info), MXGEMM_DEVICE_UNAVAILABLE,
               "libstub_absent.so: cannot open shared object file");
  mxgemm_library_info library = MXGEMM_LIBRARY_INFO_INIT;
  expect(mxgemm_library_info_get(0, &library) == MXGEMM_OK, "library info");
  expect(library.loaded == 0 && std::strstr(library.reason, "libstub_absent.so") != nullptr,
         library.reason);
  expect_cpu_works();
}

// The runtime library is there, and the driver says that there is no device.
void no_device() {
  setenv("MXGEMM_PLUGIN_DIR", MXGEMM_STUBS "/whole", 1);
  unsetenv("STUB_DEVICES");
  int32_t count = -1;
  expect(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &count) == MXGEMM_OK && count == 0, "no devices");
  GemmCall call;
  call.desc.device_kind = MXGEMM_DEVICE_CUDA;
  expect_error(call.run(), MXGEMM_DEVICE_UNAVAILABLE, "cudaErrorNoDevice");
  mxgemm_library_info library = MXGEMM_LIBRARY_INFO_INIT;
  expect(mxgemm_library_info_get(0, &library) == MXGEMM_OK, "library info");
  expect(library.loaded == 1 && std::strstr(library.reason, "cudaErrorNoDevice") != nullptr,
         library.reason);
  int32_t kernels = 0;
  mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
  expect(mxgemm_kernel_count(&kernels) == MXGEMM_OK, "kernel count");
  expect(mxgemm_kernel_info_get(kernels - 1, &kernel) == MXGEMM_OK, "kernel info");
  expect(kernel.available == 0 && std::strstr(kernel.reason, "cudaErrorNoDevice") != nullptr,
         kernel.reason);
}

std::string chosen(int32_t device) {
  GemmCall call(4, 8, 128);
  call.desc.device_kind = MXGEMM_DEVICE_CUDA;
  call.desc.device_index = device;
  call.desc.format_d = MXGEMM_BF16;
  mxgemm_plan* plan = nullptr;
  char name[128] = "";
  if (mxgemm_plan_create(&call.desc, nullptr, &plan) == MXGEMM_OK) {
    expect(mxgemm_plan_name(plan, name, sizeof(name), nullptr) == MXGEMM_OK, "name");
  }
  mxgemm_plan_destroy(plan);
  return name;
}

void force(const char* what) {
  setenv("MXGEMM_PLUGIN_DIR", MXGEMM_STUBS "/whole", 1);
  setenv("MXGEMM_FAKE_DEVICES", "12.1,9.0", 1);
  setenv("MXGEMM_FORCE", what, 1);
}

void force_arch() {
  force("sm80");
  expect(chosen(0) == "cuda:sm80:gemm_any_any_any_64x64x32", "sm80 on 12.1");
  expect(chosen(1) == "cuda:sm80:gemm_any_any_any_64x64x32", "sm80 on 9.0");
  GemmCall call;
  expect_error(call.run(), MXGEMM_UNSUPPORTED, "MXGEMM_FORCE is sm80");
}

void force_id() {
  force("cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128");
  expect(chosen(0) == "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128", "sm120f on 12.1");
  expect(chosen(1).empty(), "not on 9.0");
  expect(std::strstr(mxgemm_last_error(), "it is for the family of compute capability 12.0"),
         "why not");
}

const std::map<std::string, std::function<void()>> kSettings = {
    {"fake_devices_number", [] { bad_fake_devices("12"); }},
    {"fake_devices_comma", [] { bad_fake_devices("12.0,"); }},
    {"fake_devices_text", [] { bad_fake_devices("rtx5090"); }},
    {"plugin_dir_relative", [] { bad_plugin_dir("whole"); }},
    {"plugin_dir_missing", [] { bad_plugin_dir("/not/there"); }},
    {"plugin_dir_file", [] { bad_plugin_dir("/proc/self/exe"); }},
    {"cpu_loads_nothing", cpu_loads_nothing},
    {"no_cuda", no_cuda},
    {"no_device", no_device},
    {"force_arch", force_arch},
    {"force_id", force_id},
};

}  // namespace

int main(int argc, char** argv) {
  for (const char* name : {"MXGEMM_FAKE_DEVICES", "MXGEMM_FORCE", "MXGEMM_PLUGIN_DIR"}) {
    unsetenv(name);
  }
  const auto setting = kSettings.find(argc == 2 ? argv[1] : "");
  if (setting == kSettings.end()) {
    std::fprintf(stderr, "usage: environment_test <setting>\n");
    return 2;
  }
  setting->second();
  return failures == 0 ? 0 : 1;
}
