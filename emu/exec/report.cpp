// SPDX-License-Identifier: Apache-2.0
#include "exec/report.hpp"

#include <cxxabi.h>

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "exec/hooks.hpp"

namespace emu {
namespace {

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  char text[512];
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string instruction_text(const Code& code, const Instr& instr) {
  if (instr.index >= code.function->body.size()) {
    return "(end of function)";
  }
  std::string text(code.function->body[instr.index].text);
  for (char& c : text) {
    if (c == '\n' || c == '\t') {
      c = ' ';
    }
  }
  return text;
}

void collect_names(const ptx::Operand& operand, std::vector<std::string_view>& names) {
  if (operand.kind == ptx::Operand::Kind::name) {
    names.push_back(operand.name);
  }
  for (const ptx::Operand& part : operand.parts) {
    collect_names(part, names);
  }
}

// "%r1 = 0x10, %p2 = 1" for the registers that the instruction names.
std::string operand_values(const Frame& frame, const Instr& instr, unsigned lane) {
  const Code& code = *frame.code;
  if (instr.index >= code.function->body.size()) {
    return "";
  }
  const ptx::Instruction& source = code.function->body[instr.index];
  std::vector<std::string_view> names;
  if (!source.guard.empty()) {
    names.push_back(source.guard);
  }
  for (const ptx::Operand& operand : source.operands) {
    collect_names(operand, names);
  }
  std::set<std::string_view> seen;
  std::string text;
  for (const std::string_view name : names) {
    const auto index = code.function->find_register(source.scope, name);
    if (!index || !seen.insert(name).second) {
      continue;
    }
    const Operand& r = code.registers[*index];
    uint64_t value = 0;
    if ((r.flags & Operand::kPredicate) != 0) {
      value = frame.predicates[r.offset] >> lane & 1;
    } else {
      for (unsigned byte = 0; byte < r.width && byte < 8; ++byte) {
        value |= uint64_t{frame.regs[r.offset + lane * r.width + byte]} << (8 * byte);
      }
    }
    text += (text.empty() ? "" : ", ") + std::string(name) + format(" = 0x%" PRIx64, value);
  }
  return text;
}

const char* wait_name(WaitKind kind) {
  switch (kind) {
    case WaitKind::none:
      return "nothing";
    case WaitKind::sync_lanes:
      return "other lanes of the warp";
    case WaitKind::named_barrier:
      return "barrier";
    case WaitKind::cluster_barrier:
      return "the cluster barrier";
    case WaitKind::mbarrier:
      return "mbarrier";
    case WaitKind::copy_group:
      return "groups of asynchronous copies";
    case WaitKind::tmem_alloc:
      return "tensor memory";
    case WaitKind::registers:
      return "registers (setmaxnreg)";
    case WaitKind::previous_grid:
      return "the previous grid";
    case WaitKind::other:
      return "a condition";
  }
  return "";
}

std::string describe_group(const Warp& warp, const LaneGroup& group) {
  const Code& code = *group.frame->code;
  const Instr& instr = code.instrs[group.pc];
  std::string text =
      format("    warp %u lanes %08x line %u: ", warp.index, group.lanes, instr.line);
  text += instruction_text(code, instr);
  if (group.state == GroupState::runnable) {
    return text + "  [runnable]\n";
  }
  text += std::string("  [waits for ") + wait_name(group.wait.kind);
  if (group.wait.kind == WaitKind::mbarrier) {
    text += format(" at 0x%" PRIx64 " of rank %" PRIu64 ", parity %" PRIu64,
                   group.wait.detail[0] & kSharedOffsetMask, group.wait.detail[0] >> kRankShift,
                   group.wait.detail[1]);
  } else if (group.wait.kind == WaitKind::named_barrier) {
    text += format(" %" PRIu64, group.wait.detail[0]);
  } else if (group.wait.kind == WaitKind::registers) {
    text += format(": %" PRIu64 " a thread; %" PRIu64 " of the CTA's are free",
                   group.wait.detail[0], group.wait.detail[1]);
  }
  return text + "]\n";
}

// Every valid mbarrier of the CTA: groups may poll one without being blocked on it.
std::string describe_mbarriers(const Cta& cta) {
  // More than a kernel has; a report must stay readable.
  constexpr uint32_t kMostListed = 64;
  std::string text;
  uint32_t listed = 0;
  for (uint32_t offset = 0; offset < cta.shared.bytes() && listed < kMostListed; offset += 8) {
    if (cta.shared.is_mbarrier(offset)) {
      text += "    " + describe_mbarrier(cta, offset) + "\n";
      ++listed;
    }
  }
  return text;
}

std::string describe_cta(const Cta& cta) {
  std::string text = format("  CTA (%u, %u, %u), rank %u in its cluster", cta.id[0], cta.id[1],
                            cta.id[2], cta.rank);
  if (cta.exited) {
    return text + format(": exited, %u asynchronous operations pending\n", cta.pending_async);
  }
  text += ":\n";
  for (const auto& warp : cta.warps) {
    if (warp->finished()) {
      text += format("    warp %u: exited\n", warp->index);
      continue;
    }
    for (const LaneGroup& group : warp->groups) {
      text += describe_group(*warp, group);
    }
    const std::string async = describe_async(*warp);
    if (!async.empty()) {
      text += "      " + async + "\n";
    }
  }
  for (uint32_t id = 0; id < Cta::kBarriers; ++id) {
    const NamedBarrier& barrier = cta.barriers[id];
    if (barrier.arrived != 0) {
      text += format("    barrier %u: %u of %u threads have arrived\n", id, barrier.arrived,
                     barrier.expected);
    }
  }
  return text + describe_mbarriers(cta);
}

std::string json_line(const ReportInput& in, const std::string& kernel) {
  const Engine& engine = *in.engine;
  std::string line =
      "{\"kind\":" + json_text(fault_name(in.kind)) + ",\"what\":" + json_text(in.text) +
      ",\"kernel\":" + json_text(kernel) +
      ",\"policy\":" + json_text(policy_name(engine.options().policy)) +
      format(",\"seed\":%" PRIu64 ",\"step\":%" PRIu64, engine.options().seed, engine.now());
  if (in.origin.cta != nullptr) {
    const Cta& cta = *in.origin.cta;
    line += format(",\"device\":%d,\"cta\":[%u,%u,%u],\"warp\":%u,\"lane\":%u,\"lanes\":%u",
                   cta.cluster->grid->request->device.index, cta.id[0], cta.id[1], cta.id[2],
                   in.origin.warp, in.origin.lane, in.lanes);
  }
  if (in.origin.instr != nullptr) {
    line += format(",\"line\":%u,\"text\":", in.origin.instr->line) +
            json_text(instruction_text(*in.origin.code, *in.origin.instr));
  }
  return line + ",\"details\":" + json_text(in.details) + "}\n";
}

void append_to(const std::string& file, const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::FILE* out = std::fopen(file.c_str(), "ab");
  if (out == nullptr || std::fwrite(line.data(), 1, line.size(), out) != line.size() ||
      std::fclose(out) != 0) {
    std::fprintf(stderr, "emu: cannot write to EMU_REPORT=%s\n", file.c_str());
  }
}

}  // namespace

std::string demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? plain.get() : name;
}

