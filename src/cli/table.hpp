// SPDX-License-Identifier: Apache-2.0
// Text tables on stdout, and Markdown ones for pages.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace mxgemm::cli {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
    size_t min_width = 0;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns; missing ones are empty.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }

  // Columns padded with blanks to the widest cell, two blanks apart; `bold_title` prints the
  // heading in bold.
  void print(std::ostream& out, bool bold_title = false) const;
  void print_markdown(std::ostream& out) const;

  // The same line by line, for rows that take long to come: columns are then as wide as their
  // titles and min_width.
  void print_title(std::ostream& out, bool bold_title = false) const;
  void print_row(std::ostream& out, const std::vector<std::string>& cells) const;

 private:
  std::vector<size_t> widths() const;
  std::string line(const std::vector<size_t>& widths, const std::vector<std::string>& cells) const;
  std::vector<std::string> titles() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that UTF-8 text takes on a terminal, one per code point.
size_t display_width(const std::string& text);

// "1.5 GB", "12 KB": decimal units, three digits.
std::string format_bytes(double bytes);
// "1.23 ms", "45.6 us".
std::string format_seconds(double seconds);

}  // namespace mxgemm::cli
