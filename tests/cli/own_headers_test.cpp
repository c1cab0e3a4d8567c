// SPDX-License-Identifier: Apache-2.0
// Machines whose instructions are functions of a header of their own, beside their file.

#include <gtest/gtest.h>

#include "program.h"

namespace isamap::cli_test {
namespace {

/// Four floats; `sum` in a header that the first one includes.
constexpr const char* lanes_machine = R"(hardware: lanes
clock: 1GHz
program: {language: c++, include: [lanes.h], types: {f32: float}}
units:
  - {name: core, scalar: true, ports: {memory: 1, sum: 1}}
memories:
  - {name: ram, per: core, kind: dram, capacity: 1GiB}
  - {name: lanes, per: core, kind: register, count: 16, size: 16B, value: {f32: Four}}
links:
  - {name: in, from: ram, to: lanes, bandwidth: 16B/cycle, latency: 4cycles}
  - {name: out, from: lanes, to: ram, bandwidth: 16B/cycle, latency: 4cycles}
instructions:
  - {name: load, link: in, compute: "D[j] = S[j]", dims: {j: 4}, operands: {D: {dtype: f32}, S: {dtype: f32}},
     emit: "{D} = four({S});", timing: {port: memory}}
  - {name: store, link: out, compute: "D[j] = S[j]", dims: {j: 4}, operands: {D: {dtype: f32}, S: {dtype: f32}},
     emit: "put({D}, {S});", timing: {port: memory}}
  - {name: sum, unit: core, compute: "D[j] = A[j] + B[j]", dims: {j: 4},
     operands: {D: {memory: lanes, dtype: f32}, A: {memory: lanes, dtype: f32}, B: {memory: lanes, dtype: f32}},
     emit: "{D} = sum<float>({A}, {B}, nothing);", timing: {port: sum}}
)";

constexpr const char* lanes_header = R"(#pragma once
struct Four { float v[4]; };
inline Four four(const float* p) { return {{p[0], p[1], p[2], p[3]}}; }
inline void put(float* p, const Four& f) { for (int i = 0; i < 4; ++i) p[i] = f.v[i]; }
# include "parts/sum.h"
)";

std::string sum_header(const std::string& also) {
  return "#pragma once\nconstexpr int nothing = 0;\ntemplate <typename T> Four sum(const Four& a, const Four& b, int) "
         "{\n"
         "  Four c;\n  for (int i = 0; i < 4; ++i) c.v[i] = a.v[i] + b.v[i]" +
         also + ";\n  return c;\n}\n";
}

class OwnHeaders : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "parts");
    folder_.write("lanes.yaml", lanes_machine);
    folder_.write("lanes.h", lanes_header);
    folder_.write("parts/sum.h", sum_header(""));
  }
  Said run(const std::string& formula, const std::string& target) const {
    return isamap({"run", "--compute", formula, "--dims", "i=3,j=10", "--target", target});
  }
  Folder folder_;
};

TEST_F(OwnHeaders, AreFoundFromTheFolderOfTheFile) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_ / "");
  const Said said = run("C[i,j] = A[i,j] + B[i,j]", "lanes.yaml");
  fs::current_path(before);
  EXPECT_EQ(said.code, 0) << said.out << said.err;
  EXPECT_NE(said.out.find("executed native, correct"), std::string::npos) << said.out;
}

TEST_F(OwnHeaders, ThatTheyIncludeMakeAnotherProgramWhenTheyChange) {
  const std::string formula = "C[i,j] = A[i,j] + B[i,j]";
  EXPECT_EQ(run(formula, folder_ / "lanes.yaml").code, 0);
  folder_.write("parts/sum.h", sum_header(" + 1"));
  const Said changed = run(formula, folder_ / "lanes.yaml");
  EXPECT_EQ(changed.code, 5) << changed.out << changed.err;
}

TEST_F(OwnHeaders, KeepTheirNames) {
  for (const std::string name : {"Four", "four", "put", "sum", "nothing"}) {
    const Said said = run(name + "[i,j] = A[i,j] + B[i,j]", folder_ / "lanes.yaml");
    EXPECT_EQ(said.code, 0) << name << "\n" << said.out << said.err;
  }
}

/// A macro replaces a parameter of its name, of headers that a header includes and of flags too.
TEST_F(OwnHeaders, KeepTheNamesOfTheirMacros) {
  folder_.write("parts/sum.h", sum_header("") + "#ifndef WIDTH\n #  define WIDTH 4\n#endif\n#define even(n) (n % 2)\n");
  std::string flagged = lanes_machine;
  flagged.replace(flagged.find("[lanes.h]"), 9, "[lanes.h], flags: {any: [-DFLAGGED=1, -DBARE]}");
  folder_.write("lanes.yaml", flagged);
  for (const std::string name : {"WIDTH", "even", "FLAGGED", "BARE"}) {
    const Said said = run(name + "[i,j] = A[i,j] + B[i,j]", folder_ / "lanes.yaml");
    EXPECT_EQ(said.code, 0) << name << "\n" << said.out << said.err;
  }
  const Said dims = isamap({"run", "--compute", "C[even,j] = A[even,j] + B[even,j]", "--dims", "even=3,j=10",
                            "--target", folder_ / "lanes.yaml"});
  EXPECT_EQ(dims.code, 0) << dims.out << dims.err;
}

}  // namespace
}  // namespace isamap::cli_test
