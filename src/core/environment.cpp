// SPDX-License-Identifier: Apache-2.0
#include "core/environment.hpp"

#include <atomic>
#include <optional>

#include "base/env.hpp"
#include "base/require.hpp"
#include "cpu/cpu_backend.hpp"

namespace mxgemm::internal {
namespace {

struct IsaSetting {
  Status status;
  std::optional<int32_t> isa;
};

IsaSetting read_isa() {
  IsaSetting setting;
  if (const std::optional<std::string> text = env_text("MXGEMM_MAX_ISA")) {
    int32_t isa = 0;
    setting.status = parse_isa(*text, &isa);
    if (setting.status.ok()) {
      setting.isa = isa;
    }
  }
  return setting;
}

const IsaSetting& isa_setting() {
  static const IsaSetting setting = read_isa();
  return setting;
}

// What mxgemm_set_max_isa was last given.
std::atomic<int32_t> api_isa{-1};

std::string level_names(int32_t last) {
  std::string names;
  for (int32_t isa = 0; isa <= last; ++isa) {
    names += isa == 0 ? "" : ", ";
    names += cpu::isa_name(isa);
  }
  return names;
}

}  // namespace

Status parse_isa(const std::string& text, int32_t* isa) {
  *isa = cpu::isa_from_name(text.c_str());
  MXGEMM_REQUIRE(*isa >= 0, "environment variable MXGEMM_MAX_ISA is \"%s\"; it must be one of %s",
                 text.c_str(), level_names(cpu::kNumIsaLevels - 1).c_str());
  return check_isa_offered(
      format_text("environment variable MXGEMM_MAX_ISA is \"%s\"", text.c_str()), *isa);
}

Status check_isa_offered(const std::string& what, int32_t isa) {
  if (isa <= cpu::isa_offered()) {
    return {};
  }
  return {StatusCode::kUnsupported,
          format_text("%s, which cannot be used: %s; the levels offered here are %s", what.c_str(),
                      cpu::isa_refusal(isa), level_names(cpu::isa_offered()).c_str())};
}

Status isa_limit(IsaLimit* limit) {
  const int32_t wanted = api_isa.load(std::memory_order_relaxed);
  if (wanted >= 0) {
    *limit = {wanted, IsaSource::kApi};
    return {};
  }
  const IsaSetting& setting = isa_setting();
  if (!setting.status.ok()) {
    return setting.status;
  }
  *limit = setting.isa ? IsaLimit{*setting.isa, IsaSource::kEnvironment}
                       : IsaLimit{cpu::isa_offered(), IsaSource::kMachine};
  return {};
}

Status set_max_isa(int32_t isa) {
  MXGEMM_REQUIRE(isa >= -1 && isa < cpu::kNumIsaLevels,
                 "isa is %d; it must be -1 (what MXGEMM_MAX_ISA says) or 0 to %d (%s)", isa,
                 cpu::kNumIsaLevels - 1, level_names(cpu::kNumIsaLevels - 1).c_str());
  if (isa >= 0) {
    MXGEMM_TRY(check_isa_offered(format_text("isa is %d (%s)", isa, cpu::isa_name(isa)), isa));
  }
  api_isa.store(isa, std::memory_order_relaxed);
  return {};
}

std::string isa_reason(int32_t isa, const IsaLimit& limit) {
  if (isa > cpu::isa_offered()) {
    return cpu::isa_refusal(isa);
  }
  if (isa <= limit.isa) {
    return "";
  }
  const char* name = cpu::isa_name(limit.isa);
  return limit.source == IsaSource::kApi ? format_text("mxgemm_set_max_isa allows up to %s", name)
                                         : format_text("MXGEMM_MAX_ISA is %s", name);
}

const std::string& forced_kernel() {
  static const std::string text = env_text("MXGEMM_FORCE").value_or("");
  return text;
}

Status check_threads() {
  static const Status status = cpu::check_thread_environment();
  return status;
}

}  // namespace mxgemm::internal
