// SPDX-License-Identifier: Apache-2.0
// Quantising, decoding and scale layouts on a GPU: checked calls handed to the best library of the
// device that has the function.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "core/buffers.hpp"
#include "mxgemm/mxgemm.h"
#include "plugin/plugin_abi.h"

namespace mxgemm::internal {

// The buffers of a quantise call, which its workspace must not overlap.
struct QuantizeBufferRegions {
  Region src;
  Region qdata;
  Region scale;
  Region global_scale;
};

// Everything has been checked but the workspace and whose memory it all is.
Status gpu_quantize_workspace_size(const mxgemm_quantize_desc& desc, uint64_t* bytes);
Status gpu_quantize(const mxgemm_quantize_desc& desc, const mxgemm_quantize_args& args,
                    void* stream, const QuantizeBufferRegions& regions);
Status gpu_dequantize(const mxgemm_dequantize_call& call, void* stream);
Status gpu_swizzle(const mxgemm_swizzle_call& call, bool to_swizzled, void* stream);

}  // namespace mxgemm::internal
