// SPDX-License-Identifier: Apache-2.0
// The mutants of PTX texts: every kind that the specification names (11.6), and each of them must
// still parse.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "check/mutation.hpp"
#include "ptx/module.hpp"

namespace emu {
namespace {

std::string kernel(const std::string& body) {
  return R"(.version 9.0
.target sm_120f
.address_size 64
.visible .entry k()
{
.reg .pred %p<4>;
.reg .b16 %rs<4>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .f32 %f<4>;
)" + body +
         "\nret;\n}\n";
}

// The text in place of `body` after each mutant: from what differs first to what differs last.
struct Change {
  std::string what;
  std::string text;
};

std::vector<Change> changes(const std::string& body) {
  const std::string text = kernel(body);
  EXPECT_NE(ptx::parse(text, "test").module, nullptr);
  std::vector<Change> result;
  for (const Mutant& mutant : list_mutants(text)) {
    const std::string mutated = apply_mutant(text, mutant);
    EXPECT_NE(ptx::parse(mutated, "test").module, nullptr) << mutated;
    const std::string head = kernel("");
    const size_t begin = head.find("\nret;");
    const std::string rest = mutated.substr(begin, mutated.rfind("\nret;") - begin);
    result.push_back({mutant.what, rest});
  }
  return result;
}

std::string changed(const std::string& body, const std::string& what) {
  for (const Change& change : changes(body)) {
    if (change.what.starts_with(what + ": ")) {
      return change.text;
    }
  }
  return "no mutant '" + what + "'";
}

TEST(Mutation, EverySynchronisingInstructionIsDropped) {
  for (const char* instruction : {
           "fence.proxy.async.shared::cta;",
           "membar.gl;",
           "bar.sync 0;",
           "bar.warp.sync 0xffffffff;",
           "barrier.cluster.arrive.relaxed.aligned;",
           "barrier.cluster.wait.acquire.aligned;",
           "mbarrier.arrive.shared::cta.b64 %rd1, [%r1];",
           "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], %r2;",
           "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 64;",
           "cp.async.wait_group 1;",
           "cp.async.commit_group;",
           "cp.async.bulk.commit_group;",
           "cp.async.bulk.wait_group.read 0;",
           "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes "
           "[%r1], [%rd1, {%r2, %r3}], [%r4];",
           "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];",
           "tcgen05.fence::after_thread_sync;",
           "tcgen05.wait::ld.sync.aligned;",
           "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
           "[%r1], [%r2];",
       }) {
    EXPECT_EQ(changed(std::string("@%p1 ") + instruction, "dropped"), "") << instruction;
  }
}

TEST(Mutation, WaitsDoNotWait) {
  EXPECT_EQ(
      changed("@%p2 mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;", "does not wait"),
      "@%p2 setp.eq.u32 %p1, 0, 0;");
  EXPECT_EQ(changed("cp.async.bulk.wait_group.read 1;", "waits for one group less"),
            "cp.async.bulk.wait_group.read 2;");
}

TEST(Mutation, BytesAndArrivalsAreMiscounted) {
  const std::string expect = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], ";
  EXPECT_EQ(changed(expect + "64;", "expects 16 bytes less"), expect + "48;");
  EXPECT_EQ(changed(expect + "%r2;", "expects 16 bytes less"),
            "{ .reg .b32 %mutant; add.s32 %mutant, %r2, -16; " + expect + "%mutant; }");
  EXPECT_EQ(changed(expect + "64;", "expects no bytes"),
            "mbarrier.arrive.shared::cta.b64 _, [%r1];");
  EXPECT_EQ(changed("mbarrier.init.shared::cta.b64 [%r1], 3;", "half the arrivals"),
            "mbarrier.init.shared::cta.b64 [%r1], 1;");
  EXPECT_EQ(changed("mbarrier.init.shared::cta.b64 [%r1], 192;", "half the arrivals"),
            "mbarrier.init.shared::cta.b64 [%r1], 96;");
  EXPECT_TRUE(changes("mbarrier.init.shared::cta.b64 [%r1], 1;").empty());
  EXPECT_TRUE(changes("mov.u32 %r2, 1;\nmbarrier.init.shared::cta.b64 [%r1], %r2;").empty());
  EXPECT_EQ(changes("mov.u32 %r2, 2;\nmbarrier.init.shared::cta.b64 [%r1], %r2;").size(), 1u);
}

TEST(Mutation, OperandsOfTensorMemoryProductsAreExchangedAndShifted) {
  const auto mma = [](const char* rest) {
    return std::string("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32 [%r1],") + rest;
  };
  const std::string body = mma(" %rd1, %rd11, %r2, [%r3], [%r4], %p1;");
  EXPECT_EQ(changed(body, "scales of A and B exchanged"),
            mma(" %rd1, %rd11, %r2, [%r4], [%r3], %p1;"));
  EXPECT_EQ(changed(body, "A and B exchanged"), mma(" %rd11, %rd1, %r2, [%r3], [%r4], %p1;"));
  EXPECT_EQ(changed(body, "scales of A one column further"),
            mma(" %rd1, %rd11, %r2, [%r3+1], [%r4], %p1;"));
  EXPECT_EQ(changed(body, "scales of B one column further"),
            mma(" %rd1, %rd11, %r2, [%r3], [%r4+1], %p1;"));
  EXPECT_EQ(changed(body, "A 32 bytes further"),
            "{ .reg .b64 %mutant; add.s64 %mutant, %rd1, 2; " +
                mma(" %mutant, %rd11, %r2, [%r3], [%r4], %p1; }"));
  // %rd1 is the beginning of the first operand's name, too.
  EXPECT_EQ(changed(mma(" %rd11, %rd1, %r2, [%r3], [%r4], %p1;"), "rows of B apart"),
            "{ .reg .b64 %mutant; add.s64 %mutant, %rd1, 0x100000000; " +
                mma(" %rd11, %mutant, %r2, [%r3], [%r4], %p1; }"));
}

TEST(Mutation, ScalesOfAWarpsProductAreExchangedAndReadElsewhere) {
  const std::string head =
      "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1."
      "f32.ue8m0 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3},";
  EXPECT_EQ(
      changed(head + " {%r7}, {%rs0, %rs0}, {%r8}, {%rs0, %rs0};", "scales of A and B exchanged"),
      head + " {%r8}, {%rs0, %rs0}, {%r7}, {%rs0, %rs0};");

  // %r7 comes from %rs2; %r1 is no scale.
  const std::string body =
      "ld.shared.u32 %r1, [%r9];\nld.shared.u16 %rs2, [%r9+2];\ncvt.u32.u16 %r7, %rs2;\n" + head +
      " {%r7}, {%rs0, %rs0}, {%r8}, {%rs0, %rs0};";
  const std::vector<Change> all = changes(body);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const Change& c) { return c.what.starts_with("one element"); }),
            1);
  EXPECT_NE(changed(body, "one element further").find("ld.shared.u16 %rs2, [%r9+4];"),
            std::string::npos);
  EXPECT_EQ(changed("ld.global.nc.u8 %rs1, [%rd1];", "one element further"),
            "ld.global.nc.u8 %rs1, [%rd1+1];");
}

TEST(Mutation, TheContextIsThatOfTheOpcodesAround) {
  const auto context = [](const std::string& body) {
    return list_mutants(kernel(body))[0].context;
  };
  const std::string after = "add.u32 %r1, %r1, 1;";
  EXPECT_EQ(context("bar.sync 0;" + after), context("bar.sync 1; add.u32 %r2, %r3, %r4;"));
  EXPECT_NE(context("bar.sync 0;" + after), context("bar.sync 0; sub.u32 %r1, %r1, 1;"));
  EXPECT_NE(context("bar.sync 0;" + after), context(after + "bar.sync 0;"));
}

TEST(Mutation, TheSettingNamesAKernelAndANumber) {
  const std::string text = kernel("bar.sync 0;");
  EXPECT_EQ(mutate_as_set(text, "another:0"), text);
  EXPECT_EQ(mutate_as_set(text, "k:list"), text);
  EXPECT_EQ(mutate_as_set(text, "k:0").find("bar.sync"), std::string::npos);
  for (const char* wrong : {"k", "k:", "k:x", "k:0x", "k:1"}) {
    EXPECT_THROW(mutate_as_set(text, wrong), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace emu
