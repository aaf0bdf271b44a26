// SPDX-License-Identifier: Apache-2.0
// Vector files: forms (a piece of PTX with inputs and outputs) and cases. The interpreter's tests
// and the program that captures the answers of a GPU read the same files and build the same PTX.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace emu::test {

struct FormCase {
  std::vector<uint64_t> inputs;
  std::vector<uint64_t> outputs;  // empty: not known; of a form with bounds: lowest, highest code
  std::vector<uint64_t> answers;  // of a form with bounds: what a GPU gave
  std::string fault;              // the error in which its CTA ends
};

// Cases come in whole CTAs: with one warp, case i is what lane i % 32 of CTA i / 32 computes.
struct Form {
  std::string name;
  unsigned target = 80;
  unsigned warps = 1;                // of a CTA
  unsigned cluster = 0;              // CTAs; 0: launched without clusters
  unsigned device = 0;               // the only capability that answers so; 0: any from `target`
  std::string bounds;                // f32, f16, bf16, f16x2, bf16x2: any code between two will do
  std::string code;                  // with $s0, $s1... and $d0, $d1...
  std::vector<std::string> inputs;   // b16, b32, b64, pred
  std::vector<std::string> outputs;  // the same
  std::vector<FormCase> cases;

  unsigned threads() const { return 32 * warps; }
  // Of CTAs that run together: those of a cluster.
  size_t threads_of_unit() const { return threads() * (cluster != 0 ? cluster : 1); }
  size_t units() const { return cases.size() / threads_of_unit(); }
};

// Throws std::runtime_error with file and line for what it does not understand.
std::vector<Form> read_forms(const std::string& path);
void write_forms(const std::string& path, const std::string& comment,
                 const std::vector<Form>& forms);

// One module with the kernels form0, form1...: each takes the addresses of inputs and outputs, one
// 64-bit slot for each value, case by case.
std::string ptx_of(const std::vector<Form>& forms, const std::string& target);

// "sm_90a" of 90.
std::string target_of(unsigned capability);
bool runs_on(const Form& form, unsigned capability);

// The form with the cases of unit `unit` alone.
Form part_of(const Form& form, size_t unit);

// Slots of all cases.
std::vector<uint64_t> input_slots(const Form& form);

// Whether `got` is what the case's outputs say, or lies between them. Bounds that are NaN allow
// every NaN and nothing else.
bool accepts(const Form& form, const FormCase& one, const uint64_t* got);

}  // namespace emu::test