std::string describe_positions(const Engine& engine) {
  std::string text;
  for (const auto& cluster : engine.clusters()) {
    for (const auto& cta : cluster->ctas) {
      text += describe_cta(*cta);
    }
  }
  if (!engine.events().empty()) {
    text += format("  %zu asynchronous events are outstanding\n", engine.events().size());
  }
  return text;
}

std::string make_report(const ReportInput& in) {
  const Engine& engine = *in.engine;
  const Options& options = engine.options();
  const Grid* grid = in.origin.cta != nullptr     ? in.origin.cta->cluster->grid
                     : !engine.clusters().empty() ? engine.clusters()[0]->grid
                                                  : nullptr;
  std::string kernel = grid != nullptr ? demangle(grid->kernel->name) : "";
  std::string text = "emu: " + fault_name(in.kind) + ": " + in.text + "\n";
  text += "  kernel " + kernel + "\n";
  if (grid != nullptr) {
    text += "  module " + grid->request->program->name +
            (grid->request->library.empty() ? "" : " of " + grid->request->library) +
            format(", device %d (%u.%u)\n", grid->request->device.index,
                   grid->request->device.capability / 10, grid->request->device.capability % 10);
  }
  if (in.origin.cta != nullptr) {
    const Cta& cta = *in.origin.cta;
    text += format("  CTA (%u, %u, %u), rank %u, warp %u, lane %u", cta.id[0], cta.id[1], cta.id[2],
                   cta.rank, in.origin.warp, in.origin.lane);
    text += in.lanes != 0 ? format(", active lanes %08x\n", in.lanes) : "\n";
  }
  if (in.origin.instr != nullptr) {
    text += format("  line %u: ", in.origin.instr->line) +
            instruction_text(*in.origin.code, *in.origin.instr) + "\n";
    if (in.origin.code->name != grid->kernel->name) {
      text += "  in function " + demangle(in.origin.code->name) + "\n";
    }
    if (in.frame != nullptr) {
      text += format("  lane %u: ", in.origin.lane) +
              operand_values(*in.frame, *in.origin.instr, in.origin.lane) + "\n";
    }
  }
  text += in.details;
  text += "  replay with EMU_SCHED=" + policy_name(options.policy) +
          format(" EMU_SEED=%" PRIu64 " (step %" PRIu64 ")\n", options.seed, engine.now());
  if (!options.report_file.empty()) {
    append_to(options.report_file, json_line(in, kernel));
  }
  return text;
}

void publish_report(const Fault& fault, const Options& options) {
  std::fputs(fault.report.c_str(), stderr);
  std::fflush(stderr);
  if (options.abort_on_fault) {
    std::abort();
  }
}

StepResult ExecContext::fault(FaultKind kind, const std::string& text, unsigned lane) {
  Engine& e = *engine;
  if (!e.faulted()) {
    ReportInput input;
    input.engine = engine;
    input.kind = kind;
    input.text = text;
    input.origin = origin(lane);
    input.lanes = group->lanes;
    input.frame = frame;
    if (group->state == GroupState::sync_waiting) {
      input.details = describe_positions(e);
    }
    e.fault_ = {kind, text, make_report(input)};
  }
  return StepResult::fault;
}

void ExecContext::warn(const std::string& text) {
  const Program& program = *grid->request->program;
  if (engine->warned_.insert(instr).second) {
    std::fprintf(stderr, "emu: warning: %s (%s line %u: %s)\n", text.c_str(), program.name.c_str(),
                 instr->line, instruction_text(*frame->code, *instr).c_str());
  }
}

void Engine::fault(const Origin& origin, FaultKind kind, const std::string& text) {
  if (faulted()) {
    return;
  }
  ReportInput input;
  input.engine = this;
  input.kind = kind;
  input.text = text;
  input.origin = origin;
  if (kind == FaultKind::deadlock || kind == FaultKind::livelock) {
    input.details = describe_positions(*this);
  }
  fault_ = {kind, text, make_report(input)};
}

}  // namespace emu
