// SPDX-License-Identifier: Apache-2.0
#include "exec/coverage.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <tuple>

namespace emu {
namespace {

struct Count {
  uint64_t executed = 0;
  unsigned branch = 0;
  bool is_branch = false;
  bool synchronising = false;
  std::string text;
};

// module, function, line, index of the instruction
using Key = std::tuple<std::string, std::string, uint32_t, uint32_t>;

struct Counts {
  std::mutex mutex;
  std::map<Key, Count> map;
  std::string file;
};

Counts& counts() {
  static Counts all;
  return all;
}

void write_at_exit() {
  write_coverage(counts().file);
}

// "%p" stands for the process: many at once would wait for one another at one file.
std::string with_process(std::string file) {
  const size_t at = file.find("%p");
  return at == std::string::npos ? file : file.replace(at, 2, std::to_string(getpid()));
}

std::string one_line(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    c = c == '\n' || c == '\t' ? ' ' : c;
  }
  return out;
}

[[noreturn]] void refuse(const std::string& file, const std::string& row) {
  std::fprintf(stderr, "emu: EMU_COVERAGE=%s holds something else: %s\n", file.c_str(),
               row.c_str());
  std::abort();
}

// The file as it is, so that runs add up; lines that are not ours end the process.
void read_into(const std::string& file, std::map<Key, Count>& map) {
  std::ifstream in(file);
  std::string row;
  std::string module;
  std::string function;
  while (std::getline(in, row)) {
    std::istringstream fields(row);
    std::string line, index, executed, branch, kind, text;
    std::getline(fields, line, '\t');
    if (line == "=") {
      std::getline(fields, module, '\t');
      std::getline(fields, function, '\t');
      continue;
    }
    std::getline(fields, index, '\t');
    std::getline(fields, executed, '\t');
    std::getline(fields, branch, '\t');
    std::getline(fields, kind, '\t');
    if (!std::getline(fields, text) || function.empty()) {
      refuse(file, row);
    }
    Count& count = map[{module, function, static_cast<uint32_t>(std::stoul(line)),
                        static_cast<uint32_t>(std::stoul(index))}];
    count.executed += std::stoull(executed);
    count.is_branch = branch != "-";
    count.branch |= count.is_branch ? static_cast<unsigned>(std::stoul(branch)) : 0;
    count.synchronising = kind == "sync";
    count.text = text;
  }
}

void write_rows(std::ofstream& out, const std::map<Key, Count>& map) {
  std::string last_module;
  std::string last_function;
  for (const auto& [key, count] : map) {
    const auto& [module, function, line, index] = key;
    if (module != last_module || function != last_function) {
      out << "=\t" << module << '\t' << function << '\n';
      last_module = module;
      last_function = function;
    }
    out << line << '\t' << index << '\t' << count.executed << '\t'
        << (count.is_branch ? std::to_string(count.branch) : "-") << '\t'
        << (count.synchronising ? "sync" : "-") << '\t' << count.text << '\n';
  }
}

}  // namespace

void record_coverage(const Grid& grid) {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  if (all.file.empty()) {
    all.file = with_process(grid.options->coverage_file);
    std::atexit(write_at_exit);
  }
  const Program& program = *grid.request->program;
  for (const auto& code : program.functions) {
    // Functions that this grid did not enter say nothing: a kernel that never ran must not look
    // like one that was asked for.
    const std::vector<uint64_t>& executed = grid.executed[code->index];
    if (executed.empty() || executed[0] == 0) {
      continue;
    }
    for (uint32_t i = 0; i + 1 < code->instrs.size(); ++i) {
      const Instr& instr = code->instrs[i];
      Count& count = all.map[{program.name, code->name, instr.line, i}];
      count.executed += executed[i];
      count.branch |= grid.branches[code->index][i];
      count.is_branch = instr.has(Instr::kBranch);
      count.synchronising = instr.has(Instr::kSynchronising) || instr.sync != SyncClass::none;
      count.text = one_line(code->function->body[i].text);
    }
  }
}

void write_coverage(const std::string& file) {
  Counts& all = counts();
  const std::lock_guard lock(all.mutex);
  // Test processes run side by side and add to one file.
  const int lock_file = open((file + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  if (lock_file < 0 || flock(lock_file, LOCK_EX) != 0) {
    std::fprintf(stderr, "emu: cannot lock EMU_COVERAGE=%s\n", file.c_str());
    return;
  }
  std::map<Key, Count> merged = all.map;
  read_into(file, merged);
  std::ofstream out(file, std::ios::trunc);
  write_rows(out, merged);
  if (!out.flush()) {
    std::fprintf(stderr, "emu: cannot write EMU_COVERAGE=%s\n", file.c_str());
  }
  all.map.clear();
  close(lock_file);
}

}  // namespace emu
