// SPDX-License-Identifier: Apache-2.0
// The driver's contexts, as far as host code pushes a device's primary context and pops it again.
#pragma once

#include <cuda.h>

namespace emu::runtime {

CUresult device_get(CUdevice* device, int ordinal);
CUresult primary_context_retain(CUcontext* context, CUdevice device);
CUresult primary_context_release(CUdevice device);
CUresult context_push(CUcontext context);
CUresult context_pop(CUcontext* context);
CUresult context_current(CUcontext* context);

}  // namespace emu::runtime
