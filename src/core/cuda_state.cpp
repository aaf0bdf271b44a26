// SPDX-License-Identifier: Apache-2.0
#include "core/cuda_state.hpp"

#include <unistd.h>

#include <charconv>

#include "base/env.hpp"
#include "base/require.hpp"
#include "core/backend_call.hpp"
#include "core/library_file.hpp"
#include "core/text.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {
namespace {

constexpr const char* kRuntimeFile = "libmxgemm_cuda.so";

// "12.1" -> 121; 0 for anything else.
int32_t parse_capability(std::string_view text) {
  int32_t major = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, major);
  const bool is_capability = error == std::errc() && end - stop == 2 && stop[0] == '.' &&
                             stop[1] >= '0' && stop[1] <= '9' && major >= 1 && major <= 99;
  return is_capability ? 10 * major + (stop[1] - '0') : 0;
}

bool is_whole(const mxgemm_cuda_runtime_table& table) {
  return table.device_count != nullptr && table.device_info != nullptr && table.alloc != nullptr &&
         table.free != nullptr && table.copy != nullptr && table.synchronize != nullptr &&
         table.stream_create != nullptr && table.stream_destroy != nullptr &&
         table.event_create != nullptr && table.event_record != nullptr &&
         table.event_elapsed != nullptr && table.event_destroy != nullptr &&
         table.query_pointers != nullptr && table.clear_error != nullptr;
}

Status read_devices(CudaState* state) {
  int32_t count = 0;
  MXGEMM_TRY(call_backend(state->runtime->device_count, &count));
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_cuda_device device{};
    device.struct_size = sizeof(device);
    MXGEMM_TRY(call_backend(state->runtime->device_info, index, &device));
    state->devices.push_back(device);
  }
  return {};
}

struct Found {
  Status status;
  CudaState state;
};

Found find_cuda() {
  Found found;
  if (const std::optional<std::string> text = env_text("MXGEMM_FAKE_DEVICES")) {
    found.state.fake = true;
    found.status = parse_fake_devices(*text, &found.state.devices);
    return found;
  }
  std::string folder;
  found.status = gpu_library_folder(&folder);
  if (found.status.ok()) {
    found.state = read_cuda_devices(folder + "/" + kRuntimeFile);
  }
  return found;
}

}  // namespace

Status parse_fake_devices(std::string_view text, std::vector<mxgemm_cuda_device>* devices) {
  const std::string whole(text);
  while (true) {
    const size_t comma = text.find(',');
    const int32_t capability = parse_capability(text.substr(0, comma));
    MXGEMM_REQUIRE(capability != 0,
                   "environment variable MXGEMM_FAKE_DEVICES is \"%s\"; it must be compute "
                   "capabilities with commas between them, as 12.0,9.0,12.1",
                   whole.c_str());
    mxgemm_cuda_device device{};
    device.struct_size = sizeof(device);
    device.capability = capability;
    fill_text("fake device", device.name, sizeof(device.name));
    devices->push_back(device);
    if (comma == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(comma + 1);
  }
}

CudaState read_cuda_devices(const std::string& path) {
  CudaState state;
  if (access(path.c_str(), F_OK) != 0) {
    state.absence =
        format_text("this installation has no CUDA backend: there is no file %s", path.c_str());
    return state;
  }
  state.runtime_path = path;
  const OpenedLibrary opened =
      open_library(path, MXGEMM_CUDA_RUNTIME_SYMBOL, sizeof(mxgemm_cuda_runtime_table));
  state.runtime = static_cast<const mxgemm_cuda_runtime_table*>(opened.table);
  state.absence = opened.refusal;
  if (state.runtime != nullptr && !is_whole(*state.runtime)) {
    state.runtime = nullptr;
    state.absence = format_text("%s: its table is not whole", path.c_str());
  }
  if (state.runtime != nullptr) {
    const Status status = read_devices(&state);
    if (!status.ok() || state.devices.empty()) {
      state.devices.clear();
      state.absence = status.ok() ? "the CUDA runtime finds no device" : status.message();
    }
  }
  return state;
}

Status cuda_state(const CudaState** state) {
  static const Found found = find_cuda();
  *state = &found.state;
  return found.status;
}

}  // namespace mxgemm::internal
