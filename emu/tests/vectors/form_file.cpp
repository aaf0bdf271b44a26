// SPDX-License-Identifier: Apache-2.0
#include "form_file.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace emu::test {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

FormCase case_of(const std::string& text) {
  FormCase one;
  std::vector<uint64_t>* to = &one.inputs;
  for (const std::string& word : words_of(text)) {
    if (word == "=") {
      to = &one.outputs;
    } else if (word == ":") {
      to = &one.answers;
    } else if (word == "!") {
      one.fault = text.substr(text.find('!') + 2);
      break;
    } else {
      to->push_back(std::stoull(word, nullptr, 16));
    }
  }
  return one;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Instructions between a 64-bit slot in %slot and a register.
std::string load_of(const std::string& type, const std::string& reg) {
  if (type == "pred") {
    return "setp.ne.u64 " + reg + ", %slot, 0;\n";
  }
  return type == "b64" ? "mov.b64 " + reg + ", %slot;\n"
                       : "cvt.u" + type.substr(1) + ".u64 " + reg + ", %slot;\n";
}
std::string store_of(const std::string& type, const std::string& reg) {
  if (type == "pred") {
    return "selp.b64 %slot, 1, 0, " + reg + ";\n";
  }
  return type == "b64" ? "mov.b64 %slot, " + reg + ";\n"
                       : "cvt.u64.u" + type.substr(1) + " %slot, " + reg + ";\n";
}

// How the numbers lie in a result with bounds.
struct Bounds {
  unsigned width = 32;
  unsigned count = 1;
  uint64_t infinity = 0x7F800000;
};

Bounds bounds_of(const std::string& kind) {
  if (kind == "f32") {
    return {};
  }
  const bool bf16 = kind.rfind("bf16", 0) == 0;
  const std::string rest = kind.substr(std::min(kind.size(), size_t{bf16 ? 4u : 3u}));
  if ((!bf16 && kind.rfind("f16", 0) != 0) || (!rest.empty() && rest != "x2")) {
    throw std::runtime_error("unknown bounds '" + kind + "'");
  }
  return {16, rest.empty() ? 1u : 2u, bf16 ? 0x7F80u : 0x7C00u};
}

// Codes in the order of their values, -0 below +0.
int64_t order_of(uint64_t code, unsigned width) {
  const uint64_t sign = uint64_t{1} << (width - 1);
  const auto magnitude = static_cast<int64_t>(code & (sign - 1));
  return (code & sign) != 0 ? -1 - magnitude : magnitude;
}

std::string kernel_of(const Form& form, size_t index) {
  std::ostringstream out;
  out << ".visible .entry form" << index << "(.param .u64 ins, .param .u64 outs)\n{\n"
      << ".reg .b64 %ins, %outs, %slot, %step;\n.reg .b32 %index, %lane;\n"
      << "ld.param.u64 %ins, [ins];\nld.param.u64 %outs, [outs];\n"
      << "mov.u32 %index, %ctaid.x;\nmov.u32 %lane, %tid.x;\n"
      << "mad.lo.u32 %index, %index, " << form.threads() << ", %lane;\n"
      << "mul.wide.u32 %step, %index, " << 8 * form.inputs.size() << ";\n"
      << "add.u64 %ins, %ins, %step;\n"
      << "mul.wide.u32 %step, %index, " << 8 * form.outputs.size() << ";\n"
      << "add.u64 %outs, %outs, %step;\n";
  std::string code = form.code;
  // Downwards, so that $s1 does not take a part of $s10.
  for (size_t i = form.inputs.size(); i-- > 0;) {
    code = replaced(code, "$s" + std::to_string(i), "%in" + std::to_string(i));
  }
  for (size_t i = form.outputs.size(); i-- > 0;) {
    code = replaced(code, "$d" + std::to_string(i), "%out" + std::to_string(i));
  }
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    const std::string reg = "%in" + std::to_string(i);
    out << ".reg ." << form.inputs[i] << " " << reg << ";\n"
        << "ld.global.u64 %slot, [%ins+" << 8 * i << "];\n"
        << load_of(form.inputs[i], reg);
  }
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    out << ".reg ." << form.outputs[i] << " %out" << i << ";\n";
  }
  out << "{\n" << code << "}\n";
  for (size_t i = 0; i < form.outputs.size(); ++i) {
    out << store_of(form.outputs[i], "%out" + std::to_string(i)) << "st.global.u64 [%outs+" << 8 * i
        << "], %slot;\n";
  }
  out << "ret;\n}\n";
  return out.str();
}

}  // namespace

