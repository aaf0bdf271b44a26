// SPDX-License-Identifier: Apache-2.0
// The library as such: version, messages, devices, kernels, sizes, memory, events, settings.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "abi/expect_status.hpp"
#include "abi/gemm_call.hpp"

// An allocation that cannot be had must return NULL under AddressSanitizer, too.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
const char* __asan_default_options() {
  return "allocator_may_return_null=1";
}

namespace mxgemm::test {
namespace {

TEST(Library, Version) {
  EXPECT_STREQ(mxgemm_version(), MXGEMM_VERSION_STRING);
  EXPECT_EQ(mxgemm_abi_version(), static_cast<uint32_t>(MXGEMM_ABI_VERSION));
}

TEST(Library, StatusStrings) {
  const char* names[] = {"OK",
                         "INVALID_ARGUMENT",
                         "UNSUPPORTED",
                         "DEVICE_UNAVAILABLE",
                         "OUT_OF_MEMORY",
                         "WORKSPACE_TOO_SMALL",
                         "CUDA_ERROR",
                         "PLUGIN_ERROR",
                         "IO_ERROR",
                         "INTERNAL",
                         "UNKNOWN_STATUS"};
  for (int code = 0; code < 11; ++code) {
    EXPECT_STREQ(mxgemm_status_string(static_cast<mxgemm_status>(code)), names[code]);
  }
  EXPECT_STREQ(mxgemm_status_string(static_cast<mxgemm_status>(-1)), "UNKNOWN_STATUS");
}

TEST(Library, LastErrorLastsUntilTheNextCall) {
  expect_invalid(mxgemm_device_count(0, nullptr), {"count is NULL"});
  const std::string message = mxgemm_last_error();
  EXPECT_EQ(message, mxgemm_last_error()) << "asking for it does not change it";
  int32_t count = 0;
  expect_ok(mxgemm_device_count(MXGEMM_DEVICE_CPU, &count));
  EXPECT_STREQ(mxgemm_last_error(), "");
}

TEST(Library, Devices) {
  int32_t count = -1;
  expect_ok(mxgemm_device_count(MXGEMM_DEVICE_CPU, &count));
  EXPECT_EQ(count, 1);
  int32_t cuda_count = -1;
  expect_ok(mxgemm_device_count(MXGEMM_DEVICE_CUDA, &cuda_count));
  EXPECT_GE(cuda_count, 0);
  expect_invalid(mxgemm_device_count(2, &count), {"device_kind is 2", "0 (cpu), 1 (cuda)"});
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info));
  EXPECT_GE(info.num_threads, 1);
  EXPECT_GT(info.memory_bytes, uint64_t{1} << 20);
  EXPECT_NE(info.name[0], '\0');
  EXPECT_LE(info.isa, info.isa_offered);
  const std::string arch = info.arch;
  EXPECT_TRUE(arch == "scalar" || arch == "avx2" || arch == "avx512" || arch == "amx") << arch;
  expect_invalid(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, nullptr), {"info is NULL"});
  expect_status(MXGEMM_DEVICE_UNAVAILABLE,
                mxgemm_device_info_get(MXGEMM_DEVICE_CUDA, cuda_count, &info),
                {"device_kind is 1 (cuda)", "device_index is",
                 cuda_count == 0 ? "there is no CUDA device: " : "the CUDA devices here are 0 to"});
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 3, &info),
                {"device_index is 3"});
  info.struct_size = 5;
  expect_invalid(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info), {"info.struct_size is 5"});
}

