// SPDX-License-Identifier: Apache-2.0
// Registers of any width, one lane at a time.
#include <cstdio>

#include "exec/context.hpp"

namespace emu {
namespace {

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

uint64_t ExecContext::lane_value(const Operand& operand, unsigned lane) const {
  switch (operand.width) {
    case 1:
      return reg<uint8_t>(operand)[lane];
    case 2:
      return reg<uint16_t>(operand)[lane];
    case 4:
      return reg<uint32_t>(operand)[lane];
    case 8:
      return reg<uint64_t>(operand)[lane];
    default:
      return reg<uint64_t>(operand)[2 * lane];
  }
}

void ExecContext::set_lane_value(const Operand& operand, unsigned lane, uint64_t value) const {
  switch (operand.width) {
    case 1:
      reg<uint8_t>(operand)[lane] = static_cast<uint8_t>(value);
      break;
    case 2:
      reg<uint16_t>(operand)[lane] = static_cast<uint16_t>(value);
      break;
    case 4:
      reg<uint32_t>(operand)[lane] = static_cast<uint32_t>(value);
      break;
    case 8:
      reg<uint64_t>(operand)[lane] = value;
      break;
    default:
      reg<uint64_t>(operand)[2 * lane] = value;
      reg<uint64_t>(operand)[2 * lane + 1] = 0;
      break;
  }
}

bool ExecContext::uniform(const Operand& operand, uint32_t active, const char* what,
                          uint64_t* value) {
  const auto first = static_cast<unsigned>(__builtin_ctz(active));
  *value = lane_value(operand, first);
  for (uint32_t bits = active; bits != 0; bits &= bits - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(bits));
    if (lane_value(operand, lane) != *value) {
      fault(FaultKind::launch_failure,
            std::string(what) + " differs between lanes: " + hex(*value) + " in lane " +
                std::to_string(first) + ", " + hex(lane_value(operand, lane)) + " in lane " +
                std::to_string(lane),
            lane);
      return false;
    }
  }
  return true;
}

}  // namespace emu
