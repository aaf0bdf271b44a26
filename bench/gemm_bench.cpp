// SPDX-License-Identifier: Apache-2.0
// Speed of the CPU's GEMM kernels, by kernel, shape, operands and M, over the C ABI:
//   cmake -B build -DMXGEMM_BENCH=ON && cmake --build build --target gemm_bench
//   build/bin/gemm_bench --benchmark_filter='mxf4_mxf4.*m512'
// One thread unless MXGEMM_NUM_THREADS says otherwise. The rate is 2 M N K per second; `weights/s`
// is bytes of codes and scales of B per second (what a memory-bound M = 1 is measured by). Weights
// rotate through more memory than the caches hold where the name says `cold`.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/shapes.hpp"
#include "mxgemm/mxgemm.h"

namespace {

namespace bench = mxgemm::bench;

// Weights (N x K) of the named shapes, each at these M.
constexpr int64_t kRows[] = {1, 8, 32, 512};

struct Pair {
  const char* name;
  int32_t a;
  int32_t b;
};
constexpr Pair kPairs[] = {
    {"mxf4_mxf4", MXGEMM_MXF4, MXGEMM_MXF4},         {"bf16_mxf4", MXGEMM_BF16, MXGEMM_MXF4},
    {"nvf4_nvf4", MXGEMM_NVF4, MXGEMM_NVF4},         {"bf16_nvf4", MXGEMM_BF16, MXGEMM_NVF4},
    {"mxf8_mxf8", MXGEMM_MXF8E4M3, MXGEMM_MXF8E4M3}, {"f32_mxf8e5m2", MXGEMM_F32, MXGEMM_MXF8E5M2}};

// 700 MB of weights are more than any cache.
constexpr uint64_t kColdBytes = uint64_t{700} << 20;

void check(mxgemm_status status) {
  if (status != MXGEMM_OK) {
    std::fprintf(stderr, "gemm_bench: %s\n", mxgemm_last_error());
    std::exit(1);
  }
}

class Buffer {
 public:
  explicit Buffer(uint64_t bytes) {
    check(mxgemm_device_alloc(MXGEMM_DEVICE_CPU, 0, bytes, &data_));
  }
  ~Buffer() { mxgemm_device_free(MXGEMM_DEVICE_CPU, 0, data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint8_t* get() const { return static_cast<uint8_t*>(data_); }

 private:
  void* data_ = nullptr;
};

bool is_plain(int32_t format) {
  return format >= MXGEMM_BF16;
}

// Normal numbers in the operand's format, rows x cols.
struct Operand {
  Operand(int32_t format, int64_t rows, int64_t cols)
      : data_bytes(size_of(format, rows, cols)),
        scale_bytes(scale_size_of(format, rows, cols)),
        data(data_bytes),
        scale(scale_bytes) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    std::vector<float> numbers(static_cast<size_t>(cols));
    std::vector<float> row(static_cast<size_t>(rows * cols));
    std::generate(numbers.begin(), numbers.end(), [&] { return normal(generator); });
    for (int64_t r = 0; r < rows; ++r) {
      std::rotate_copy(numbers.begin(), numbers.begin() + r % cols, numbers.end(),
                       row.begin() + r * cols);
    }
    if (is_plain(format)) {
      for (size_t i = 0; i < row.size(); ++i) {
        if (format == MXGEMM_F32) {
          std::memcpy(data.get() + 4 * i, &row[i], 4);
        } else {
          std::memcpy(data.get() + 2 * i, reinterpret_cast<const char*>(&row[i]) + 2,
                      2);  // bf16, truncated
        }
      }
      return;
    }
    mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
    desc.format_src = MXGEMM_F32;
    desc.format = format;
    desc.scale_layout = MXGEMM_SCALE_SWIZZLE_32_4_4;
    desc.rows = rows;
    desc.cols = cols;
    mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
    args.src = row.data();
    args.src_bytes = row.size() * sizeof(float);
    args.qdata = data.get();
    args.qdata_bytes = data_bytes;
    args.scale = scale.get();
    args.scale_bytes = scale_bytes;
    args.global_scale = format == MXGEMM_NVF4 ? &global_scale : nullptr;
    check(mxgemm_quantize(&desc, &args, nullptr));
  }

  static uint64_t size_of(int32_t format, int64_t rows, int64_t cols) {
    uint64_t bytes = 0;
    check(mxgemm_qdata_size(format, rows, cols, &bytes));
    return bytes;
  }
  static uint64_t scale_size_of(int32_t format, int64_t rows, int64_t cols) {
    uint64_t bytes = 0;
    check(mxgemm_scale_size(format, MXGEMM_SCALE_SWIZZLE_32_4_4, rows, cols, &bytes));
    return bytes;
  }

  mxgemm_operand argument() const {
    mxgemm_operand operand = MXGEMM_OPERAND_INIT;
    operand.data = data.get();
    operand.data_bytes = data_bytes;
    operand.scale = scale_bytes > 0 ? scale.get() : nullptr;
    operand.scale_bytes = scale_bytes;
    operand.global_scale = global_scale;
    return operand;
  }

  uint64_t data_bytes;
  uint64_t scale_bytes;
  Buffer data;
  Buffer scale;
  float global_scale = 1.0f;
};

struct Case {
  std::string kernel_id;
  Pair pair;
  bench::Shape shape;
  int64_t m;
  bool packed;
  bool cold;
};

mxgemm_gemm_desc make_desc(const Case& test) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.flags = test.packed ? static_cast<uint32_t>(MXGEMM_PACKED_B) : 0;
  desc.m = test.m;
  desc.n = test.shape.n;
  desc.k = test.shape.k;
  desc.format_a = test.pair.a;
  desc.format_b = test.pair.b;
  desc.format_d = MXGEMM_BF16;
  desc.scale_layout_a = MXGEMM_SCALE_SWIZZLE_32_4_4;
  desc.scale_layout_b = MXGEMM_SCALE_SWIZZLE_32_4_4;
  return desc;
}

void run_gemm(benchmark::State& state, const Case& test) {
  const mxgemm_gemm_desc desc = make_desc(test);
  mxgemm_plan* plan = nullptr;
  check(mxgemm_plan_create(&desc, test.kernel_id.c_str(), &plan));
  uint64_t workspace_bytes = 0;
  check(mxgemm_plan_workspace_size(plan, &workspace_bytes));
  const Buffer workspace(workspace_bytes);
  const Operand a(test.pair.a, test.m, test.shape.k);
  const Operand b(test.pair.b, test.shape.n, test.shape.k);
  uint64_t packed_bytes = 0;
  check(mxgemm_pack_size(MXGEMM_DEVICE_CPU, 0, test.pair.b, test.shape.n, test.shape.k,
                         &packed_bytes));
  const uint64_t copies = test.cold ? kColdBytes / packed_bytes + 1 : 1;
  const uint64_t copy_bytes = (packed_bytes + 63) / 64 * 64;
  const Buffer packed(test.packed ? copies * copy_bytes : 0);
  const mxgemm_operand b_argument = b.argument();
  for (uint64_t copy = 0; test.packed && copy < copies; ++copy) {
    check(mxgemm_pack(MXGEMM_DEVICE_CPU, 0, test.pair.b, test.shape.n, test.shape.k, &b_argument,
                      MXGEMM_SCALE_SWIZZLE_32_4_4, packed.get() + copy * copy_bytes, packed_bytes,
                      nullptr));
  }
  const uint64_t d_bytes = Operand::size_of(MXGEMM_BF16, test.m, test.shape.n);
  const Buffer d(d_bytes);

  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  args.a = a.argument();
  args.b = b_argument;
  args.d = d.get();
  args.d_bytes = d_bytes;
  args.workspace = workspace.get();
  args.workspace_bytes = workspace_bytes;
  uint64_t copy = 0;
  for (auto _ : state) {
    if (test.packed) {
      args.b.data = packed.get() + copy * copy_bytes;
      args.b.data_bytes = packed_bytes;
      args.b.scale = nullptr;
      args.b.scale_bytes = 0;
      copy = (copy + 1) % copies;
    }
    check(mxgemm_run(plan, &args, nullptr));
  }
  mxgemm_plan_destroy(plan);
  const double flops =
      2.0 * static_cast<double>(test.m * test.shape.n) * static_cast<double>(test.shape.k);
  state.counters["FLOP/s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["weights/s"] = benchmark::Counter(static_cast<double>(packed_bytes),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

void register_case(const Case& test) {
  const std::string name = test.kernel_id + "/" + test.pair.name + "/" + test.shape.suite + "_" +
                           test.shape.name + "/m" + std::to_string(test.m) +
                           (test.packed ? "/packed" : "/plain") + (test.cold ? "/cold" : "");
  benchmark::RegisterBenchmark(name.c_str(),
                               [test](benchmark::State& state) { run_gemm(state, test); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void register_kernel(const mxgemm_kernel_info& kernel) {
  const auto has = [](uint64_t set, int32_t format) { return (set >> format & 1) != 0; };
  for (const Pair& pair : kPairs) {
    if (!has(kernel.formats_a, pair.a) || !has(kernel.formats_b, pair.b)) {
      continue;
    }
    for (const bench::Shape& shape : bench::kShapes) {
      if (shape.m != 1) {
        continue;  // the same weights at another M
      }
      for (const int64_t m : kRows) {
        register_case(Case{kernel.id, pair, shape, m, false, false});
        register_case(Case{kernel.id, pair, shape, m, true, false});
        if (m == 1) {
          register_case(Case{kernel.id, pair, shape, m, true, true});
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (std::getenv("MXGEMM_NUM_THREADS") == nullptr) {
    check(mxgemm_set_num_threads(1));
  }
  int32_t count = 0;
  check(mxgemm_kernel_count(&count));
  for (int32_t index = 0; index < count; ++index) {
    mxgemm_kernel_info kernel = MXGEMM_KERNEL_INFO_INIT;
    check(mxgemm_kernel_info_get(index, &kernel));
    if (kernel.device_kind == MXGEMM_DEVICE_CPU && kernel.available != 0) {
      register_kernel(kernel);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
