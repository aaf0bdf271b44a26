// SPDX-License-Identifier: Apache-2.0
// A problem's data on a device, ready to be run by any plan.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/verify_data.hpp"
#include "cli/verify_image.hpp"

namespace mxgemm::cli {

class DeviceProblem {
 public:
  // Copies the inputs (and packs B where the problem says so). `in_place`: D is C, with C's leading
  // dimension.
  DeviceProblem(const ProblemData& data, DeviceId device, Placement placement, bool in_place);

  const mxgemm_gemm_desc& desc() const { return desc_; }
  const mxgemm_gemm_args& args() const { return args_; }
  DeviceId device() const { return device_; }

  // What D's buffer holds before a run: poison everywhere, in place C's elements among it.
  const Image& initial_d() const { return initial_d_; }

  // Puts initial_d() into D and runs `plan` with a workspace of its own. Throws what `check`
  // throws.
  void run(const Plan& plan);
  // The run alone, on buffers as they are: for timing. `prepare` must have been called with the
  // same plan.
  void prepare(const Plan& plan);
  void launch(const Plan& plan) const;
  // In place of `prepare`, for a plan that `other` was prepared with; `other` must outlive this.
  void use_workspace_of(const DeviceProblem& other);

  // D's buffer after a run.
  Image result() const;

  // Names of inputs, the workspace's guard included, whose bytes are no longer what they were.
  std::vector<std::string> changed_inputs() const;

 private:
  struct Input {
    const char* name;
    const Image* host;
    DeviceImage device;
  };

  const uint8_t* add_input(const char* name, const Image& image);
  void add_operand(const OperandData& operand, const char* elements, const char* scale,
                   mxgemm_operand& out);
  void pack_b();
  const float* add_scalar(const char* name, float value);

  const ProblemData& data_;
  DeviceId device_;
  Placement placement_;
  mxgemm_gemm_desc desc_{};
  mxgemm_gemm_args args_ = MXGEMM_GEMM_ARGS_INIT;
  std::vector<Input> inputs_;
  std::vector<std::unique_ptr<Image>> own_images_;  // of scalars and of the packed B
  Image initial_d_;
  DeviceImage d_;
  Image workspace_image_;
  DeviceImage workspace_;
};

}  // namespace mxgemm::cli
