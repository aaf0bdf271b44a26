// SPDX-License-Identifier: Apache-2.0
// The header bytes of the entries are those that nvcc 13.0 writes (specification, appendix D).
#include <gtest/gtest.h>

#include <cstring>

#include "fatbin/choose.hpp"
#include "fatbin/container.hpp"
#include "fatbin/decompress.hpp"

namespace emu::fatbin {
namespace {

struct EntrySpec {
  uint16_t kind = 1;
  uint32_t arch = 120;
  uint64_t flags = 0x00100011;
  std::string payload = "\n\n.version 9.0\n.target sm_120a\n.address_size 64\n";
  uint32_t header_bytes = 80;
  uint32_t compressed_bytes = 0;
  uint64_t exact_bytes = 0;
  uint16_t version = 0x0101;
};

template <typename T>
void put(std::vector<uint8_t>* bytes, size_t at, T value) {
  std::memcpy(bytes->data() + at, &value, sizeof(value));
}

void append_entry(const EntrySpec& spec, std::vector<uint8_t>* bytes) {
  const size_t start = bytes->size();
  const size_t padded = (spec.payload.size() + 8) / 8 * 8;  // at least one NUL
  bytes->resize(start + spec.header_bytes + padded);
  put(bytes, start, spec.kind);
  put(bytes, start + 2, spec.version);
  put(bytes, start + 4, spec.header_bytes);
  put(bytes, start + 8, static_cast<uint64_t>(padded));
  put(bytes, start + 16, spec.compressed_bytes);
  put(bytes, start + 20, uint32_t{0x40});
  put(bytes, start + 26, uint16_t{9});
  put(bytes, start + 28, spec.arch);
  put(bytes, start + 40, spec.flags);
  put(bytes, start + 56, spec.exact_bytes);
  std::memcpy(bytes->data() + start + spec.header_bytes, spec.payload.data(), spec.payload.size());
}

std::vector<uint8_t> make_container(const std::vector<EntrySpec>& specs) {
  std::vector<uint8_t> bytes(16);
  put(&bytes, 0, uint32_t{0xBA55ED50});
  put(&bytes, 4, uint16_t{1});
  put(&bytes, 6, uint16_t{16});
  for (const EntrySpec& spec : specs) {
    append_entry(spec, &bytes);
  }
  put(&bytes, 8, static_cast<uint64_t>(bytes.size() - 16));
  return bytes;
}

std::string error_of(const std::vector<uint8_t>& bytes) {
  try {
    read_container(bytes, "libx.so");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Container, ReadsEntriesOfEveryHeaderSizeAndVariant) {
  const auto bytes =
      make_container({{},
                      {.kind = 2, .flags = 0x01100011, .payload = "ELF", .header_bytes = 112},
                      {.arch = 100, .flags = 0x00200011, .header_bytes = 64},
                      {.arch = 80, .flags = 0x11}});
  const Container container = read_container(bytes, "libx.so");
  ASSERT_EQ(container.entries.size(), 4u);
  EXPECT_TRUE(container.warnings.empty());
  EXPECT_EQ(container.entries[0].target(), "sm_120a");
  EXPECT_EQ(container.entries[0].isa_major, 9);
  EXPECT_EQ(container.entries[0].isa_minor, 0);
  EXPECT_EQ(container.entries[1].kind, Kind::kMachineCode);
  EXPECT_EQ(container.entries[2].target(), "sm_100f");
  EXPECT_EQ(container.entries[3].target(), "sm_80");
  EXPECT_EQ(ptx_text(container.entries[0], "libx.so"),
            ".version 9.0\n.target sm_120a\n.address_size 64\n");
}

TEST(Container, SkipsUnknownKindsWithAWarningThatShowsTheBytes) {
  const auto bytes = make_container({{.kind = 7}, {}});
  const Container container = read_container(bytes, "libx.so");
  EXPECT_EQ(container.entries.size(), 1u);
  ASSERT_EQ(container.warnings.size(), 1u);
  EXPECT_NE(container.warnings[0].find("libx.so"), std::string::npos);
  EXPECT_NE(container.warnings[0].find("kind 7 (07 00 01 01"), std::string::npos)
      << container.warnings[0];
}

TEST(Container, NamesFileAndBytesOfWhatItDoesNotKnow) {
  auto magic = make_container({{}});
  magic[0] = 0x51;
  EXPECT_NE(error_of(magic).find("libx.so: fat binary container starts with 51 ed 55 ba"),
            std::string::npos);
  auto version = make_container({{}});
  version[4] = 2;
  EXPECT_NE(error_of(version).find("version 2"), std::string::npos);
  EXPECT_NE(error_of(make_container({{.version = 0x0202}})).find("entry version 0x202"),
            std::string::npos);
}

TEST(Container, RefusesSizesThatDoNotFit) {
  auto bytes = make_container({{}});
  const std::vector<uint8_t> cut(bytes.begin(), bytes.end() - 8);
  EXPECT_NE(error_of(cut).find("says it has"), std::string::npos);
  EXPECT_NE(error_of(std::vector<uint8_t>(4)).find("4 bytes"), std::string::npos);
  put(&bytes, 16 + 8, uint64_t{1} << 63);
  EXPECT_NE(error_of(bytes).find("do not fit"), std::string::npos);
  put(&bytes, 16 + 4, uint32_t{8});
  EXPECT_NE(error_of(bytes).find("do not fit"), std::string::npos);
  auto trailing = make_container({{}});
  trailing.resize(trailing.size() + 8);
  put(&trailing, 8, static_cast<uint64_t>(trailing.size() - 16));
  EXPECT_NE(error_of(trailing).find("8 bytes are left"), std::string::npos);
}

TEST(Container, SurvivesEveryCorruptedHeaderByte) {
  const auto good = make_container({{}, {.arch = 80, .flags = 0x11}});
  for (size_t at = 0; at < 16 + 80; ++at) {
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      auto bytes = good;
      bytes[at] = static_cast<uint8_t>(value);
      try {
        for (const Entry& entry : read_container(bytes, "libx.so").entries) {
          ptx_text(entry, "libx.so");
        }
      } catch (const Error&) {
        // Refused with a message: as good as read.
      }
    }
  }
}

// A zstd frame of one block that repeats 'a' ten times: magic, descriptor (single segment, size
// 10), block header (last, RLE, 10), 'a'.
std::string ten_letters() {
  return std::string("\x28\xB5\x2F\xFD\x20\x0A\x53\x00\x00\x61", 10);
}

TEST(Compression, ReadsZstdWhereTheBuildCan) {
  const auto bytes = make_container(
      {{.flags = 0x00108011, .payload = ten_letters(), .compressed_bytes = 10, .exact_bytes = 10}});
  const Container container = read_container(bytes, "libx.so");
  ASSERT_EQ(container.entries.at(0).compression, Compression::kZstd);
  if (has_zstd()) {
    EXPECT_EQ(ptx_text(container.entries[0], "libx.so"), "aaaaaaaaaa");
  } else {
    EXPECT_THROW(ptx_text(container.entries[0], "libx.so"), Error);
  }
}

TEST(Compression, RefusesDamageAndOtherFormats) {
  const auto text_of = [](const EntrySpec& spec) {
    const auto bytes = make_container({spec});
    return ptx_text(read_container(bytes, "libx.so").entries.at(0), "libx.so");
  };
  EXPECT_THROW(text_of({.flags = 0x00108011,
                        .payload = ten_letters(),
                        .compressed_bytes = 10,
                        .exact_bytes = 11}),
               Error);
  EXPECT_THROW(text_of({.flags = 0x00108011,
                        .payload = "not a frame",
                        .compressed_bytes = 11,
                        .exact_bytes = 11}),
               Error);
  EXPECT_THROW(text_of({.flags = 0x00108011,
                        .payload = ten_letters(),
                        .compressed_bytes = 10,
                        .exact_bytes = uint64_t{1} << 60}),
               Error);
  EXPECT_THROW(text_of({.flags = 0x00102011, .compressed_bytes = 8, .exact_bytes = 10}), Error);
  EXPECT_THROW(text_of({.kind = 2}), Error);
}

TEST(Wrapper, PointsToTheContainer) {
  const auto bytes = make_container({{}});
  struct {
    uint32_t magic = 0x466243B1;
    uint32_t version = 1;
    const void* container;
    const void* unused = nullptr;
  } wrapper;
  wrapper.container = bytes.data();
  EXPECT_EQ(container_of_wrapper(&wrapper, "libx.so").size(), bytes.size());
  wrapper.version = 2;
  EXPECT_THROW(container_of_wrapper(&wrapper, "libx.so"), Error);
  wrapper.version = 1;
  wrapper.magic = 0;
  EXPECT_THROW(container_of_wrapper(&wrapper, "libx.so"), Error);
}

TEST(FindContainers, FindsThemAmongOtherBytes) {
  std::vector<uint8_t> file(24, 0x50);
  const auto first = make_container({{}});
  file.insert(file.end(), first.begin(), first.end());
  file.insert(file.end(), 16, 0);
  const auto second = make_container({{.arch = 80, .flags = 0x11}});
  file.insert(file.end(), second.begin(), second.end());
  const auto found = find_containers(file);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(read_container(found[1], "x").entries.at(0).target(), "sm_80");
}

class ChooseImage : public testing::Test {
 protected:
  std::string choose(int capability, const std::vector<std::pair<int, uint64_t>>& images,
                     const std::string& forced = "") {
    std::vector<EntrySpec> specs;
    for (const auto& [arch, variant] : images) {
      specs.push_back({.arch = static_cast<uint32_t>(arch), .flags = 0x11 | variant});
    }
    const auto bytes = make_container(specs);
    const Container container = read_container(bytes, "libx.so");
    const Choice choice = choose_image(container.entries, capability, forced);
    reason_ = choice.reason;
    return choice.entry != nullptr ? choice.entry->target() : "none";
  }

