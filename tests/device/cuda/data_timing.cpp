// SPDX-License-Identifier: Apache-2.0
// Times the functions on block-scaled data of one GPU library: bytes read and written per second,
// beside a copy of the device's own memory.
//
//   cuda_data_timing LIBRARY [ROWS COLS]
//
// Every call works on another of four sets of buffers, so that little of a set is still in L2 when
// its turn comes again; the median of 40 calls, each between two events.
#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "device/cuda/data_library.hpp"
#include "formats/block_format.hpp"
#include "formats/scale_layout.hpp"

namespace mxgemm::test {
namespace {

constexpr size_t kSets = 4;
constexpr int kWarmUps = 8;
constexpr int kCalls = 40;

const internal::FormatInfo& info_of(int32_t format) {
  return *internal::find_format(static_cast<internal::Format>(format));
}

// Microseconds of call(set).
double median_time(const std::function<void(size_t)>& call) {
  cudaEvent_t start;
  cudaEvent_t end;
  must(cudaEventCreate(&start), "cudaEventCreate");
  must(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int i = 0; i < kWarmUps + kCalls; ++i) {
    must(cudaEventRecord(start), "cudaEventRecord");
    call(static_cast<size_t>(i) % kSets);
    must(cudaEventRecord(end), "cudaEventRecord");
    must(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0.0f;
    must(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
    if (i >= kWarmUps) {
      times.push_back(milliseconds * 1000.0f);
    }
  }
  must(cudaEventDestroy(start), "cudaEventDestroy");
  must(cudaEventDestroy(end), "cudaEventDestroy");
  std::nth_element(times.begin(), times.begin() + kCalls / 2, times.end());
  return times[kCalls / 2];
}

double copy_rate = 0.0;

void report(const char* what, double bytes, double microseconds) {
  const double rate = bytes / microseconds / 1000.0;
  std::printf("%-36s %9.1f us %8.0f GB/s", what, microseconds, rate);
  if (copy_rate > 0.0) {
    std::printf("  %5.1f %% of a copy", 100.0 * rate / copy_rate);
  }
  std::printf("\n");
  std::fflush(stdout);
}

struct Sets {
  std::vector<std::unique_ptr<DeviceBytes>> plain;
  std::vector<std::unique_ptr<DeviceBytes>> qdata;
  std::vector<std::unique_ptr<DeviceBytes>> scale;
  std::vector<std::unique_ptr<DeviceBytes>> other_scale;
};

Sets make_sets(int64_t rows, int64_t cols) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  // As bf16 or f16 these are numbers too; fp32 takes the whole.
  std::vector<uint8_t> numbers(static_cast<size_t>(rows * cols) * 4);
  constexpr size_t kPeriod = 1 << 20;
  std::vector<uint16_t> period(kPeriod);
  for (uint16_t& code : period) {
    code = internal::bf16_encode(static_cast<double>(normal(engine)));
  }
  for (size_t i = 0; i < numbers.size(); i += kPeriod * 2) {
    std::memcpy(numbers.data() + i, period.data(), std::min(kPeriod * 2, numbers.size() - i));
  }
  const auto scales = static_cast<size_t>(internal::swizzled_scale_bytes(rows, cols / 16));
  Sets sets;
  for (size_t i = 0; i < kSets; ++i) {
    sets.plain.push_back(std::make_unique<DeviceBytes>(numbers));
    sets.qdata.push_back(std::make_unique<DeviceBytes>(static_cast<size_t>(rows * cols)));
    sets.scale.push_back(std::make_unique<DeviceBytes>(scales));
    sets.other_scale.push_back(std::make_unique<DeviceBytes>(scales));
  }
  return sets;
}

void require(int32_t status, const char* text) {
  if (status != MXGEMM_OK) {
    give_up("a call failed", text);
  }
}

void time_quantize(const mxgemm_data_functions& functions, const Sets& sets, int64_t rows,
                   int64_t cols, int32_t source, int32_t format, int32_t layout, int32_t mode) {
  mxgemm_quantize_desc desc = MXGEMM_QUANTIZE_DESC_INIT;
  desc.format_src = source;
  desc.format = format;
  desc.scale_layout = layout;
  desc.rows = rows;
  desc.cols = cols;
  desc.global_scale_mode = mode;
  const int64_t scale_cols = cols / info_of(format).block_size;
  const DeviceBytes global_scale(bytes_of(1.0f));
  const DeviceBytes workspace(std::vector<uint8_t>(256));
  const double time = median_time([&](size_t set) {
    mxgemm_quantize_args args = MXGEMM_QUANTIZE_ARGS_INIT;
    args.src = sets.plain[set]->data();
    args.src_ld = cols;
    args.qdata = sets.qdata[set]->data();
    args.qdata_ld = cols;
    args.scale = sets.scale[set]->data();
    args.scale_ld = layout == MXGEMM_SCALE_ROW_MAJOR ? scale_cols : 0;
    args.global_scale =
        format == MXGEMM_NVF4 ? reinterpret_cast<float*>(global_scale.data()) : nullptr;
    args.workspace = workspace.data();
    char text[512] = "";
    require(functions.quantize(&desc, &args, nullptr, {text, sizeof(text)}), text);
  });
  const double elements = static_cast<double>(rows * cols);
  const double passes = mode == MXGEMM_GLOBAL_SCALE_COMPUTE ? 2 : 1;
  char what[96];
  std::snprintf(what, sizeof(what), "%s -> %s%s%s", info_of(source).name, info_of(format).name,
                layout == MXGEMM_SCALE_ROW_MAJOR ? "" : ", swizzled",
                passes == 2 ? ", two passes" : "");
  report(what,
         elements * (passes * info_of(source).element_bits + info_of(format).element_bits) / 8 +
             elements / info_of(format).block_size,
         time);
}

void time_dequantize(const mxgemm_data_functions& functions, const Sets& sets, int64_t rows,
                     int64_t cols, int32_t format, int32_t target) {
  const double time = median_time([&](size_t set) {
    mxgemm_operand operand = MXGEMM_OPERAND_INIT;
    operand.data = sets.qdata[set]->data();
    operand.ld = cols;
    operand.scale = sets.scale[set]->data();
    mxgemm_dequantize_call call = {};
    call.struct_size = sizeof(call);
    call.format = format;
    call.format_dst = target;
    call.scale_layout = MXGEMM_SCALE_SWIZZLE_32_4_4;
    call.rows = rows;
    call.cols = cols;
    call.src = &operand;
    call.dst = sets.plain[set]->data();
    call.dst_ld = cols;
    char text[512] = "";
    require(functions.dequantize(&call, nullptr, {text, sizeof(text)}), text);
  });
  const double elements = static_cast<double>(rows * cols);
  char what[96];
  std::snprintf(what, sizeof(what), "%s -> %s", info_of(format).name, info_of(target).name);
  report(what,
         elements * (info_of(target).element_bits + info_of(format).element_bits) / 8 +
             elements / info_of(format).block_size,
         time);
}

void time_swizzle(const mxgemm_data_functions& functions, const Sets& sets, int64_t rows,
                  int64_t cols) {
  for (const bool to_swizzled : {true, false}) {
    const double time = median_time([&](size_t set) {
      mxgemm_swizzle_call call = {};
      call.struct_size = sizeof(call);
      call.rows = rows;
      call.cols = cols / 32;
      call.src = sets.scale[set]->data();
      call.dst = sets.other_scale[set]->data();
      call.ld = cols / 32;
      char text[512] = "";
      const auto function = to_swizzled ? functions.swizzle : functions.unswizzle;
      require(function(&call, nullptr, {text, sizeof(text)}), text);
    });
    report(to_swizzled ? "scales of mxf4, swizzled" : "scales of mxf4, unswizzled",
           2.0 * static_cast<double>(rows * cols / 32), time);
  }
}

int run(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: cuda_data_timing LIBRARY [ROWS COLS]\n");
    return 2;
  }
  const int64_t rows = argc == 4 ? std::atoll(argv[2]) : 8192;
  const int64_t cols = argc == 4 ? std::atoll(argv[3]) : 8192;
  if (rows <= 0 || cols <= 0 || cols % 32 != 0) {
    give_up("ROWS COLS", "they must be > 0, COLS a multiple of 32");
  }
  const mxgemm_data_functions& functions = open_data_functions(argv[1]);
  const Sets sets = make_sets(rows, cols);
  const auto half = static_cast<size_t>(rows * cols) * 2;
  const double copied = median_time([&](size_t set) {
    must(cudaMemcpyAsync(sets.plain[set]->data() + half, sets.plain[set]->data(), half,
                         cudaMemcpyDeviceToDevice),
         "cudaMemcpyAsync");
  });
  std::printf("%lld x %lld\n", static_cast<long long>(rows), static_cast<long long>(cols));
  report("copy of bf16", 2.0 * static_cast<double>(half), copied);
  copy_rate = 2.0 * static_cast<double>(half) / copied / 1000.0;
  constexpr int32_t kRowMajor = MXGEMM_SCALE_ROW_MAJOR;
  constexpr int32_t kSwizzled = MXGEMM_SCALE_SWIZZLE_32_4_4;
  for (const int32_t source : {MXGEMM_BF16, MXGEMM_F16, MXGEMM_F32}) {
    for (const int32_t format : {MXGEMM_MXF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2}) {
      time_quantize(functions, sets, rows, cols, source, format, kRowMajor, 0);
      time_quantize(functions, sets, rows, cols, source, format, kSwizzled, 0);
    }
    for (const int32_t mode : {MXGEMM_GLOBAL_SCALE_GIVEN, MXGEMM_GLOBAL_SCALE_COMPUTE}) {
      time_quantize(functions, sets, rows, cols, source, MXGEMM_NVF4, kSwizzled, mode);
    }
  }
  for (const int32_t format : {MXGEMM_MXF4, MXGEMM_NVF4, MXGEMM_MXF8E4M3, MXGEMM_MXF8E5M2}) {
    for (const int32_t target : {MXGEMM_BF16, MXGEMM_F32}) {
      time_dequantize(functions, sets, rows, cols, format, target);
    }
  }
  time_swizzle(functions, sets, rows, cols);
  return 0;
}

}  // namespace
}  // namespace mxgemm::test

int main(int argc, char** argv) {
  return mxgemm::test::run(argc, argv);
}
