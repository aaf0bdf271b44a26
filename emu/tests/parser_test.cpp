// SPDX-License-Identifier: Apache-2.0
// The PTX front end (specification 4): what must be read, and what must be refused with its line.
#include <gtest/gtest.h>

#include <string>

#include "ptx/module.hpp"

namespace emu::ptx {
namespace {

const std::string kHead = ".version 9.0\n.target sm_120f\n.address_size 64\n";

Module parsed(const std::string& text) {
  const ParseResult result = parse(text, "test");
  for (const Diagnostic& e : result.errors) {
    ADD_FAILURE() << "line " << e.line << ": " << e.message;
  }
  return result.module == nullptr ? Module{} : *result.module;
}

Diagnostic refused(const std::string& text) {
  const ParseResult result = parse(text, "test");
  EXPECT_EQ(result.module, nullptr);
  return result.errors.empty() ? Diagnostic{} : result.errors[0];
}

Function body(const std::string& text) {
  const Module module = parsed(kHead + ".entry k()\n{\n" + text + "\n}\n");
  return module.functions.empty() ? Function{} : module.functions[0];
}

TEST(Parser, ReadsVersionTargetAndVariant) {
  const Module module = parsed(kHead);
  EXPECT_EQ(module.version_major, 9u);
  EXPECT_EQ(module.version_minor, 0u);
  EXPECT_EQ(module.target, 120u);
  EXPECT_EQ(module.target_variant, 'f');
  EXPECT_EQ(parsed(".version 7.0 .target sm_80, debug .address_size 64").target_variant, ' ');
}

TEST(Parser, RefusesOtherVersionsTargetsAndAddressSizes) {
  EXPECT_EQ(refused(".version 6.5\n.target sm_80\n.address_size 64\n").line, 1u);
  EXPECT_EQ(refused(".version 9.0\n.target sm_80b\n.address_size 64\n").line, 2u);
  EXPECT_EQ(refused(".version 9.0\n.target sm_80\n.address_size 32\n").line, 3u);
  EXPECT_NE(refused("hello").message, "");
  EXPECT_NE(refused("").message, "");
}

TEST(Parser, ANulEndsTheTextAndCommentsAreBlank) {
  const std::string text =
      "// first\n" + kHead + "/* over\nlines */ .global .u32 a;" + std::string("\0.junk", 6);
  EXPECT_EQ(parsed(text).variables.size(), 1u);
  EXPECT_NE(refused(kHead + "/* no end").message.find("comment"), std::string::npos);
}

TEST(Parser, ReadsModuleVariables) {
  const Module m = parsed(kHead + R"(
    .global .align 8 .b8 name[10] = {37, 0x64, 0};
    .visible .const .f32 pi = 0f40490FDB;
    .global .u64 pointers[2] = {name, generic(name)+4};
    .extern .shared .align 128 .b8 dynamic[];
    .global .v4 .u32 quad[3];
    .global .s16 grid[2][3] = {{1, -2}, {3}};
    .global .u32 a = 010, b = 0b101, c = 7U;
    .global .u8 open[] = {1, 2, 3};
    .global .f64 x[2] = {1.5, -2e3};
  )");
  ASSERT_EQ(m.variables.size(), 11u);
  EXPECT_EQ(m.variables[0].align, 8u);
  EXPECT_EQ(m.variables[0].bytes(), 10u);
  EXPECT_EQ(m.variables[0].values[1].value.bits, 100u);
  EXPECT_TRUE(m.variables[1].values[0].value.single);
  EXPECT_EQ(m.variables[2].values[0].value.name, "name");
  EXPECT_TRUE(m.variables[2].values[1].generic);
  EXPECT_EQ(m.variables[2].values[1].value.offset, 4);
  EXPECT_TRUE(m.variables[3].is_extern);
  EXPECT_EQ(m.variables[3].bytes(), 0u);
  EXPECT_EQ(m.variables[4].bytes(), 48u);
  EXPECT_EQ(m.variables[4].align, 16u);
  ASSERT_EQ(m.variables[5].values.size(), 3u);
  EXPECT_EQ(m.variables[5].values[1].value.bits, ~uint64_t{1});
  EXPECT_EQ(m.variables[5].values[2].index, 3u);
  EXPECT_EQ(m.variables[6].values[0].value.bits, 8u);
  EXPECT_EQ(m.variables[7].values[0].value.bits, 5u);
  EXPECT_EQ(m.variables[8].values[0].value.bits, 7u);
  EXPECT_EQ(m.variables[9].bytes(), 3u);
  EXPECT_EQ(m.variables[10].values[0].value.bits, 0x3FF8000000000000u);
  EXPECT_EQ(m.variables[10].values[1].value.bits, 0xC09F400000000000u);
}

TEST(Parser, ReadsHeadsOfFunctions) {
  const Module m = parsed(kHead + R"(
    .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
    .func (.param .align 4 .b8 r[8]) f(.param .u32 x) { ret; }
    .visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 128 .b8 s[256])
    .maxntid 128, 2 .minnctapersm 1 .reqnctapercluster 2 .maxnreg 64 .explicitcluster
    { ret; }
  )");
  ASSERT_EQ(m.functions.size(), 3u);
  EXPECT_FALSE(m.functions[0].has_body);
  EXPECT_EQ(m.functions[1].returns[0].bytes(), 8u);
  const Function& k = m.functions[2];
  EXPECT_TRUE(k.is_entry);
  EXPECT_EQ(k.params[1].align, 128u);
  EXPECT_EQ(k.maxntid[0], 128u);
  EXPECT_EQ(k.maxntid[1], 2u);
  EXPECT_EQ(k.maxntid[2], 1u);
  EXPECT_EQ(k.reqnctapercluster[0], 2u);
  EXPECT_EQ(k.maxnreg, 64u);
  EXPECT_TRUE(k.explicit_cluster);
}

TEST(Parser, NamesAndLabelsOfNestedBlocksAreTheirOwn) {
  const Function f = body(R"(
    .reg .b32 %r<3>;
    .reg .pred P;
    {
      .reg .pred P;
      L: @P bra L;
      { .reg .b64 %r1; mov.b64 %r1, 0; }
    }
    {
      .reg .b16 P;
      L: bra L;
      bra OUT;
    }
    OUT: { ret; }
  )");
  ASSERT_EQ(f.body.size(), 5u);
  EXPECT_EQ(f.find_label(f.body[0].scope, "L"), 0u);
  EXPECT_EQ(f.find_label(f.body[2].scope, "L"), 2u);
  EXPECT_EQ(f.find_label(f.body[3].scope, "OUT"), 4u);
  EXPECT_FALSE(f.find_label(0, "L").has_value());
  EXPECT_EQ(f.registers[*f.find_register(f.body[1].scope, "%r1")].type, Type::b64);
  EXPECT_EQ(f.registers[*f.find_register(f.body[0].scope, "%r1")].type, Type::b32);
  EXPECT_EQ(f.registers[*f.find_register(f.body[2].scope, "P")].type, Type::b16);
  EXPECT_NE(f.find_register(0, "P"), f.find_register(f.body[0].scope, "P"));
}

TEST(Parser, RegisterRangesHaveExactlyTheirNames) {
  const Function f = body(".reg .b32 %r<12>, %r1<3>, x; ret;");
  EXPECT_TRUE(f.find_register(0, "%r11").has_value());
  EXPECT_EQ(f.registers[*f.find_register(0, "%r12")].name, "%r12");
  EXPECT_FALSE(f.find_register(0, "%r13").has_value());
  EXPECT_FALSE(f.find_register(0, "%r01").has_value());
  EXPECT_FALSE(f.find_register(0, "%r").has_value());
  EXPECT_TRUE(f.find_register(0, "x").has_value());
}

TEST(Parser, ReadsEveryKindOfOperand) {
  const Function f = body(R"(
    .reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<3>;
    @!%p1 setp.lt.and.s32 %p1|%p2, %r1, -5, !%p2;
    ld.global.v2.b32 {%r1, _}, [%rd1+-16];
    cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint
      [%r1], [%rd1, {%r2, %r3, 0}], [%r4-8], %rd2;
    mov.u32 %r1, %tid.x;
    call (%r1), f, (%r2, %r3);
    mov.f32 %r1, 0f3F800000;
    ld.u32 %r1, [1024];
    mov.b64 {%r1, %r2}, %rd1;
  )");
  ASSERT_EQ(f.body.size(), 8u);
  const Instruction& setp = f.body[0];
  EXPECT_EQ(setp.guard, "%p1");
  EXPECT_TRUE(setp.guard_negated);
  EXPECT_EQ(setp.operands[0].kind, Operand::Kind::pair);
  EXPECT_EQ(setp.operands[2].bits, ~uint64_t{4});
  EXPECT_TRUE(setp.operands[3].negated);
  EXPECT_EQ(f.body[1].operands[0].parts[1].kind, Operand::Kind::sink);
  EXPECT_EQ(f.body[1].operands[1].offset, -16);
  const Instruction& copy = f.body[2];
  EXPECT_EQ(copy.opcode[4], "3d");
  EXPECT_EQ(copy.opcode.back(), "L2::cache_hint");
  EXPECT_EQ(copy.opcode[copy.opcode.size() - 2], "mbarrier::complete_tx::bytes");
  EXPECT_EQ(copy.operands[1].parts[1].parts.size(), 3u);
  EXPECT_EQ(copy.operands[2].offset, -8);
  EXPECT_EQ(f.body[3].operands[1].name, "%tid.x");
  EXPECT_EQ(f.body[4].operands[2].kind, Operand::Kind::list);
  EXPECT_TRUE(f.body[5].operands[1].single);
  EXPECT_EQ(f.body[6].operands[1].parts[0].bits, 1024u);
}

TEST(Parser, KeepsLineAndTextOfInstructions) {
  const Function f = body(".reg .pred p;\n  @p\tbra\tL ;\nL:\n ret;");
  EXPECT_EQ(f.body[0].line, 7u);
  EXPECT_EQ(f.body[0].text, "@p\tbra\tL");
  EXPECT_EQ(f.body[1].line, 9u);
}

TEST(Parser, ReadsTablesPrototypesAndSkipsDebugDirectives) {
  const Module m = parsed(kHead + R"(
    .file 1 "a.cu"
    .section .debug_str { .b8 1, 2 }
    .entry k() { .reg .b32 %r<2>; .reg .b64 %rd<2>;
      .loc 1 2 3, function_name $L1, inlined_at 1 2 3
      T: .branchtargets A, B;
      P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);
      .pragma "nounroll";
      brx.idx %r0, T;
      A: B: ret; }
  )");
  const Function& f = m.functions[0];
  EXPECT_EQ(f.find_targets(0, "T")->size(), 2u);
  EXPECT_EQ(f.prototypes[f.scopes[0].prototypes.at("P")].params.size(), 2u);
  EXPECT_EQ(f.find_label(0, "A"), f.find_label(0, "B"));
}

