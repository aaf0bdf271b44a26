// SPDX-License-Identifier: Apache-2.0
// Every function that a GPU library hands to the CUDA runtime must be one that the same library
// registered, whatever else is loaded, in whatever order and scope. Run under the recording
// runtime, which needs no GPU; the controls prove that the recorder sees what it must.
//
// Usage: stubs_test CONTROLS_FOLDER LIBRARY…   (the libraries of build/lib/mxgemm)
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "abi/cuda/plugin_calls.hpp"
#include "abi/cuda/recorder.h"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace {

using mxgemm::test::accepted_problem;
using mxgemm::test::operand;
using mxgemm::test::run_problem;

std::string g_controls;
std::vector<std::string> g_libraries;

// Runs `body` in a child process, for what is loaded stays loaded. Returns what it reports: "" is
// good.
template <typename Body>
std::string in_child(const Body& body) {
  int ends[2];
  if (pipe(ends) != 0) {
    return "pipe failed";
  }
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::string report = body();
    const bool written =
        write(ends[1], report.data(), report.size()) == static_cast<ssize_t>(report.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string report;
  char buffer[4096];
  ssize_t bytes = 0;
  while ((bytes = read(ends[0], buffer, sizeof(buffer))) > 0) {
    report.append(buffer, static_cast<size_t>(bytes));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? report : report + "the child process died";
}

void* load(const std::string& file, int scope, std::string* report) {
  void* library = dlopen(file.c_str(), RTLD_NOW | scope);
  if (library == nullptr) {
    *report += std::string(dlerror()) + "\n";
  }
  return library;
}

std::string run_kernel(const mxgemm_kernel& kernel, void* memory) {
  char text[512] = "";
  const mxgemm_message message = {text, sizeof(text)};
  mxgemm_gemm_desc desc;
  if (!accepted_problem(kernel, message, &desc)) {
    return std::string(kernel.name) + " accepts none of the test's problems: " + text + "\n";
  }
  const int before = mxgemm_recorder_launches();
  if (kernel.prepare(&desc, message) != MXGEMM_OK ||
      run_problem(kernel, desc, memory, message) != MXGEMM_OK) {
    return std::string(kernel.name) + ": " + text + "\n";
  }
  return mxgemm_recorder_launches() > before ? ""
                                             : std::string(kernel.name) + " launched nothing\n";
}

constexpr int32_t kPlain[] = {MXGEMM_BF16, MXGEMM_F16, MXGEMM_F32};
constexpr int32_t kScaled[] = {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2};
constexpr int64_t kRows = 128;
constexpr int64_t kCols = 128;

// A failure of one call, or of one that launched nothing.
std::string check_call(const std::string& what, int32_t status, int before, const char* text) {
  if (status != MXGEMM_OK) {
    return what + ": " + text + "\n";
  }
  return mxgemm_recorder_launches() > before ? "" : what + " launched nothing\n";
}

std::string run_quantize(const mxgemm_data_functions& data, void* memory, int32_t source,
                         int32_t format, mxgemm_message message) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.device_kind = MXGEMM_DEVICE_CUDA;
  desc.format_src = source;
  desc.format = format;
  desc.rows = kRows;
  desc.cols = kCols;
  desc.scale_rule = format == MXGEMM_NVF4 ? MXGEMM_SCALE_RULE_DEFAULT : MXGEMM_SCALE_RULE_EVEN;
  desc.nonfinite = MXGEMM_NONFINITE_NAN;
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = args.qdata = args.workspace = memory;
  args.scale = static_cast<uint8_t*>(memory);
  args.src_ld = args.qdata_ld = args.scale_ld = kCols;
  args.global_scale = format == MXGEMM_NVF4 ? static_cast<float*>(memory) : nullptr;
  const int before = mxgemm_recorder_launches();
  return check_call("quantize", data.quantize(&desc, &args, nullptr, message), before,
                    message.text);
}

std::string run_dequantize(const mxgemm_data_functions& data, void* memory, int32_t format,
                           int32_t target, mxgemm_message message) {
  const mxgemm_operand source = operand(memory, format, kCols);
  mxgemm_dequantize_call call{};
  call.struct_size = sizeof(call);
  call.format = format;
  call.format_dst = target;
  call.rows = kRows;
  call.cols = kCols;
  call.src = &source;
  call.dst = memory;
  call.dst_ld = kCols;
  const int before = mxgemm_recorder_launches();
  return check_call("dequantize", data.dequantize(&call, nullptr, message), before, message.text);
}

std::string run_data(const mxgemm_data_functions& data, void* memory) {
  char text[512] = "";
  const mxgemm_message message = {text, sizeof(text)};
  std::string report;
  if (data.prepare(0, message) != MXGEMM_OK) {
    report += std::string("prepare: ") + text + "\n";
  }
  for (const int32_t plain : kPlain) {
    for (const int32_t scaled : kScaled) {
      report += run_quantize(data, memory, plain, scaled, message);
      report += run_dequantize(data, memory, scaled, plain, message);
    }
  }
  mxgemm_swizzle_call call{};
  call.struct_size = sizeof(call);
  call.rows = kRows;
  call.cols = call.ld = kCols;
  call.src = static_cast<const uint8_t*>(memory);
  call.dst = static_cast<uint8_t*>(memory);
  int before = mxgemm_recorder_launches();
  report += check_call("swizzle", data.swizzle(&call, nullptr, message), before, text);
  before = mxgemm_recorder_launches();
  return report + check_call("unswizzle", data.unswizzle(&call, nullptr, message), before, text);
}

// All kernels and data functions of a loaded library; counts the kernels in *kernels.
std::string run_library(void* library, const std::string& file, int* kernels) {
  const auto plugin =
      reinterpret_cast<mxgemm_plugin_function>(dlsym(library, MXGEMM_PLUGIN_SYMBOL));
  if (plugin == nullptr) {
    return file + " has no " MXGEMM_PLUGIN_SYMBOL "\n";
  }
  mxgemm_recorder_expect(file.c_str());
  const mxgemm_plugin_table* table = plugin();
  void* memory = aligned_alloc(4096, 1 << 20);  // never touched: nothing runs
  std::string report;
  for (int32_t i = 0; i < table->num_kernels; ++i) {
    report += run_kernel(*table->kernels[i], memory);
  }
  *kernels += table->num_kernels;
  report +=
      table->data == nullptr ? file + " has no data functions\n" : run_data(*table->data, memory);
  free(memory);
  return report;
}

std::string load_and_run(const std::vector<std::string>& files, int scope) {
  std::string report;
  std::vector<void*> libraries;
  for (const std::string& file : files) {
    libraries.push_back(load(file, scope, &report));
  }
  int kernels = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    if (libraries[i] != nullptr) {
      report += run_library(libraries[i], files[i], &kernels);
    }
  }
  if (kernels == 0) {
    report += "no kernel was run\n";
  }
  return report + mxgemm_recorder_faults();
}

