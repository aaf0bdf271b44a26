// SPDX-License-Identifier: Apache-2.0
// One-hot probes: one element, or one scale byte, differs from its neighbours; which outputs move,
// and by how much, over all positions. Each CTA of a launch is one probe.
#include <gtest/gtest.h>

#include <string>

#include "tests/kernel_runner.hpp"
#include "tests/layout/strided_layout.hpp"
#include "tests/vectors/form_file.hpp"

namespace emu::test {
namespace {

constexpr unsigned kRows = 16;
constexpr unsigned kColumns = 8;

struct ProbeKind {
  const char* name;
  const char* opcode;
  unsigned bits;
  unsigned k_blocks;
  uint32_t one;        // 1.0 in an element's container
  unsigned scales;     // along K; 0: none
  uint32_t scale_one;  // 1.0 as a scale
  uint32_t scale_two;  // 2.0

  unsigned elements() const { return 32 / bits; }
  unsigned k() const { return 4 * elements() * k_blocks; }
  unsigned a_registers() const { return 2 * k_blocks; }
};

const ProbeKind kKinds[] = {
    {"bf16", "m16n8k16.row.col.f32.bf16.bf16.f32", 16, 2, 0x3F80, 0, 0, 0},
    {"f16 k8", "m16n8k8.row.col.f32.f16.f16.f32", 16, 1, 0x3C00, 0, 0, 0},
    {"e4m3", "m16n8k32.row.col.f32.e4m3.e4m3.f32", 8, 2, 0x38, 0, 0, 0},
    {"e2m1 in bytes", "kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e2m1.f32", 8, 2, 0x2 << 2, 0, 0, 0},
    {"mxf8", "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0", 8,
     2, 0x38, 1, 127, 128},
    {"mxf4", "kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0", 4,
     2, 0x2, 2, 127, 128},
    {"nvf4", "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3", 4,
     2, 0x2, 4, 0x38, 0x40},
};

// A warp's inputs: registers of A, of B, and the two scale words.
struct Warp {
  std::vector<std::vector<uint64_t>> lanes;
};

Form form_of(const ProbeKind& kind) {
  Form form;
  form.name = kind.name;
  const unsigned inputs = kind.a_registers() + kind.k_blocks + 2;
  form.inputs.assign(inputs, "b32");
  form.outputs.assign(4, "b32");
  std::string a;
  std::string b;
  for (unsigned i = 0; i < kind.a_registers(); ++i) {
    a += (i == 0 ? "$s" : ", $s") + std::to_string(i);
  }
  for (unsigned i = 0; i < kind.k_blocks; ++i) {
    b += (i == 0 ? "$s" : ", $s") + std::to_string(kind.a_registers() + i);
  }
  form.code = ".reg .b32 %zero;\nmov.b32 %zero, 0;\nmma.sync.aligned." + std::string(kind.opcode) +
              " {$d0, $d1, $d2, $d3}, {" + a + "}, {" + b + "}, {%zero, %zero, %zero, %zero}";
  if (kind.scales != 0) {
    form.code += ", $s" + std::to_string(inputs - 2) + ", {0, 0}, $s" + std::to_string(inputs - 1) +
                 ", {0, 0}";
  }
  form.code += ";\n";
  return form;
}

uint32_t repeated(uint32_t value, unsigned bits) {
  uint32_t word = 0;
  for (unsigned shift = 0; shift < 32; shift += bits) {
    word |= value << shift;
  }
  return word;
}

// Every lane: A, B filled with `a` and `b`, scales of one.
Warp filled(const ProbeKind& kind, uint32_t a, uint32_t b) {
  Warp warp;
  std::vector<uint64_t> lane(kind.a_registers(), repeated(a, kind.bits));
  lane.insert(lane.end(), kind.k_blocks, repeated(b, kind.bits));
  lane.insert(lane.end(), 2, repeated(kind.scale_one, 8));
  warp.lanes.assign(kLanes, lane);
  return warp;
}

// Puts a one where the layout has a linear index; `first` is the operand's first register.
void set_one(const ProbeKind& kind, const StridedLayout& layout, unsigned registers, unsigned first,
             unsigned linear, Warp& warp) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned value = 0; value < registers * kind.elements(); ++value) {
      if (layout(lane, value) == linear) {
        warp.lanes[lane][first + value / kind.elements()] |=
            uint64_t{kind.one} << kind.bits * (value % kind.elements());
      }
    }
  }
}

void set_scale(const ProbeKind& kind, unsigned lane, unsigned input, unsigned byte, Warp& warp) {
  uint64_t& word = warp.lanes[lane][input];
  word = (word & ~(uint64_t{0xFF} << 8 * byte)) | uint64_t{kind.scale_two} << 8 * byte;
}

