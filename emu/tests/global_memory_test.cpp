// SPDX-License-Identifier: Apache-2.0
#include "exec/global_memory.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace emu {
namespace {

uint8_t* at(uint64_t address) {
  return reinterpret_cast<uint8_t*>(address);
}

TEST(GlobalMemory, FreshMemoryIsAlignedAndPoisoned) {
  GlobalMemory memory;
  const uint64_t first = memory.allocate(100, 0, MemoryKind::device, "first");
  const uint64_t second = memory.allocate(5000, 0, MemoryKind::device, "second");
  ASSERT_NE(first, 0u);
  EXPECT_EQ(first % GlobalMemory::kAlignment, 0u);
  EXPECT_EQ(second % GlobalMemory::kAlignment, 0u);
  EXPECT_GE(second, first + 100 + 256);  // a red zone between them
  for (uint64_t index = 0; index < 5000; ++index) {
    ASSERT_EQ(at(second)[index], 0xD7) << index;
  }
}

TEST(GlobalMemory, FindsTheAllocationOfAnAddressAndTheNearestOfNone) {
  GlobalMemory memory;
  const uint64_t first = memory.allocate(100, 0, MemoryKind::device, "first");
  const uint64_t second = memory.allocate(100, 1, MemoryKind::device, "second");
  const auto map = memory.snapshot();
  ASSERT_NE(map->find(first + 99), nullptr);
  EXPECT_EQ(map->find(first + 99)->label, "first");
  EXPECT_EQ(map->find(first + 100), nullptr);
  EXPECT_EQ(map->find(first - 1), nullptr);
  EXPECT_EQ(map->find(second)->device, 1);
  EXPECT_EQ(map->nearest(first + 101)->label, "first");
  EXPECT_EQ(map->nearest(second - 1)->label, "second");
  EXPECT_EQ(map->nearest(1)->label, "first");
  EXPECT_TRUE(memory.in_arena(first + 100));
  int local = 0;
  EXPECT_FALSE(memory.in_arena(reinterpret_cast<uint64_t>(&local)));
}

TEST(GlobalMemory, FreedMemoryIsPoisonedKnownAndNeverGivenAgain) {
  GlobalMemory memory;
  const uint64_t base = memory.allocate(64, 0, MemoryKind::device, "gone");
  EXPECT_TRUE(memory.release(base));
  EXPECT_FALSE(memory.release(base));
  EXPECT_FALSE(memory.release(base + 1));
  for (int index = 0; index < 64; ++index) {
    ASSERT_EQ(at(base)[index], 0xDD);
  }
  Allocation found;
  ASSERT_TRUE(memory.find(base + 10, &found));
  EXPECT_TRUE(found.freed);
  EXPECT_EQ(memory.live_bytes(0), 0u);
  for (int round = 0; round < 100; ++round) {
    const uint64_t other = memory.allocate(64, 0, MemoryKind::device, "other");
    EXPECT_NE(other, base);
    memory.release(other);
  }
}

TEST(GlobalMemory, RemembersManyFreedAllocationsButNotAll) {
  GlobalMemory memory;
  const uint64_t kept = memory.allocate(16, 0, MemoryKind::device, "kept");
  for (int round = 0; round < 10000; ++round) {
    memory.release(memory.allocate(16, 0, MemoryKind::device, "passing"));
  }
  EXPECT_LE(memory.snapshot()->all().size(), 4097u);
  EXPECT_TRUE(memory.release(kept));
}

TEST(GlobalMemory, AdoptsMemoryOfOthers) {
  GlobalMemory memory;
  uint8_t bytes[256];
  const auto base = reinterpret_cast<uint64_t>(bytes);
  EXPECT_TRUE(memory.adopt(base, 256, -1, MemoryKind::registered_host, "mine"));
  EXPECT_FALSE(memory.adopt(base + 10, 5, -1, MemoryKind::registered_host, "again"));
  EXPECT_FALSE(memory.release(base));
  EXPECT_TRUE(memory.forget(base));
  EXPECT_FALSE(memory.forget(base));
}

TEST(GlobalMemory, ReleasesWhatADeviceHolds) {
  GlobalMemory memory;
  memory.allocate(1000, 0, MemoryKind::device, "a");
  memory.allocate(500, 0, MemoryKind::variable, "b");
  memory.allocate(300, 1, MemoryKind::device, "c");
  EXPECT_EQ(memory.live_bytes(0), 1500u);
  memory.release_device(0);
  EXPECT_EQ(memory.live_bytes(0), 0u);
  EXPECT_EQ(memory.live_bytes(1), 300u);
}

TEST(GlobalMemory, RefusesMoreThanThereIs) {
  GlobalMemory memory;
  EXPECT_EQ(memory.allocate(uint64_t{1} << 60, 0, MemoryKind::device, "all"), 0u);
}

TEST(GlobalMemory, PinnedMemoryIsOpenToTheHost) {
  GlobalMemory memory;
  memory.set_protection(true);
  const uint64_t base = memory.allocate(10, 0, MemoryKind::pinned_host, "pinned");
  at(base)[3] = 7;
  EXPECT_EQ(at(base)[3], 7);
  Allocation found;
  ASSERT_TRUE(memory.find(base, &found));
  EXPECT_EQ(found.device, -1);
}

TEST(GlobalMemoryDeathTest, ProtectedDeviceMemoryFaultsInHostCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  GlobalMemory memory;
  memory.set_protection(true);
  const uint64_t base = memory.allocate(4096, 0, MemoryKind::device, "closed");
  {
    const GlobalMemory::Access access(memory);
    const GlobalMemory::Access nested(memory);
    at(base)[0] = 1;
  }
  EXPECT_EXIT(std::exit(at(base)[0] == 1 ? 0 : 1), testing::KilledBySignal(SIGSEGV), "");
}

TEST(GlobalMemoryDeathTest, FreedPinnedMemoryFaultsInHostCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  GlobalMemory memory;
  const uint64_t base = memory.allocate(10, 0, MemoryKind::pinned_host, "pinned");
  ASSERT_TRUE(memory.release(base));
  EXPECT_EXIT(std::exit(at(base)[0]), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace emu
