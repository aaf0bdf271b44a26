// SPDX-License-Identifier: Apache-2.0
// Small problems whose every output is known exactly, on every kernel of a place.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/gemm_run.hpp"
#include "support/places.hpp"
#include "support/test_size.hpp"

namespace mxgemm::test {

// D[m,n] as it must be.
using Expected = std::function<double(int64_t m, int64_t n)>;

inline Expected all(double value) {
  return [value](int64_t, int64_t) { return value; };
}

inline Operand ones(Format format, int64_t rows, int64_t cols, ScaleLayout layout) {
  Operand operand(format, rows, cols, layout);
  operand.fill(1.0);
  return operand;
}

class EveryKernel : public PlaceTest {
 protected:
  // An emulated GPU, or one under a sanitizer: a thousand times slower.
  static bool is_slow() { return !GetParam().on_cpu() && quick(); }

  // Every kernel of the place, plain and packed; of a big problem, on a slow place, the one that
  // the library chooses.
  void expect_everywhere(GemmRun run, const Expected& expected, bool big = false) {
    run.device = GetParam().device;
    for (const bool packed : {false, true}) {
      if (packed && !GetParam().on_cpu()) {
        return;  // prepared weights are for the CPU
      }
      run.packed = packed;
      std::vector<std::string> ids = kernels_at(GetParam(), run.desc());
      if (big && is_slow()) {
        ids = {""};
      }
      for (const std::string& id : ids) {
        SCOPED_TRACE(id + (packed ? ", packed" : ""));
        run.kernel_id = id;
        run.may_refuse_alignment = !GetParam().on_cpu() && !id.empty();
        run.must_run();
        if (run.refused()) {
          continue;
        }
        for (int64_t m = 0; m < run.m(); ++m) {
          for (int64_t n = 0; n < run.n(); ++n) {
            const double right = expected(m, n);
            const double value = run.at(m, n);
            ASSERT_TRUE(std::isnan(right) ? std::isnan(value) : value == right)
                << "D[" << m << "," << n << "] = " << value << ", right is " << right;
            ASSERT_NE(run.code_at(m, n), internal::poison_code(run.output().format))
                << m << "," << n;
          }
        }
      }
    }
  }
};

}  // namespace mxgemm::test