TEST(Library, Kernels) {
  int32_t count = 0;
  expect_ok(mxgemm_kernel_count(&count));
  ASSERT_GE(count, 1);
  expect_invalid(mxgemm_kernel_count(nullptr), {"count is NULL"});
  mxgemm_device_info device = MXGEMM_DEVICE_INFO_INIT;
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &device));
  bool has_scalar = false;
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
    expect_ok(mxgemm_kernel_info_get(index, &info));
    const std::string id = info.id;
    EXPECT_EQ(id.rfind(info.device_kind == MXGEMM_DEVICE_CPU ? "cpu:" : "cuda:", 0), 0u) << id;
    has_scalar = has_scalar || id.rfind("cpu:scalar:", 0) == 0;
    EXPECT_NE(info.formats_a, 0u) << id;
    if (info.device_kind == MXGEMM_DEVICE_CPU) {
      EXPECT_EQ(info.available, info.isa <= device.isa ? 1 : 0) << id;
    }
    EXPECT_EQ(info.available == 1, info.reason[0] == '\0') << id << ": " << info.reason;
  }
  EXPECT_TRUE(has_scalar);
  mxgemm_kernel_info info = MXGEMM_KERNEL_INFO_INIT;
  expect_invalid(mxgemm_kernel_info_get(-1, &info), {"index is -1"});
  expect_invalid(mxgemm_kernel_info_get(count, &info), {"index is", std::to_string(count).c_str()});
  expect_invalid(mxgemm_kernel_info_get(0, nullptr), {"info is NULL"});
  info.struct_size = 1;
  expect_invalid(mxgemm_kernel_info_get(0, &info), {"info.struct_size is 1"});
}

// Kinds of fault 14, 27, 29: sizes of real models.
TEST(Library, Sizes) {
  uint64_t bytes = 0;
  expect_ok(mxgemm_qdata_size(MXGEMM_MXF4, 3, 2880, &bytes));
  EXPECT_EQ(bytes, 3u * 1440u);
  expect_ok(mxgemm_qdata_size(MXGEMM_MXF8E5M2, 3, 64, &bytes));
  EXPECT_EQ(bytes, 192u);
  expect_ok(mxgemm_qdata_size(MXGEMM_F32, 3, 7, &bytes));
  EXPECT_EQ(bytes, 84u);
  expect_ok(mxgemm_qdata_size(MXGEMM_NVF4, 0, 64, &bytes));
  EXPECT_EQ(bytes, 0u);
  expect_ok(mxgemm_scale_size(MXGEMM_MXF4, MXGEMM_SCALE_SWIZZLE_32_4_4, 2880, 2880, &bytes));
  EXPECT_EQ(bytes, 270848u);
  expect_ok(mxgemm_scale_size(MXGEMM_NVF4, MXGEMM_SCALE_SWIZZLE_32_4_4, 1856, 2688, &bytes));
  EXPECT_EQ(bytes, 322560u);
  expect_ok(mxgemm_scale_size(MXGEMM_NVF4, MXGEMM_SCALE_ROW_MAJOR, 3, 48, &bytes));
  EXPECT_EQ(bytes, 9u);
  expect_ok(mxgemm_scale_size(MXGEMM_BF16, MXGEMM_SCALE_SWIZZLE_32_4_4, 3, 48, &bytes));
  EXPECT_EQ(bytes, 0u);
}

