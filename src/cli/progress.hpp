// SPDX-License-Identifier: Apache-2.0
// A bar on stderr for work that takes a while; silent unless stderr is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/program.hpp"

namespace mxgemm::cli {

class Progress {
 public:
  // `total` in any unit; `title` stands before the bar.
  Progress(Console& console, std::string title, uint64_t total);
  ~Progress();  // removes the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(uint64_t amount);

 private:
  void draw();

  Console& console_;
  std::string title_;
  uint64_t total_;
  uint64_t done_ = 0;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace mxgemm::cli
