// SPDX-License-Identifier: Apache-2.0
#include "unit/formats/format_vectors.hpp"

#include <fstream>
#include <sstream>

namespace mxgemm::test {

std::vector<Record> read_section(const std::string& section) {
  std::ifstream file(MXGEMM_TEST_DATA "/format_vectors.txt");
  std::vector<Record> records;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with('[')) {
      inside = line == "[" + section + "]";
    } else if (inside) {
      std::istringstream words(line);
      Record record;
      for (std::string word; words >> word;) {
        record.push_back(word == "nan" ? kNanWord : std::stoull(word, nullptr, 16));
      }
      records.push_back(record);
    }
  }
  return records;
}

}  // namespace mxgemm::test
