// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace mxgemm::cli {
namespace {

TEST(Table, PadsColumnsToTheWidestCell) {
  Table table({{"name"}, {"count", Table::Align::kRight}, {"end"}});
  table.add_row({"a", "12345678", "x"});
  table.add_row({"longer", "1"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(),
            "name       count  end\n"
            "a       12345678  x\n"
            "longer         1\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  EXPECT_EQ(display_width("µs"), 2u);
  Table table({{"µ"}, {"b"}});
  table.add_row({"xx", "y"});
  std::ostringstream out;
  table.print(out);
  EXPECT_EQ(out.str(), "µ   b\nxx  y\n");
}

TEST(Table, PrintsMarkdown) {
  Table table({{"a"}, {"n", Table::Align::kRight}});
  table.add_row({"x", "1"});
  std::ostringstream out;
  table.print_markdown(out);
  EXPECT_EQ(out.str(), "| a | n |\n| --- | ---: |\n| x | 1 |\n");
}

TEST(Table, HasEscapeSequencesOnlyWhenAsked) {
  Table table({{"a"}});
  std::ostringstream plain;
  table.print(plain);
  EXPECT_EQ(plain.str().find('\x1b'), std::string::npos);
  std::ostringstream bold;
  table.print(bold, true);
  EXPECT_EQ(bold.str(), "\x1b[1ma\x1b[0m\n");
}

TEST(FormatBytes, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 KB");
  EXPECT_EQ(format_bytes(83.4e6), "83.4 MB");
  EXPECT_EQ(format_bytes(512e9), "512 GB");
}

TEST(FormatSeconds, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(format_seconds(1.5), "1.50 s");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(123e-6), "123 us");
  EXPECT_EQ(format_seconds(5e-10), "0.50 ns");
}

}  // namespace
}  // namespace mxgemm::cli
