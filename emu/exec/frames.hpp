// SPDX-License-Identifier: Apache-2.0
// Frames of a warp: made at a call, given back when the last lane has returned.
#pragma once

#include "exec/machine.hpp"

namespace emu {

// The frame that `lanes` enter by the call at call_pc of `parent` (null: the kernel itself). A
// frame of the same call that other lanes are still in is joined.
Frame* enter_frame(Warp& warp, Frame* parent, uint32_t call_pc, const Code& code, uint32_t lanes,
                   Random& random);
void leave_frame(Warp& warp, Frame& frame, uint32_t lanes);
// Values of %clock and the like, before an instruction that reads them.
void refresh_specials(Frame& frame, const Warp& warp, uint64_t now);
// Lanes leave the kernel: out of every frame, and waiting groups look again.
void exit_lanes(Warp& warp, uint32_t lanes);

}  // namespace emu
