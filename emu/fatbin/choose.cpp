// SPDX-License-Identifier: Apache-2.0
#include "fatbin/choose.hpp"

#include <tuple>

namespace emu::fatbin {
namespace {

// The first architecture of the family; equal majors are not always one family.
int family_of(int arch) {
  switch (arch) {
    case 100:
    case 103:
      return 100;
    case 120:
    case 121:
      return 120;
    default:
      return arch;
  }
}

// Whether a device of this capability runs PTX of this architecture.
bool runs_on(int arch, Variant variant, int capability) {
  switch (variant) {
    case Variant::kExact:
      return arch == capability;
    case Variant::kFamily:
      return arch <= capability && family_of(arch) == family_of(capability);
    case Variant::kPlain:
      return arch <= capability;
  }
  return false;
}

std::string list_of(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) {
    if (entry.kind == Kind::kPtx) {
      text += (text.empty() ? "" : ", ") + entry.target();
    }
  }
  return text.empty() ? "no PTX at all" : "PTX for " + text;
}

}  // namespace

Choice choose_image(const std::vector<Entry>& entries, int capability, const std::string& forced) {
  const auto rank = [](const Entry& entry) { return std::tuple(entry.variant, entry.arch); };
  Choice choice;
  bool forced_exists = false;
  for (const Entry& entry : entries) {
    if (entry.kind != Kind::kPtx || (!forced.empty() && entry.target() != forced)) {
      continue;
    }
    forced_exists = true;
    if (runs_on(entry.arch, entry.variant, capability) &&
        (choice.entry == nullptr || rank(entry) > rank(*choice.entry))) {
      choice.entry = &entry;
    }
  }
  if (choice.entry == nullptr) {
    const std::string device =
        std::to_string(capability / 10) + "." + std::to_string(capability % 10);
    if (forced.empty() || !forced_exists) {
      choice.reason = "the fat binary has " + list_of(entries) +
                      (forced.empty() ? ", none of which runs on a device of capability " + device
                                      : ", not " + forced + ", which EMU_IMAGE asks for");
    } else {
      choice.reason =
          forced + ", which EMU_IMAGE asks for, does not run on a device of capability " + device;
    }
  }
  return choice;
}

std::string target_mismatch(const Entry& entry, const std::string& text) {
  const size_t directive = text.find(".target");
  if (directive == std::string::npos) {
    return "the text has no .target";
  }
  const size_t begin = text.find_first_not_of(" \t", directive + 7);
  const size_t end = text.find_first_of(" \t\r\n,", begin);
  const std::string named = begin == std::string::npos ? "" : text.substr(begin, end - begin);
  if (named != entry.target()) {
    return "the container says " + entry.target() + ", the text's .target says " + named;
  }
  return "";
}

}  // namespace emu::fatbin
