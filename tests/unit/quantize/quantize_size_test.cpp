// SPDX-License-Identifier: Apache-2.0
// Very many rows, and offsets that need 64 bits.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "cpu/cpu_backend.hpp"
#include "support/test_size.hpp"
#include "unit/quantize/tensor.hpp"

namespace mxgemm::test {
namespace {

using namespace mxgemm::internal;

// Address space without memory behind it: a page gets memory when it is first touched.
class SparseMemory {
 public:
  explicit SparseMemory(size_t bytes) : bytes_(bytes) {
    pointer_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~SparseMemory() {
    if (ok()) {
      munmap(pointer_, bytes_);
    }
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  bool ok() const { return pointer_ != MAP_FAILED; }
  uint8_t* data() const { return static_cast<uint8_t*>(pointer_); }

 private:
  size_t bytes_;
  void* pointer_;
};

constexpr uint16_t kOne = 0x3F80;  // bf16
constexpr uint16_t kTwo = 0x4000;
constexpr uint8_t kAllSixes = 0x66;

// Rows of 32 ones, the last row of twos.
void check_row_count(int64_t rows, int32_t isa) {
  std::vector<uint16_t> src(static_cast<size_t>(rows) * 32, kOne);
  std::fill(src.end() - 32, src.end(), kTwo);
  std::vector<uint8_t> qdata(static_cast<size_t>(rows) * 16);
  std::vector<uint8_t> scale(static_cast<size_t>(rows));
  const QuantizeOptions options =
      options_for(Format::kBf16, Format::kMxf4, rows, 32, ScaleRule::kFloor);
  const QuantizeBuffers buffers{src.data(), 32, qdata.data(), 16, scale.data(), 1, nullptr};
  ASSERT_TRUE(quantize(options, buffers, cpu::quantize_row_kernels(isa), {}).ok());
  EXPECT_EQ(std::count(scale.begin(), scale.end() - 1, 125), rows - 1);
  EXPECT_EQ(scale.back(), 126);
  EXPECT_EQ(std::count(qdata.begin(), qdata.end(), kAllSixes), rows * 16);
}

TEST(QuantizeSize, MoreRowsThanAGridDimensionHolds) {
  for (const int32_t isa : levels()) {
    check_row_count(262145, isa);
  }
}

TEST(QuantizeSize, MoreThanEightMillionRows) {
  check_row_count(test_size<int64_t>(8388609, 300001), levels().back());
}

TEST(QuantizeSize, SwizzledScalesOfManyRows) {
  constexpr int64_t kRows = 262145;
  const std::vector<uint16_t> row(32, kOne);
  std::vector<uint8_t> qdata(static_cast<size_t>(kRows) * 16);
  std::vector<uint8_t> scale(static_cast<size_t>(swizzled_scale_bytes(kRows, 1)), 0xFF);
  QuantizeOptions options = options_for(Format::kBf16, Format::kMxf4, kRows, 32, ScaleRule::kFloor);
  options.scale_layout = ScaleLayout::kSwizzle32x4x4;
  const QuantizeBuffers buffers{row.data(), 0, qdata.data(), 16, scale.data(), 0, nullptr};
  ASSERT_TRUE(quantize(options, buffers, cpu::quantize_row_kernels(levels().back()), {}).ok());
  EXPECT_EQ(std::count(scale.begin(), scale.end(), 125), kRows);
  EXPECT_EQ(std::count(scale.begin(), scale.end(), 0), static_cast<int64_t>(scale.size()) - kRows);
  EXPECT_EQ(scale[static_cast<size_t>(swizzled_scale_offset(kRows - 1, 0, 1))], 125);
}

// Three rows whose starts lie more than 2^32 bytes apart in every buffer.
TEST(QuantizeSize, RowOffsetsAre64Bit) {
  constexpr int64_t kRowBytes = (int64_t{1} << 32) + 4096;
  const SparseMemory src(2 * kRowBytes + 4096);
  const SparseMemory qdata(2 * kRowBytes + 4096);
  const SparseMemory scale(2 * kRowBytes + 4096);
  if (!src.ok() || !qdata.ok() || !scale.ok()) {
    GTEST_SKIP() << "no 25 GiB of address space here";
  }
  for (int64_t row = 0; row < 3; ++row) {
    auto* numbers = reinterpret_cast<uint16_t*>(src.data() + row * kRowBytes);
    std::fill_n(numbers, 32, static_cast<uint16_t>(kOne + 0x80 * row));
  }
  const QuantizeOptions options =
      options_for(Format::kBf16, Format::kMxf4, 3, 32, ScaleRule::kFloor);
  for (const int32_t isa : levels()) {
    const QuantizeBuffers buffers{src.data(),   kRowBytes / 2, qdata.data(), kRowBytes,
                                  scale.data(), kRowBytes,     nullptr};
    ASSERT_TRUE(quantize(options, buffers, cpu::quantize_row_kernels(isa), {}).ok());
    std::vector<float> decoded(3 * 32);
    const DequantizeJob job{.format = Format::kMxf4,
                            .rows = 3,
                            .cols = 32,
                            .qdata = qdata.data(),
                            .qdata_row_bytes = kRowBytes,
                            .scale = {scale.data(), ScaleLayout::kRowMajor, kRowBytes, 1},
                            .format_dst = Format::kF32,
                            .dst = decoded.data(),
                            .dst_ld = 32};
    dequantize(job, {});
    for (int64_t row = 0; row < 3; ++row) {
      EXPECT_EQ(scale.data()[row * kRowBytes], 125 + row);
      EXPECT_EQ(qdata.data()[row * kRowBytes + 15], kAllSixes);
      EXPECT_EQ(decoded[static_cast<size_t>(row * 32 + 31)], static_cast<float>(1 << row));
      scale.data()[row * kRowBytes] = 0;
      qdata.data()[row * kRowBytes + 15] = 0;
    }
  }
}

// 2^31 + 65536 elements: 4 GiB in, 1 GiB out.
TEST(QuantizeSize, MoreThan2To31Elements) {
  const char* large = std::getenv("MXGEMM_TEST_LARGE");
  if (large == nullptr || std::string(large) != "1") {
    GTEST_SKIP() << "needs 5 GiB of memory; runs with MXGEMM_TEST_LARGE=1";
  }
  constexpr int64_t kRows = 32769;
  constexpr int64_t kCols = 65536;
  const auto src = std::make_unique_for_overwrite<uint16_t[]>(kRows * kCols);
  std::fill_n(src.get(), (kRows - 1) * kCols, kOne);
  std::fill_n(src.get() + (kRows - 1) * kCols, kCols, kTwo);
  const auto qdata = std::make_unique_for_overwrite<uint8_t[]>(kRows * kCols / 2);
  std::vector<uint8_t> scale(kRows * kCols / 32);
  const QuantizeOptions options =
      options_for(Format::kBf16, Format::kMxf4, kRows, kCols, ScaleRule::kFloor);
  const QuantizeBuffers buffers{src.get(),    kCols,      qdata.get(), kCols / 2,
                                scale.data(), kCols / 32, nullptr};
  ASSERT_TRUE(quantize(options, buffers, cpu::quantize_row_kernels(levels().back()), {}).ok());
  EXPECT_EQ(std::count(scale.begin(), scale.end() - kCols / 32, 125), (kRows - 1) * kCols / 32);
  EXPECT_EQ(std::count(scale.end() - kCols / 32, scale.end(), 126), kCols / 32);
  EXPECT_EQ(std::count(qdata.get(), qdata.get() + kRows * kCols / 2, kAllSixes), kRows * kCols / 2);
}

}  // namespace
}  // namespace mxgemm::test
