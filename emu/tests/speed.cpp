// SPDX-License-Identifier: Apache-2.0
// How fast the interpreter is on scalar code: thread-instructions per second of one core, best of
// five runs. Not a test; the target of the specification is 200 million.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

#include "exec/launch.hpp"

namespace {

std::string kernel_text() {
  std::string text = R"(.version 8.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .f32 %f<2>; .reg .pred %p<2>;
  mov.u32 %r0, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 5;
  mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f3F000000;
L:
)";
  // Long enough that the branch at its end does not count.
  for (int repeat = 0; repeat < 4; ++repeat) {
    text += R"(
  add.s32 %r2, %r2, %r0; xor.b32 %r3, %r2, %r1; shl.b32 %r4, %r3, 3; mad.lo.s32 %r5, %r4, %r3, %r2;
  fma.rn.f32 %f0, %f0, %f1, %f1; and.b32 %r2, %r5, 65535; mul.wide.u32 %rd1, %r2, 4;
  add.s64 %rd2, %rd1, %rd1; setp.lt.u32 %p1, %r2, 77; selp.b32 %r6, %r2, %r3, %p1;)";
  }
  return text + R"(
  add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 20000; @%p0 bra L;
  ld.param.u64 %rd0, [out]; st.global.u32 [%rd0], %r6;
  ret;
})";
}

double best_rate(const emu::LaunchRequest& request, const emu::Options& options) {
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const emu::LaunchResult result = emu::launch(request, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    if (!result.ok()) {
      return 0;
    }
    best = std::max(best, static_cast<double>(result.thread_instructions) / seconds.count());
  }
  return best;
}

}  // namespace

int main() {
  const emu::LoadResult loaded = emu::load_program(kernel_text(), "speed");
  emu::GlobalMemory memory;
  emu::ModuleInstance instance;
  const uint64_t out = memory.allocate(64, 0, emu::MemoryKind::device, "out");
  if (loaded.program == nullptr || !emu::instantiate(*loaded.program, memory, 0, &instance)) {
    std::fputs("speed: the kernel does not load\n", stderr);
    return 1;
  }
  emu::LaunchRequest request;
  request.program = loaded.program;
  request.kernel = loaded.program->find_kernel("k");
  request.instance = &instance;
  request.memory = &memory;
  request.block = {128, 1, 1};
  request.params.resize(sizeof out);
  std::memcpy(request.params.data(), &out, sizeof out);
  for (const emu::Policy policy : {emu::Policy::plain, emu::Policy::random, emu::Policy::pct}) {
    emu::Options options;
    options.policy = policy;
    std::printf("%-8s %6.0f million thread-instructions a second\n",
                emu::policy_name(policy).c_str(), best_rate(request, options) / 1e6);
  }
  return 0;
}
