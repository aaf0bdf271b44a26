// SPDX-License-Identifier: Apache-2.0
// Loads, stores, state spaces and the checks on every access
// (specification 5.3, 5.4, 7.7, 9.1, 9.2).
#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

const char* kRegisters = R"(
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .b16 %h<4>; .reg .b128 %q; .reg .pred %p<4>;
    ld.param.u64 %rd0, [out];
)";

TEST(Memory, LoadsExtendAndStoresTruncate) {
  KernelRunner run(kernel(std::string(kRegisters) + R"(
    ld.global.s8 %r0, [%rd0];
    ld.global.u8 %r1, [%rd0];
    ld.global.s16 %rd1, [%rd0+2];
    ld.global.v2.b64 {%rd2, %rd3}, [%rd0+16];
    ld.global.b128 %q, [%rd0+16];
    st.global.v4.u32 [%rd0+32], {%r0, %r1, %r0, 9};
    st.global.u64 [%rd0+48], %rd1;
    st.global.u8 [%rd0+56], %rd2;
    st.global.b128 [%rd0+64], %q;)"));
  std::vector<uint8_t> bytes(80, 0);
  bytes[0] = 0x80;
  bytes[3] = 0xFF;
  for (uint8_t i = 0; i < 16; ++i) {
    bytes[16 + i] = static_cast<uint8_t>(i + 1);
  }
  const uint64_t out = run.buffer(bytes);
  const LaunchResult result = run.run({out}, {}, {1, 1, 1});
  ASSERT_TRUE(result.ok());
  const auto words = run.read<uint32_t>(out, 20);
  EXPECT_EQ(words[8], 0xFFFFFF80u);
  EXPECT_EQ(words[9], 0x80u);
  EXPECT_EQ(words[11], 9u);
  EXPECT_EQ(words[12], 0xFFFFFF00u);
  EXPECT_EQ(words[13], 0xFFFFFFFFu);
  EXPECT_EQ(words[14], 0x01u);
  EXPECT_EQ(words[16], 0x04030201u);
  EXPECT_EQ(words[19], 0x100F0E0Du);
}

TEST(Memory, AVectorLoadMayOverwriteItsAddress) {
  KernelRunner run(kernel(std::string(kRegisters) + R"(
    ld.global.v2.u64 {%rd0, %rd1}, [%rd0];
    ld.param.u64 %rd2, [out];
    st.global.u64 [%rd2], %rd1;)"));
  const uint64_t out = run.buffer<uint64_t>({5, 6});
  EXPECT_TRUE(run.run({out}, {}, {1, 1, 1}).ok());
  EXPECT_EQ(run.read<uint64_t>(out, 1)[0], 6u);
}

TEST(Memory, SharedLocalAndConstantHaveTheirWindows) {
  KernelRunner run(kernel(std::string(R"(
    .shared .align 8 .b8 tile[16];
    .local .align 4 .b8 depot[8];
)") + kRegisters + R"(
    mov.u32 %r0, tile;
    st.shared.u32 [%r0+4], 77;
    cvt.u64.u32 %rd1, %r0;
    cvta.shared.u64 %rd1, %rd1;
    ld.u32 %r1, [%rd1+4];
    st.global.u32 [%rd0], %r1;
    mov.u64 %rd2, depot;
    cvta.local.u64 %rd3, %rd2;
    st.u32 [%rd3], 88;
    ld.local.u32 %r2, [depot];
    st.global.u32 [%rd0+4], %r2;
    ld.const.u32 %r3, [table+4];
    st.global.u32 [%rd0+8], %r3;
    st.global.u32 [%rd0+12], %r0;
    isspacep.shared %p0, %rd1;
    selp.u32 %r4, 1, 0, %p0;
    st.global.u32 [%rd0+16], %r4;
    isspacep.global %p1, %rd1;
    selp.u32 %r4, 1, 0, %p1;
    st.global.u32 [%rd0+20], %r4;)",
                          "sm_80", ".const .u32 table[2] = {5, 6};\n"));
  const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(6));
  const LaunchResult result = run.run({out}, {}, {1, 1, 1});
  ASSERT_TRUE(result.ok());
  // Static shared variables begin after the reserved kilobyte.
  EXPECT_EQ(run.read<uint32_t>(out, 6), (std::vector<uint32_t>{77, 88, 6, 1024, 1, 0}));
}

TEST(Memory, DynamicSharedMemoryFollowsTheStaticVariables) {
  const auto base_of = [](const std::string& before, const std::string& variables) {
    KernelRunner run(
        kernel(variables + kRegisters + "mov.u32 %r0, dynamic;\n" + "st.global.u32 [%rd0], %r0;",
               "sm_80", before));
    run.dynamic_shared = 64;
    const uint64_t out = run.buffer<uint32_t>({0});
    EXPECT_TRUE(run.run({out}, {}, {1, 1, 1}).ok());
    return run.read<uint32_t>(out, 1)[0];
  };
  const std::string small = ".extern .shared .align 4 .b8 dynamic[];\n";
  const std::string large = ".extern .shared .align 1024 .b8 dynamic[];\n";
  EXPECT_EQ(base_of(small, ""), 1024u);
  EXPECT_EQ(base_of(small, ".shared .b8 x[5];"), 1040u);
  EXPECT_EQ(base_of(large, ".shared .b8 x[5];"), 2048u);
}

TEST(Memory, ParametersAreReadInAllThreeWays) {
  KernelRunner run(ptx_head() + R"(
.visible .entry k(.param .u64 out, .param .align 16 .b8 block[32]) {
    .reg .b64 %rd<9>; .reg .b32 %r<9>;
    ld.param.u64 %rd0, [out];
    mov.b64 %rd1, block;
    ld.param.u32 %r0, [%rd1+4];
    ld.param.v2.u32 {%r1, %r2}, [block+8];
    cvta.param.u64 %rd2, %rd1;
    ld.u32 %r3, [%rd2+16];
    ld.global.u32 %r4, [%rd2+20];
    st.global.v4.u32 [%rd0], {%r0, %r1, %r2, %r3};
    st.global.u32 [%rd0+16], %r4;
    ret; })");
  ASSERT_EQ(run.program().find_kernel("k")->param_bytes, 48u);
  const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(8));
  const LaunchResult result = run.run(
      {out, 0, 0x0000000200000001, 0x0000000400000003, 0x0000000600000005, 0x0000000800000007}, {},
      {1, 1, 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(run.read<uint32_t>(out, 5), (std::vector<uint32_t>{2, 3, 4, 5, 6}));
}

struct BadAccess {
  const char* name;
  const char* body;
  FaultKind kind;
  const char* part;
};

class BadAccesses : public ::testing::TestWithParam<BadAccess> {};

TEST_P(BadAccesses, AreReported) {
  KernelRunner run(kernel(std::string(".shared .align 16 .b8 tile[64];\n"
                                      ".local .align 4 .b8 depot[8];\n") +
                              kRegisters + GetParam().body,
                          "sm_80", ".const .u32 table[2] = {5, 6};\n"));
  const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(16));
  testing::internal::CaptureStderr();
  const LaunchResult result = run.run({out}, {}, {1, 1, 1});
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.fault.kind, GetParam().kind) << printed;
  EXPECT_NE(printed.find(GetParam().part), std::string::npos) << printed;
  EXPECT_NE(printed.find("kernel k"), std::string::npos) << printed;
}