  static constexpr uint64_t kExact = 1 << 20;
  static constexpr uint64_t kFamily = 1 << 21;
  std::string reason_;
};

TEST_F(ChooseImage, PrefersExactThenFamilyThenTheNewestPlain) {
  const std::vector<std::pair<int, uint64_t>> all = {
      {80, 0}, {90, 0}, {90, kExact}, {100, kFamily}, {120, kFamily}, {120, kExact}, {120, 0}};
  EXPECT_EQ(choose(120, all), "sm_120a");
  EXPECT_EQ(choose(121, all), "sm_120f");
  EXPECT_EQ(choose(100, all), "sm_100f");
  EXPECT_EQ(choose(103, all), "sm_100f");
  EXPECT_EQ(choose(90, all), "sm_90a");
  EXPECT_EQ(choose(89, all), "sm_80");
  EXPECT_EQ(choose(110, all), "sm_90");  // of no family here
}

TEST_F(ChooseImage, NeverTakesAnExactImageElsewhere) {
  EXPECT_EQ(choose(121, {{120, kExact}}), "none");
  EXPECT_EQ(choose(100, {{90, kExact}}), "none");
  EXPECT_EQ(choose(100, {{103, kFamily}}), "none");  // families grow upwards only
  EXPECT_EQ(choose(80, {{90, 0}}), "none");
  EXPECT_NE(reason_.find("sm_90"), std::string::npos);
  EXPECT_NE(reason_.find("8.0"), std::string::npos);
  EXPECT_EQ(choose(80, {}), "none");
  EXPECT_NE(reason_.find("no PTX"), std::string::npos);
}

TEST_F(ChooseImage, ForcingPicksAmongWhatTheDeviceRuns) {
  const std::vector<std::pair<int, uint64_t>> images = {{80, 0}, {120, kFamily}, {90, kExact}};
  EXPECT_EQ(choose(120, images, "sm_80"), "sm_80");
  EXPECT_EQ(choose(120, images, "sm_90a"), "none");
  EXPECT_NE(reason_.find("EMU_IMAGE"), std::string::npos);
  EXPECT_EQ(choose(120, images, "sm_100f"), "none");
  EXPECT_NE(reason_.find("not sm_100f"), std::string::npos);
}

TEST(TargetMismatch, ComparesTheTextsWord) {
  Entry entry;
  entry.arch = 120;
  entry.variant = Variant::kFamily;
  EXPECT_EQ(target_mismatch(entry, ".version 9.0\n.target sm_120f\n"), "");
  EXPECT_EQ(target_mismatch(entry, ".version 9.0\n.target sm_120f, debug\n"), "");
  EXPECT_NE(target_mismatch(entry, ".version 9.0\n.target sm_120a\n"), "");
  EXPECT_NE(target_mismatch(entry, ".version 9.0\n"), "");
}

}  // namespace
}  // namespace emu::fatbin
