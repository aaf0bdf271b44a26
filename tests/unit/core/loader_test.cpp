// SPDX-License-Identifier: Apache-2.0
// The choice of GPU libraries, with stubs in the place of real ones: which serves a capability, and
// what is said of those that do not.
#include "core/loader.hpp"

#include <gtest/gtest.h>

#include "core/registry.hpp"
#include "support/library_folder.hpp"

namespace mxgemm::internal {
namespace {

using test::LibraryFolder;

// Archs of the libraries that serve, best first: "sm120f sm80".
std::string serving(Loader& loader, int32_t capability) {
  std::string text;
  for (const LibraryChoice& choice : loader.choices(capability)) {
    if (choice.refusal.empty()) {
      text += (text.empty() ? "" : " ") + choice.library->arch.text;
    }
  }
  return text;
}

std::string refusal_of(Loader& loader, int32_t capability, const std::string& arch) {
  for (const LibraryChoice& choice : loader.choices(capability)) {
    if (choice.library->arch.text == arch) {
      return choice.refusal;
    }
  }
  return "not found";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
}

constexpr int32_t kOldCapabilities[] = {80, 86, 87, 89, 90, 101, 110, 129, 130};

TEST(Loader, TableOfCapabilities) {
  const LibraryFolder folder = {"whole/sm80", "whole/sm100f", "whole/sm120f"};
  Loader loader(folder.path());
  EXPECT_EQ(serving(loader, 75), "");
  for (const int32_t capability : kOldCapabilities) {
    EXPECT_EQ(serving(loader, capability), "sm80") << capability;
  }
  EXPECT_EQ(serving(loader, 100), "sm100f sm80");
  EXPECT_EQ(serving(loader, 103), "sm100f sm80");
  EXPECT_EQ(serving(loader, 120), "sm120f sm80");
  EXPECT_EQ(serving(loader, 121), "sm120f sm80");
  // The name lets 10.1 and 12.9 ask; the table is the authority.
  EXPECT_EQ(refusal_of(loader, 101, "sm100f"),
            "it accepts compute capability 10.0, 10.3; the device has 10.1");
  EXPECT_EQ(refusal_of(loader, 129, "sm120f"),
            "it accepts compute capability 12.0 to 12.1; the device has 12.9");
}

TEST(Loader, LibrariesForOneDeviceOnly) {
  const LibraryFolder folder = {"whole/sm80", "exact/sm100a", "exact/sm120a"};
  Loader loader(folder.path());
  EXPECT_EQ(serving(loader, 100), "sm100a sm80");
  EXPECT_EQ(serving(loader, 103), "sm80");
  EXPECT_EQ(serving(loader, 120), "sm120a sm80");
  EXPECT_EQ(serving(loader, 121), "sm80");
}

TEST(Loader, ExactBeforeFamily) {
  const LibraryFolder folder = {"whole/sm120f", "exact/sm120a", "whole/sm80", "exact/sm90a"};
  Loader loader(folder.path());
  EXPECT_EQ(serving(loader, 120), "sm120a sm120f sm80");
  EXPECT_EQ(serving(loader, 121), "sm120f sm80");
  EXPECT_EQ(serving(loader, 90), "sm90a sm80");
}

// Kind of fault 43: one device's answer is not another's, whatever was asked before.
TEST(Loader, MixedMachineAskedForthAndBack) {
  const LibraryFolder with_hopper = {"whole/sm80", "whole/sm120f", "exact/sm90a"};
  const LibraryFolder without = {"whole/sm80", "whole/sm120f"};
  Loader first(with_hopper.path());
  Loader second(without.path());
  for (const int32_t capability : {120, 90, 75, 90, 120}) {
    EXPECT_EQ(serving(first, capability), capability == 120  ? "sm120f sm80"
                                          : capability == 90 ? "sm90a sm80"
                                                             : "");
    EXPECT_EQ(serving(second, capability), capability == 120  ? "sm120f sm80"
                                           : capability == 90 ? "sm80"
                                                              : "");
  }
}

// Kind of fault 46.
TEST(Loader, OtherArchitecturesAreRefusedByName) {
  const LibraryFolder only_100 = {"whole/sm100f"};
  const LibraryFolder only_120 = {"whole/sm120f"};
  Loader loader_100(only_100.path());
  Loader loader_120(only_120.path());
  EXPECT_EQ(serving(loader_100, 120), "");
  EXPECT_EQ(serving(loader_120, 100), "");
  expect_contains(refusal_of(loader_100, 120, "sm100f"), "the device has 12.0");
  expect_contains(refusal_of(loader_120, 100, "sm120f"), "the device has 10.0");
}

TEST(Loader, MissingLibraries) {
  const LibraryFolder folder = {"whole/sm80"};
  Loader loader(folder.path());
  for (const int32_t capability : {100, 103, 120, 121}) {
    EXPECT_EQ(serving(loader, capability), "sm80") << capability;
  }
  const LibraryFolder empty;
  Loader none(empty.path());
  EXPECT_TRUE(none.choices(120).empty());
  EXPECT_TRUE(none.load_all().empty());
  Loader nowhere(empty.path() + "/not/there");
  EXPECT_TRUE(nowhere.choices(120).empty());
}

// A faulty library steps aside with its reason, and the next one serves.
void expect_refused(const LibraryFolder& folder, const std::string& reason) {
  Loader loader(folder.path());
  EXPECT_EQ(serving(loader, 120), "sm80") << reason;
  EXPECT_EQ(serving(loader, 121), "sm80") << reason;
  expect_contains(refusal_of(loader, 121, "sm120f"), "not loaded: ");
  expect_contains(refusal_of(loader, 121, "sm120f"), reason);
  for (const GpuLibrary* library : loader.load_all()) {
    EXPECT_EQ(library->table == nullptr, library->arch.text == "sm120f");
    EXPECT_EQ(library->kernels.empty(), library->arch.text == "sm120f");
  }
}

TEST(Loader, FaultyLibraries) {
  const struct {
    const char* stub;
    const char* reason;
  } kCases[] = {
      {"version/sm120f", "it is of version 0.0.9; this library is " MXGEMM_VERSION_STRING},
      {"number/sm120f", "its interface has number 99; this library needs"},
      {"size/sm120f", "its table has 8 bytes; this library needs"},
      {"other_arch/sm120f", "its table is that of sm100f"},
      {"no_symbol/sm120f", "undefined symbol: mxgemm_plugin"},
      {"no_table/sm120f", "mxgemm_plugin() gives no table"},
      {"no_device/sm120f", "its table accepts no device"},
      {"no_kernel/sm120f", "kernel 0 of its table is not whole"},
  };
  for (const auto& each : kCases) {
    const LibraryFolder folder = {"whole/sm80", each.stub};
    expect_refused(folder, each.reason);
  }
}

TEST(Loader, TruncatedLibraries) {
  LibraryFolder folder = {"whole/sm80", "whole/sm120f"};
  const uint64_t whole = folder.size("sm120f");
  // From large to small: the file is only ever cut. Cutting to half leaves the headers and takes
  // bytes that they promise, which the dynamic loader itself does not notice.
  for (const uint64_t bytes : {whole / 2, uint64_t{4096}, uint64_t{200}, uint64_t{64}}) {
    folder.cut("sm120f", bytes);
    expect_refused(folder, "the file is cut short");
  }
  for (const uint64_t bytes : {63, 10, 0}) {
    folder.cut("sm120f", bytes);
    expect_refused(folder, "no ELF file");
  }
}

TEST(Loader, OtherFiles) {
  LibraryFolder folder = {"whole/sm80"};
  folder.write("sm120f", "this is no library");
  expect_refused(folder, "no ELF file");
  folder.write("sm120x", "");
  folder.write("sm", "");
  folder.write("other", "");
  Loader loader(folder.path());
  EXPECT_EQ(loader.unknown_files(),
            (std::vector<std::string>{"libmxgemm_sm.so", "libmxgemm_sm120x.so"}));
  EXPECT_EQ(loader.load_all().size(), 2u);
}

// The name of a file is not enough: its table must say the same.
TEST(Loader, RenamedLibrary) {
  LibraryFolder folder = {"whole/sm80"};
  folder.add("whole/sm100f", "sm120f");
  expect_refused(folder, "its table is that of sm100f");
}

TEST(Loader, NothingIsLoadedBeforeItIsNeeded) {
  const LibraryFolder folder = {"whole/sm80", "whole/sm100f", "whole/sm120f"};
  Loader loader(folder.path());
  const auto loaded = [&loader](int32_t capability) {
    std::string text;
    for (const LibraryChoice& choice : loader.choices(capability)) {
      text += choice.library->table == nullptr ? "" : choice.library->arch.text + " ";
    }
    return text;
  };
  EXPECT_EQ(loaded(75), "");
  EXPECT_EQ(loaded(90), "sm80 ");
  EXPECT_EQ(loaded(100), "sm100f sm80 ");
  EXPECT_EQ(loader.load_all().size(), 3u);
  EXPECT_EQ(loaded(100), "sm100f sm80 sm120f ");
}

TEST(Loader, KernelsOfALibrary) {
  const LibraryFolder folder = {"whole/sm80", "whole/sm120f"};
  Loader loader(folder.path());
  const std::vector<const GpuLibrary*> libraries = loader.load_all();
  ASSERT_EQ(libraries.size(), 2u);
  EXPECT_EQ(libraries[0]->arch.text, "sm120f") << "newest first";
  ASSERT_EQ(libraries[0]->kernels.size(), 1u);
  EXPECT_EQ(libraries[0]->kernels[0].id, "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128");
  EXPECT_EQ(libraries[0]->kernels[0].device_kind, MXGEMM_DEVICE_CUDA);
  EXPECT_EQ(libraries[0]->capabilities(), "12.0 to 12.1");
  EXPECT_EQ(libraries[1]->capabilities(), "8.0 and newer");
}

Loader* registry_loader = nullptr;

Registry registry_of(Loader* loader) {
  registry_loader = loader;
  return Registry({}, [](Loader** found) -> Status {
    *found = registry_loader;
    return {};
  });
}

TEST(GpuRegistry, GroupsOfADevice) {
  const LibraryFolder folder = {"whole/sm80", "whole/sm100f", "whole/sm120f"};
  Loader loader(folder.path());
  const Registry registry = registry_of(&loader);
  KernelGroups groups;
  ASSERT_TRUE(registry.groups(MXGEMM_DEVICE_CUDA, 121, &groups).ok());
  ASSERT_EQ(groups.groups.size(), 2u);
  EXPECT_STREQ(groups.groups[0][0].kernel->arch, "sm120f");
  EXPECT_STREQ(groups.groups[1][0].kernel->arch, "sm80");
  ASSERT_EQ(groups.refused.size(), 1u);
  EXPECT_EQ(groups.refused[0].library->arch.text, "sm100f");
  KernelGroups on_cpu;
  ASSERT_TRUE(registry.groups(MXGEMM_DEVICE_CPU, 0, &on_cpu).ok());
  EXPECT_TRUE(on_cpu.refused.empty());
}

TEST(GpuRegistry, EveryKernelByIndexAndId) {
  const LibraryFolder folder = {"whole/sm80", "whole/sm120f"};
  Loader loader(folder.path());
  const Registry registry = registry_of(&loader);
  std::string ids;
  ASSERT_TRUE(registry.id_list(&ids).ok());
  EXPECT_EQ(ids,
            "cuda:sm120f:gemm_mxf4_mxf4_bf16_128x128x128, cuda:sm80:gemm_any_any_any_64x64x32");
  const RegisteredKernel* entry = nullptr;
  ASSERT_TRUE(registry.at(1, &entry).ok());
  EXPECT_EQ(entry->id, "cuda:sm80:gemm_any_any_any_64x64x32");
  EXPECT_EQ(registry.at(2, &entry).code(), StatusCode::kInvalidArgument);
  bool found = false;
  ASSERT_TRUE(registry.has_arch("sm120f", &found).ok());
  EXPECT_TRUE(found);
  ASSERT_TRUE(registry.has_arch("sm100f", &found).ok());
  EXPECT_FALSE(found);
  ASSERT_TRUE(registry.has_id("cuda:sm80:gemm_any_any_any_64x64x32", &found).ok());
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace mxgemm::internal
