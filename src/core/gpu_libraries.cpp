// SPDX-License-Identifier: Apache-2.0
#include "core/gpu_libraries.hpp"

#include <string>

#include "base/require.hpp"
#include "core/cuda_state.hpp"
#include "core/loader.hpp"
#include "core/text.hpp"

namespace mxgemm::internal {
namespace {

mxgemm_library_info describe(const std::string& arch, const std::string& path, bool loaded,
                             const std::string& reason) {
  mxgemm_library_info info = MXGEMM_LIBRARY_INFO_INIT;
  info.loaded = loaded ? 1 : 0;
  fill_text(arch, info.arch, sizeof(info.arch));
  fill_text(path, info.path, sizeof(info.path));
  fill_text(reason, info.reason, sizeof(info.reason));
  return info;
}

void set_build_info(const char* text, mxgemm_library_info* info) {
  fill_text(text == nullptr ? "" : text, info->build_info, sizeof(info->build_info));
}

mxgemm_library_info describe_runtime(const CudaState& cuda) {
  mxgemm_library_info info =
      describe("cuda", cuda.runtime_path, cuda.runtime != nullptr, cuda.absence);
  set_build_info(cuda.runtime == nullptr ? nullptr : cuda.runtime->build_info, &info);
  return info;
}

mxgemm_library_info describe_arch(const GpuLibrary& library) {
  mxgemm_library_info info =
      describe(library.arch.text, library.path, library.table != nullptr, library.refusal);
  info.num_kernels = static_cast<int32_t>(library.kernels.size());
  fill_text(library.capabilities(), info.capabilities, sizeof(info.capabilities));
  set_build_info(library.table == nullptr ? nullptr : library.table->build_info, &info);
  return info;
}

}  // namespace

Status gpu_libraries(std::vector<mxgemm_library_info>* libraries) {
  const CudaState* cuda = nullptr;
  MXGEMM_TRY(cuda_state(&cuda));
  Loader* loader = nullptr;
  MXGEMM_TRY(gpu_loader(&loader));
  if (!cuda->runtime_path.empty()) {
    libraries->push_back(describe_runtime(*cuda));
  }
  for (const GpuLibrary* library : loader->load_all()) {
    libraries->push_back(describe_arch(*library));
  }
  for (const std::string& file : loader->unknown_files()) {
    libraries->push_back(
        describe("", loader->folder() + "/" + file, false, "its name gives no architecture"));
  }
  return {};
}

}  // namespace mxgemm::internal
