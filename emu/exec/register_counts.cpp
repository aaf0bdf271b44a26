// SPDX-License-Identifier: Apache-2.0
#include "exec/register_counts.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "exec/program.hpp"

namespace emu {
namespace {

constexpr uint32_t kMostPerThread = 255;
constexpr uint64_t kWarp = 32;

}  // namespace

std::string RegisterCounts::read(const std::string& file) {
  const std::string allowed =
      "a file of lines '<part of a kernel's name> <registers per thread, 1 to 255>'";
  if (file.empty()) {
    rows_.clear();
    return "";
  }
  std::ifstream input(file);
  if (!input) {
    return allowed + "; it cannot be read";
  }
  std::vector<Row> rows;
  std::string line;
  for (int number = 1; std::getline(input, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    Row row;
    std::string rest;
    if (!(words >> row.kernel)) {
      continue;
    }
    if (!(words >> row.registers) || (words >> rest) || row.registers == 0 ||
        row.registers > kMostPerThread) {
      return allowed + "; line " + std::to_string(number) + " is '" + line + "'";
    }
    rows.push_back(row);
  }
  rows_ = std::move(rows);
  return "";
}

uint32_t RegisterCounts::of(const Code& code) const {
  const auto found = std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) {
    return code.name.find(row.kernel) != std::string::npos;
  });
  return found != rows_.end() ? found->registers : code.function->maxnreg;
}

uint64_t allocated_registers(uint32_t per_thread, uint64_t threads) {
  const uint64_t warps = (threads + kWarp - 1) / kWarp;
  const uint64_t rounded = (per_thread + kRegisterStep - 1) / kRegisterStep * kRegisterStep;
  return warps * kWarp * rounded;
}

}  // namespace emu