INSTANTIATE_TEST_SUITE_P(
    Memory, BadAccesses,
    ::testing::Values(
        BadAccess{"past_the_end", "ld.global.u32 %r0, [%rd0+64];", FaultKind::illegal_address,
                  "0 bytes after the end of allocation"},
        BadAccess{"before", "st.global.u32 [%rd0+-4], 1;", FaultKind::illegal_address,
                  "4 bytes before allocation"},
        BadAccess{"across_the_end", "ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%rd0+64];",
                  FaultKind::illegal_address, "allocation"},
        BadAccess{"misaligned", "ld.global.u32 %r0, [%rd0+2];", FaultKind::misaligned_address,
                  "no multiple of 4"},
        BadAccess{"null", "ld.global.u32 %r0, [0];", FaultKind::illegal_address, "0x0"},
        BadAccess{"reserved_shared", "ld.shared.u32 %r0, [1020];", FaultKind::illegal_address,
                  "reserves"},
        BadAccess{"shared_outside", "st.shared.u32 [tile+64], 1;", FaultKind::illegal_address,
                  "outside the CTA's 64 bytes"},
        BadAccess{"shared_of_another_rank", "mov.u32 %r0, 0x1000400; st.shared.u32 [%r0], 1;",
                  FaultKind::illegal_address, "rank 1"},
        BadAccess{"rank_beyond_cluster", "mov.u32 %r0, 0x1000400; st.shared::cluster.u32 [%r0], 1;",
                  FaultKind::illegal_address, "cluster has 1"},
        BadAccess{"never_written", "ld.shared.u32 %r0, [tile];", FaultKind::launch_failure,
                  "nothing has written"},
        BadAccess{"local_outside", "mov.u64 %rd1, depot; ld.local.u32 %r0, [%rd1+8];",
                  FaultKind::illegal_address, "local"},
        BadAccess{"param_outside", "ld.param.u64 %rd1, [out+8];", FaultKind::illegal_address,
                  "parameters"},
        BadAccess{"constant_written",
                  "mov.u64 %rd1, table; cvta.const.u64 %rd1, %rd1; st.u32 [%rd1], 1;",
                  FaultKind::illegal_address, "constant"},
        BadAccess{"atomic_outside", "atom.global.add.u32 %r0, [%rd0+64], 1;",
                  FaultKind::illegal_address, "atomic"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Memory, FreedMemoryAndOtherDevicesAreRefused) {
  KernelRunner run(kernel(std::string(kRegisters) + "ld.global.u32 %r0, [%rd0];"));
  const uint64_t freed = run.buffer<uint32_t>({1});
  run.memory.release(freed);
  EXPECT_EQ(run.run({freed}, {}, {1, 1, 1}).error(), 700);
  const uint64_t foreign = run.memory.allocate(64, 3, MemoryKind::device, "other");
  LaunchRequest request = run.request({foreign}, {}, {1, 1, 1});
  request.accessible_devices = 1;
  const LaunchResult result = launch(request, run.options);
  EXPECT_EQ(result.error(), 700);
  EXPECT_NE(result.fault.text.find("device 3"), std::string::npos) << result.fault.text;
  request.accessible_devices = 1 | 1 << 3;
  EXPECT_TRUE(launch(request, run.options).ok());
}

TEST(Memory, AtomicsOfAllKinds) {
  KernelRunner run(kernel(std::string(kRegisters) + R"(
    .reg .f32 %f<3>; .reg .f64 %d;
    atom.global.add.u32 %r0, [%rd0], 5;
    st.global.u32 [%rd0+64], %r0;
    atom.global.max.s32 %r0, [%rd0+4], 3;
    atom.global.min.u32 %r0, [%rd0+8], 3;
    atom.global.exch.b32 %r0, [%rd0+12], 9;
    atom.global.cas.b32 %r0, [%rd0+16], 4, 44;
    atom.global.cas.b32 %r0, [%rd0+20], 4, 44;
    red.global.add.f32 [%rd0+24], 0f3F800000;
    atom.global.inc.u32 %r0, [%rd0+28], 7;
    atom.global.dec.u32 %r0, [%rd0+32], 7;
    red.global.or.b32 [%rd0+36], 8;
    atom.global.add.noftz.bf16x2 %r1, [%rd0+40], 0x3F803F80;
    red.relaxed.gpu.global.add.u64 [%rd0+48], 1;
    red.global.add.f64 [%rd0+56], 0d3FF0000000000000;)"));
  const uint64_t out = run.buffer<uint32_t>({1, 0xFFFFFFFF, 9, 1, 4, 5, 0x40000000, 7, 0, 1,
                                             0x40003F80, 0, 0xFFFFFFFF, 0, 0, 0x3FF00000, 0});
  const LaunchResult result = run.run({out}, {}, {1, 1, 1});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(run.read<uint32_t>(out, 17),
            (std::vector<uint32_t>{6, 3, 3, 9, 44, 5, 0x40400000, 0, 7, 9, 0x40404000, 0, 0, 1, 0,
                                   0x40000000, 1}));
}

TEST(Memory, AtomicsOfManyThreadsAddUp) {
  const std::string text = kernel(std::string(kRegisters) + R"(
    atom.global.add.u32 %r0, [%rd0], 1;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd1, %rd0;
    st.global.u32 [%rd1+4], 1;)");
  for_portfolio([&](const Options& options) {
    KernelRunner run(text);
    run.options = options;
    const uint64_t out = run.buffer<uint32_t>(std::vector<uint32_t>(1 + 3 * 96));
    ASSERT_TRUE(run.run({out}, {3, 1, 1}, {96, 1, 1}).ok());
    const auto values = run.read<uint32_t>(out, 1 + 3 * 96);
    EXPECT_EQ(values[0], 3u * 96);
    for (size_t i = 1; i < values.size(); ++i) {
      EXPECT_EQ(values[i], 1u);
    }
  });
}

}  // namespace
}  // namespace emu::test
