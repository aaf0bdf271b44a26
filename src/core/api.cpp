// SPDX-License-Identifier: Apache-2.0
#include "mxgemm/mxgemm.h"

const char* mxgemm_version(void) { return MXGEMM_VERSION_STRING; }
