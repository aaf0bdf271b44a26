// SPDX-License-Identifier: Apache-2.0
#include "cpu/cpu_backend.hpp"
