// SPDX-License-Identifier: Apache-2.0
// Pointers that are aligned to their element only, rows of any pitch, and buffers of exactly the
// documented size, on every kernel of every place: no demand of one kernel reaches the caller.
#include <gtest/gtest.h>

#include <vector>

#include "device/every_kernel.hpp"
#include "support/gemm_data.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {
namespace {

class Alignment : public EveryKernel {
 protected:
  // The kernel that the library chooses; a forced one may refuse unaligned data, in words.
  void expect_reference(GemmRun run) {
    run.device = GetParam().device;
    run.must_run();
    const internal::CompareReport report = run.compare();
    EXPECT_TRUE(report.pass()) << run.kernel() << ": " << report.failures();
    EXPECT_EQ(report.exact_required, report.outputs) << run.kernel();
  }
};

INSTANTIATE_TEST_SUITE_P(Places, Alignment, testing::ValuesIn(places()), place_test_name);

// D of fp32 is aligned to 4 bytes, everything else here may lie anywhere below that.
TEST_P(Alignment, PointersAnywhere) {
  Random random(41);
  for (const Format format_a : kFormatsA) {
    const Format format_b = format_a == Format::kNvf4 ? Format::kNvf4 : Format::kMxf4;
    Operand a(format_a, 17, 160);
    Operand b(format_b, 48, 160);
    fill_exact(&a, &random);
    fill_exact(&b, &random);
    for (const uint64_t offset : {4, 8, 12, 20, 64}) {
      SCOPED_TRACE(testing::Message() << a.info().name << ", moved by " << offset);
      GemmRun run(a, b, Format::kF32);
      run.offset = offset;
      run.bias.assign(48, 1.0);
      run.format_bias = Format::kF32;
      run.c.assign(17 * 48, 2.0);
      run.beta = 0.5f;
      expect_reference(run);
    }
  }
}

TEST_P(Alignment, OddPointersOfBytesAndOddRowsOfD) {
  Random random(42);
  for (const Format format : {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3}) {
    Operand a(format, 9, 128);
    Operand b(format, 33, 128);
    fill_exact(&a, &random);
    fill_exact(&b, &random);
    for (const int64_t extra : {0, 1, 3, 8}) {
      SCOPED_TRACE(testing::Message() << a.info().name << ", ldd + " << extra);
      GemmRun run(a, b, Format::kBf16);
      run.extra_ldd = extra;
      run.offset = 2;
      expect_reference(run);
    }
  }
}

// Kernels that copy aligned elements whole may not take the scales to be aligned as well.
TEST_P(Alignment, ScalesAnywhereBesideAlignedElements) {
  Random random(44);
  for (const Format format_a : {Format::kBf16, Format::kMxf4, Format::kNvf4}) {
    for (const Format format_b : {Format::kMxf4, Format::kNvf4}) {
      for (const ScaleLayout layout : {ScaleLayout::kRowMajor, ScaleLayout::kSwizzle32x4x4}) {
        for (const int64_t m : {5, 12, 20, 70}) {
          Operand a(format_a, m, 256, layout);
          Operand b(format_b, 40, 256, layout);
          fill_exact(&a, &random);
          fill_exact(&b, &random);
          for (const uint64_t offset : {1, 2, 3}) {
            SCOPED_TRACE(testing::Message() << m << " rows, " << a.info().name << " x "
                                            << b.info().name << ", scales moved by " << offset);
            GemmRun run(a, b, Format::kBf16);
            run.scale_offset = offset;
            expect_reference(run);
          }
        }
      }
    }
  }
}

TEST_P(Alignment, RowsOfAnyPitch) {
  Random random(43);
  for (const Format format_a : kFormatsA) {
    for (const int64_t extra : {2, 6, 10, 32}) {
      const Format format_b = format_a == Format::kNvf4 ? Format::kNvf4 : Format::kMxf8E4m3;
      Operand a(format_a, 20, 96, ScaleLayout::kRowMajor, extra, 1);
      Operand b(format_b, 40, 96, ScaleLayout::kRowMajor, extra + 2, 3);
      fill_exact(&a, &random);
      fill_exact(&b, &random);
      SCOPED_TRACE(testing::Message() << a.info().name << ", rows longer by " << extra);
      expect_reference(GemmRun(a, b, Format::kF32));
    }
  }
}

// Kinds of fault 20, 22: reads beyond the last tile of elements or scales. Guards show writes here;
// reads show under compute-sanitizer, and on the CPU under AddressSanitizer.
TEST_P(Alignment, BuffersOfExactlyTheirSizeAtReportedShapes) {
  struct Shape {
    int64_t m;
    int64_t n;
    Format format;
  };
  const int64_t k = 4096;
  for (const Shape& shape : {Shape{256, 12448, Format::kMxf8E4m3}, Shape{256, 12448, Format::kMxf4},
                             Shape{256, 12544, Format::kMxf4}, Shape{8352, 1536, Format::kMxf4}}) {
    if (GetParam().on_cpu() || quick()) {
      continue;  // minutes on the lower levels, and on an emulator; scripts/hardware runs them
                 // whole
    }
    SCOPED_TRACE(testing::Message() << shape.m << " x " << shape.n);
    const Operand a = ones(shape.format, shape.m, k, ScaleLayout::kSwizzle32x4x4);
    const Operand b = ones(shape.format, shape.n, k, ScaleLayout::kSwizzle32x4x4);
    GemmRun run(a, b, Format::kBf16);
    run.device = GetParam().device;
    run.must_run();
    for (int64_t m = 0; m < shape.m; ++m) {
      for (int64_t n = 0; n < shape.n; ++n) {
        ASSERT_EQ(run.at(m, n), static_cast<double>(k)) << run.kernel() << " " << m << " " << n;
      }
    }
  }
}

// Small twins of these shapes, for every place: one row or column beyond each size of a tile.
TEST_P(Alignment, OneBeyondEveryTile) {
  for (const Format format : {Format::kMxf4, Format::kNvf4, Format::kMxf8E4m3}) {
    for (const int64_t m : {1, 17, 65, 129}) {
      for (const int64_t n : {1, 33, 129, 257}) {
        const Operand a = ones(format, m, 96, ScaleLayout::kSwizzle32x4x4);
        const Operand b = ones(format, n, 96, ScaleLayout::kSwizzle32x4x4);
        SCOPED_TRACE(testing::Message() << a.info().name << " " << m << " x " << n);
        expect_everywhere(GemmRun(a, b, Format::kBf16), all(96.0));
      }
    }
  }
}

}  // namespace
}  // namespace mxgemm::test
