// SPDX-License-Identifier: Apache-2.0
#define MXGEMM_CURED
#include "unregistered.cuh"
