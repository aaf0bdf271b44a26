// SPDX-License-Identifier: Apache-2.0
// EMU_DEVICES and EMU_FAULT as texts.
#include <gtest/gtest.h>

#include "runtime/device_spec.hpp"
#include "runtime/fault_plan.hpp"

namespace emu::runtime {
namespace {

TEST(Devices, AreListedWithCountsAndOptions) {
  const DeviceList list = parse_devices("12.0*2,10.0,9.0:sms=8:mem=2G");
  ASSERT_EQ(list.error, "");
  ASSERT_EQ(list.devices.size(), 4u);
  EXPECT_EQ(list.devices[1].capability, 120);
  EXPECT_EQ(list.devices[1].multiprocessors, 4);
  EXPECT_EQ(list.devices[1].memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(list.devices[2].capability, 100);
  EXPECT_EQ(list.devices[3].capability, 90);
  EXPECT_EQ(list.devices[3].multiprocessors, 8);
  EXPECT_EQ(list.devices[3].memory_bytes, uint64_t{2} << 30);
  EXPECT_EQ(list.devices[2].name(2), "Emulated 10.0 device 2");
}

// The table of specification 3.7.
TEST(Devices, HaveTheLimitsOfTheirCapability) {
  struct Row {
    const char* capability;
    int optin, per_multiprocessor, threads, blocks, l2_mib;
    bool clusters;
  };
  for (const Row& row : {Row{"8.0", 166912, 167936, 2048, 32, 40, false},
                         Row{"8.6", 101376, 102400, 1536, 16, 6, false},
                         Row{"8.9", 101376, 102400, 1536, 24, 72, false},
                         Row{"9.0", 232448, 233472, 2048, 32, 50, true},
                         Row{"10.0", 232448, 233472, 2048, 32, 126, true},
                         Row{"10.3", 232448, 233472, 2048, 32, 126, true},
                         Row{"12.0", 101376, 102400, 1536, 24, 96, true},
                         Row{"12.1", 101376, 102400, 1536, 24, 96, true}}) {
    const DeviceList list = parse_devices(row.capability);
    ASSERT_EQ(list.devices.size(), 1u) << row.capability;
    const DeviceSpec& spec = list.devices[0];
    EXPECT_EQ(spec.shared_per_block_optin, row.optin);
    EXPECT_EQ(spec.shared_per_multiprocessor, row.per_multiprocessor);
    EXPECT_EQ(spec.threads_per_multiprocessor, row.threads);
    EXPECT_EQ(spec.blocks_per_multiprocessor, row.blocks);
    EXPECT_EQ(spec.l2_bytes, row.l2_mib << 20);
    EXPECT_EQ(spec.cluster_launch, row.clusters);
  }
}

TEST(Devices, AnythingElseIsAnErrorThatListsWhatIsKnown) {
  for (const char* text :
       {"", "sm_120", "12.0a", "12", "7.5", "12.0,", ",12.0", "12.0*0", "12.0*x", "12.0*65",
        "12.0*2*2", "12.0:sms=0", "12.0:sms=", "12.0:sm=3", "12.0:mem=0", "12.0:mem=1T",
        "12.0:mem=99999999G", "12.0 ", "12.0*40,10.0*40"}) {
    const DeviceList list = parse_devices(text);
    EXPECT_TRUE(list.devices.empty()) << text;
    EXPECT_NE(list.error.find("EMU_DEVICES is '" + std::string(text) + "'"), std::string::npos)
        << list.error;
    EXPECT_NE(list.error.find("8.0, 8.6, 8.9, 9.0, 10.0, 10.3, 12.0, 12.1"), std::string::npos);
  }
}

TEST(Faults, CountPerProcessOrPerDevice) {
  const FaultList list = parse_faults("malloc:2,launch:1@1,lost@0", 2);
  ASSERT_EQ(list.error, "");
  FaultPlan plan(list.faults);
  EXPECT_FALSE(plan.strikes(Injection::kMalloc, 0));
  EXPECT_TRUE(plan.strikes(Injection::kMalloc, 1));  // the second of the process
  EXPECT_FALSE(plan.strikes(Injection::kMalloc, 0));
  EXPECT_FALSE(plan.strikes(Injection::kLaunch, 0));
  EXPECT_TRUE(plan.strikes(Injection::kLaunch, 1));  // the first of device 1
  EXPECT_FALSE(plan.strikes(Injection::kLaunch, 1));
  EXPECT_FALSE(plan.strikes(Injection::kMemcpy, 0));
  EXPECT_TRUE(plan.is_lost(0));
  EXPECT_FALSE(plan.is_lost(1));
  plan.restart();
  EXPECT_FALSE(plan.strikes(Injection::kMalloc, 0));
  EXPECT_TRUE(plan.strikes(Injection::kMalloc, 0));
}

TEST(Faults, NothingIsNoFault) {
  EXPECT_EQ(parse_faults("", 1).error, "");
  EXPECT_TRUE(parse_faults("", 1).faults.empty());
}

TEST(Faults, AnythingElseIsAnErrorThatListsWhatIsKnown) {
  for (const char* text : {"malloc", "malloc:0", "malloc:x", "lost:1", "free:1", "launch:1@2",
                           "launch:1@", "launch:1@-1", "launch:-1", ","}) {
    const FaultList list = parse_faults(text, 2);
    EXPECT_TRUE(list.faults.empty()) << text;
    EXPECT_NE(list.error.find("malloc:N, launch:N, launch-once:N, memcpy:N"), std::string::npos)
        << text << ": " << list.error;
    EXPECT_NE(list.error.find("there are 2 devices"), std::string::npos);
  }
}

}  // namespace
}  // namespace emu::runtime
