// SPDX-License-Identifier: Apache-2.0
// One tensor copy on device 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu::tests {

// As copy_vectors.py writes it. Dimensions are innermost first.
struct Copy {
  std::string name;
  bool loads = true;  // global to shared
  uint32_t type = 0;  // CUtensorMapDataType
  uint32_t swizzle = 0;
  uint32_t fill = 0;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides;  // bytes, of dimensions 1 and up
  std::vector<uint32_t> box;
  std::vector<uint32_t> steps;  // between elements
  std::vector<int32_t> at;
  uint32_t offset = 0;        // of the box in the region of shared memory
  uint32_t region_bytes = 0;  // begins at a multiple of 1,024
  uint32_t tensor_bytes = 0;
  uint32_t box_bytes = 0;
  bool map_in_global = false;
  bool open = false;      // no description says what comes out
  bool answer = false;    // what a device did: NaNs count bit by bit
  std::string fault;      // not empty: the error that the copy ends in; nothing else is known then
  bool completed = true;  // as CopyResult has them
  bool nothing_left = true;
  std::vector<uint8_t> bytes;  // the region after a load, the tensor after a store
  uint64_t hash = 0;           // of `bytes`; those of a GPU are kept only where they surprise
};

struct CopyResult {
  std::string error;           // not empty: the call that failed, and how
  std::string fault;           // not empty: the error of all further calls of this process
  bool completed = false;      // a load has signalled at least its bytes
  bool nothing_left = false;   // and not more
  std::vector<uint8_t> bytes;  // as Copy::bytes
};

CopyResult run_copy(const Copy& copy);

struct CopyDevice {
  std::string error;
  std::string name;
  int capability = 0;  // 10 x major + minor
  int driver = 0;
};
CopyDevice copy_device();

}  // namespace emu::tests
