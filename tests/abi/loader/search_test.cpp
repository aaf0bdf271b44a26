// SPDX-License-Identifier: Apache-2.0
// Where GPU libraries are looked for: mxgemm/ beside the shared library, else the library's own
// folder; never the current directory and never LD_LIBRARY_PATH. CTest sets both of these to a
// folder full of stubs, and STUB_DEVICES=12.1. Each test loads a copy of the shared library, which
// has its own state.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "mxgemm/mxgemm.h"
#include "support/library_folder.hpp"

namespace mxgemm::test {
namespace {

namespace fs = std::filesystem;

// The C functions of one loaded copy.
struct Library {
  void* handle;

  explicit Library(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle == nullptr) {
      ADD_FAILURE() << dlerror();
    }
  }
  template <typename Function>
  Function* get(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle, name));
  }
  std::string error() const { return get<decltype(mxgemm_last_error)>("mxgemm_last_error")(); }
  // "cuda sm80", and the folder of the last.
  std::string archs(std::string* folder) const {
    int32_t count = 0;
    std::string text;
    EXPECT_EQ(get<decltype(mxgemm_library_count)>("mxgemm_library_count")(&count), MXGEMM_OK)
        << error();
    for (int32_t index = 0; index < count; ++index) {
      mxgemm_library_info info = MXGEMM_LIBRARY_INFO_INIT;
      EXPECT_EQ(get<decltype(mxgemm_library_info_get)>("mxgemm_library_info_get")(index, &info),
                MXGEMM_OK);
      EXPECT_EQ(info.loaded, 1) << info.reason;
      text += text.empty() ? "" : " ";
      text += info.arch;
      *folder = fs::path(info.path).parent_path();
    }
    return text;
  }
  int32_t cuda_devices() const {
    int32_t count = -1;
    EXPECT_EQ(get<decltype(mxgemm_device_count)>("mxgemm_device_count")(MXGEMM_DEVICE_CUDA, &count),
              MXGEMM_OK)
        << error();
    return count;
  }
};

// A folder with a copy of the shared library.
class Installed {
 public:
  Installed() {
    fs::copy_file(MXGEMM_LIBRARY_FILE, path());
    root = fs::canonical(folder.path());
  }
  std::string path() const { return folder.path() + "/libmxgemm.so"; }
  static void add(const std::string& to, const std::string& name) {
    fs::create_directories(to);
    fs::copy_file(MXGEMM_STUBS "/whole/libmxgemm_" + name + ".so",
                  to + "/libmxgemm_" + name + ".so");
  }

  LibraryFolder folder;
  std::string root;
};

TEST(Search, FolderBesideTheLibrary) {
  Installed installed;
  Installed::add(installed.folder.path() + "/mxgemm", "cuda");
  Installed::add(installed.folder.path() + "/mxgemm", "sm80");
  Installed::add(installed.folder.path(), "sm120f");  // not there
  const Library library(installed.path());
  std::string folder;
  EXPECT_EQ(library.archs(&folder), "cuda sm80");
  EXPECT_EQ(folder, installed.root + "/mxgemm");
  EXPECT_EQ(library.cuda_devices(), 1);
}

TEST(Search, TheLibrarysOwnFolder) {
  Installed installed;
  Installed::add(installed.folder.path(), "cuda");
  Installed::add(installed.folder.path(), "sm80");
  const Library library(installed.path());
  std::string folder;
  EXPECT_EQ(library.archs(&folder), "cuda sm80");
  EXPECT_EQ(folder, installed.root);
}

TEST(Search, NeitherTheCurrentDirectoryNorTheLibraryPath) {
  ASSERT_TRUE(fs::exists("libmxgemm_cuda.so")) << "the bait must be there";
  ASSERT_TRUE(fs::exists("libmxgemm_sm80.so"));
  void* bait = dlopen("libmxgemm_sm100f.so", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(bait, nullptr) << "LD_LIBRARY_PATH must lead there: " << dlerror();
  Installed installed;
  const Library library(installed.path());
  std::string folder;
  EXPECT_EQ(library.archs(&folder), "");
  EXPECT_EQ(library.cuda_devices(), 0);
  mxgemm_device_info info = MXGEMM_DEVICE_INFO_INIT;
  EXPECT_EQ(library.get<decltype(mxgemm_device_info_get)>("mxgemm_device_info_get")(
                MXGEMM_DEVICE_CUDA, 0, &info),
            MXGEMM_DEVICE_UNAVAILABLE);
  EXPECT_NE(library.error().find("this installation has no CUDA backend: there is no file " +
                                 installed.root + "/libmxgemm_cuda.so"),
            std::string::npos)
      << library.error();
}

TEST(Search, ALinkLeadsToTheRealFolder) {
  Installed installed;
  Installed::add(installed.folder.path() + "/mxgemm", "sm80");
  const LibraryFolder elsewhere;
  const std::string link = elsewhere.path() + "/libmxgemm.so.0";
  fs::create_symlink(installed.path(), link);
  const Library library(link);
  std::string folder;
  EXPECT_EQ(library.archs(&folder), "sm80");
}

TEST(Search, ARelativeNameAndADirectoryThatIsLeft) {
  Installed installed;
  Installed::add(installed.folder.path() + "/mxgemm", "sm80");
  const fs::path before = fs::current_path();
  fs::current_path(installed.folder.path());
  const Library library("./libmxgemm.so");
  fs::current_path("/");
  std::string folder;
  EXPECT_EQ(library.archs(&folder), "sm80");
  EXPECT_EQ(folder, installed.root + "/mxgemm");
  fs::current_path(before);
}

}  // namespace
}  // namespace mxgemm::test