std::vector<Form> read_forms(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw std::runtime_error(path + ": cannot be opened");
  }
  std::vector<Form> forms;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (key.empty() || key == "#") {
      continue;
    }
    if (key == "form") {
      forms.emplace_back();
      forms.back().name = rest;
    } else if (forms.empty()) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": no form yet");
    } else if (key == "target") {
      forms.back().target = static_cast<unsigned>(std::stoul(rest));
    } else if (key == "warps") {
      forms.back().warps = static_cast<unsigned>(std::stoul(rest));
    } else if (key == "cluster") {
      forms.back().cluster = static_cast<unsigned>(std::stoul(rest));
    } else if (key == "device") {
      forms.back().device = static_cast<unsigned>(std::stoul(rest));
    } else if (key == "bounds") {
      forms.back().bounds = rest;
      bounds_of(rest);  // or it throws
    } else if (key == "code") {
      forms.back().code += rest + "\n";
    } else if (key == "in") {
      forms.back().inputs = words_of(rest);
    } else if (key == "out") {
      forms.back().outputs = words_of(rest);
    } else if (key == "case") {
      forms.back().cases.push_back(case_of(rest));
    } else {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": unknown line '" + key +
                               "'");
    }
  }
  return forms;
}

void write_forms(const std::string& path, const std::string& comment,
                 const std::vector<Form>& forms) {
  std::ofstream out(path);
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) {
    out << "# " << line << "\n";
  }
  const auto list = [&](const char* key, const std::vector<std::string>& words) {
    out << key;
    for (const std::string& word : words) {
      out << " " << word;
    }
    out << "\n";
  };
  for (const Form& form : forms) {
    out << "form " << form.name << "\ntarget " << form.target << "\n";
    if (form.warps != 1) {
      out << "warps " << form.warps << "\n";
    }
    if (form.cluster != 0) {
      out << "cluster " << form.cluster << "\n";
    }
    if (form.device != 0) {
      out << "device " << form.device << "\n";
    }
    if (!form.bounds.empty()) {
      out << "bounds " << form.bounds << "\n";
    }
    std::istringstream code(form.code);
    for (std::string line; std::getline(code, line);) {
      out << "code " << line << "\n";
    }
    list("in", form.inputs);
    list("out", form.outputs);
    out << std::hex;
    for (const FormCase& one : form.cases) {
      out << "case";
      for (const uint64_t value : one.inputs) {
        out << " " << value;
      }
      out << (one.outputs.empty() ? "" : " =");
      for (const uint64_t value : one.outputs) {
        out << " " << value;
      }
      out << (one.answers.empty() ? "" : " :");
      for (const uint64_t value : one.answers) {
        out << " " << value;
      }
      out << (one.fault.empty() ? "" : " ! " + one.fault) << "\n";
    }
    out << std::dec;
  }
  if (!out.flush()) {
    throw std::runtime_error(path + ": cannot be written");
  }
}

std::string ptx_of(const std::vector<Form>& forms, const std::string& target) {
  std::string text = ".version 8.8\n.target " + target + "\n.address_size 64\n";
  for (size_t index = 0; index < forms.size(); ++index) {
    text += kernel_of(forms[index], index);
  }
  return text;
}

std::string target_of(unsigned capability) {
  return "sm_" + std::to_string(capability) + (capability >= 90 ? "a" : "");
}

bool runs_on(const Form& form, unsigned capability) {
  return form.target <= capability && (form.device == 0 || form.device == capability);
}

Form part_of(const Form& form, size_t unit) {
  Form part = form;
  const auto size = static_cast<std::ptrdiff_t>(form.threads_of_unit());
  const auto begin = form.cases.begin() + static_cast<std::ptrdiff_t>(unit) * size;
  part.cases.assign(begin, begin + size);
  return part;
}

std::vector<uint64_t> input_slots(const Form& form) {
  std::vector<uint64_t> slots;
  for (const FormCase& one : form.cases) {
    slots.insert(slots.end(), one.inputs.begin(), one.inputs.end());
  }
  return slots;
}

bool accepts(const Form& form, const FormCase& one, const uint64_t* got) {
  if (form.bounds.empty()) {
    return std::equal(one.outputs.begin(), one.outputs.end(), got);
  }
  const Bounds bounds = bounds_of(form.bounds);
  const uint64_t mask = (uint64_t{1} << bounds.width) - 1;
  const uint64_t magnitude = mask >> 1;
  for (unsigned shift = 0; shift < bounds.width * bounds.count; shift += bounds.width) {
    const uint64_t low = one.outputs[0] >> shift & mask;
    const uint64_t high = one.outputs[1] >> shift & mask;
    const uint64_t value = *got >> shift & mask;
    const bool wants_nan = (low & magnitude) > bounds.infinity;
    if (wants_nan != ((value & magnitude) > bounds.infinity)) {
      return false;
    }
    const int64_t order = order_of(value, bounds.width);
    if (!wants_nan &&
        (order < order_of(low, bounds.width) || order > order_of(high, bounds.width))) {
      return false;
    }
  }
  return *got >> (bounds.width * bounds.count) == 0;
}

}  // namespace emu::test
