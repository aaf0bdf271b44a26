// SPDX-License-Identifier: Apache-2.0
#include "quantize/quantize.hpp"
