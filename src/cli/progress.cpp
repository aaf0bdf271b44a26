// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <utility>

namespace mxgemm::cli {
namespace {

// Ten frames a second look smooth and cost nothing.
constexpr std::chrono::milliseconds kFrame{100};
constexpr uint64_t kWidth = 30;  // title, bar and percentage fit 80 columns

}  // namespace

Progress::Progress(Console& console, std::string title, uint64_t total)
    : console_(console),
      title_(std::move(title)),
      total_(total),
      last_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) {
    fmt::print(console_.err, "\r\x1b[K");  // back to the first column, clear the line
    console_.err.flush();
  }
}

void Progress::advance(uint64_t amount) {
  done_ = std::min(total_, done_ + amount);
  const auto now = std::chrono::steady_clock::now();
  if (console_.err_is_terminal && now - last_ >= kFrame) {
    last_ = now;
    draw();
  }
}

void Progress::draw() {
  const double part = total_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(total_);
  const auto full = static_cast<uint64_t>(part * kWidth);
  fmt::print(console_.err, "\r{} [{:#<{}}{:.<{}}] {:3.0f} %", title_, "", full, "", kWidth - full,
             part * 100);
  console_.err.flush();
  drawn_ = true;
}

}  // namespace mxgemm::cli
