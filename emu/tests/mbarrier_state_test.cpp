// SPDX-License-Identifier: Apache-2.0
#include "isa/mbarrier_state.hpp"

#include <gtest/gtest.h>

#include "isa/bulk_groups.hpp"
#include "isa/launch_control_response.hpp"

namespace emu {
namespace {

TEST(MbarrierState, BitsSurviveTheRoundTrip) {
  for (const uint32_t phase : {0u, 1u}) {
    for (const uint32_t count : {1u, 2u, 0xABCDEu, kMbarrierMaxCount}) {
      for (const int64_t tx :
           {int64_t{0}, int64_t{64}, int64_t{-64}, kMbarrierMaxTx, -kMbarrierMaxTx}) {
        const MbarrierState s{phase, count - 1, count, static_cast<int32_t>(tx)};
        EXPECT_EQ(unpack_mbarrier(pack_mbarrier(s)), s);
      }
    }
  }
}

TEST(MbarrierState, WorkedSequence) {
  MbarrierState s;
  ASSERT_EQ(init_mbarrier(s, 1), nullptr);
  ASSERT_EQ(mbarrier_arrive(s, 1, 64), nullptr);
  EXPECT_EQ(s, (MbarrierState{0, 0, 1, 64}));
  ASSERT_EQ(mbarrier_complete_tx(s, 32), nullptr);
  EXPECT_EQ(s.tx, 32);
  EXPECT_FALSE(mbarrier_phase_over(s, 0));
  ASSERT_EQ(mbarrier_complete_tx(s, 32), nullptr);
  EXPECT_EQ(s, (MbarrierState{1, 1, 1, 0}));
  EXPECT_TRUE(mbarrier_phase_over(s, 0));
  EXPECT_FALSE(mbarrier_phase_over(s, 1));
}

TEST(MbarrierState, CompletionMayPrecedeTheExpectation) {
  MbarrierState s;
  ASSERT_EQ(init_mbarrier(s, 1), nullptr);
  ASSERT_EQ(mbarrier_complete_tx(s, 64), nullptr);
  EXPECT_EQ(s.tx, -64);
  EXPECT_EQ(s.phase, 0u);
  ASSERT_EQ(mbarrier_arrive(s, 1, 64), nullptr);
  EXPECT_EQ(s, (MbarrierState{1, 1, 1, 0}));
}

TEST(MbarrierState, StandAloneExpectationKeepsThePhaseOpen) {
  MbarrierState s;
  ASSERT_EQ(init_mbarrier(s, 1), nullptr);
  ASSERT_EQ(mbarrier_expect_tx(s, 16), nullptr);
  ASSERT_EQ(mbarrier_arrive(s, 1), nullptr);
  EXPECT_EQ(s.phase, 0u);
  ASSERT_EQ(mbarrier_complete_tx(s, 16), nullptr);
  EXPECT_EQ(s.phase, 1u);
}

TEST(MbarrierState, DropLowersLaterPhases) {
  MbarrierState s;
  ASSERT_EQ(init_mbarrier(s, 3), nullptr);
  ASSERT_EQ(mbarrier_arrive(s, 1, 0, true), nullptr);
  ASSERT_EQ(mbarrier_arrive(s, 2), nullptr);
  EXPECT_EQ(s, (MbarrierState{1, 2, 2, 0}));
}

TEST(MbarrierState, FaultsLeaveTheStateAlone) {
  MbarrierState s;
  EXPECT_NE(init_mbarrier(s, 0), nullptr);
  EXPECT_NE(init_mbarrier(s, kMbarrierMaxCount + 1), nullptr);
  ASSERT_EQ(init_mbarrier(s, 1), nullptr);
  const MbarrierState before = s;
  EXPECT_NE(mbarrier_arrive(s, 2), nullptr);
  EXPECT_NE(mbarrier_arrive(s, 0), nullptr);
  EXPECT_NE(mbarrier_arrive(s, 1, 1u << 20), nullptr);
  EXPECT_NE(mbarrier_complete_tx(s, 1u << 20), nullptr);
  EXPECT_EQ(s, before);
  ASSERT_EQ(mbarrier_arrive(s, 1, 8), nullptr);
  EXPECT_NE(mbarrier_arrive(s, 1), nullptr);  // nothing is pending, the phase waits for its bytes
}

TEST(AsyncGroups, WaitNamesTheOldGroupsNotTheirNumber) {
  AsyncGroups groups;
  uint64_t handle[3];
  for (uint64_t& h : handle) {
    h = groups.join();
    groups.commit();
  }
  for (const int g : {1, 2}) {
    groups.source_read(handle[g]);
    groups.done(handle[g]);
  }
  EXPECT_FALSE(groups.finished(1, false));  // group 0 is among "all but the most recent one"
  EXPECT_FALSE(groups.finished(2, false));
  EXPECT_TRUE(groups.finished(3, false));
  groups.source_read(handle[0]);
  EXPECT_TRUE(groups.finished(0, true));
  EXPECT_FALSE(groups.finished(0, false));
  groups.done(handle[0]);
  EXPECT_TRUE(groups.finished(0, false));
}

TEST(AsyncGroups, OpenGroupIsNotWaitedFor) {
  AsyncGroups groups;
  const uint64_t handle = groups.join();
  EXPECT_TRUE(groups.finished(0, false));
  EXPECT_FALSE(groups.open_is_empty());
  groups.commit();
  EXPECT_TRUE(groups.open_is_empty());
  EXPECT_FALSE(groups.finished(0, false));
  EXPECT_EQ(groups.unfinished(), 1u);
  groups.commit();  // an empty group counts as one
  EXPECT_TRUE(groups.finished(2, false));
  EXPECT_FALSE(groups.finished(1, false));
  groups.source_read(handle);
  groups.done(handle);
  EXPECT_TRUE(groups.finished(0, false));
  EXPECT_EQ(groups.committed(), 2u);
}

TEST(LaunchControlResponse, RoundTripAndPoison) {
  const LaunchControlResponse taken{true, {7, 0xFFFFFFFF, 3}};
  const DecodedResponse decoded = decode_response(encode_response(taken));
  EXPECT_TRUE(decoded.valid);
  EXPECT_TRUE(decoded.response.canceled);
  EXPECT_EQ(decoded.response.ctaid, taken.ctaid);
  const DecodedResponse none = decode_response(encode_response({}));
  EXPECT_TRUE(none.valid);
  EXPECT_FALSE(none.response.canceled);
  EXPECT_TRUE(decode_response({0, 0}).valid);  // written by a kernel
  EXPECT_FALSE(decode_response({0xE7E7E7E7E7E7E7E7, 0xE7E7E7E7E7E7E7E7}).valid);
}

}  // namespace
}  // namespace emu
