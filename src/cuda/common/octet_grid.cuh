// SPDX-License-Identifier: Apache-2.0
// How the octets of a matrix are dealt to threads, and how they reach memory.
//
// A CTA does tiles of 2^log2_width octets along a row and 256 / 2^log2_width * kRows rows:
//
//                 width octets
//     row 0      t0  t1  t2 …
//     row 1      …                       256 threads
//     …                          … t255
//     row 256/width                      the same threads again: kRows octets of a thread lie below
//     …                                  each other, so that their loads are under way together
//
// Row tiles run along grid.x, which may be 2^31 - 1 large, column tiles along grid.y; both loops
// stride, so any grid covers any matrix. The width is a power of two and a multiple of a block, so
// the lanes of a block are neighbours in a warp and are all inside the matrix or all outside.
#pragma once

#include <cstdint>

#include "cuda/common/octet.cuh"

namespace mxgemm::cuda {
inline namespace MXGEMM_CUDA_ARCH {

constexpr int kGridThreads = 256;

struct OctetGrid {
  int64_t rows;
  int64_t cols;  // in octets, or in what a thread does of a row at a time
  int log2_width;
};

// A thread's octets in a tile: (row + i * row_step, col), i < kRows, some of them outside the
// matrix.
struct TileThread {
  int64_t row;
  int64_t col;
  int row_step;

  // How many rows from `row` on a matrix has that reaches so far; octet i is in it if
  // i * row_step is less.
  __device__ __forceinline__ int rows_left(int64_t rows, int64_t cols) const {
    constexpr int64_t kMost = 1 << 30;  // more than a tile has
    return col < cols ? static_cast<int>(min(rows - row, kMost)) : 0;
  }
};

// Calls body(TileThread) for every tile in the same order in all threads of a CTA.
template <int kRows, typename Body>
__device__ __forceinline__ void for_each_tile(const OctetGrid& grid, const Body& body) {
  const int width = 1 << grid.log2_width;
  const int row_step = kGridThreads >> grid.log2_width;
  const int tile_rows = row_step * kRows;
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread >> grid.log2_width;
  const int col = thread & (width - 1);
  for (int64_t first_row = static_cast<int64_t>(blockIdx.x) * tile_rows; first_row < grid.rows;
       first_row += static_cast<int64_t>(gridDim.x) * tile_rows) {
    for (int64_t first_col = static_cast<int64_t>(blockIdx.y) * width; first_col < grid.cols;
         first_col += static_cast<int64_t>(gridDim.y) * width) {
      body(TileThread{first_row + row, first_col + col, row_step});
    }
  }
}

// A matrix in memory; its rows are dense.
template <typename Byte>
struct RowView {
  Byte* data;
  int64_t row_bytes;

  __device__ __forceinline__ Byte* at(int64_t row, int64_t offset) const {
    return data + row * row_bytes + offset;
  }
};

// Loads and stores of kWords words: kAligned if their address is a multiple of 16, or of all the
// words where they are fewer; else in units of Unit, to which everything is aligned.
template <typename Unit, bool kAligned, int kWords>
__device__ __forceinline__ void load_words(const uint8_t* src, uint32_t (&words)[kWords]) {
  if constexpr (!kAligned) {
    constexpr int kUnitBits = 8 * sizeof(Unit);
    constexpr int kUnitsPerWord = 32 / kUnitBits;
#pragma unroll
    for (int i = 0; i < kWords * kUnitsPerWord; ++i) {
      const uint32_t unit = __ldg(reinterpret_cast<const Unit*>(src) + i);
      const uint32_t word = i % kUnitsPerWord == 0 ? 0 : words[i / kUnitsPerWord];
      words[i / kUnitsPerWord] = word | unit << (i % kUnitsPerWord * kUnitBits);
    }
  } else if constexpr (kWords >= 4) {
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      const uint4 quad = __ldg(reinterpret_cast<const uint4*>(src) + i / 4);
      words[i] = quad.x;
      words[i + 1] = quad.y;
      words[i + 2] = quad.z;
      words[i + 3] = quad.w;
    }
  } else if constexpr (kWords == 2) {
    const uint2 pair = __ldg(reinterpret_cast<const uint2*>(src));
    words[0] = pair.x;
    words[1] = pair.y;
  } else {
    words[0] = __ldg(reinterpret_cast<const unsigned int*>(src));
  }
}

template <typename Unit, bool kAligned, int kWords>
__device__ __forceinline__ void store_words(uint8_t* dst, const uint32_t (&words)[kWords]) {
  if constexpr (!kAligned) {
    constexpr int kUnitBits = 8 * sizeof(Unit);
    constexpr int kUnitsPerWord = 32 / kUnitBits;
#pragma unroll
    for (int i = 0; i < kWords * kUnitsPerWord; ++i) {
      reinterpret_cast<Unit*>(dst)[i] =
          static_cast<Unit>(words[i / kUnitsPerWord] >> (i % kUnitsPerWord * kUnitBits));
    }
  } else if constexpr (kWords >= 4) {
#pragma unroll
    for (int i = 0; i < kWords; i += 4) {
      reinterpret_cast<uint4*>(dst)[i / 4] =
          make_uint4(words[i], words[i + 1], words[i + 2], words[i + 3]);
    }
  } else if constexpr (kWords == 2) {
    *reinterpret_cast<uint2*>(dst) = make_uint2(words[0], words[1]);
  } else {
    *reinterpret_cast<uint32_t*>(dst) = words[0];
  }
}

// The unit of plain numbers in memory.
template <Format kPlain>
struct PlainUnit {
  using Type = uint16_t;
};
template <>
struct PlainUnit<Format::kF32> {
  using Type = uint32_t;
};

template <Format kPlain>
constexpr int kOctetBytes = 4 * Octet<kPlain>::kWords;

// The octets of a thread, kAlong side by side; zeros outside the matrix, which has `rows_left`
// rows.
template <Format kSource, bool kAligned, int kRows, int kAlong>
__device__ __forceinline__ void load_octets(const RowView<const uint8_t>& src,
                                            const TileThread& thread, int rows_left,
                                            Octet<kSource> (&octets)[kRows][kAlong]) {
  using Unit = typename PlainUnit<kSource>::Type;
  const uint8_t* address = src.at(thread.row, thread.col * (kOctetBytes<kSource> * kAlong));
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kAlong; ++j) {
      octets[i][j] = {};
      if (i * thread.row_step < rows_left) {
        load_words<Unit, kAligned>(address + j * kOctetBytes<kSource>, octets[i][j].words);
      }
    }
    address += thread.row_step * src.row_bytes;
  }
}

