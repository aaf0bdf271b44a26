// SPDX-License-Identifier: Apache-2.0
#include "core/loader.hpp"

#include <pthread.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/require.hpp"
#include "core/enums.hpp"
#include "core/library_file.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::internal {
namespace {

// "80 and newer" in a table.
constexpr int32_t kNoLastCapability = 990;

void log_for_library(int32_t level, const char* message) {
  log_line(static_cast<LogLevel>(std::clamp(level, 0, 3)), "%s", message);
}

constexpr mxgemm_host_services kHostServices = {sizeof(mxgemm_host_services), 0, log_for_library};

bool is_whole(const mxgemm_kernel* kernel, const std::string& arch) {
  return kernel != nullptr && kernel->struct_size == sizeof(*kernel) && kernel->arch != nullptr &&
         arch == kernel->arch && kernel->name != nullptr && kernel->accepts != nullptr &&
         kernel->rank != nullptr && kernel->workspace_size != nullptr &&
         kernel->prepare != nullptr && kernel->run != nullptr;
}

// What is wrong with a table whose version is right.
std::string table_fault(const mxgemm_plugin_table& table, const ArchName& arch) {
  if (table.arch == nullptr || arch.text != table.arch) {
    return format_text("its table is that of %s", table.arch == nullptr ? "NULL" : table.arch);
  }
  if (table.capabilities == nullptr || table.num_capabilities < 1) {
    return "its table accepts no device";
  }
  for (int32_t index = 0; index < table.num_kernels; ++index) {
    if (!is_whole(table.kernels[index], arch.text)) {
      return format_text("kernel %d of its table is not whole", index);
    }
  }
  if (table.data != nullptr && table.data->struct_size != sizeof(mxgemm_data_functions)) {
    return "its data functions are of another version";
  }
  return "";
}

const char* text_or_empty(const char* text) {
  return text == nullptr ? "" : text;
}

// Newest architecture first, and of one architecture the most special build first.
bool is_listed_before(const ArchName& arch, const ArchName& other) {
  return arch.capability != other.capability ? arch.capability > other.capability
                                             : arch.kind < other.kind;
}

}  // namespace

std::string GpuLibrary::capabilities() const {
  std::string text;
  for (int32_t index = 0; table != nullptr && index < table->num_capabilities; ++index) {
    const mxgemm_capability_range range = table->capabilities[index];
    text += text.empty() ? "" : ", ";
    text += capability_text(range.first);
    if (range.last >= kNoLastCapability) {
      text += " and newer";
    } else if (range.last != range.first) {
      text += " to " + capability_text(range.last);
    }
  }
  return text;
}

std::string GpuLibrary::device_refusal(int32_t capability) const {
  if (const std::string reason = arch_name_refusal(arch, capability); !reason.empty()) {
    return reason;
  }
  if (table == nullptr) {
    return format_text("not loaded: %s", refusal.c_str());
  }
  for (int32_t index = 0; index < table->num_capabilities; ++index) {
    const mxgemm_capability_range range = table->capabilities[index];
    if (capability >= range.first && capability <= range.last) {
      return "";
    }
  }
  return format_text("it accepts compute capability %s; the device has %s", capabilities().c_str(),
                     capability_text(capability).c_str());
}

Loader::Loader(const std::string& folder) : folder_(folder) {
  constexpr size_t kPrefix = std::string_view("libmxgemm_").size();
  constexpr size_t kSuffix = std::string_view(".so").size();
  for (const std::string& file : arch_library_files(folder)) {
    const std::string name = file.substr(kPrefix, file.size() - kPrefix - kSuffix);
    if (const std::optional<ArchName> arch = parse_arch_name(name)) {
      entries_.push_back(std::make_unique<Entry>());
      entries_.back()->library.path = folder + "/" + file;
      entries_.back()->library.arch = *arch;
    } else {
      unknown_files_.push_back(file);
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const auto& entry, const auto& other) {
    return is_listed_before(entry->library.arch, other->library.arch);
  });
}

void Loader::load(Entry* entry, Notes* notes) {
  if (entry->tried) {
    return;
  }
  entry->tried = true;
  GpuLibrary& library = entry->library;
  const OpenedLibrary opened =
      open_library(library.path, MXGEMM_PLUGIN_SYMBOL, sizeof(mxgemm_plugin_table));
  const auto* table = static_cast<const mxgemm_plugin_table*>(opened.table);
  library.refusal = table == nullptr ? opened.refusal : table_fault(*table, library.arch);
  if (!library.refusal.empty()) {
    notes->emplace_back(LogLevel::kInfo,
                        format_text("GPU library %s is not used: %s", library.path.c_str(),
                                    library.refusal.c_str()));
    return;
  }
  if (table->init != nullptr) {
    table->init(&kHostServices);
  }
  library.table = table;
  for (int32_t index = 0; index < table->num_kernels; ++index) {
    const mxgemm_kernel* kernel = table->kernels[index];
    library.kernels.push_back({kernel, MXGEMM_DEVICE_CUDA,
                               format_text("%s:%s:%s", device_kind_name(MXGEMM_DEVICE_CUDA),
                                           library.arch.text.c_str(), kernel->name),
                               &library});
  }
  notes->emplace_back(LogLevel::kDebug,
                      format_text("GPU library %s: %d kernels, %s", library.path.c_str(),
                                  table->num_kernels, text_or_empty(table->build_info)));
}

const std::vector<LibraryChoice>& Loader::choices(int32_t capability) {
  Notes notes;
  const std::vector<LibraryChoice>* result = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = choices_.find(capability);
    if (found == choices_.end()) {
      found = choices_.emplace(capability, choose(capability, &notes)).first;
    }
    result = &found->second;
  }
  write(notes);
  return *result;
}

std::vector<LibraryChoice> Loader::choose(int32_t capability, Notes* notes) {
  std::vector<LibraryChoice> choices;
  for (const auto& entry : entries_) {
    if (arch_name_refusal(entry->library.arch, capability).empty()) {
      load(entry.get(), notes);
    }
    choices.push_back({&entry->library, entry->library.device_refusal(capability)});
  }
  std::stable_sort(choices.begin(), choices.end(), [](const auto& choice, const auto& other) {
    const bool serves = choice.refusal.empty();
    return serves != other.refusal.empty()
               ? serves
               : serves && is_preferred(choice.library->arch, other.library->arch);
  });
  return choices;
}

std::vector<const GpuLibrary*> Loader::load_all() {
  Notes notes;
  std::vector<const GpuLibrary*> libraries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : entries_) {
      load(entry.get(), &notes);
      libraries.push_back(&entry->library);
    }
  }
  write(notes);
  return libraries;
}

void Loader::write(const Notes& notes) {
  for (const auto& [level, text] : notes) {
    log_line(level, "%s", text.c_str());
  }
}

Status gpu_loader(Loader** loader) {
  struct Made {
    Status status;
    Loader* loader = nullptr;
  };
  static const Made made = [] {
    Made result;
    std::string folder;
    result.status = gpu_library_folder(&folder);
    if (result.status.ok()) {
      result.loader = new Loader(folder);  // never destroyed: plans point into it
      static Loader* const held = result.loader;
      // Held across a fork, so that no other thread holds it in the child.
      pthread_atfork([] { held->lock(); }, [] { held->unlock(); }, [] { held->unlock(); });
    }
    return result;
  }();
  *loader = made.loader;
  return made.status;
}

}  // namespace mxgemm::internal
