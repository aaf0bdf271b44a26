// SPDX-License-Identifier: Apache-2.0
// Every file of the corpus through the function that the fuzzer of its folder runs. Files called
// ok_… must be taken, all others refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/io/checkpoint_index.hpp"
#include "cli/io/npy.hpp"
#include "cli/io/safetensors_header.hpp"
#include "fuzz/entries.hpp"

namespace mxgemm::fuzz {
namespace {

using Bytes = std::vector<uint8_t>;

struct Kind {
  const char* folder;
  void (*entry)(const uint8_t* data, size_t size);
  bool (*takes)(const Bytes& bytes);
};

bool safetensors_takes(const Bytes& bytes) {
  cli::SafetensorsHeader header;
  return cli::parse_safetensors_header(bytes, &header).ok();
}

bool index_takes(const Bytes& bytes) {
  cli::CheckpointIndex index;
  return cli::parse_checkpoint_index(bytes, &index).ok();
}

bool npy_takes(const Bytes& bytes) {
  cli::NpyHeader header;
  return cli::parse_npy_header(bytes, &header).ok();
}

class ReplayTest : public testing::TestWithParam<Kind> {};

TEST_P(ReplayTest, EveryFileOfTheCorpusIsTakenOrRefusedAsItsNameSays) {
  const std::filesystem::path folder =
      std::filesystem::path(MXGEMM_FUZZ_CORPUS) / GetParam().folder;
  int taken = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream stream(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    GetParam().entry(bytes.data(), bytes.size());
    const bool must_be_taken = entry.path().filename().string().starts_with("ok_");
    EXPECT_EQ(GetParam().takes(bytes), must_be_taken);
    ++(must_be_taken ? taken : refused);
  }
  EXPECT_GE(taken, 3);
  EXPECT_GE(refused, 8);
}

TEST_P(ReplayTest, EveryTruncationOfATakenFileIsHandled) {
  const std::filesystem::path folder =
      std::filesystem::path(MXGEMM_FUZZ_CORPUS) / GetParam().folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream stream(entry.path(), std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    const size_t longest =
        std::min<size_t>(bytes.size(), 4096);  // headers of the corpus are shorter
    for (size_t size = 0; size < longest; ++size) {
      // A copy of exactly this size, so that the address sanitizer sees a read past its end.
      const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      GetParam().entry(cut.data(), cut.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parsers, ReplayTest,
                         testing::Values(Kind{"safetensors", parse_safetensors, safetensors_takes},
                                         Kind{"index", parse_index, index_takes},
                                         Kind{"npy", parse_npy, npy_takes}),
                         [](const auto& kind) { return std::string(kind.param.folder); });

}  // namespace
}  // namespace mxgemm::fuzz
