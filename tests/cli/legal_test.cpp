// SPDX-License-Identifier: Apache-2.0
// Conditions of `legal` in printed programs: every command fulfils them, and state is set so that they hold.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string legal_machine = R"yaml(hardware: h
program: {language: asm, comment: "#"}
units: [{name: host, scalar: true}, {name: u}]
memories: [{name: ram, per: host, kind: dram, capacity: 1MiB}, {name: v, per: u, kind: scratchpad, capacity: 4KiB}]
links: [{name: ld, from: ram, to: v}, {name: st, from: v, to: ram}]
states: [{name: s, per: u, fields: {rows: {max: 16, multiple_of: 4}, mode: {values: [0, 1]}}}]
instructions:
  - {name: set_rows, unit: u, sets: [s.rows], emit: "rows {s.rows}"}
  - {name: set_mode, unit: u, sets: [s.mode], emit: "mode {s.mode}"}
  - {name: ld, link: ld, compute: "D[i,j] = S[i,j]", dims: {i: {max: 16}, j: {max: 16}}, inactive: keep, legal: [OF_LOAD],
     operands: {D: {dtype: b32, layout: {i: any, j: 1}}, S: {dtype: b32, layout: {i: any, j: 1}}},
     emit: "ld {D}, {D.pitch[i]}, {S}, {S.pitch[i]}, {extent[i]}, {extent[j]}"}
  - {name: st, link: st, compute: "D[j] = S[j]", dims: {j: {max: 16}}, operands: {D: {dtype: b32}, S: {dtype: b32}}, inactive: keep,
     legal: ["s.mode == 1"], emit: "st {D}, {S}, {extent[j]}"}
  - {name: relu, unit: u, compute: "D[i,j] = max(A[i,j], 0)",
                  dims : {i : {max : 16}, j : {max : 16}},
                  legal : ["0 == s.mode"],
                  operands : {
                    D : {memory : v, dtype : s32, layout : {i : any, j : 1}},
                    A : {memory : v, dtype : s32, layout : {i : any, j : 1}}
                  },
                  emit : "relu {D}, {D.pitch[i]}, {A}, {A.pitch[i]}, {extent[i]}, {extent[j]}"
}
)yaml";

std::string with(const std::string& conditions) {
  std::string text = legal_machine;
  return text.replace(text.find("OF_LOAD"), 7, conditions);
}

Said printed(const std::string& verb, const std::string& file) {
  return isamap({verb, "--compute", "Y[i,j] = max(X[i,j], 0)", "--dims", "i=13,j=21", "--dtypes", "X=s32,Y=s32",
                 "--target", file, "--budget", "evals=40"});
}

/// The last two numbers of each `ld`: its extents. Of `rows` what is set before it.
struct Load {
  int i = 0, j = 0, rows = -1;
};
std::vector<Load> loads(const std::string& program) {
  std::vector<Load> found;
  std::istringstream lines(program);
  int rows = -1;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("rows ")) rows = std::stoi(line.substr(5));
    if (!line.starts_with("ld ")) continue;
    const std::size_t last = line.rfind(", "), before = line.rfind(", ", last - 1);
    found.push_back({std::stoi(line.substr(before + 2)), std::stoi(line.substr(last + 2)), rows});
  }
  return found;
}

TEST(LegalPrinted, EveryCommandFulfilsTheConditions) {
  const Folder folder;
  const Said few = printed("emit", folder.write("few.yaml", with("\"extent[i] <= 4\"")));
  EXPECT_EQ(few.code, 0) << few.err;
  EXPECT_GE(loads(few.out).size(), 4U) << few.out;
  for (const Load& load : loads(few.out)) EXPECT_LE(load.i, 4) << few.out;
  const std::string tied = folder.write("tied.yaml", with(R"("extent[i] <= s.rows", "extent[i]*extent[j] <= 96")"));
  const Said program = printed("emit", tied);
  EXPECT_GE(loads(program.out).size(), 3U) << program.out << program.err;
  for (const Load& load : loads(program.out)) {
    EXPECT_LE(load.i * load.j, 96) << program.out;
    EXPECT_LE(load.i, load.rows) << "the state is set so";
  }
  EXPECT_NE(program.out.find("mode 0\nrelu"), std::string::npos) << program.out;
  EXPECT_NE(program.out.find("mode 1\nst"), std::string::npos) << program.out;
  const Said run = printed("run", tied);
  EXPECT_NE((run.out + run.err).find("correct"), std::string::npos) << run.out << run.err;
  const Said verified = isamap({"hw", "verify", tied});
  EXPECT_NE((verified.out + verified.err).find("3 equal, 0 wrong"), std::string::npos) << verified.out;
}

/// Moves of a part of a block, also of one row or column of it, are as many as the block has.
TEST(Legal, ConditionsOnTwoExtentsLeaveNothingOut) {
  const Folder folder;
  for (const char* move : {"mvin", "mvout"})
    for (const char* condition :
         {"extent[i]*extent[j] <= 256", "extent[i] + extent[j] <= 20", "extent[i] == extent[j]"})
      for (const auto& [compute, dims] :
           {std::pair("C[i,j] += A[k,i] * B[j,k]", "i=16,j=16,k=16"), {"C[j,i] += A[i,k] * B[k,j]", "i=17,j=31,k=5"}}) {
        const std::string target =
            folder.write("m.yaml", std::string("hardware: m\nextends: npu16.yaml\ninstructions: [{name: ") + move +
                                       ", legal: [\"" + condition + "\"]}]\n");
        const Said said = isamap({"run", "--compute", compute, "--dtypes", "A=s8,B=s8,C=s32", "--dims", dims,
                                  "--target", target, "--budget", "evals=40"});
        EXPECT_EQ(said.code, 0) << move << condition << compute << said.out << said.err;
      }
}

}  // namespace
}  // namespace isamap::cli_test
