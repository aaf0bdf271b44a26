// SPDX-License-Identifier: Apache-2.0
#include "check/mutation.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "ptx/module.hpp"

namespace emu {
namespace {

class Lister {
 public:
  Lister(std::string_view text, std::vector<Mutant>& mutants) : text_(text), mutants_(mutants) {}

  void visit(const ptx::Instruction& instruction) {
    instruction_ = &instruction;
    opcode_.clear();
    for (const std::string_view part : instruction.opcode) {
      opcode_ += (opcode_.empty() ? "" : ".") + std::string(part);
    }
    const std::string_view first = instruction.opcode.front();
    if (first == "fence" || first == "membar" || first == "bar" || first == "barrier") {
      drop();
    } else if (first == "mbarrier") {
      visit_mbarrier();
    } else if (first == "cp") {
      visit_copy();
    } else if (first == "tcgen05") {
      visit_tensor();
    } else if (first == "mma" && has("block_scale")) {
      swap_operands(4, 6, "scales of A and B exchanged");
    } else if (opcode_.starts_with("clusterlaunchcontrol.try_cancel")) {
      drop();
    }
  }

 private:
  bool has(std::string_view part) const {
    const auto& parts = instruction_->opcode;
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  }

  size_t begin() const { return static_cast<size_t>(instruction_->text.data() - text_.data()); }
  size_t end() const { return begin() + instruction_->text.size(); }
  // Of the opcode: after the guard.
  size_t opcode_at() const {
    return static_cast<size_t>(instruction_->opcode.front().data() - text_.data());
  }

  void add(const std::string& what, size_t from, size_t to, std::string replacement) {
    mutants_.push_back(
        {instruction_->line, what + ": " + opcode_, from, to, std::move(replacement)});
  }

  // The semicolon goes, too.
  void drop() {
    const size_t semicolon = text_.find(';', end());
    add("dropped", begin(), semicolon == std::string_view::npos ? end() : semicolon + 1, "");
  }

  void visit_mbarrier() {
    if (has("test_wait") || has("try_wait")) {
      const std::string predicate(instruction_->operands.front().name);
      add("does not wait", opcode_at(), end(), "setp.eq.u32 " + predicate + ", 0, 0");
      return;
    }
    if (has("init") || has("inval")) {
      return;
    }
    drop();
    if (has("arrive") && has("expect_tx")) {
      // Without the expectation the phase is over before the data have come.
      const std::string_view whole = text_.substr(opcode_at(), end() - opcode_at());
      std::string plain(whole.substr(0, whole.rfind(',')));
      const size_t part = plain.find(".expect_tx");
      plain.erase(part, std::string_view(".expect_tx").size());
      add("expects no bytes", opcode_at(), end(), plain);
    }
  }

  void visit_copy() {
    if (has("wait_group") || has("wait_all") || has("commit_group") || has("mbarrier") ||
        (has("tensor") && !has("prefetch"))) {
      drop();
    }
    if (has("wait_group")) {
      const std::string_view operand = trailing_operand();
      const size_t at = static_cast<size_t>(operand.data() - text_.data());
      add("waits for one group less", at, at + operand.size(), one_more(operand));
    }
  }

  void visit_tensor() {
    if (has("mma")) {
      swap_operands(4, 5, "scales of A and B exchanged");
      swap_operands(1, 2, "A and B exchanged");
      return;
    }
    if (!has("ld") && !has("st") && !has("alloc")) {
      drop();
    }
    if (has("cp")) {
      const size_t bracket = text_.find(']', opcode_at());
      add("one column further", bracket, bracket + 1, "+1]");
    }
  }

  std::string_view trailing_operand() const {
    const size_t at = text_.find_last_not_of("0123456789", end() - 1) + 1;
    return text_.substr(at, end() - at);
  }

  static std::string one_more(std::string_view digits) {
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return std::to_string(value + 1);
  }

