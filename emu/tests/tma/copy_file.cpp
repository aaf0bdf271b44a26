// SPDX-License-Identifier: Apache-2.0
#include "copy_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace emu::tests {
namespace {

template <typename T>
void read_list(std::istream& line, std::vector<T>* list) {
  for (T value; line >> value;) {
    list->push_back(value);
  }
}

std::vector<uint8_t> bytes_of_hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t at = 0; at + 1 < text.size(); at += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

// False for a key that is not known.
bool read_line(const std::string& key, std::istream& line, Copy* copy) {
  std::string word;
  if (key == "direction") {
    line >> word;
    copy->loads = word == "load";
    return word == "load" || word == "store";
  }
  if (key == "map") {
    line >> copy->type >> copy->swizzle >> copy->fill;
  } else if (key == "dims") {
    read_list(line, &copy->dims);
  } else if (key == "strides") {
    read_list(line, &copy->strides);
  } else if (key == "box") {
    read_list(line, &copy->box);
  } else if (key == "steps") {
    read_list(line, &copy->steps);
  } else if (key == "at") {
    read_list(line, &copy->at);
  } else if (key == "place") {
    line >> copy->offset >> copy->region_bytes >> copy->tensor_bytes >> copy->box_bytes;
  } else if (key == "global_map") {
    copy->map_in_global = true;
  } else if (key == "open") {
    copy->open = true;
  } else if (key == "answer") {
    copy->answer = true;
    line >> copy->completed >> copy->nothing_left;
  } else if (key == "fault") {
    std::getline(line >> std::ws, copy->fault);
  } else if (key == "hash") {
    line >> std::hex >> copy->hash;
  } else if (key == "bytes") {
    line >> word;
    copy->bytes = bytes_of_hex(word);
    copy->hash = hash_of(copy->bytes);
  } else {
    return false;
  }
  return true;
}

bool is_whole(const Copy& copy) {
  const size_t rank = copy.dims.size();
  return rank >= 1 && rank <= 5 && copy.strides.size() + 1 == rank && copy.box.size() == rank &&
         copy.steps.size() == rank && copy.at.size() == rank && copy.region_bytes != 0 &&
         (copy.hash != 0) == copy.fault.empty();
}

template <typename T>
void write_list(std::ostream& out, const char* key, const std::vector<T>& list) {
  out << key;
  for (const T value : list) {
    out << " " << value;
  }
  out << "\n";
}

void write_hex(std::ostream& out, const std::vector<uint8_t>& bytes) {
  const char* const digits = "0123456789abcdef";
  out << "bytes ";
  for (const uint8_t byte : bytes) {
    out << digits[byte >> 4] << digits[byte & 15];
  }
  out << "\n";
}

// Of the floating-point types of a tensor map; `element` is its bits.
bool is_nan(uint32_t type, uint64_t element) {
  switch (type) {
    case 6:
      return (element & 0x7FFF) > 0x7C00;
    case 9:
      return (element & 0x7FFF) > 0x7F80;
    case 8:
      return (element & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000;
    default:
      return (element & 0x7FFFFFFF) > 0x7F800000;
  }
}

// Types that may be filled with NaN: 6 to 12.
size_t float_bytes(uint32_t type) {
  return type == 6 || type == 9 ? 2 : type == 8 ? 8 : 4;
}

bool both_nan(const Copy& copy, const std::vector<uint8_t>& got, size_t at) {
  if (copy.fill == 0 || copy.answer) {
    return false;
  }
  const size_t size = float_bytes(copy.type);
  const size_t first = at / size * size;
  uint64_t wanted = 0;
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) {
    wanted |= uint64_t{copy.bytes[first + i]} << 8 * i;
    value |= uint64_t{got[first + i]} << 8 * i;
  }
  return is_nan(copy.type, wanted) && is_nan(copy.type, value);
}

}  // namespace

std::vector<Copy> read_copies(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error(path + ": cannot be opened");
  }
  std::vector<Copy> copies;
  size_t number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (text.empty() || text[0] == '#') {
      continue;
    }
    std::istringstream line(text);
    std::string key;
    line >> key;
    const bool starts = key == "copy";
    if (starts) {
      copies.emplace_back();
      std::getline(line >> std::ws, copies.back().name);
    }
    if (copies.empty() || (!starts && !read_line(key, line, &copies.back()))) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": unknown line '" + text +
                               "'");
    }
  }
  for (const Copy& copy : copies) {
    if (!is_whole(copy)) {
      throw std::runtime_error(path + ": " + copy.name + " is not complete");
    }
  }
  if (copies.empty()) {
    throw std::runtime_error(path + ": no copies");
  }
  return copies;
}

void write_copies(const std::string& path, const std::string& comment,
                  const std::vector<Copy>& copies) {
  std::ofstream out(path);
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) {
    out << "# " << line << "\n";
  }
  for (const Copy& copy : copies) {
    out << "copy " << copy.name << "\ndirection " << (copy.loads ? "load" : "store") << "\nmap "
        << copy.type << " " << copy.swizzle << " " << copy.fill << "\n";
    write_list(out, "dims", copy.dims);
    write_list(out, "strides", copy.strides);
    write_list(out, "box", copy.box);
    write_list(out, "steps", copy.steps);
    write_list(out, "at", copy.at);
    out << "place " << copy.offset << " " << copy.region_bytes << " " << copy.tensor_bytes << " "
        << copy.box_bytes << "\n"
        << (copy.map_in_global ? "global_map\n" : "") << (copy.open ? "open\n" : "");
    if (!copy.fault.empty()) {
      out << "fault " << copy.fault << "\n";
      continue;
    }
    if (copy.answer) {
      out << "answer " << copy.completed << " " << copy.nothing_left << "\n";
    }
    if (copy.bytes.empty()) {
      out << "hash " << std::hex << copy.hash << std::dec << "\n";
    } else {
      write_hex(out, copy.bytes);
    }
  }
  if (!out.flush()) {
    throw std::runtime_error(path + ": cannot be written");
  }
}

uint64_t hash_of(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const uint8_t byte : bytes) {
    hash = (hash ^ byte) * 0x100000001B3u;
  }
  return hash;
}

std::string difference(const Copy& expected, const CopyResult& got) {
  if (got.fault != expected.fault) {
    return "ends in " + (got.fault.empty() ? "no fault" : got.fault) +
           (expected.fault.empty() ? "" : " instead of " + expected.fault);
  }
  if (!got.fault.empty()) {
    return "";
  }
  if (!got.error.empty()) {
    return got.error;
  }
  if (got.completed != expected.completed) {
    return got.completed ? "as many bytes were signalled as the box has"
                         : "fewer bytes were signalled than the box has";
  }
  if (got.nothing_left != expected.nothing_left) {
    return got.nothing_left ? "no more bytes were signalled than the box has"
                            : "more bytes were signalled than the box has";
  }
  if (hash_of(got.bytes) == expected.hash) {
    return "";
  }
  if (expected.bytes.size() != got.bytes.size()) {
    return "other bytes than the hash says";
  }
  for (size_t at = 0; at < got.bytes.size(); ++at) {
    if (expected.bytes[at] != got.bytes[at] && !both_nan(expected, got.bytes, at)) {
      std::ostringstream text;
      text << "byte " << at << (expected.loads ? " of the region" : " of the tensor") << " is 0x"
           << std::hex << int{got.bytes[at]} << " instead of 0x" << int{expected.bytes[at]};
      return text.str();
    }
  }
  return "";
}

}  // namespace emu::tests
