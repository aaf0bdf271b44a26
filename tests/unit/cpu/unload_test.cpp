// SPDX-License-Identifier: Apache-2.0
// A host application that loads the library at run time, lets it start threads and unloads it
// again. This program is not linked with the library.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "mxgemm/mxgemm.h"

// LeakSanitizer itself crashes at exit where threads have not yet touched the thread-local
// variables of a library that was loaded at run time. The other tests look for leaks.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

namespace mxgemm {
namespace {

// True where the library was loaded, quantised a matrix on many threads, and was unloaded.
bool load_use_unload() {
  void* library = dlopen(MXGEMM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return false;
  }
  const auto set_num_threads =
      reinterpret_cast<decltype(&mxgemm_set_num_threads)>(dlsym(library, "mxgemm_set_num_threads"));
  const auto quantize =
      reinterpret_cast<decltype(&mxgemm_quantize)>(dlsym(library, "mxgemm_quantize"));
  if (set_num_threads == nullptr || quantize == nullptr) {
    return false;
  }
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = MXGEMM_F32;
  desc.format = MXGEMM_MXF4;
  desc.scale_layout = MXGEMM_SCALE_ROW_MAJOR;
  desc.rows = 1024;
  desc.cols = 1024;
  const std::vector<float> source(1024 * 1024, 1.0f);
  std::vector<uint8_t> qdata(1024 * 512);
  std::vector<uint8_t> scale(1024 * 32);
  mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
  args.src = source.data();
  args.src_bytes = source.size() * sizeof(float);
  args.qdata = qdata.data();
  args.qdata_bytes = qdata.size();
  args.scale = scale.data();
  args.scale_bytes = scale.size();
  bool ok = false;
  // On a thread of its own: the C library keeps code loaded for a thread that still has to destroy
  // variables of it.
  std::thread([&] {
    ok = set_num_threads(64) == MXGEMM_OK && quantize(&desc, &args, nullptr) == MXGEMM_OK;
  }).join();
  return ok && dlclose(library) == 0;
}

TEST(Unload, ThreadsSurviveTheLibrarysLastUser) {
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      if (!load_use_unload()) {
        _exit(1);
      }
      // Workers that have yet to begin, or to park, would now run code that is gone.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::exit(load_use_unload() ? 0 : 2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

}  // namespace
}  // namespace mxgemm
