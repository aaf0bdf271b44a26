// SPDX-License-Identifier: Apache-2.0
// mxf4 x mxf4 -> bf16 on a CUDA device, in buffers of that device that leave room to move pointers.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "abi/expect_status.hpp"
#include "mxgemm/mxgemm.h"

namespace mxgemm::test {

inline mxgemm_gemm_desc gpu_desc(int32_t device, int64_t m = 4, int64_t n = 8, int64_t k = 128) {
  mxgemm_gemm_desc desc = MXGEMM_GEMM_DESC_INIT;
  desc.device_kind = MXGEMM_DEVICE_CUDA;
  desc.device_index = device;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.format_a = MXGEMM_MXF4;
  desc.format_b = MXGEMM_MXF4;
  desc.format_d = MXGEMM_BF16;
  return desc;
}

// The kernel that a plan for desc names; "" and a failed test if there is none.
inline std::string chosen_kernel(const mxgemm_gemm_desc& desc, const char* kernel_id = nullptr) {
  mxgemm_plan* plan = nullptr;
  char name[128] = "";
  expect_ok(mxgemm_plan_create(&desc, kernel_id, &plan));
  if (plan != nullptr) {
    expect_ok(mxgemm_plan_name(plan, name, sizeof(name), nullptr));
  }
  mxgemm_plan_destroy(plan);
  return name;
}

inline std::string explanation(const mxgemm_gemm_desc& desc) {
  std::vector<char> text(1 << 16);
  expect_ok(mxgemm_explain(&desc, text.data(), text.size(), nullptr));
  return text.data();
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
}

struct GpuGemm {
  static constexpr uint64_t kRoom = 4096;

  mxgemm_gemm_desc desc;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  void* buffers[6] = {};

  explicit GpuGemm(int32_t device, int64_t k = 128) : desc(gpu_desc(device, 4, 8, k)) {
    for (void*& buffer : buffers) {
      expect_ok(mxgemm_device_alloc(MXGEMM_DEVICE_CUDA, device, kRoom, &buffer));
    }
    const uint64_t usable = kRoom - 256;
    args.a.data = buffers[0];
    args.a.data_bytes = usable;
    args.a.scale = static_cast<const uint8_t*>(buffers[1]);
    args.a.scale_bytes = usable;
    args.b.data = buffers[2];
    args.b.data_bytes = usable;
    args.b.scale = static_cast<const uint8_t*>(buffers[3]);
    args.b.scale_bytes = usable;
    args.d = buffers[4];
    args.d_bytes = usable;
    args.workspace = buffers[5];
    args.workspace_bytes = kRoom;
  }
  ~GpuGemm() {
    for (void* buffer : buffers) {
      expect_ok(mxgemm_device_free(MXGEMM_DEVICE_CUDA, desc.device_index, buffer));
    }
  }
  GpuGemm(const GpuGemm&) = delete;
  GpuGemm& operator=(const GpuGemm&) = delete;

  mxgemm_status run() { return mxgemm_gemm(&desc, &args, nullptr); }
  // What the stub kernel that ran has left in D: 120 for sm120f, 80 for sm80; -1 for none.
  int mark() const {
    uint16_t value = 0xFFFF;
    expect_ok(mxgemm_device_copy(MXGEMM_DEVICE_CPU, 0, &value, MXGEMM_DEVICE_CUDA,
                                 desc.device_index, args.d, sizeof(value), nullptr));
    return value == 0xFFFF ? -1 : value;
  }
  void poison() {
    std::vector<uint8_t> bytes(kRoom, 0xFF);
    expect_ok(mxgemm_device_copy(MXGEMM_DEVICE_CUDA, desc.device_index, buffers[4],
                                 MXGEMM_DEVICE_CPU, 0, bytes.data(), bytes.size(), nullptr));
  }
};

}  // namespace mxgemm::test
