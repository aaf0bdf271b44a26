// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "fatbin/container.hpp"

namespace emu::fatbin {

struct Choice {
  const Entry* entry = nullptr;  // null: `reason` says why
  std::string reason;
};

// The PTX that a device of this capability (10 x major + minor) runs. `forced` is "" or the target
// to take ("sm_90a"); one that the device cannot run is not taken for that either.
Choice choose_image(const std::vector<Entry>& entries, int capability, const std::string& forced);

// The `.target` line's own word on its text must agree with the container's; "" or what is wrong.
std::string target_mismatch(const Entry& entry, const std::string& text);

}  // namespace emu::fatbin
