// SPDX-License-Identifier: Apache-2.0
// `mxgemm explain`: which kernel a problem gets, and why not the others.
#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/device.hpp"
#include "cli/io/json_writer.hpp"
#include "cli/problem.hpp"
#include "cli/table.hpp"

namespace mxgemm::cli {
namespace {

constexpr const char* kExamples =
    "  mxgemm explain m1n4096k4096:bf16:mxf4:bf16\n"
    "  mxgemm explain m128n128k128:nvf4:nvf4:f32:scales=rowmajor --device cpu --json\n"
    "  MXGEMM_MAX_ISA=scalar mxgemm explain m8n8k32:mxf4:mxf4:f32\n"
    "\n"
    "`mxgemm verify --help` explains problems. Exit code 3: no kernel takes the problem.\n";

struct ExplainRequest {
  std::string problem;
  std::string device = "cpu";
  bool json = false;
};

// One line of mxgemm_explain: a kernel, or a library that does not serve the device.
struct Answer {
  std::string name;
  std::string verdict;  // begins with "chosen" or "accepts", else it is the reason of the refusal

  bool accepts() const { return verdict.starts_with("chosen") || verdict.starts_with("accepts"); }
};

struct Explanation {
  Problem problem;
  DeviceId device;
  std::string chosen;     // "" if none
  std::string no_choice;  // then the library's message
  std::vector<Answer> answers;
};

Explanation explain_on(const Problem& problem, DeviceId device) {
  Explanation result{problem, device, "", "", {}};
  const mxgemm_gemm_desc desc = make_desc(problem, device.kind, device.index);
  std::istringstream lines(explanation(desc));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = std::min(line.find(": "), line.size());
    result.answers.push_back(
        {line.substr(0, colon), line.substr(std::min(colon + 2, line.size()))});
  }
  try {
    result.chosen = Plan(desc, "").name();
  } catch (const CommandError& error) {
    if (error.code() != kExitUnsupported) {
      throw;
    }
    result.no_choice = error.what();
  }
  return result;
}

void print_text(const Explanation& explanation, Console& console) {
  fmt::print(console.out, "{} on {}\n", to_string(explanation.problem),
             to_string(explanation.device));
  Table table({{"kernel"}, {"answer"}});
  for (const Answer& answer : explanation.answers) {
    table.add_row({answer.name, answer.accepts() ? answer.verdict : "refuses: " + answer.verdict});
  }
  table.print(console.out, console.color);
  if (explanation.chosen.empty()) {
    fmt::print(console.err, "mxgemm explain: {}\n", explanation.no_choice);
  }
}

void print_json(const std::vector<Explanation>& all, Console& console) {
  JsonWriter json;
  json.begin_object();
  json.key("version").string(mxgemm_version());
  json.key("explanations").begin_array();
  for (const Explanation& explanation : all) {
    json.begin_object();
    json.key("problem").string(to_string(explanation.problem));
    json.key("device").string(to_string(explanation.device));
    json.key("chosen");
    if (explanation.chosen.empty()) {
      json.null();
      json.key("message").string(explanation.no_choice);
    } else {
      json.string(explanation.chosen);
    }
    json.key("kernels").begin_array();
    for (const Answer& answer : explanation.answers) {
      json.begin_object();
      json.key("kernel").string(answer.name);
      json.key("accepts").boolean(answer.accepts());
      json.key("reason").string(answer.accepts() ? "" : answer.verdict);
      json.end();
    }
    json.end().end();
  }
  json.end().end();
  fmt::print(console.out, "{}\n", json.text());
}

int explain(const ExplainRequest& request, Console& console) {
  const Problem problem = parse_problem(request.problem);
  std::vector<Explanation> all;
  int code = kExitOk;
  for (DeviceId device : parse_devices(request.device)) {
    all.push_back(explain_on(problem, device));
    code = all.back().chosen.empty() ? kExitUnsupported : code;
    if (!request.json) {
      print_text(all.back(), console);
    }
  }
  if (request.json) {
    print_json(all, console);
  }
  return code;
}

}  // namespace

void register_explain(Program& program) {
  auto request = std::make_shared<ExplainRequest>();
  CLI::App* command = program.add_command(
      "explain", "Show which kernel a problem gets and why the others do not.", kExamples,
      [request](Console& console) { return explain(*request, console); });
  command->add_option("PROBLEM", request->problem, "problem string")->required();
  command->add_option("--device", request->device, "cpu, cuda:N or all")->capture_default_str();
  command->add_flag("--json", request->json, "print JSON");
}

}  // namespace mxgemm::cli
