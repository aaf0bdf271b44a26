// SPDX-License-Identifier: Apache-2.0
// What the environment variables do. They are read once per process, so CTest runs this program
// once per setting:
//   environment_test
//   scalar|avx2|avx512|amx|bad_max_isa|force_arch|force_id|force_unknown|threads|bad_threads|zero_threads
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "abi/gemm_call.hpp"
#include "mxgemm/mxgemm.h"

namespace {

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

// Every call that needs kernels or threads fails with the same code and message.
void expect_all_fail(mxgemm_status expected, const char* part, bool kernels_too) {
  mxgemm::test::GemmCall call;
  mxgemm_plan* plan = nullptr;
  mxgemm_device_info device = MXGEMM_DEVICE_INFO_INIT;
  expect_error(call.run(), expected, part);
  expect_error(mxgemm_plan_create(&call.desc, nullptr, &plan), expected, part);
  expect_error(mxgemm_explain(&call.desc, nullptr, 0, nullptr), expected, part);
  expect_error(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &device), expected, part);
  if (kernels_too) {
    int32_t count = 0;
    mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
    expect_error(mxgemm_kernel_count(&count), expected, part);
    expect_error(mxgemm_kernel_info_get(0, &kernel), expected, part);
  }
}

std::string chosen(const mxgemm_gemm_desc& desc) {
  mxgemm_plan* plan = nullptr;
  char name[128] = "";
  expect(mxgemm_plan_create(&desc, nullptr, &plan) == MXGEMM_OK, "plan");
  expect(mxgemm_plan_name(plan, name, sizeof(name), nullptr) == MXGEMM_OK, "name");
  mxgemm_plan_destroy(plan);
  return name;
}

// MXGEMM_MAX_ISA names a level; where this machine lacks it every call says so.
void level(const std::string& name, int32_t isa) {
  setenv("MXGEMM_MAX_ISA", name.c_str(), 1);
  mxgemm_device_info device = MXGEMM_DEVICE_INFO_INIT;
  if (mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &device) != MXGEMM_OK) {
    expect_all_fail(MXGEMM_UNSUPPORTED, ("MXGEMM_MAX_ISA is \"" + name + "\"").c_str(), true);
    expect_all_fail(MXGEMM_UNSUPPORTED, "the levels offered here are scalar", true);
    expect(isa > MXGEMM_ISA_SCALAR, "scalar is always there");
    expect(mxgemm_set_max_isa(MXGEMM_ISA_SCALAR) == MXGEMM_OK, "the API replaces the variable");
    expect(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &device) == MXGEMM_OK, "then it works");
    expect(device.isa_offered < isa, "only a level that is not offered is refused");
    return;
  }
  expect(device.isa == isa && name == device.arch, "level in use");
  int32_t count = 0;
  expect(mxgemm_kernel_count(&count) == MXGEMM_OK, "kernel count");
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
    expect(mxgemm_kernel_info_get(index, &kernel) == MXGEMM_OK, "kernel info");
    if (kernel.device_kind != MXGEMM_DEVICE_CPU) {
      continue;
    }
    expect(kernel.available == (kernel.isa <= isa ? 1 : 0), kernel.id);
    if (kernel.isa > isa && kernel.isa <= device.isa_offered) {
      expect(kernel.reason == "MXGEMM_MAX_ISA is " + name, kernel.reason);
    }
  }
  mxgemm::test::GemmCall call;
  expect(call.run() == MXGEMM_OK && call.d[0] == 64.0f, "gemm at this level");
}

void force_arch() {
  setenv("MXGEMM_FORCE", "scalar", 1);
  mxgemm::test::GemmCall call;
  expect(chosen(call.desc).rfind("cpu:scalar:", 0) == 0, "arch forced");
  char text[4096];
  expect(mxgemm_explain(&call.desc, text, sizeof(text), nullptr) == MXGEMM_OK, "explain");
  mxgemm_device_info device = MXGEMM_DEVICE_INFO_INIT;
  expect(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &device) == MXGEMM_OK, "info");
  if (std::strstr(text, "cpu:avx2:") != nullptr) {
    expect(std::strstr(text, "MXGEMM_FORCE is scalar") != nullptr, text);
  }
  expect(call.run() == MXGEMM_OK && call.d[0] == 64.0f, "gemm");
}

