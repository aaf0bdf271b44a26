// SPDX-License-Identifier: Apache-2.0
// A GEMM on a CUDA device with buffers that stay, so that it can be run many times, captured and
// fed with new data.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/exact_gemm.hpp"

namespace mxgemm::test {

constexpr Device kGpu = {MXGEMM_DEVICE_CUDA, 0};

struct Plan {
  explicit Plan(const mxgemm_gemm_desc& desc, const std::string& kernel_id = "") {
    EXPECT_EQ(mxgemm_plan_create(&desc, kernel_id.empty() ? nullptr : kernel_id.c_str(), &handle),
              MXGEMM_OK)
        << mxgemm_last_error();
    EXPECT_EQ(mxgemm_plan_workspace_size(handle, &workspace_bytes), MXGEMM_OK);
  }
  ~Plan() { mxgemm_plan_destroy(handle); }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  mxgemm_plan* handle = nullptr;
  uint64_t workspace_bytes = 0;
};

// A stream that waits for no other.
struct Stream {
  Stream() { EXPECT_EQ(mxgemm_stream_create(kGpu.kind, kGpu.index, &handle), MXGEMM_OK); }
  ~Stream() { EXPECT_EQ(mxgemm_stream_destroy(kGpu.kind, kGpu.index, handle), MXGEMM_OK); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t cuda() const { return static_cast<cudaStream_t>(handle); }
  void wait() const { ASSERT_EQ(cudaStreamSynchronize(cuda()), cudaSuccess); }

  void* handle = nullptr;
};

inline void upload(const void* source, uint64_t bytes, const DeviceBuffer& target) {
  ASSERT_EQ(mxgemm_device_copy(kGpu.kind, kGpu.index, target.data(), MXGEMM_DEVICE_CPU, 0, source,
                               bytes, nullptr),
            MXGEMM_OK)
      << mxgemm_last_error();
  // A copy from pageable memory may still be under way, and side streams do not wait for it.
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

// D in fp32.
class GpuCall {
 public:
  GpuCall(const Operand& a, const Operand& b)
      : desc(describe(a, b, kGpu)),
        a_data(kGpu, a.data().data(), a.data().size()),
        a_scale(kGpu, a.scale().data(), a.scale().size()),
        b_data(kGpu, b.data().data(), b.data().size()),
        b_scale(kGpu, b.scale().data(), b.scale().size()),
        d(kGpu, static_cast<uint64_t>(a.rows() * b.rows()) * sizeof(float)) {
    args.a = operand_at(a, a_data.data(), a_scale.data());
    args.b = operand_at(b, b_data.data(), b_scale.data());
    args.d = d.data();
    args.d_bytes = d.bytes();
    poison();
  }

  // For every plan that is run on these arguments after it.
  void give_workspace(uint64_t bytes) {
    workspace = std::make_unique<DeviceBuffer>(kGpu, bytes);
    args.workspace = workspace->data();
    args.workspace_bytes = bytes;
  }
  void set_a(const Operand& a) const {
    upload(a.data().data(), a.data().size(), a_data);
    if (a.has_scale()) {
      upload(a.scale().data(), a.scale().size(), a_scale);
    }
  }
  void poison() const { upload(std::vector<uint8_t>(d.bytes(), 0xFF).data(), d.bytes(), d); }
  void run(const Plan& plan, const Stream& stream) const {
    ASSERT_EQ(mxgemm_run(plan.handle, &args, stream.handle), MXGEMM_OK) << mxgemm_last_error();
  }
  std::vector<float> result() const { return download_floats(d); }

  mxgemm_gemm_desc desc;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;
  DeviceBuffer a_data;
  DeviceBuffer a_scale;
  DeviceBuffer b_data;
  DeviceBuffer b_scale;
  DeviceBuffer d;
  std::unique_ptr<DeviceBuffer> workspace;
};

}  // namespace mxgemm::test