struct Bad {
  const char* text;
  uint32_t line;  // of the whole module; the head has three lines
  const char* part;
};

class Refusal : public ::testing::TestWithParam<Bad> {};

TEST_P(Refusal, NamesTheLineAndTheReason) {
  const Diagnostic d = refused(kHead + GetParam().text);
  EXPECT_EQ(d.line, GetParam().line) << d.message;
  EXPECT_NE(d.message.find(GetParam().part), std::string::npos) << d.message;
}

INSTANTIATE_TEST_SUITE_P(
    Parser, Refusal,
    ::testing::Values(
        Bad{".entry k() {\n ret }\n", 5, "operand"}, Bad{".entry k() {\n mov x y;}\n", 5, "';'"},
        Bad{".entry k() { ret;\n", 5, "ends"}, Bad{".entry k() {\n.reg .b33 %r;\n}", 5, "b33"},
        Bad{".entry k() {\n.reg .b32 x;\n.reg .b64 x;}", 6, "twice"},
        Bad{".entry k() {\nL: ret;\nL: ret;}", 6, "twice"},
        Bad{".entry k() {\nadd.s32 %r1, , 2;}", 5, "operand"},
        Bad{".entry k() {\n.bogus 3;}", 5, "bogus"}, Bad{"\n.bogus x;", 5, "bogus"},
        Bad{".global .u32 a[2] = {1, 2, 3};", 4, "too many"},
        Bad{".global .u32 a[99999999999999];", 4, "too large"},
        Bad{".global .align 3 .u32 a;", 4, "power of two"},
        Bad{".global .u32 a = 0x;", 4, "malformed"}, Bad{".global .f32 a = 0f3F8;", 4, "8 hex"},
        Bad{".entry k() {\n.reg .b32 %r<9999999>;}", 5, "more than"},
        Bad{".entry k() {\nmov.u32 x, \"a;}", 5, "string"},
        Bad{".entry k() .maxthings 3 { ret; }", 4, "maxthings"},
        Bad{".entry k() {\nmov.u32 x, \x01;}", 5, "byte 1"},
        Bad{".global .u32 a = 0x11111111111111111;", 4, "64 bits"}));

// Such a text once took the parser beyond its stack.
TEST(Nesting, HasAnEnd) {
  const auto times = [](const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
      all += text;
    }
    return all;
  };
  constexpr int kMany = 300'000;
  for (const std::string& text :
       {".entry k() {\n" + times("{", kMany), ".entry k() {\nmov.u32 x, " + times("{", kMany),
        ".entry k() {\nmov.u32 x, " + times("[", kMany),
        ".entry k() {\ncall f, " + times("(", kMany), "\n.global .u32 a = " + times("(", kMany),
        "\n.global .u32 a = " + times("0xFF(", kMany),
        "\n.global .u32 a" + times("[1]", 2000) + " = " + times("{", kMany)}) {
    const Diagnostic d = refused(kHead + text);
    EXPECT_EQ(d.line, 5u) << d.message;
    EXPECT_NE(d.message.find("1000 levels are nested"), std::string::npos) << d.message;
  }
  EXPECT_EQ(body(times("{", 900) + "ret;" + times("}", 900)).body.size(), 1u);
}

}  // namespace
}  // namespace emu::ptx
