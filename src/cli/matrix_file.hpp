// SPDX-License-Identifier: Apache-2.0
// Operands in files: a plain array, or a tensor that `mxgemm quantize` made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/io/checkpoint.hpp"
#include "cli/io/npy.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::cli {

// A matrix whose bytes lie in a mapped file or, where they had to be moved or made, in memory.
class MatrixFile {
 public:
  // `where` is "A.npy", "FILE.safetensors:TENSOR" or "model.safetensors.index.json:TENSOR"; `what`
  // ("A") names the operand in messages. Throws CommandError.
  MatrixFile(std::string what, const std::string& where);

  internal::Format format() const { return format_; }
  // A vector has one row.
  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  // 1 for a vector, 2 for a matrix.
  int rank() const { return rank_; }
  int32_t scale_layout() const { return static_cast<int32_t>(scale_layout_); }
  const std::vector<FileId>& files() const { return files_; }

  // As an argument of a GEMM, on the host.
  mxgemm_operand operand() const;

  // Replaces plain numbers by block-scaled ones.
  void quantize(mxgemm_quantize_desc desc);

 private:
  void load_npy(const std::string& path);
  void load_tensor(const std::string& path, const std::string& name);
  void set_plain(Dtype dtype, const Shape& shape, std::span<const uint8_t> bytes);
  [[noreturn]] void fail(const std::string& message) const;

  std::string what_;
  std::string where_;
  NpyReader npy_;
  Checkpoint checkpoint_;
  std::vector<FileId> files_;
  internal::Format format_ = internal::Format::kNone;
  int rank_ = 2;
  int64_t rows_ = 0;
  int64_t cols_ = 0;
  const void* data_ = nullptr;
  uint64_t data_bytes_ = 0;
  std::span<const uint8_t> scale_;
  internal::ScaleLayout scale_layout_ = internal::ScaleLayout::kRowMajor;
  float global_scale_ = 1.0f;
  std::vector<uint8_t> data_buffer_;
  std::vector<uint8_t> scale_buffer_;
};

}  // namespace mxgemm::cli
