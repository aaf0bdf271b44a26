// SPDX-License-Identifier: Apache-2.0
// Whole kernels from text to result: control flow, memory, calls, warp operations.
#include "tests/kernel_runner.hpp"

namespace emu::test {
namespace {

TEST(Kernel, StoresWhatItLoads) {
  KernelRunner run(kernel(R"(
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    ld.param.u64 %rd0, [out];
    ld.global.v2.u32 {%r0, %r1}, [%rd0];
    st.global.u32 [%rd0+8], %r1;
    st.global.u32 [%rd0+12], %r0;
    st.global.u32 [%rd0+16], 7;)"));
  const uint64_t out = run.buffer<uint32_t>({11, 22, 0, 0, 0});
  const LaunchResult result = run.run({out}, {}, {1, 1, 1});
  EXPECT_TRUE(result.ok()) << result.fault.report;
  EXPECT_EQ(run.read<uint32_t>(out, 5), (std::vector<uint32_t>{11, 22, 22, 11, 7}));
}

}  // namespace
}  // namespace emu::test