// D of every probe as [row][column].
std::vector<std::vector<float>> run_probes(const ProbeKind& kind, const std::vector<Warp>& probes) {
  Form form = form_of(kind);
  for (const Warp& probe : probes) {
    for (const std::vector<uint64_t>& lane : probe.lanes) {
      form.cases.emplace_back().inputs = lane;
    }
  }
  KernelRunner run(ptx_of({form}, "sm_120a"));
  const uint64_t ins = run.buffer(input_slots(form));
  const uint64_t outs = run.buffer(std::vector<uint64_t>(form.cases.size() * 4));
  const LaunchResult result =
      run.run({ins, outs}, {static_cast<uint32_t>(probes.size()), 1, 1}, {kLanes, 1, 1}, "form0");
  EXPECT_TRUE(result.ok()) << result.fault.report;
  const auto words = run.read<uint64_t>(outs, form.cases.size() * 4);
  const StridedLayout layout = d_layout();
  std::vector<std::vector<float>> results(probes.size(), std::vector<float>(kRows * kColumns));
  for (size_t probe = 0; probe < probes.size(); ++probe) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned value = 0; value < 4; ++value) {
        const unsigned linear = layout(lane, value);
        const auto word = static_cast<uint32_t>(words[(probe * kLanes + lane) * 4 + value]);
        results[probe][linear % kRows * kColumns + linear / kRows] = std::bit_cast<float>(word);
      }
    }
  }
  return results;
}

// Every output is `moved` where `hit` says so, else `still`.
template <class Hit>
void expect_outputs(const std::vector<float>& d, float still, float moved, const std::string& what,
                    Hit hit) {
  for (unsigned row = 0; row < kRows; ++row) {
    for (unsigned column = 0; column < kColumns; ++column) {
      ASSERT_EQ(d[row * kColumns + column], hit(row, column) ? moved : still)
          << what << ", output " << row << ", " << column;
    }
  }
}

TEST(Probe, OneElementOfA) {
  for (const ProbeKind& kind : kKinds) {
    std::vector<Warp> probes;
    for (unsigned linear = 0; linear < kRows * kind.k(); ++linear) {
      Warp warp = filled(kind, 0, kind.one);
      set_one(kind, a_layout(kind.bits, kind.k_blocks), kind.a_registers(), 0, linear, warp);
      probes.push_back(warp);
    }
    const auto results = run_probes(kind, probes);
    for (unsigned linear = 0; linear < probes.size(); ++linear) {
      expect_outputs(results[linear], 0, 1, kind.name + (" A " + std::to_string(linear)),
                     [&](unsigned row, unsigned) { return row == linear % kRows; });
    }
  }
}

TEST(Probe, OneElementOfB) {
  for (const ProbeKind& kind : kKinds) {
    std::vector<Warp> probes;
    for (unsigned linear = 0; linear < kColumns * kind.k(); ++linear) {
      Warp warp = filled(kind, kind.one, 0);
      set_one(kind, b_layout(kind.bits, kind.k_blocks), kind.k_blocks, kind.a_registers(), linear,
              warp);
      probes.push_back(warp);
    }
    const auto results = run_probes(kind, probes);
    for (unsigned linear = 0; linear < probes.size(); ++linear) {
      expect_outputs(results[linear], 0, 1, kind.name + (" B " + std::to_string(linear)),
                     [&](unsigned, unsigned column) { return column == linear % kColumns; });
    }
  }
}

// One element of A and one of B meet only where their places along K are the same.
TEST(Probe, ElementsMeetAlongK) {
  for (const ProbeKind& kind : kKinds) {
    std::vector<Warp> probes;
    for (unsigned a = 0; a < kind.k(); ++a) {
      for (unsigned b = 0; b < kind.k(); ++b) {
        Warp warp = filled(kind, 0, 0);
        set_one(kind, a_layout(kind.bits, kind.k_blocks), kind.a_registers(), 0, 3 + kRows * a,
                warp);
        set_one(kind, b_layout(kind.bits, kind.k_blocks), kind.k_blocks, kind.a_registers(),
                5 + kColumns * b, warp);
        probes.push_back(warp);
      }
    }
    const auto results = run_probes(kind, probes);
    for (unsigned probe = 0; probe < probes.size(); ++probe) {
      const bool meet = probe / kind.k() == probe % kind.k();
      expect_outputs(results[probe], 0, 1, kind.name, [&](unsigned row, unsigned column) {
        return meet && row == 3 && column == 5;
      });
    }
  }
}

// One scale byte of 2: its row or column gains its block's sum once more. With thread 0, row r is
// in lane 4 (r % 8) + r / 8 and column n in lane 4 n.
TEST(Probe, OneScaleByte) {
  for (const ProbeKind& kind : kKinds) {
    if (kind.scales == 0) {
      continue;
    }
    std::vector<Warp> probes;
    for (unsigned line = 0; line < kRows + kColumns; ++line) {
      const bool is_a = line < kRows;
      const unsigned lane = is_a ? 4 * (line % 8) + line / 8 : 4 * (line - kRows);
      const unsigned input = kind.a_registers() + kind.k_blocks + (is_a ? 0 : 1);
      for (unsigned byte = 0; byte < 4; ++byte) {
        Warp warp = filled(kind, kind.one, kind.one);
        set_scale(kind, lane, input, byte, warp);
        probes.push_back(warp);
      }
    }
    const auto results = run_probes(kind, probes);
    const auto all = static_cast<float>(kind.k());
    const float gained = all + all / static_cast<float>(kind.scales);
    for (unsigned probe = 0; probe < probes.size(); ++probe) {
      const unsigned line = probe / 4;
      const bool used = probe % 4 < kind.scales;
      expect_outputs(results[probe], all, gained, kind.name, [&](unsigned row, unsigned column) {
        return used && (line < kRows ? row == line : column == line - kRows);
      });
    }
  }
}

}  // namespace
}  // namespace emu::test
