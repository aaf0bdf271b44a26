// SPDX-License-Identifier: Apache-2.0
// Scales between row-major and swizzled layout (formats/scale_layout.hpp).
#pragma once

#include <cstdint>

namespace mxgemm::internal {

// Writes all of dst, padding as 0x00.
void swizzle_scales(int64_t rows, int64_t cols, const uint8_t* src, int64_t src_ld, uint8_t* dst);
// Writes rows x cols bytes; what lies between them in dst stays.
void unswizzle_scales(int64_t rows, int64_t cols, const uint8_t* src, uint8_t* dst, int64_t dst_ld);

}  // namespace mxgemm::internal
