// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>

namespace mxgemm::cli {
namespace {

// Three significant digits in the first unit in which the value is at least 1, the smallest unit
// otherwise.
struct Unit {
  double size;
  const char* name;
};

std::string in_unit(double value, const Unit* units, size_t count) {
  size_t chosen = count - 1;
  for (size_t i = 0; i < count; ++i) {
    if (value >= units[i].size) {
      chosen = i;
      break;
    }
  }
  const double scaled = value / units[chosen].size;
  const int digits = scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", scaled, digits, units[chosen].name);
}

std::string padded(const std::string& text, size_t width, Table::Align align) {
  const std::string blanks(width - std::min(width, display_width(text)), ' ');
  return align == Table::Align::kRight ? blanks + text : text + blanks;
}

}  // namespace

size_t display_width(const std::string& text) {
  // Continuation bytes of UTF-8 are 10xxxxxx.
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string format_bytes(double bytes) {
  if (bytes < 1000) {
    return fmt::format("{:.0f} B", bytes);
  }
  constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}};
  return in_unit(bytes, kUnits, std::size(kUnits));
}

std::string format_seconds(double seconds) {
  constexpr Unit kUnits[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  return in_unit(seconds, kUnits, std::size(kUnits));
}

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = std::max(display_width(columns_[c].title), columns_[c].min_width);
    for (const auto& row : rows_) {
      width = std::max(width, display_width(row[c]));
    }
    widths.push_back(width);
  }
  return widths;
}

std::string Table::line(const std::vector<size_t>& widths,
                        const std::vector<std::string>& cells) const {
  std::string text;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const std::string cell = c < cells.size() ? cells[c] : "";
    text += (c == 0 ? "" : "  ") + padded(cell, widths[c], columns_[c].align);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> Table::titles() const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
  }
  return titles;
}

void Table::print_title(std::ostream& out, bool bold_title) const {
  fmt::print(out, "{}{}{}\n", bold_title ? "\x1b[1m" : "", line(widths(), titles()),
             bold_title ? "\x1b[0m" : "");
}

void Table::print_row(std::ostream& out, const std::vector<std::string>& cells) const {
  fmt::print(out, "{}\n", line(widths(), cells));
}

void Table::print(std::ostream& out, bool bold_title) const {
  print_title(out, bold_title);
  const std::vector<size_t> column_widths = widths();
  for (const auto& row : rows_) {
    fmt::print(out, "{}\n", line(column_widths, row));
  }
}

void Table::print_markdown(std::ostream& out) const {
  std::string title = "|";
  std::string rule = "|";
  for (const Column& column : columns_) {
    title += " " + column.title + " |";
    rule += column.align == Align::kRight ? " ---: |" : " --- |";
  }
  fmt::print(out, "{}\n{}\n", title, rule);
  for (const auto& row : rows_) {
    std::string text = "|";
    for (const std::string& cell : row) {
      text += " " + cell + " |";
    }
    fmt::print(out, "{}\n", text);
  }
}

}  // namespace mxgemm::cli