TEST(Library, Memory) {
  void* memory = &memory;
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, 0, &memory));
  EXPECT_EQ(memory, nullptr);
  expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, 1, &memory));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  const char text = 'x';
  char back = 0;
  expect_ok(
      mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, memory, MXGEMM_DEVICE_CPU, 0, &text, 1, nullptr));
  expect_ok(
      mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, &back, MXGEMM_DEVICE_CPU, 0, memory, 1, nullptr));
  EXPECT_EQ(back, 'x');
  expect_ok(
      mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, nullptr, MXGEMM_DEVICE_CPU, 0, nullptr, 0, nullptr));
  expect_invalid(
      mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, nullptr, MXGEMM_DEVICE_CPU, 0, memory, 1, nullptr),
      {"dst is NULL"});
  expect_invalid(
      mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, memory, MXGEMM_DEVICE_CPU, 0, nullptr, 1, nullptr),
      {"src is NULL"});
  expect_invalid(mxgemm_device_copy(9, 0, memory, MXGEMM_DEVICE_CPU, 0, memory, 1, nullptr),
                 {"dst_kind is 9"});
  expect_status(MXGEMM_DEVICE_UNAVAILABLE,
                mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, memory, MXGEMM_DEVICE_CUDA, 1000, memory,
                                   1, nullptr),
                {"src_kind is 1 (cuda)", "src_index is 1000"});
  expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, memory));
  expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, nullptr));
  expect_invalid(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, 1, nullptr), {"pointer is NULL"});
  for (const uint64_t bytes : {UINT64_MAX, UINT64_MAX - 255, uint64_t{1} << 62}) {
    memory = &memory;
    expect_status(MXGEMM_OUT_OF_MEMORY, mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes, &memory),
                  {"bytes is", std::to_string(bytes).c_str()});
    EXPECT_EQ(memory, nullptr);
  }
}

TEST(Library, StreamsAndEvents) {
  void* stream = &stream;
  expect_ok(mxgemm_stream_create(MXGEMM_DEVICE_CPU, 0, &stream));
  EXPECT_EQ(stream, nullptr) << "what every call on the CPU wants";
  expect_ok(mxgemm_stream_destroy(MXGEMM_DEVICE_CPU, 0, stream));
  expect_invalid(mxgemm_stream_destroy(MXGEMM_DEVICE_CPU, 0, &stream), {"stream is"});
  expect_ok(mxgemm_device_synchronize(MXGEMM_DEVICE_CPU, 0));
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_device_synchronize(MXGEMM_DEVICE_CUDA, 1000),
                {"device_index is 1000"});
  mxgemm_event* start = nullptr;
  mxgemm_event* end = nullptr;
  expect_ok(mxgemm_event_create(MXGEMM_DEVICE_CPU, 0, &start));
  expect_ok(mxgemm_event_create(MXGEMM_DEVICE_CPU, 0, &end));
  float milliseconds = -1.0f;
  expect_ok(mxgemm_event_record(start, nullptr));
  expect_invalid(mxgemm_event_elapsed(start, end, &milliseconds), {"end has not been recorded"});
  expect_invalid(mxgemm_event_elapsed(end, start, &milliseconds), {"start has not been recorded"});
  expect_ok(mxgemm_event_record(end, nullptr));
  expect_ok(mxgemm_event_elapsed(start, end, &milliseconds));
  EXPECT_GE(milliseconds, 0.0f);
  expect_invalid(mxgemm_event_record(end, &stream), {"stream is"});
  expect_invalid(mxgemm_event_record(nullptr, nullptr), {"event is NULL"});
  expect_invalid(mxgemm_event_elapsed(start, end, nullptr), {"milliseconds is NULL"});
  expect_invalid(mxgemm_event_create(MXGEMM_DEVICE_CPU, 0, nullptr), {"event is NULL"});
  expect_ok(mxgemm_event_destroy(start));
  expect_ok(mxgemm_event_destroy(end));
  expect_ok(mxgemm_event_destroy(nullptr));
  end = reinterpret_cast<mxgemm_event*>(&stream);
  expect_status(MXGEMM_DEVICE_UNAVAILABLE, mxgemm_event_create(MXGEMM_DEVICE_CUDA, 0, &end), {});
  EXPECT_EQ(end, nullptr);
}

TEST(Library, Threads) {
  int32_t default_threads = 0;
  expect_ok(mxgemm_get_num_threads(&default_threads));
  expect_ok(mxgemm_set_num_threads(3));
  int32_t threads = 0;
  expect_ok(mxgemm_get_num_threads(&threads));
  EXPECT_EQ(threads, 3);
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info));
  EXPECT_EQ(info.num_threads, 3);
  expect_invalid(mxgemm_set_num_threads(-1), {"num_threads is -1"});
  expect_invalid(mxgemm_set_num_threads(INT32_MAX), {"num_threads is 2147483647"});
  expect_invalid(mxgemm_get_num_threads(nullptr), {"num_threads is NULL"});
  expect_ok(mxgemm_set_num_threads(0));
  expect_ok(mxgemm_get_num_threads(&threads));
  EXPECT_EQ(threads, default_threads);
}

