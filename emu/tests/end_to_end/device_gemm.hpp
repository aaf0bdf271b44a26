// SPDX-License-Identifier: Apache-2.0
// A GEMM of small integers on any device of an emulated machine.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "mxgemm/mxgemm.h"
#include "runtime/emu.h"
#include "support/exact_gemm.hpp"

namespace mxgemm::test {

inline Device gpu(int32_t index) {
  return {MXGEMM_DEVICE_CUDA, index};
}

// The operands on a device, a plan, its workspace and a stream.
class DeviceGemm {
 public:
  DeviceGemm(Device device, const Operand& a, const Operand& b, const std::string& kernel = "")
      : device_(device),
        a_data_(device, a.data().data(), a.data().size()),
        a_scale_(device, a.scale().data(), a.scale().size()),
        b_data_(device, b.data().data(), b.data().size()),
        b_scale_(device, b.scale().data(), b.scale().size()),
        d_(device, static_cast<uint64_t>(a.rows() * b.rows()) * sizeof(float)) {
    desc = describe(a, b, device);
    EXPECT_EQ(mxgemm_plan_create(&desc, kernel.empty() ? nullptr : kernel.c_str(), &plan_),
              MXGEMM_OK)
        << mxgemm_last_error();
    uint64_t bytes = 0;
    EXPECT_EQ(mxgemm_plan_workspace_size(plan_, &bytes), MXGEMM_OK);
    workspace_ = std::make_unique<DeviceBuffer>(device, bytes);
    EXPECT_EQ(mxgemm_stream_create(device.kind, device.index, &stream_), MXGEMM_OK);
    args.a = operand_at(a, a_data_.data(), a_scale_.data());
    args.b = operand_at(b, b_data_.data(), b_scale_.data());
    args.d = d_.data();
    args.d_bytes = d_.bytes();
    args.workspace = workspace_->data();
    args.workspace_bytes = bytes;
  }
  ~DeviceGemm() {
    mxgemm_stream_destroy(device_.kind, device_.index, stream_);
    mxgemm_plan_destroy(plan_);
  }
  DeviceGemm(const DeviceGemm&) = delete;
  DeviceGemm& operator=(const DeviceGemm&) = delete;

  void set_a(const Operand& a) const {
    upload(a_data_, a.data());
    upload(a_scale_, a.scale());
  }
  mxgemm_status run() const { return mxgemm_run(plan_, &args, stream_); }
  mxgemm_status synchronize() const {
    return mxgemm_device_synchronize(device_.kind, device_.index);
  }
  std::vector<float> result() const {
    EXPECT_EQ(synchronize(), MXGEMM_OK) << mxgemm_last_error();
    return download_floats(d_);
  }
  std::string kernel() const {
    char name[256] = "";
    EXPECT_EQ(mxgemm_plan_name(plan_, name, sizeof(name), nullptr), MXGEMM_OK);
    return name;
  }
  void* stream() const { return stream_; }
  const mxgemm_plan* plan() const { return plan_; }

  mxgemm_gemm_desc desc;
  mxgemm_gemm_args args = MXGEMM_GEMM_ARGS_INIT;

 private:
  template <typename Bytes>
  void upload(const DeviceBuffer& target, const Bytes& bytes) const {
    if (bytes.size() != 0) {
      ASSERT_EQ(mxgemm_device_copy(device_.kind, device_.index, target.data(), MXGEMM_DEVICE_CPU, 0,
                                   bytes.data(), bytes.size(), nullptr),
                MXGEMM_OK)
          << mxgemm_last_error();
    }
  }

  Device device_;
  DeviceBuffer a_data_;
  DeviceBuffer a_scale_;
  DeviceBuffer b_data_;
  DeviceBuffer b_scale_;
  DeviceBuffer d_;
  std::unique_ptr<DeviceBuffer> workspace_;
  mxgemm_plan* plan_ = nullptr;
  void* stream_ = nullptr;
};

inline emu_counter_values emulator_counters() {
  emu_counter_values values;
  emu_counters(&values);
  return values;
}

}  // namespace mxgemm::test
