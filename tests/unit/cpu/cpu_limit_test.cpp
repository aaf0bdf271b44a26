// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_limit.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace mxgemm::cpu {
namespace {

// A folder that looks like the root of a machine.
class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = testing::TempDir() + "mxgemm_cgroup_" + std::to_string(getpid()) + "_" + test->name();
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int32_t limit() const { return cgroup_cpu_limit(root_); }

 private:
  std::string root_;
};

TEST_F(CgroupTest, NoFilesMeansNoLimit) {
  EXPECT_EQ(limit(), 0);
}

TEST_F(CgroupTest, GroupFileWithoutQuotaFiles) {
  write("/proc/self/cgroup", "0::/user.slice/a\n");
  EXPECT_EQ(limit(), 0);
}

TEST_F(CgroupTest, Version2Quota) {
  write("/proc/self/cgroup", "0::/\n");
  const struct {
    const char* text;
    int32_t limit;
  } cases[] = {
      {"max 100000\n", 0},
      {"200000 100000\n", 2},
      {"150000 100000\n", 2},
      {"100000 100000\n", 1},
      {"1000 100000\n", 1},
      {"100001 100000\n", 2},
      {"6400000 50000\n", 128},
      {"9223372036854775807 1\n", 1 << 20},
      {"", 0},
      {"200000", 0},
      {"0 100000\n", 0},
      {"-1 100000\n", 0},
      {"200000 0\n", 0},
      {"2x 100000\n", 0},
      {"99999999999999999999 100000\n", 0},
  };
  for (const auto& one : cases) {
    write("/sys/fs/cgroup/cpu.max", one.text);
    EXPECT_EQ(limit(), one.limit) << one.text;
  }
}

TEST_F(CgroupTest, Version2TakesTheSmallestOfAllAncestors) {
  write("/proc/self/cgroup", "0::/kubepods/pod1/container\n");
  write("/sys/fs/cgroup/kubepods/cpu.max", "1600000 100000\n");
  EXPECT_EQ(limit(), 16);
  write("/sys/fs/cgroup/kubepods/pod1/container/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 16);
  write("/sys/fs/cgroup/kubepods/pod1/cpu.max", "300000 100000\n");
  EXPECT_EQ(limit(), 3);
  write("/sys/fs/cgroup/kubepods/pod1/container/cpu.max", "250000 50000\n");
  EXPECT_EQ(limit(), 3);
  write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(limit(), 1);
}

TEST_F(CgroupTest, Version2OtherGroupsDoNotCount) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/c/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/b/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/a/b/below/cpu.max", "100000 100000\n");
  EXPECT_EQ(limit(), 0);
}

TEST_F(CgroupTest, ContainerThatSeesTheMachinesPath) {
  write("/proc/self/cgroup", "0::/docker/0123456789ab\n");  // no such folder inside the container
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(limit(), 2);
}

TEST_F(CgroupTest, PathOutsideTheNamespaceIsNotFollowed) {
  write("/proc/self/cgroup", "0::/../../other\n");
  write("/sys/other/cpu.max",
        "100000 100000\n");  // where <mount>/../../other would lead from a folder deeper
  write("/other/cpu.max", "100000 100000\n");
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 4);
}

TEST_F(CgroupTest, Version1Quota) {
  write("/proc/self/cgroup",
        "12:pids:/x\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n0::/system.slice\n");
  const std::string folder = "/sys/fs/cgroup/cpu,cpuacct/docker/abc";
  write(folder + "/cpu.cfs_period_us", "100000\n");
  write(folder + "/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(limit(), 0);
  write(folder + "/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(limit(), 3);
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  EXPECT_EQ(limit(), 2);
}

TEST_F(CgroupTest, Version1ControllerAlone) {
  write("/proc/self/cgroup", "3:cpuset:/g\n2:cpu:/g\n");
  write("/sys/fs/cgroup/cpuset/g/cpu.cfs_quota_us", "100000\n");
  write("/sys/fs/cgroup/cpuset/g/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 0) << "cpuset is another controller";
  write("/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "700000\n");
  EXPECT_EQ(limit(), 0) << "no period";
  write("/sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 7);
}

TEST_F(CgroupTest, Version1OrderOfControllersDiffersFromTheFolder) {
  write("/proc/self/cgroup", "5:cpuacct,cpu:/g\n");
  write("/sys/fs/cgroup/cpu/g/cpu.cfs_quota_us", "500000\n");
  write("/sys/fs/cgroup/cpu/g/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 5);
}

TEST_F(CgroupTest, LinesThatMakeNoSense) {
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  write("/proc/self/cgroup", "\n:\nabc\n0:\n0::\n0::relative\n");
  EXPECT_EQ(limit(), 0);
  write("/proc/self/cgroup", "\nabc\n0::/\n");
  EXPECT_EQ(limit(), 2);
}

TEST(AffinityTest, CountsTheMaskOfTheCallingThread) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(affinity_cpu_count(), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) {
    ++first;
  }
  int32_t counted = 0;
  int32_t usable = 0;
  std::thread([&] {  // the mask is a thread's own: this one leaves the test's alone
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof(one), &one) == 0) {
      counted = affinity_cpu_count();
      usable = usable_cpus();
    }
  })
      .join();
  EXPECT_EQ(counted, 1);
  EXPECT_EQ(usable, 1);
  EXPECT_EQ(affinity_cpu_count(), CPU_COUNT(&before));
}

TEST(AffinityTest, UsableCpusAreWithinBothLimits) {
  EXPECT_GE(usable_cpus(), 1);
  EXPECT_LE(usable_cpus(), affinity_cpu_count());
  const int32_t quota = cgroup_cpu_limit("");
  EXPECT_TRUE(quota == 0 || usable_cpus() <= quota);
}

}  // namespace
}  // namespace mxgemm::cpu
