// SPDX-License-Identifier: Apache-2.0
// Runs vector files on a real GPU and writes its answers as golden data.
//
//   emu_capture <output folder> <vector files...>
//
// Prints for each form how many answers differ from the expected ones. Of each form at most
// kKeptCtas whole CTAs (or clusters) are written, first those with differences; a note on the GPU,
// the driver and the date goes on top.
//
// A fault costs no other form. The CTAs of a form that met one run once more, each alone; all of
// them are written, with the error where one ended in it. A form may expect an error.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/isolate.hpp"
#include "tests/vectors/form_file.hpp"

namespace emu::test {
namespace {

using tests::Outcome;

// A program runs for each file at the same time, and a context takes the driver a while.
constexpr size_t kProcesses = 2;

// Of a form whose answers were foreseen one CTA is kept, since CI runs all of its cases anyway; of
// the others so many. Answers with bounds are never foreseen bit by bit: all are kept.
constexpr size_t kKeptCtas = 3;

void check(cudaError_t result, const std::string& what) {
  if (result != cudaSuccess) {
    throw std::runtime_error(what + ": " + cudaGetErrorName(result));
  }
}

// Device memory for slots.
class Slots {
 public:
  explicit Slots(const std::vector<uint64_t>& values) : bytes_(8 * values.size()) {
    check(cudaMalloc(&data_, bytes_), "cudaMalloc");
    check(cudaMemcpy(data_, values.data(), bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Slots() { cudaFree(data_); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  void* data() const { return data_; }
  std::vector<uint64_t> read() const {
    std::vector<uint64_t> values(bytes_ / 8);
    check(cudaMemcpy(values.data(), data_, bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

std::vector<uint64_t> run(const Form& form, const std::string& target) {
  const std::string text = ptx_of({form}, target);
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "the driver does not take " + form.name);
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library, "form0"), "cudaLibraryGetKernel");
  const Slots ins(input_slots(form));
  const Slots outs(std::vector<uint64_t>(form.cases.size() * form.outputs.size(), 0));
  void* addresses[] = {ins.data(), outs.data()};
  void* arguments[] = {&addresses[0], &addresses[1]};
  const auto ctas = static_cast<unsigned>(form.cases.size() / form.threads());
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {form.cluster, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(form.threads());
  config.attrs = &cluster;
  config.numAttrs = form.cluster != 0 ? 1 : 0;
  check(cudaLaunchKernelExC(&config, kernel, arguments), "launching " + form.name);
  check(cudaDeviceSynchronize(), "running " + form.name);
  std::vector<uint64_t> answers = outs.read();
  cudaLibraryUnload(library);
  return answers;
}

// In a child process.
Outcome outcome_of(const Form& form, const std::string& target) {
  try {
    const std::vector<uint64_t> answers = run(form, target);
    std::string data(8 * answers.size(), '\0');
    std::memcpy(data.data(), answers.data(), data.size());
    return {Outcome::kDone, data};
  } catch (const std::exception& error) {
    const cudaError_t state = cudaDeviceSynchronize();
    return state == cudaSuccess ? Outcome{Outcome::kFailed, error.what()}
                                : Outcome{Outcome::kFault, cudaGetErrorName(state)};
  }
}

// A form's outcome, or those of its parts where it met a fault.
std::vector<Outcome> outcomes_of_parts(const Form& form, const Outcome& whole,
                                       const std::string& target) {
  const size_t units = form.units();
  if (whole.kind == Outcome::kDone) {
    const size_t bytes = whole.data.size() / units;
    std::vector<Outcome> parts;
    for (size_t unit = 0; unit < units; ++unit) {
      parts.push_back({Outcome::kDone, whole.data.substr(unit * bytes, bytes)});
    }
    return parts;
  }
  return tests::isolated(units, kProcesses,
                         [&](size_t unit) { return outcome_of(part_of(form, unit), target); });
}

struct Tally {
  size_t answers = 0;
  size_t differing = 0;
  size_t faults = 0;  // answers that were none, among those that differ
  size_t failed = 0;  // forms
};

std::string text_of_inputs(const FormCase& one) {
  std::ostringstream text;
  text << std::hex;
  for (const uint64_t value : one.inputs) {
    text << " " << value;
  }
  return text.str();
}

// Puts what came of unit `unit` into its cases; the number that differ from what was expected.
size_t take_unit(Form& form, size_t unit, const Outcome& outcome, Tally& tally) {
  const size_t size = form.threads_of_unit();
  const size_t width = form.outputs.size();
  size_t differing = 0;
  for (size_t i = 0; i < size; ++i) {
    FormCase& one = form.cases[unit * size + i];
    const std::string expected = one.fault;
    one.fault = outcome.kind == Outcome::kDone ? "" : outcome.data;
    if (outcome.kind != Outcome::kDone) {
      differing += one.fault == expected ? 0 : 1;
      one.outputs.clear();
      continue;
    }
    std::vector<uint64_t> got(width);
    std::memcpy(got.data(), outcome.data.data() + 8 * i * width, 8 * width);
    if (!expected.empty() || (!one.outputs.empty() && !accepts(form, one, got.data()))) {
      ++differing;
    }
    (form.bounds.empty() ? one.outputs : one.answers) = got;
  }
  if (outcome.kind != Outcome::kDone && differing != 0) {
    std::printf("%s: CTA %zu ends in %s; its first inputs are%s\n", form.name.c_str(),
                unit * size / form.threads(), outcome.data.c_str(),
                text_of_inputs(form.cases[unit * size]).c_str());
    tally.faults += differing;
  }
  return differing;
}

// Puts the answers into the cases.
void take_answers(Form& form, const std::vector<Outcome>& parts, Tally& tally,
                  std::vector<bool>& differs) {
  size_t count = 0;
  for (size_t unit = 0; unit < parts.size(); ++unit) {
    const size_t here = take_unit(form, unit, parts[unit], tally);
    count += here;
    differs.push_back(here != 0);
  }
  if (count != 0) {
    std::printf("%s: %zu of %zu answers differ from the expected ones\n", form.name.c_str(), count,
                form.cases.size());
  }
  tally.answers += form.cases.size();
  tally.differing += count;
}

void keep_some_ctas(Form& form, const std::vector<bool>& differs) {
  if (!form.bounds.empty()) {
    return;
  }
  for (const FormCase& one : form.cases) {
    if (!one.fault.empty()) {
      return;
    }
  }
  std::vector<size_t> kept;
  for (size_t unit = 0; unit < differs.size() && kept.size() < kKeptCtas; ++unit) {
    if (differs[unit]) {
      kept.push_back(unit);
    }
  }
  if (kept.empty()) {
    kept.push_back(differs.size() / 2);
  }
  std::vector<FormCase> cases;
  for (const size_t unit : kept) {
    const Form part = part_of(form, unit);
    cases.insert(cases.end(), part.cases.begin(), part.cases.end());
  }
  form.cases = cases;
}

struct Gpu {
  std::string name;
  unsigned capability = 0;
  int driver = 0;
  std::string target;
};

Gpu find_gpu() {
  const Outcome outcome = tests::isolated(1, kProcesses, [](size_t) -> Outcome {
    cudaDeviceProp properties;
    int driver = 0;
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    return {Outcome::kDone, std::to_string(10 * properties.major + properties.minor) + " " +
                                std::to_string(driver) + " " + properties.name};
  })[0];
  if (outcome.kind != Outcome::kDone) {
    throw std::runtime_error(outcome.data);
  }
  Gpu gpu;
  std::istringstream words(outcome.data);
  words >> gpu.capability >> gpu.driver;
  std::getline(words >> std::ws, gpu.name);
  gpu.target = target_of(gpu.capability);
  return gpu;
}

std::string provenance(const Gpu& gpu, const std::string& source) {
  char date[32] = "";
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::ostringstream out;
  out << "Answers of a GPU, captured by emu_capture (emu/tests/vectors/capture.cpp).\nGPU: "
      << gpu.name << " (" << gpu.target << ")\nDriver API: " << gpu.driver << "\nDate: " << date
      << "\nInputs: " << source << "\n";
  return out.str();
}

// Whether every form could be run. Those that could not are left out.
bool capture(const Gpu& gpu, const std::filesystem::path& folder, const std::string& path) {
  std::vector<Form> forms = read_forms(path);
  std::erase_if(forms, [&](const Form& form) { return !runs_on(form, gpu.capability); });
  const std::vector<Outcome> outcomes = tests::isolated(
      forms.size(), kProcesses, [&](size_t index) { return outcome_of(forms[index], gpu.target); });
  std::vector<Form> taken;
  Tally tally;
  for (size_t i = 0; i < forms.size(); ++i) {
    Form& form = forms[i];
    if (outcomes[i].kind == Outcome::kFailed) {
      std::printf("%s: %s\n", form.name.c_str(), outcomes[i].data.c_str());
      ++tally.failed;
      continue;
    }
    if (outcomes[i].kind == Outcome::kFault && form.cases[0].fault.empty()) {
      std::printf("%s: ends in %s; CTA by CTA:\n", form.name.c_str(), outcomes[i].data.c_str());
    }
    std::vector<bool> differs;
    take_answers(form, outcomes_of_parts(form, outcomes[i], gpu.target), tally, differs);
    keep_some_ctas(form, differs);
    taken.push_back(std::move(form));
  }
  const std::string name = std::filesystem::path(path).filename();
  const std::string golden = folder / (gpu.target + "_" + name);
  write_forms(golden, provenance(gpu, name), taken);
  std::printf(
      "%s: %zu forms; of %zu answers %zu differ from the expected ones, %zu faults among them, %zu "
      "forms failed\n",
      name.c_str(), taken.size(), tally.answers, tally.differing, tally.faults, tally.failed);
  return tally.failed == 0;
}

}  // namespace
}  // namespace emu::test

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s <output folder> <vector files...>\n", argv[0]);
    return 2;
  }
  try {
    const emu::test::Gpu gpu = emu::test::find_gpu();
    bool ok = true;
    for (int i = 2; i < argc; ++i) {
      ok = emu::test::capture(gpu, argv[1], argv[i]) && ok;
    }
    return ok ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "emu_capture: %s\n", error.what());
    return 1;
  }
}
