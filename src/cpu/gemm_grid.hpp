// SPDX-License-Identifier: Apache-2.0
// How a problem is cut: work tiles of D, steps of K, and the scratch memory that one thread needs.
// It follows from the problem alone, never from the number of threads, so results do not depend on
// it.
#pragma once

#include <cstdint>

#include "cpu/level.h"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cpu {

struct GemmGrid {
  int64_t chunk_rows;  // of a work tile
  int64_t chunk_cols;
  int64_t row_chunks;
  int64_t col_chunks;
  int64_t a_depth;  // elements of K for which the rows of A stay decoded, a multiple of panel_k
  int64_t panel_k;  // Strategy.panel_k, not above the padded K

  // Offsets in a slot, the scratch memory of one thread.
  int64_t a_row_bytes;  // decoded
  int64_t a_scale_ld;
  int64_t a_offset;
  int64_t a_scale_offset;
  int64_t magnitude_offset;
  int64_t b_codes_offset;
  int64_t b_scale_offset;
  int64_t b_group_bytes;  // decoded, of 16 columns
  int64_t b_offset;
  int64_t acc_offset;
  int64_t bias_offset;
  int64_t c_offset;
  int64_t slot_bytes;

  int64_t work_tiles() const { return row_chunks * col_chunks; }
};

GemmGrid make_grid(const Strategy& strategy, const mxgemm_gemm_desc& desc);

}  // namespace mxgemm::cpu
