// SPDX-License-Identifier: Apache-2.0
// Runs the copies of a file on device 0, real or emulated, and says how they differ from it.
//
//   tensor_copies <file>                    fails where anything differs
//   tensor_copies <file> <output folder>    writes what the device did, faults too, and fails only
//                                           where a copy could not be run
//
// A fault costs the copy that met it and no other.
#include <cstdio>
#include <ctime>
#include <exception>
#include <sstream>

#include "../isolate.hpp"
#include "copy_file.hpp"

namespace {

using namespace emu::tests;

constexpr size_t kProcesses = 8;

struct Tally {
  size_t differ = 0;
  size_t faults = 0;  // among those that differ
  size_t open = 0;    // of those that nothing describes
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
      << "\nhash: of the bytes, which are as expected; bytes: they are not; fault: the copy ends "
         "in "
         "this error.\n";
  return out.str();
}

std::string base_name(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// What a child process has to say: two flags and the bytes.
Outcome outcome_of(const CopyResult& result) {
  if (!result.fault.empty()) {
    return {Outcome::kFault, result.fault};
  }
  if (!result.error.empty()) {
    return {Outcome::kFailed, result.error};
  }
  std::string data = {result.completed ? '1' : '0', result.nothing_left ? '1' : '0'};
  data.append(result.bytes.begin(), result.bytes.end());
  return {Outcome::kDone, data};
}

CopyResult result_of(const Outcome& outcome) {
  CopyResult result;
  if (outcome.kind != Outcome::kDone) {
    (outcome.kind == Outcome::kFault ? result.fault : result.error) = outcome.data;
    return result;
  }
  result.completed = outcome.data.at(0) == '1';
  result.nothing_left = outcome.data.at(1) == '1';
  result.bytes.assign(outcome.data.begin() + 2, outcome.data.end());
  return result;
}

CopyDevice find_device() {
  CopyDevice device;
  const Outcome outcome = isolated(1, kProcesses, [](size_t) -> Outcome {
    const CopyDevice found = copy_device();
    if (!found.error.empty()) {
      return {Outcome::kFailed, found.error};
    }
    return {Outcome::kDone, std::to_string(found.capability) + " " + std::to_string(found.driver) +
                                " " + found.name};
  })[0];
  if (outcome.kind != Outcome::kDone) {
    device.error = outcome.data;
    return device;
  }
  std::istringstream words(outcome.data);
  words >> device.capability >> device.driver;
  std::getline(words >> std::ws, device.name);
  return device;
}

// Runs all copies; of those taken over, bytes stay where the hash is not the expected one.
Tally run_all(const std::vector<Copy>& copies, std::vector<Copy>* taken) {
  Tally tally;
  const std::vector<Outcome> outcomes = isolated(
      copies.size(), kProcesses, [&](size_t index) { return outcome_of(run_copy(copies[index])); });
  for (size_t i = 0; i < copies.size(); ++i) {
    const Copy& copy = copies[i];
    const CopyResult result = result_of(outcomes[i]);
    const std::string text = difference(copy, result);
    if (!text.empty()) {
      ++(!result.error.empty() ? tally.failed : copy.open ? tally.open : tally.differ);
      tally.faults += result.fault.empty() ? 0 : 1;
      std::printf("%s: %s%s\n", copy.name.c_str(), text.c_str(),
                  copy.open ? " (nothing describes this)" : "");
    }
    if (!result.error.empty()) {
      continue;
    }
    Copy answer = copy;
    answer.answer = true;
    answer.fault = result.fault;
    answer.completed = result.completed;
    answer.nothing_left = result.nothing_left;
    answer.hash = hash_of(result.bytes);
    answer.bytes = answer.hash == copy.hash ? std::vector<uint8_t>() : result.bytes;
    taken->push_back(std::move(answer));
  }
  return tally;
}

int run(const std::string& path, const std::string& folder) {
  const CopyDevice device = find_device();
  if (!device.error.empty()) {
    std::fprintf(stderr, "tensor_copies: %s\n", device.error.c_str());
    return 1;
  }
  const std::vector<Copy> copies = read_copies(path);
  std::vector<Copy> taken;
  const Tally tally = run_all(copies, &taken);
  std::printf(
      "%s: %zu copies, %zu differ from what is expected, %zu of those that nothing "
      "describes, %zu faults among them, %zu failed\n",
      base_name(path).c_str(), copies.size(), tally.differ, tally.open, tally.faults, tally.failed);
  if (folder.empty()) {
    return tally.differ + tally.open + tally.failed == 0 ? 0 : 1;
  }
  const std::string stem = base_name(path).substr(0, base_name(path).find('.'));
  const std::string golden =
      folder + "/" + stem + "_" + std::to_string(device.capability) + "a.txt";
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
