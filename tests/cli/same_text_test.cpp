// SPDX-License-Identifier: Apache-2.0
// Commands that are one line and do different things: an error at both places. Moves of two types may share a line.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string alike = R"yaml(hardware: alike
clock: 1GHz
program: {language: asm, comment: "#"}
units: [{name: host, scalar: true}, {name: u}]
memories:
  - {name: ram, per: host, kind: dram, capacity: 1MiB}
  - {name: v, per: u, kind: register, count: 4, size: 16B, print: "v{index}"}
links: [{name: ld, from: ram, to: v}, {name: st, from: v, to: ram}]
STATE
instructions:
  - {name: "ld_${t}", variants: [{t: f32}, {t: s32}], link: ld, compute: "D[j] = S[j]", dims: {j: 4},
     operands: {D: {dtype: "${t}"}, S: {dtype: "${t}"}}, emit: "ld {D}, {S}"}
  - {name: "st_${t}", variants: [{t: f32}, {t: s32}], link: st, compute: "D[j] = S[j]", dims: {j: 4},
     operands: {D: {dtype: "${t}"}, S: {dtype: "${t}"}}, emit: "st {D}, {S}"}
)yaml";

std::string operation(const std::string& name, const std::string& statement, const std::string& emit,
                      const std::string& type = "s32", const std::string& more = "") {
  return "  - {name: " + name + ", unit: u, compute: \"" + statement + "\", dims: {j: 4}, operands: {D: {memory: v, " +
         "dtype: " + type + "}, A: {memory: v, dtype: " + type + "}, B: {memory: v, dtype: " + type + "}}, emit: \"" +
         emit + "\"" + more + "}\n";
}

std::string with(const std::string& instructions, const std::string& state = "") {
  std::string text = alike + instructions;
  text.replace(text.find("STATE"), 5, state);
  return text;
}

struct Alike {
  std::string first, second, state;
  bool told_apart;
};

TEST(SameText, IsAnErrorWhereTwoInstructionsDoDifferentThings) {
  const std::string add = "D[j] = A[j] + B[j]", sub = "D[j] = A[j] - B[j]", op = "op {D}, {A}, {B}";
  const std::string mode = "states: [{name: m, per: u, fields: {f: {values: [0, 1]}}}]";
  const std::string set = "  - {name: set, unit: u, sets: [m.f], emit: \"set {m.f}\"}\n";
  for (const Alike& c : std::vector<Alike>{
           {operation("one", add, op), operation("two", sub, op), "", false},
           {operation("one", add, op), operation("two", sub, "op2 {D}, {A}, {B}"), "", true},
           {operation("one", add, op), operation("two", "D[j] = B[j] + A[j]", op), "", true},  // the same sum
           {operation("one", sub, op), operation("two", sub, "op {D}, {B}, {A}"), "", false},  // operands exchanged
           {operation("one", add, op), operation("two", add, op, "f32"), "", false},           // types
           {operation("one", add, op), operation("two", add, op, "u32"), "", true},            // wraps the same
           {operation("one", "D[j] = max(A[j], B[j])", op), operation("two", "D[j] = max(A[j], B[j])", op, "u32"), "",
            false},
           {operation("one", add, op, "s32", ", needs: {m.f: 0}"),
            set + operation("two", sub, op, "s32", ", needs: {m.f: 1}"), mode, true},
           {operation("one", add, op, "s32", ", needs: {m.f: 1}"), set + operation("two", sub, op), mode, false},
       }) {
    const Folder folder;
    const Said said = isamap({"hw", "check", folder.write("alike.yaml", with(c.first + c.second, c.state))});
    EXPECT_EQ(said.code, c.told_apart ? 0 : 1) << c.first << c.second << said.out << said.err;
    if (c.told_apart) continue;
    EXPECT_NE(said.err.find("alike.yaml:1"), std::string::npos) << said.err;
    EXPECT_NE(said.err.find("alike.yaml:1"), said.err.rfind("alike.yaml:1")) << said.err;  // both places
    EXPECT_NE(said.err.find("print the same command and have different effects: op v"), std::string::npos) << said.err;
    const Said run = isamap({"run", "--compute", "Y[i] = X[i] - Z[i]", "--dims", "i=4", "--dtypes", "X=s32,Y=s32,Z=s32",
                             "--target", folder / "alike.yaml"});
    EXPECT_EQ(run.code, 1) << run.out;
  }
}

/// A machine whose second load has the word of the first one.
std::string with_words(const std::string& second) {
  const std::string operands = "operands: {D: {dtype: f32}, S: {dtype: f32}}";
  return R"yaml(hardware: words
program: {language: asm}
units: [{name: cpu, scalar: true}, {name: u}]
memories:
  - {name: ram, per: cpu, kind: dram, capacity: 1GiB}
  - {name: spad, per: u, kind: scratchpad, capacity: 4KiB}
links: [{name: in, from: ram, to: spad}, {name: out, from: spad, to: ram}]
formats: {f: {bits: 64, fields: {op: [63, 60], l: [59, 40], a: [39, 0]}}}
instructions:
  - {name: load, link: in, compute: "D[i] = S[i]", dims: {i: 16}, )yaml" +
         operands + R"yaml(, emit: "ld {D}, {S}", encoding: {format: f, op: 1, l: D, a: S}}
  - {name: other, link: in, )yaml" +
         second + R"yaml(, emit: "ld {D}, {S}", encoding: {format: f, op: 1, l: D, a: S}}
  - {name: store, link: out, compute: "D[i] = S[i]", dims: {i: 16}, )yaml" +
         operands + R"yaml(, emit: "st {D}, {S}", encoding: {format: f, op: 2, l: S, a: D}}
  - {name: neg, unit: u, compute: "D[i] = 0 - A[i]", dims: {i: 16}, emit: "neg {D}, {A}",
     operands: {D: {memory: spad, dtype: f32}, A: {memory: spad, dtype: f32}}, encoding: {format: f, op: 3, l: D, a: A}}
)yaml";
}

TEST(SameText, MovesOfTheSameBytesMayHaveOneWord) {
  const auto move = [](const std::string& type, int extent, const std::string& layout = "") {
    const std::string operand = "{dtype: " + type + layout + "}";
    return "compute: \"D[i] = S[i]\", dims: {i: " + std::to_string(extent) + "}, operands: {D: " + operand +
           ", S: {dtype: " + type + "}}";
  };
  const std::size_t npos = std::string::npos;
  for (const auto& [second, alike] : std::vector<std::pair<std::string, bool>>{
           {move("s32", 16), true},                       // other elements of the same width
           {move("f16", 32), true},                       // and of half the width
           {move("s32", 16, ", layout: {i: 2}"), false},  // other addresses
           {move("s32", 8), false},                       // fewer bytes
       }) {
    const Folder folder;
    const std::string file = folder.write("words.yaml", with_words(second));
    const Said check = isamap({"hw", "check", file});
    EXPECT_EQ(check.code, alike ? 0 : 1) << second << check.err;
    EXPECT_NE(check.err.find("words.yaml:11:5: instructions 'load' and 'other' print the same command") == npos, !alike)
        << second << check.err;
    const Said run = isamap({"run", "--compute", "Y[i] = 0 - X[i]", "--dims", "i=64", "--target", file});
    EXPECT_EQ(run.code, alike ? 0 : 1) << second << run.out << run.err;
  }
}

}  // namespace
}  // namespace isamap::cli_test
