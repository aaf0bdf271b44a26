// SPDX-License-Identifier: Apache-2.0
// Runs the copies of a file on device 0, real or emulated, and says how they differ from it.
//
//   tensor_copies <file>                    fails where anything differs
//   tensor_copies <file> <output folder>    writes what the device did, and fails only where a copy
//                                           could not be run
#include <cstdio>
#include <ctime>
#include <exception>
#include <sstream>

#include "copy_file.hpp"

namespace {

using namespace emu::tests;

struct Tally {
  size_t differ = 0;
  size_t open = 0;  // of those that nothing describes
  size_t failed = 0;
};

std::string provenance(const CopyDevice& device, const std::string& source) {
  char date[32] = "";
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::ostringstream out;
  out << "Tensor copies of a GPU, captured by tensor_copies (emu/tests/tma/tensor_copies.cpp).\n"
      << "GPU: " << device.name << " (sm_" << device.capability
      << "a)\nDriver API: " << device.driver << "\nDate: " << date << "\nInputs: " << source
      << "\nhash: of the bytes, which are as expected; bytes: they are not.\n";
  return out.str();
}

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Runs all copies; of those taken over, bytes stay where the hash is not the expected one.
Tally run_all(const std::vector<Copy>& copies, std::vector<Copy>* taken) {
  Tally tally;
  for (const Copy& copy : copies) {
    const CopyResult result = run_copy(copy);
    const std::string text = difference(copy, result);
    if (!text.empty()) {
      ++(!result.error.empty() ? tally.failed : copy.open ? tally.open : tally.differ);
      std::printf("%s: %s%s\n", copy.name.c_str(), text.c_str(),
                  copy.open ? " (nothing describes this)" : "");
    }
    if (!result.error.empty()) {
      continue;
    }
    Copy answer = copy;
    answer.answer = true;
    answer.completed = result.completed;
    answer.nothing_left = result.nothing_left;
    answer.hash = hash_of(result.bytes);
    answer.bytes = answer.hash == copy.hash ? std::vector<uint8_t>() : result.bytes;
    taken->push_back(std::move(answer));
  }
  return tally;
}

int run(const std::string& path, const std::string& folder) {
  const CopyDevice device = copy_device();
  if (!device.error.empty()) {
    std::fprintf(stderr, "tensor_copies: %s\n", device.error.c_str());
    return 1;
  }
  const std::vector<Copy> copies = read_copies(path);
  std::vector<Copy> taken;
  const Tally tally = run_all(copies, &taken);
  std::printf(
      "%s: %zu copies, %zu differ from what is expected, %zu of those that nothing "
      "describes, %zu failed\n",
      base_name(path).c_str(), copies.size(), tally.differ, tally.open, tally.failed);
  if (folder.empty()) {
    return tally.differ + tally.open + tally.failed == 0 ? 0 : 1;
  }
  const std::string golden = folder + "/copies_" + std::to_string(device.capability) + "a.txt";
  write_copies(golden, provenance(device, base_name(path)), taken);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s <file> [<output folder>]\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tensor_copies: %s\n", error.what());
    return 1;
  }
}