// The CPU's last kernel by its id, which is not the best.
void force_id() {
  int32_t count = 0;
  mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
  expect(mxgemm_kernel_count(&count) == MXGEMM_OK, "kernel count");
  do {
    --count;
    expect(mxgemm_kernel_info_get(count, &kernel) == MXGEMM_OK, "kernel info");
  } while (kernel.device_kind != MXGEMM_DEVICE_CPU);
  setenv("MXGEMM_FORCE", kernel.id, 1);
  mxgemm::test::GemmCall call;
  expect(chosen(call.desc) == kernel.id, "id forced");
}

void force_unknown() {
  setenv("MXGEMM_FORCE", "sm999", 1);
  mxgemm::test::GemmCall call;
  expect_error(call.run(), MXGEMM_INVALID_ARGUMENT, "MXGEMM_FORCE is \"sm999\"");
  expect_error(call.run(), MXGEMM_INVALID_ARGUMENT, "cpu:scalar:");
  expect_error(mxgemm_explain(&call.desc, nullptr, 0, nullptr), MXGEMM_INVALID_ARGUMENT, "sm999");
}

void threads() {
  setenv("MXGEMM_NUM_THREADS", "3", 1);
  int32_t number = 0;
  expect(mxgemm_get_num_threads(&number) == MXGEMM_OK && number == 3, "threads of the variable");
  expect(mxgemm_set_num_threads(5) == MXGEMM_OK, "set");
  expect(mxgemm_get_num_threads(&number) == MXGEMM_OK && number == 5, "threads of the API");
  expect(mxgemm_set_num_threads(0) == MXGEMM_OK, "back");
  expect(mxgemm_get_num_threads(&number) == MXGEMM_OK && number == 3, "the variable again");
}

void bad_threads(const char* value) {
  setenv("MXGEMM_NUM_THREADS", value, 1);
  expect_all_fail(MXGEMM_INVALID_ARGUMENT, "MXGEMM_NUM_THREADS", false);
  expect_all_fail(MXGEMM_INVALID_ARGUMENT, value, false);
  int32_t number = 0;
  expect_error(mxgemm_get_num_threads(&number), MXGEMM_INVALID_ARGUMENT, "MXGEMM_NUM_THREADS");
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* name : {"MXGEMM_MAX_ISA", "MXGEMM_FORCE", "MXGEMM_NUM_THREADS"}) {
    unsetenv(name);
  }
  const std::string what = argc == 2 ? argv[1] : "";
  if (what == "scalar") {
    level("scalar", MXGEMM_ISA_SCALAR);
  } else if (what == "avx2") {
    level("avx2", MXGEMM_ISA_AVX2);
  } else if (what == "avx512") {
    level("avx512", MXGEMM_ISA_AVX512);
  } else if (what == "amx") {
    level("amx", MXGEMM_ISA_AMX);
  } else if (what == "bad_max_isa") {
    setenv("MXGEMM_MAX_ISA", "AVX9", 1);
    expect_all_fail(MXGEMM_INVALID_ARGUMENT, "MXGEMM_MAX_ISA is \"AVX9\"", true);
    expect_all_fail(MXGEMM_INVALID_ARGUMENT, "scalar, avx2, avx512, amx", true);
  } else if (what == "force_arch") {
    force_arch();
  } else if (what == "force_id") {
    force_id();
  } else if (what == "force_unknown") {
    force_unknown();
  } else if (what == "threads") {
    threads();
  } else if (what == "bad_threads") {
    bad_threads("two");
  } else if (what == "zero_threads") {
    bad_threads("0");
  } else {
    std::fprintf(stderr, "usage: environment_test <setting>\n");
    return 2;
  }
  return failures == 0 ? 0 : 1;
}
