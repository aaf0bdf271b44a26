// SPDX-License-Identifier: Apache-2.0
// tests/data/format_vectors.txt in memory; make_format_vectors.py beside it says what the sections
// hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mxgemm::test {

// The records of one section, e.g. "decode e4m3": words of hexadecimal numbers. "nan" is read as
// kNanWord.
using Record = std::vector<uint64_t>;
constexpr uint64_t kNanWord = ~uint64_t{0};

// Empty where the file or the section is missing.
std::vector<Record> read_section(const std::string& section);

// The hash of the "pages" sections: over 32-bit words.
class WordHash {
 public:
  void add(uint32_t word) { value_ = (value_ ^ word) * 0x100000001B3; }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325;
};

}  // namespace mxgemm::test
