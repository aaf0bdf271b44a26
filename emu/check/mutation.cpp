// SPDX-License-Identifier: Apache-2.0
#include "check/mutation.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <set>
#include <stdexcept>

#include "ptx/module.hpp"

namespace emu {
namespace {

// Instructions on either side that say where in a kernel's code a mutant is.
constexpr size_t kContext = 6;

uint32_t extend_hash(uint32_t hash, std::string_view text) {  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  }
  return hash;
}

std::string joined_opcode(const ptx::Instruction& instruction) {
  std::string opcode;
  for (const std::string_view part : instruction.opcode) {
    opcode += (opcode.empty() ? "" : ".") + std::string(part);
  }
  return opcode;
}

bool has_part(const ptx::Instruction& instruction, std::string_view part) {
  const auto& parts = instruction.opcode;
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

bool is_mma(const ptx::Instruction& instruction) {
  return instruction.opcode.front() == "mma" && has_part(instruction, "block_scale");
}

void add_names(const ptx::Operand& operand, std::set<std::string_view>& names) {
  if (operand.kind == ptx::Operand::Kind::name) {
    names.insert(operand.name);
  }
  for (const ptx::Operand& part : operand.parts) {
    add_names(part, names);
  }
}

// Registers that hold scales of a warp's mma: its operands, and what they are moved or cut from.
std::set<std::string_view> scale_registers(const ptx::Function& function) {
  static const std::set<std::string_view> kMoves = {"mov", "cvt", "prmt", "shr", "shl",
                                                    "and", "or",  "bfe",  "lop3"};
  constexpr size_t kScaleA = 4;
  constexpr size_t kScaleB = 6;
  std::set<std::string_view> names;
  for (const ptx::Instruction& instruction : function.body) {
    if (is_mma(instruction) && instruction.operands.size() > kScaleB) {
      add_names(instruction.operands[kScaleA], names);
      add_names(instruction.operands[kScaleB], names);
    }
  }
  for (size_t before = 0; before != names.size();) {
    before = names.size();
    for (const ptx::Instruction& instruction : function.body) {
      if (kMoves.contains(instruction.opcode.front()) && !instruction.operands.empty() &&
          names.contains(instruction.operands.front().name)) {
        for (const ptx::Operand& operand : instruction.operands) {
          add_names(operand, names);
        }
      }
    }
  }
  return names;
}

class Lister {
 public:
  Lister(std::string_view text, const ptx::Function& function, std::vector<Mutant>& mutants)
      : text_(text), function_(function), scales_(scale_registers(function)), mutants_(mutants) {}

  void visit_all() {
    for (const ptx::Instruction& instruction : function_.body) {
      instruction_ = &instruction;
      opcode_ = joined_opcode(instruction);
      visit();
    }
  }

 private:
  void visit() {
    const std::string_view first = instruction_->opcode.front();
    if (first == "fence" || first == "membar" || first == "bar" || first == "barrier") {
      drop();
    } else if (first == "mbarrier") {
      visit_mbarrier();
    } else if (first == "cp") {
      visit_copy();
    } else if (first == "tcgen05") {
      visit_tensor();
    } else if (is_mma(*instruction_)) {
      swap_operands(4, 6, "scales of A and B exchanged");
    } else if (first == "ld") {
      visit_load();
    } else if (opcode_.starts_with("clusterlaunchcontrol.try_cancel")) {
      drop();
    }
  }

  bool has(std::string_view part) const { return has_part(*instruction_, part); }

  size_t begin() const { return static_cast<size_t>(instruction_->text.data() - text_.data()); }
  size_t end() const { return begin() + instruction_->text.size(); }
  // Of the opcode: after the guard.
  size_t opcode_at() const {
    return static_cast<size_t>(instruction_->opcode.front().data() - text_.data());
  }

  void add(const std::string& what, size_t from, size_t to, std::string replacement) {
    mutants_.push_back(
        {instruction_->line, what + ": " + opcode_, context(), from, to, std::move(replacement)});
  }

  uint32_t context() const {
    const size_t at = static_cast<size_t>(instruction_ - function_.body.data());
    const size_t end = std::min(at + kContext + 1, function_.body.size());
    uint32_t hash = 2166136261u;
    for (size_t i = at - std::min(at, kContext); i < end; ++i) {
      hash = extend_hash(hash, joined_opcode(function_.body[i]) + ";");
    }
    return hash;
  }

  size_t past_semicolon() const {
    const size_t semicolon = text_.find(';', end());
    return semicolon == std::string_view::npos ? end() : semicolon + 1;
  }

  void drop() { add("dropped", begin(), past_semicolon(), ""); }

  void visit_mbarrier() {
    if (has("test_wait") || has("try_wait")) {
      const std::string predicate(instruction_->operands.front().name);
      add("does not wait", opcode_at(), end(), "setp.eq.u32 " + predicate + ", 0, 0");
      return;
    }
    if (has("init")) {
      // Half: one less would show only once it has added up to a warp's, whose lanes arrive by one
      // instruction. No count of 0, which would be refused.
      const auto count = static_cast<int64_t>(value_of(instruction_->operands.back()));
      if (count > 1) {
        add_to_last(count / 2 - count, "half the arrivals");
      }
      return;
    }
    if (has("inval")) {
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
      add_to_last(-16, "expects 16 bytes less");
    }
  }

  // Scales: of a warp's mma in shared memory; where kernels expand them, bytes of read-only memory.
  void visit_load() {
    const ptx::Operand& target = instruction_->operands.front();
    const bool is_scale = has("shared") && scales_.contains(target.name);
    const bool is_small = has("global") && has("nc") && (has("u8") || has("b8") || has("u16"));
    if (is_scale || is_small) {
      const ptx::Operand& address = instruction_->operands.back();
      const int64_t offset = address.offset + (has("u8") || has("b8")     ? 1
                                               : has("u16") || has("b16") ? 2
                                                                          : 4);
      const size_t bracket = text_.find('[', opcode_at());
      add("one element further", bracket, text_.find(']', bracket) + 1,
          "[" + std::string(address.parts.front().name) + "+" + std::to_string(offset) + "]");
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
      // Of descriptors: the start and, from bit 32, the pitch of eight rows in units of 16 bytes.
      add_to_register(instruction_->operands[1].name, "64", "2", "A 32 bytes further");
      add_to_register(instruction_->operands[2].name, "64", "0x100000000", "rows of B apart");
      add_column(4, "scales of A one column further");
      add_column(5, "scales of B one column further");
      return;
    }
    if (!has("ld") && !has("st") && !has("alloc")) {
      drop();
    }
    if (has("cp")) {
      add_column(0, "one column further");
    }
  }

  void add_column(size_t operand, const char* what) {
    const std::string_view whole = operand_texts()[operand];
    const size_t bracket = static_cast<size_t>(whole.data() - text_.data()) + whole.rfind(']');
    add(what, bracket, bracket + 1, "+1]");
  }

  // Of an operand that is a number, or a register last set to one; else 0.
  uint64_t value_of(const ptx::Operand& operand) const {
    if (operand.kind == ptx::Operand::Kind::integer) {
      return operand.bits;
    }
    for (const ptx::Instruction* before = instruction_; before != function_.body.data();) {
      --before;
      if (!before->operands.empty() && before->operands.front().name == operand.name) {
        const bool is_number = before->opcode.front() == "mov" &&
                               before->operands.back().kind == ptx::Operand::Kind::integer;
        return is_number ? before->operands.back().bits : 0;
      }
    }
    return 0;
  }

  void add_to_last(int64_t number, const char* what) {
    const ptx::Operand& last = instruction_->operands.back();
    if (last.kind == ptx::Operand::Kind::integer) {
      const std::string_view old = operand_texts().back();
      const size_t at = static_cast<size_t>(old.data() - text_.data());
      add(what, at, at + old.size(),
          " " + std::to_string(static_cast<int64_t>(last.bits) + number));
    } else {
      add_to_register(last.name, "32", std::to_string(number), what);
    }
  }

  // The instruction with another register in place of this one.
  void add_to_register(std::string_view name, const std::string& bits, const std::string& number,
                       const char* what) {
    const std::string_view whole = text_.substr(begin(), end() - begin());
    size_t at = whole.find(name);
    while (at + name.size() < whole.size() && std::isdigit(whole[at + name.size()]) != 0) {
      at = whole.find(name, at + 1);  // the name goes on: another register
    }
    add(what, begin(), past_semicolon(),
        "{ .reg .b" + bits + " %mutant; add.s" + bits + " %mutant, " + std::string(name) + ", " +
            number + "; " + std::string(whole.substr(0, at)) + "%mutant" +
            std::string(whole.substr(at + name.size())) + "; }");
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
  const ptx::Function& function_;
  std::set<std::string_view> scales_;
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
  for (const ptx::Function& function : parsed.module->functions) {
    if (function.is_entry) {
      Lister(*parsed.module->text, function, mutants).visit_all();
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
    std::fprintf(stderr, "emu: mutant %zu of %zu, line %u, code %08x, %s\n", i, mutants.size(),
                 mutants[i].line, mutants[i].context, mutants[i].what.c_str());
  }
  return lists ? text : apply_mutant(text, mutants[number]);
}

}  // namespace emu