void serial_for(void* context, int64_t count, void (*body)(void*, int64_t), void* argument) {
  ++*static_cast<int*>(context);
  for (int64_t index = 0; index < count; ++index) {
    body(argument, index);
  }
}

TEST(Library, ParallelForOfTheCaller) {
  int calls = 0;
  expect_ok(mxgemm_set_num_threads(4));
  expect_ok(mxgemm_set_parallel_for(serial_for, &calls));
  GemmCall call(300, 300, 64);
  expect_ok(call.run());
  expect_ok(mxgemm_set_parallel_for(nullptr, nullptr));
  EXPECT_GE(calls, 1);
  for (const float value : call.d) {
    ASSERT_EQ(value, 64.0f);
  }
  const int before = calls;
  expect_ok(call.run());
  EXPECT_EQ(calls, before);
  expect_ok(mxgemm_set_num_threads(0));
}

TEST(Library, MaxIsa) {
  expect_invalid(mxgemm_set_max_isa(-2), {"isa is -2", "scalar"});
  expect_invalid(mxgemm_set_max_isa(4), {"isa is 4"});
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info));
  const int32_t before = info.isa;
  if (info.isa_offered < MXGEMM_ISA_AMX) {
    expect_status(MXGEMM_UNSUPPORTED, mxgemm_set_max_isa(info.isa_offered + 1),
                  {"isa is", "the levels offered here are scalar"});
  }
  expect_ok(mxgemm_set_max_isa(MXGEMM_ISA_SCALAR));
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info));
  EXPECT_EQ(info.isa, MXGEMM_ISA_SCALAR);
  EXPECT_STREQ(info.arch, "scalar");
  int32_t count = 0;
  expect_ok(mxgemm_kernel_count(&count));
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
    expect_ok(mxgemm_kernel_info_get(index, &kernel));
    if (kernel.device_kind != MXGEMM_DEVICE_CPU) {
      continue;  // levels are the CPU's
    }
    EXPECT_EQ(kernel.available, kernel.isa == MXGEMM_ISA_SCALAR ? 1 : 0) << kernel.id;
    if (kernel.isa > MXGEMM_ISA_SCALAR && kernel.isa <= info.isa_offered) {
      EXPECT_STREQ(kernel.reason, "mxgemm_set_max_isa allows up to scalar") << kernel.id;
    }
  }
  expect_ok(mxgemm_set_max_isa(-1));
  expect_ok(mxgemm_device_info_get(MXGEMM_DEVICE_CPU, 0, &info));
  EXPECT_EQ(info.isa, before);
}

void keep_line(void* context, int32_t level, const char* message) {
  static_cast<std::vector<std::string>*>(context)->push_back(std::to_string(level) + " " + message);
}

TEST(Library, LogTellsWhichKernelAPlanChose) {
  std::vector<std::string> lines;
  expect_ok(mxgemm_set_log_callback(keep_line, &lines));
  GemmCall call;
  mxgemm_plan* plan = nullptr;
  expect_ok(mxgemm_plan_create(&call.desc, nullptr, &plan));
  expect_ok(mxgemm_set_log_callback(nullptr, nullptr));
  char name[128];
  expect_ok(mxgemm_plan_name(plan, name, sizeof(name), nullptr));
  mxgemm_plan_destroy(plan);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].rfind("3 plan m3n5k64:mxf4:mxf4:f32: " + std::string(name), 0), 0u)
      << lines[0];
}

}  // namespace
}  // namespace mxgemm::test