std::string run_controls(const std::vector<std::string>& names, int scope) {
  std::string report;
  std::vector<void*> libraries;
  for (const std::string& name : names) {
    libraries.push_back(load(g_controls + "/lib" + name + ".so", scope, &report));
  }
  for (size_t i = 0; i < libraries.size(); ++i) {
    if (libraries[i] != nullptr) {
      mxgemm_recorder_expect((g_controls + "/lib" + names[i] + ".so").c_str());
      const auto launch = reinterpret_cast<int (*)(int*)>(dlsym(libraries[i], "control_launch"));
      static_cast<void>(launch(nullptr));
    }
  }
  return report + mxgemm_recorder_faults();
}

TEST(Controls, AnUnregisteredStubIsCaught) {
  const std::string report =
      in_child([] { return run_controls({"control_unregistered"}, RTLD_LOCAL); });
#if defined(__clang__)
  EXPECT_EQ(report, "");  // clang converts the constant as nvcc does
#else
  EXPECT_NE(report.find("never registered"), std::string::npos) << report;
#endif
}

TEST(Controls, ItsCuredTwinPasses) {
  EXPECT_EQ(in_child([] { return run_controls({"control_registered"}, RTLD_LOCAL); }), "");
}

TEST(Controls, AStubSharedByTwoLibrariesIsCaughtInGlobalScope) {
  const std::string report = in_child([] {
    return run_controls({"control_shared_a", "control_shared_b"}, RTLD_GLOBAL);
  });
  EXPECT_NE(report.find("control_shared_a.so registered"), std::string::npos) << report;
}

TEST(Controls, TheSameTwoLibrariesPassInLocalScope) {
  EXPECT_EQ(in_child([] {
              return run_controls({"control_shared_a", "control_shared_b"}, RTLD_LOCAL);
            }),
            "");
}

TEST(Libraries, EveryKernelHandsOverRegisteredStubs) {
  ASSERT_FALSE(g_libraries.empty());
  for (const std::string& file : g_libraries) {
    EXPECT_EQ(in_child([&] { return load_and_run({file}, RTLD_LOCAL); }), "") << file;
  }
}

TEST(Libraries, NoPairDisturbsEachOtherInAnyOrderOrScope) {
  for (const std::string& first : g_libraries) {
    for (const std::string& second : g_libraries) {
      for (const int scope : {RTLD_LOCAL, RTLD_GLOBAL}) {
        if (first != second) {
          EXPECT_EQ(in_child([&] {
                      return load_and_run({first, second}, scope);
                    }),
                    "")
              << first << " then " << second << (scope == RTLD_GLOBAL ? ", global" : ", local");
        }
      }
    }
  }
}