// Stores an octet of numbers at `address` where `is_real`; called by all lanes of a warp. Eight
// fp32 take two stores of 16 bytes, and memory wants 32 at a time: the first store of two
// neighbouring lanes (both inside the matrix or both outside) is the octet of the even one, the
// second that of the odd one.
template <Format kTarget, bool kAligned>
__device__ __forceinline__ void store_octet(uint8_t* address, bool is_real,
                                            const Octet<kTarget>& octet) {
  if constexpr (kTarget != Format::kF32 || !kAligned) {
    if (is_real) {
      store_words<typename PlainUnit<kTarget>::Type, kAligned>(address, octet.words);
    }
  } else {
    const bool is_odd = threadIdx.x % 2 != 0;
    uint32_t first[4];
    uint32_t second[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t low = octet.words[i];
      const uint32_t high = octet.words[i + 4];
      const uint32_t received = __shfl_xor_sync(0xFFFFFFFFu, is_odd ? low : high, 1);
      first[i] = is_odd ? received : low;
      second[i] = is_odd ? high : received;
    }
    if (is_real) {
      address -= is_odd ? kOctetBytes<kTarget> / 2 : 0;
      store_words<uint32_t, true>(address, first);
      store_words<uint32_t, true>(address + kOctetBytes<kTarget>, second);
    }
  }
}

}  // namespace MXGEMM_CUDA_ARCH
}  // namespace mxgemm::cuda
