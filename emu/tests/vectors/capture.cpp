// SPDX-License-Identifier: Apache-2.0
// Runs vector files on a real GPU and writes its answers as golden data.
//
//   emu_capture <output folder> <vector files...>
//
// Prints for each form how many answers differ from the expected ones. Of each form at most
// kKeptCtas whole CTAs are written, first those with differences; a note on the GPU, the driver
// and the date goes on top.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/vectors/form_file.hpp"

namespace emu::test {
namespace {

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
  check(cudaLaunchKernel(kernel, dim3(ctas), dim3(form.threads()), arguments, 0, nullptr),
        "cudaLaunchKernel of " + form.name);
  check(cudaDeviceSynchronize(), "running " + form.name);
  std::vector<uint64_t> answers = outs.read();
  cudaLibraryUnload(library);
  return answers;
}

// Puts the answers into the cases; the number that differ from what was expected.
size_t take_answers(Form& form, const std::vector<uint64_t>& answers, std::vector<bool>& differs) {
  size_t count = 0;
  const size_t width = form.outputs.size();
  differs.assign(form.cases.size() / form.threads(), false);
  for (size_t i = 0; i < form.cases.size(); ++i) {
    const std::vector<uint64_t> got(answers.begin() + static_cast<std::ptrdiff_t>(i * width),
                                    answers.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    if (!form.cases[i].outputs.empty() && !accepts(form, form.cases[i], got.data())) {
      ++count;
      differs[i / form.threads()] = true;
    }
    (form.bounds.empty() ? form.cases[i].outputs : form.cases[i].answers) = got;
  }
  return count;
}

void keep_some_ctas(Form& form, const std::vector<bool>& differs) {
  if (!form.bounds.empty()) {
    return;
  }
  std::vector<size_t> kept;
  for (size_t cta = 0; cta < differs.size() && kept.size() < kKeptCtas; ++cta) {
    if (differs[cta]) {
      kept.push_back(cta);
    }
  }
  if (kept.empty()) {
    kept.push_back(differs.size() / 2);
  }
  std::vector<FormCase> cases;
  for (const size_t cta : kept) {
    const auto begin = form.cases.begin() + static_cast<std::ptrdiff_t>(cta * form.threads());
    cases.insert(cases.end(), begin, begin + form.threads());
  }
  form.cases = cases;
}

struct Gpu {
  std::string name;
  unsigned capability = 0;
  std::string target;
};

Gpu open_gpu() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  const auto number = static_cast<unsigned>(10 * properties.major + properties.minor);
  return {properties.name, number, target_of(number)};
}

std::string provenance(const Gpu& gpu, const std::string& source) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  char date[32] = "";
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::ostringstream out;
  out << "Answers of a GPU, captured by emu_capture (emu/tests/vectors/capture.cpp).\nGPU: "
      << gpu.name << " (" << gpu.target << ")\nDriver API: " << driver << "\nDate: " << date
      << "\nInputs: " << source << "\n";
  return out.str();
}

// Whether every form could be run. Those that could not are left out.
bool capture(const Gpu& gpu, const std::filesystem::path& folder, const std::string& path) {
  std::vector<Form> taken;
  size_t all = 0;
  size_t differing = 0;
  size_t failed = 0;
  for (Form& form : read_forms(path)) {
    if (!runs_on(form, gpu.capability)) {
      continue;
    }
    std::vector<bool> differs;
    const size_t cases = form.cases.size();
    size_t count = 0;
    try {
      count = take_answers(form, run(form, gpu.target), differs);
    } catch (const std::exception& error) {
      std::printf("%s: %s\n", form.name.c_str(), error.what());
      ++failed;
      continue;
    }
    all += cases;
    differing += count;
    if (count != 0) {
      std::printf("%s: %zu of %zu answers differ from the expected ones\n", form.name.c_str(),
                  count, cases);
    }
    keep_some_ctas(form, differs);
    taken.push_back(std::move(form));
  }
  const std::string name = std::filesystem::path(path).filename();
  const std::string golden = folder / (gpu.target + "_" + name);
  write_forms(golden, provenance(gpu, name), taken);
  std::printf("%s: %zu forms; of %zu answers %zu differ from the expected ones, %zu forms failed\n",
              name.c_str(), taken.size(), all, differing, failed);
  return failed == 0;
}

}  // namespace
}  // namespace emu::test

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s <output folder> <vector files...>\n", argv[0]);
    return 2;
  }
  try {
    const emu::test::Gpu gpu = emu::test::open_gpu();
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