TEST(Libraries, AllOfThemInEveryOrderAndScope) {
  std::vector<std::string> order = g_libraries;
  std::sort(order.begin(), order.end());
  do {
    for (const int scope : {RTLD_LOCAL, RTLD_GLOBAL}) {
      EXPECT_EQ(in_child([&] { return load_and_run(order, scope); }), "")
          << order.front() << " first" << (scope == RTLD_GLOBAL ? ", global" : ", local");
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Libraries, AForeignLibraryThatLeaksItsSymbolsChangesNothing) {
  for (const std::string& file : g_libraries) {
    const std::string report = in_child([&] {
      std::string text;
      load(g_controls + "/libcontrol_shared_a.so", RTLD_GLOBAL, &text);
      load(g_controls + "/libcontrol_foreign.so", RTLD_GLOBAL, &text);
      return text + load_and_run({file}, RTLD_GLOBAL);
    });
    EXPECT_EQ(report, "") << file;
  }
}

// Kinds of fault 44, 48 and 52: what a failure says, and that no launch fails unnoticed. The core
// puts the kernel's id before it.
std::string expect_failure(const mxgemm_kernel& kernel, int32_t status, int32_t wanted,
                           const char* text, const std::vector<std::string>& parts) {
  std::string report = status == wanted ? "" : std::string(kernel.name) + ": another status\n";
  for (const std::string& part : parts) {
    if (std::string(text).find(part) == std::string::npos) {
      report += std::string(kernel.name) + ": \"" + text + "\" lacks \"" + part + "\"\n";
    }
  }
  if (std::string(text).find(kernel.name) != std::string::npos) {
    report += std::string(kernel.name) + ": \"" + text + "\" names the kernel, too\n";
  }
  return report;
}

std::string fail_kernel(const mxgemm_kernel& kernel, void* memory) {
  char text[512] = "";
  const mxgemm_message message = {text, sizeof(text)};
  const std::string name = kernel.name;
  mxgemm_gemm_desc desc;
  if (!accepted_problem(kernel, message, &desc)) {
    return name + " accepts none of the test's problems\n";
  }
  std::string report;
  mxgemm_recorder_fail("cudaFuncSetAttribute");
  const int32_t attribute = kernel.prepare(&desc, message);
  if (attribute != MXGEMM_OK) {  // kernels of little shared memory set none
    report += expect_failure(
        kernel, attribute, MXGEMM_CUDA_ERROR, text,
        {"cudaFuncSetAttribute for ", " bytes of shared memory", "cudaErrorInvalidResourceHandle"});
    mxgemm_recorder_fail("");
    mxgemm_recorder_limit_shared_memory(1024);
    report += expect_failure(kernel, kernel.prepare(&desc, message), MXGEMM_UNSUPPORTED, text,
                             {"a CTA needs ", "the device has 1024"});
    mxgemm_recorder_limit_shared_memory(0);
  }
  for (const char* call : {"cudaFuncGetAttributes", "cudaGetDevice"}) {
    mxgemm_recorder_fail(call);
    report += expect_failure(kernel, kernel.prepare(&desc, message), MXGEMM_CUDA_ERROR, text,
                             {"cudaErrorInvalidResourceHandle"});
  }
  mxgemm_recorder_fail("launch");
  report += expect_failure(kernel, run_problem(kernel, desc, memory, message), MXGEMM_CUDA_ERROR,
                           text, {"launch", "cudaErrorInvalidResourceHandle"});
  // Without anything to stage the kernel's own launch is the one that fails.
  desc.scale_layout_a = desc.scale_layout_b = MXGEMM_SCALE_SWIZZLE_32_4_4;
  desc.format_bias = MXGEMM_FORMAT_NONE;
  report += expect_failure(kernel, run_problem(kernel, desc, memory, message), MXGEMM_CUDA_ERROR,
                           text, {"the launch", "cudaErrorInvalidResourceHandle"});
  mxgemm_recorder_fail("");
  return report + (run_problem(kernel, desc, memory, message) == MXGEMM_OK
                       ? ""
                       : name + " fails after a failure: " + text + "\n");
}

TEST(Libraries, FailuresNameCallAndError) {
  for (const std::string& file : g_libraries) {
    EXPECT_EQ(in_child([&] {
                std::string report;
                void* library = load(file, RTLD_LOCAL, &report);
                const auto plugin =
                    reinterpret_cast<mxgemm_plugin_function>(dlsym(library, MXGEMM_PLUGIN_SYMBOL));
                void* memory = aligned_alloc(4096, 1 << 20);
                for (int32_t i = 0; i < plugin()->num_kernels; ++i) {
                  report += fail_kernel(*plugin()->kernels[i], memory);
                }
                free(memory);
                return report;
              }),
              "")
        << file;
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) {
    std::fprintf(stderr, "usage: stubs_test CONTROLS_FOLDER LIBRARY…\n");
    return 2;
  }
  g_controls = argv[1];
  g_libraries.assign(argv + 2, argv + argc);
  return RUN_ALL_TESTS();
}
