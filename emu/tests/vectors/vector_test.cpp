// SPDX-License-Identifier: Apache-2.0
// Runs every form of the vector files named on the command line in the interpreter and compares
// bit for bit. One test for each file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tests/kernel_runner.hpp"
#include "tests/vectors/form_file.hpp"

namespace emu::test {
namespace {

// Differences are many or none: the first few of a form tell all.
constexpr int kShownCases = 4;

std::string case_text(const Form& form, const FormCase& one, const uint64_t* got) {
  std::ostringstream out;
  out << form.name << ":" << std::hex;
  for (const uint64_t value : one.inputs) {
    out << " " << value;
  }
  out << " = ";
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    out << got[i] << " ";
  }
  out << (form.bounds.empty() ? "expected " : "expected between ");
  for (const uint64_t value : one.outputs) {
    out << value << " ";
  }
  return out.str();
}

// Golden data of a GPU, "sm_90a_float.txt", runs on an emulated device of its capability.
uint32_t capability_of(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  constexpr uint32_t kNewest = 120;
  return name.rfind("sm_", 0) == 0 ? static_cast<uint32_t>(std::stoul(name.substr(3))) : kNewest;
}

// The runtime's names of the errors that forms may end in.
std::string error_name(int error) {
  constexpr int kIllegalAddress = 700;
  constexpr int kIllegalInstruction = 715;
  constexpr int kMisalignedAddress = 716;
  switch (error) {
    case kIllegalAddress:
      return "cudaErrorIllegalAddress";
    case kIllegalInstruction:
      return "cudaErrorIllegalInstruction";
    case kMisalignedAddress:
      return "cudaErrorMisalignedAddress";
    default:
      return "error " + std::to_string(error);
  }
}

void check_once(KernelRunner& run, const Form& form, size_t index, uint32_t capability) {
  const size_t width = form.outputs.size();
  const uint64_t ins = run.buffer(input_slots(form));
  const uint64_t outs = run.buffer(std::vector<uint64_t>(form.cases.size() * width, 0xDEAD));
  const auto ctas = static_cast<uint32_t>(form.cases.size() / form.threads());
  ASSERT_GT(ctas, 0u) << form.name;
  const std::string kernel = "form" + std::to_string(index);
  LaunchRequest request =
      run.request({ins, outs}, {ctas, 1, 1}, {form.threads(), 1, 1}, kernel.c_str());
  request.cluster = {form.cluster != 0 ? form.cluster : 1, 1, 1};
  request.has_cluster = form.cluster != 0;
  request.device.capability = form.device != 0 ? form.device : capability;
  const LaunchResult result = launch(request, run.options);
  if (const std::string& fault = form.cases[0].fault; !fault.empty()) {
    ASSERT_EQ(error_name(result.error()), fault) << form.name << "\n" << result.fault.report;
    return;
  }
  ASSERT_TRUE(result.ok()) << form.name << "\n" << result.fault.report;
  const auto got = run.read<uint64_t>(outs, form.cases.size() * width);
  int shown = 0;
  for (size_t i = 0; i < form.cases.size() && shown < kShownCases; ++i) {
    const FormCase& one = form.cases[i];
    ASSERT_EQ(one.outputs.size(), form.bounds.empty() ? width : 2)
        << form.name << " has cases without answers";
    const uint64_t* values = got.data() + i * width;
    if (!accepts(form, one, values)) {
      ADD_FAILURE() << "case " << i << " of " << case_text(form, one, values);
      ++shown;
    }
    if (!one.answers.empty() && !accepts(form, one, one.answers.data())) {
      ADD_FAILURE() << "the GPU's case " << i << " of " << case_text(form, one, one.answers.data());
      ++shown;
    }
  }
  run.memory.release(ins);
  run.memory.release(outs);
}

// CTAs that end in a fault run alone.
void check_parts(KernelRunner& run, const Form& form, size_t index, uint32_t capability) {
  const bool faults = std::any_of(form.cases.begin(), form.cases.end(),
                                  [](const FormCase& one) { return !one.fault.empty(); });
  if (!faults) {
    check_once(run, form, index, capability);
    return;
  }
  for (size_t unit = 0; unit < form.units(); ++unit) {
    check_once(run, part_of(form, unit), index, capability);
  }
}

bool is_asynchronous(const Form& form) {
  return form.code.find("cp.async") != std::string::npos ||
         form.code.find("cp.reduce.async") != std::string::npos;
}

// Warps that work together, or with what happens asynchronously, meet every schedule; results with
// bounds are moved inside them.
void check_form(KernelRunner& run, const Form& form, size_t index, uint32_t capability) {
  if (form.warps == 1 && !is_asynchronous(form)) {
    check_parts(run, form, index, capability);
    if (!form.bounds.empty()) {
      run.options.approx_jitter = true;
      check_parts(run, form, index, capability);
      run.options = {};
    }
    return;
  }
  for_portfolio([&](const Options& options) {
    run.options = options;
    check_parts(run, form, index, capability);
  });
  run.options = {};
}

class VectorFile : public testing::Test {
 public:
  explicit VectorFile(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    const std::vector<Form> forms = read_forms(path_);
    ASSERT_FALSE(forms.empty());
    KernelRunner run(ptx_of(forms, "sm_120a"));
    if (HasFailure()) {
      return;
    }
    for (const ptx::Diagnostic& warning : run.program().warnings) {
      ADD_FAILURE() << "line " << warning.line << ": " << warning.message;
    }
    for (size_t index = 0; index < forms.size(); ++index) {
      check_form(run, forms[index], index, capability_of(path_));
    }
  }

 private:
  std::string path_;
};

}  // namespace
}  // namespace emu::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s vector files...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; ++i) {
    const std::string path = argv[i];
    const std::string name = path.substr(path.find_last_of('/') + 1);
    testing::RegisterTest("Vectors", name.c_str(), nullptr, path.c_str(), __FILE__, __LINE__,
                          [path]() -> testing::Test* { return new emu::test::VectorFile(path); });
  }
  return RUN_ALL_TESTS();
}