  // Top-level operands as text: commas inside brackets and braces do not count.
  std::vector<std::string_view> operand_texts() const {
    const std::string_view whole = text_.substr(opcode_at(), end() - opcode_at());
    const size_t start = whole.find_first_of(" \t\n{[");
    std::vector<std::string_view> operands;
    int depth = 0;
    size_t from = start;
    for (size_t at = start; at <= whole.size(); ++at) {
      if (at == whole.size() || (whole[at] == ',' && depth == 0)) {
        operands.push_back(whole.substr(from, at - from));
        from = at + 1;
      } else if (whole[at] == '{' || whole[at] == '[') {
        ++depth;
      } else if (whole[at] == '}' || whole[at] == ']') {
        --depth;
      }
    }
    return operands;
  }

  void swap_operands(size_t a, size_t b, const char* what) {
    const std::vector<std::string_view> operands = operand_texts();
    if (operands.size() <= b) {
      return;
    }
    const size_t from = static_cast<size_t>(operands[a].data() - text_.data());
    const size_t to = static_cast<size_t>(operands[b].data() - text_.data()) + operands[b].size();
    const size_t between_from = from + operands[a].size();
    const size_t between_to = static_cast<size_t>(operands[b].data() - text_.data());
    add(what, from, to,
        std::string(operands[b]) +
            std::string(text_.substr(between_from, between_to - between_from)) +
            std::string(operands[a]));
  }

  std::string_view text_;
  std::vector<Mutant>& mutants_;
  const ptx::Instruction* instruction_ = nullptr;
  std::string opcode_;
};

bool has_kernel(std::string_view text, const std::string& name) {
  const ptx::ParseResult parsed = ptx::parse(text, "mutant");
  return parsed.module != nullptr &&
         std::any_of(parsed.module->functions.begin(), parsed.module->functions.end(),
                     [&](const ptx::Function& function) {
                       return function.is_entry && function.name.find(name) != std::string::npos;
                     });
}

}  // namespace

std::vector<Mutant> list_mutants(std::string_view text) {
  std::vector<Mutant> mutants;
  const ptx::ParseResult parsed = ptx::parse(text, "mutant");
  if (parsed.module == nullptr) {
    return mutants;
  }
  Lister lister(*parsed.module->text, mutants);
  for (const ptx::Function& function : parsed.module->functions) {
    if (function.is_entry) {
      for (const ptx::Instruction& instruction : function.body) {
        lister.visit(instruction);
      }
    }
  }
  return mutants;
}

std::string apply_mutant(std::string_view text, const Mutant& mutant) {
  std::string result(text.substr(0, mutant.begin));
  result += mutant.replacement;
  result += text.substr(mutant.end);
  return result;
}

std::string mutate_as_set(std::string text, const std::string& setting) {
  const size_t colon = setting.rfind(':');
  const std::string chosen = colon == std::string::npos ? "" : setting.substr(colon + 1);
  size_t number = 0;
  const char* last = chosen.data() + chosen.size();
  const bool lists = chosen == "list";
  if (!lists && (chosen.empty() || std::from_chars(chosen.data(), last, number).ptr != last)) {
    throw std::invalid_argument("EMU_MUTATE is '" + setting +
                                "'; allowed: <part of a kernel's name>:<number>, or :list");
  }
  if (!has_kernel(text, setting.substr(0, colon))) {
    return text;
  }
  const std::vector<Mutant> mutants = list_mutants(text);
  if (!lists && number >= mutants.size()) {
    throw std::invalid_argument("EMU_MUTATE is '" + setting + "'; the module has " +
                                std::to_string(mutants.size()) + " mutants");
  }
  for (size_t i = lists ? 0 : number; i < (lists ? mutants.size() : number + 1); ++i) {
    std::fprintf(stderr, "emu: mutant %zu of %zu, line %u, %s\n", i, mutants.size(),
                 mutants[i].line, mutants[i].what.c_str());
  }
  return lists ? text : apply_mutant(text, mutants[number]);
}

}  // namespace emu
