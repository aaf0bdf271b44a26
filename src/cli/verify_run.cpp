// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cli/program.hpp"
#include "reference/compare.hpp"

namespace mxgemm::cli {
namespace {

// Where two images differ first; the size if nowhere.
uint64_t first_difference(const Image& image, const Image& other) {
  const auto [at, ignored] =
      std::mismatch(image.bytes.begin(), image.bytes.end(), other.bytes.begin());
  return static_cast<uint64_t>(at - image.bytes.begin());
}

}  // namespace

DeviceProblem::DeviceProblem(const ProblemData& data, DeviceId device, Placement placement,
                             bool in_place)
    : data_(data),
      device_(device),
      placement_(placement),
      desc_(make_desc(data.problem, device.kind, device.index)) {
  const Problem& p = data.problem;
  add_operand(data.a, "A's elements", "A's scales", args_.a);
  add_operand(data.b, "B's elements", "B's scales", args_.b);
  if (p.packed_b) {
    pack_b();
  }
  args_.alpha = p.alpha_on_device ? 1.0f : data.alpha;
  args_.alpha_ptr = p.alpha_on_device ? add_scalar("alpha", data.alpha) : nullptr;
  args_.beta = p.beta.value_or(0.0f);
  if (p.bias != Format::kNone) {
    args_.bias = add_input("bias", data.bias);
    args_.bias_bytes = data.bias.payload_bytes;
  }
  initial_d_ = Image(matrix_bytes(p.d, p.m, p.n, ldd(p)), p.offset);
  internal::fill_poison(initial_d_.bytes.data(), initial_d_.bytes.size());
  if (p.beta && in_place) {
    const int64_t element = internal::find_format(p.d)->element_bits / 8;
    for (int64_t row = 0; row < p.m && p.n > 0; ++row) {
      std::memcpy(initial_d_.payload() + row * ldd(p) * element,
                  data.c.payload() + row * ldc(p) * element, static_cast<size_t>(p.n * element));
    }
  }
  d_ = DeviceImage(device, initial_d_, placement);
  args_.d = d_.payload();
  args_.d_bytes = initial_d_.payload_bytes;
  args_.ldd = ldd(p);
  if (p.beta) {
    args_.c = in_place ? args_.d : add_input("C", data.c);
    args_.c_bytes = in_place ? args_.d_bytes : data.c.payload_bytes;
    args_.ldc = in_place ? ldd(p) : ldc(p);
  }
}

const uint8_t* DeviceProblem::add_input(const char* name, const Image& image) {
  inputs_.push_back({name, &image, DeviceImage(device_, image, placement_)});
  return inputs_.back().device.payload();
}

const float* DeviceProblem::add_scalar(const char* name, float value) {
  own_images_.push_back(std::make_unique<Image>(sizeof value, 0));
  std::memcpy(own_images_.back()->payload(), &value, sizeof value);
  return reinterpret_cast<const float*>(add_input(name, *own_images_.back()));
}

void DeviceProblem::add_operand(const OperandData& operand, const char* elements, const char* scale,
                                mxgemm_operand& out) {
  out.data = add_input(elements, operand.elements);
  out.data_bytes = operand.elements.payload_bytes;
  out.ld = operand.ld;
  if (is_block_scaled(operand.format)) {
    out.scale = add_input(scale, operand.scale);
    out.scale_bytes = operand.scale.payload_bytes;
    out.scale_ld = operand.layout == ScaleLayout::kRowMajor ? operand.scale_ld : 0;
  }
  if (internal::find_format(operand.format)->has_global_scale) {
    if (data_.problem.alpha_on_device) {
      out.global_scale_ptr = add_scalar("a global scale", operand.global_scale);
    } else {
      out.global_scale = operand.global_scale;
    }
  }
}

void DeviceProblem::pack_b() {
  const Problem& p = data_.problem;
  uint64_t bytes = 0;
  check(mxgemm_pack_size(device_.kind, device_.index, desc_.format_b, p.n, p.k, &bytes));
  // Its alignment of 64 bytes is part of the interface: off= does not move it.
  own_images_.push_back(std::make_unique<Image>(bytes, 0));
  Image& image = *own_images_.back();
  DeviceImage packed(device_, image);
  mxgemm_operand source = args_.b;
  source.global_scale = 1.0f;
  source.global_scale_ptr = nullptr;
  check(mxgemm_pack(device_.kind, device_.index, desc_.format_b, p.n, p.k, &source,
                    desc_.scale_layout_b, packed.payload(), bytes, nullptr),
        "packing B");
  const Image before = image;
  packed.download(image);
  if (!std::equal(before.bytes.begin(), before.bytes.begin() + kGuardBytes, image.bytes.begin()) ||
      !std::equal(before.bytes.end() - kGuardBytes, before.bytes.end(),
                  image.bytes.end() - kGuardBytes)) {
    throw CommandError(kExitVerifyFailed, "mxgemm_pack wrote outside its buffer");
  }
  inputs_.push_back({"the packed B", &image, std::move(packed)});
  args_.b.data = inputs_.back().device.payload();
  args_.b.data_bytes = bytes;
  args_.b.ld = 0;
  args_.b.scale = nullptr;
  args_.b.scale_bytes = 0;
  args_.b.scale_ld = 0;
}

void DeviceProblem::prepare(const Plan& plan) {
  workspace_image_ = Image(plan.workspace_bytes(), 0);
  workspace_ = DeviceImage(device_, workspace_image_);
  args_.workspace = workspace_.payload();
  args_.workspace_bytes = workspace_image_.payload_bytes;
  d_.upload(initial_d_);
}

void DeviceProblem::use_workspace_of(const DeviceProblem& other) {
  args_.workspace = other.args_.workspace;
  args_.workspace_bytes = other.args_.workspace_bytes;
}

void DeviceProblem::launch(const Plan& plan) const {
  check(mxgemm_run(plan.get(), &args_, nullptr));
}

void DeviceProblem::run(const Plan& plan) {
  prepare(plan);
  launch(plan);
  check(mxgemm_device_synchronize(device_.kind, device_.index));
}

Image DeviceProblem::result() const {
  Image image = initial_d_;
  d_.download(image);
  return image;
}

std::vector<std::string> DeviceProblem::changed_inputs() const {
  std::vector<std::string> changed;
  const auto compare = [&](const std::string& name, const Image& before, const Image& now) {
    const uint64_t at = first_difference(before, now);
    if (at != now.bytes.size()) {
      changed.push_back(
          fmt::format("{} changed, first at byte {}", name,
                      static_cast<int64_t>(at) - static_cast<int64_t>(now.payload_begin)));
    }
  };
  for (const Input& input : inputs_) {
    Image now = *input.host;
    input.device.download(now);
    compare(input.name, *input.host, now);
  }
  if (!workspace_image_.bytes.empty()) {
    Image now = workspace_image_;
    workspace_.download(now);
    std::fill_n(now.payload(), now.payload_bytes, kInputGuard);
    compare("the guard of the workspace", workspace_image_, now);
  }
  return changed;
}

}  // namespace mxgemm::cli
