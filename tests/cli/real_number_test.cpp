// SPDX-License-Identifier: Apache-2.0
// Real numbers in commands: what {scale} and bits(scale) print, and that the simulator reads them back. What cannot be
// printed is no wrong result.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const char* written_machine = R"yaml(hardware: requantiser
program: {language: asm}
units: [{name: host, scalar: true}, {name: npu}]
memories:
  - {name: dram, per: host, kind: dram, capacity: 1MiB}
  - {name: acc, per: npu, kind: scratchpad, capacity: 4KiB}
links: [{name: in, from: dram, to: acc}, {name: out, from: acc, to: dram}]
states: [{name: st, per: npu, fields: {scale: {dtype: f32}}}]
formats: {w: {bits: 64, fields: {shift: [7, 0], scale: [39, 8], op: [63, 56]}}}
instructions:
  - {name: get, link: in, compute: "D[i] = S[i]", dims: {i: {max: 16}}, operands: {D: {dtype: s32}},
     emit: "get {D}, {S}, {extent[i]}"}
  - {name: set, unit: npu, sets: [st.scale], emit: "set {st.scale} {bits(st.scale):x}"}
  - name: put
    link: out
    compute: "D[i] = sat_s8(round(f32(S[i]) * scale[]))"
    dims: {i: {max: 16}}
    operands: {D: {dtype: s8}, S: {dtype: s32}, scale: {dtype: f32, SCALE}}
    emit: "put {D}, {S}, {extent[i]}, TEXT"
)yaml";

std::string with(std::string text, const std::string& mark, const std::string& value) {
  return text.replace(text.find(mark), mark.size(), value);
}

std::string file_of(const Folder& folder, const std::string& scale, const std::string& printed) {
  return folder.write("machine.yaml", with(with(written_machine, "SCALE", scale), "TEXT", printed));
}

std::vector<std::string> words(const std::string& verb, const std::string& file, const std::string& scale) {
  return {verb,         "--compute", "Y[i] = sat_s8(round(f32(X[i]) * " + scale + "))",
          "--dims",     "i=20",      "--dtypes",
          "X=s32,Y=s8", "--target",  file};
}

TEST(RealNumbers, AnImmediatePrintsAsTheNumberAndItsBits) {
  const Folder folder;
  const std::string file =
      file_of(folder, "immediate: [16, 0.25, 0.1]", "{scale} {bits(scale):x} {(bits(scale) >> 23) - 127}");
  const Said quarter = isamap(words("emit", file, "0.25"));
  EXPECT_NE(quarter.out.find(", 0.25 0x3e800000 -2\n"), std::string::npos) << quarter.out << quarter.err;
  const Said sixteen = isamap(words("emit", file, "16"));
  EXPECT_NE(sixteen.out.find(", 16 0x41800000 4\n"), std::string::npos) << sixteen.out << sixteen.err;
  for (const char* scale : {"0.25", "16", "0.1"}) {
    const Said run = isamap(words("run", file, scale));
    EXPECT_EQ(run.code, 0) << run.out << run.err;
    EXPECT_NE(run.out.find("correct"), std::string::npos) << run.out;
  }
}

TEST(RealNumbers, ListedConstantsAreFoundWhereTheTextDoesNotTell) {
  const Folder folder;
  const std::string file = file_of(folder, "immediate: [1, 2, 4]", ">>{(bits(scale) >> 23) - 127}");
  const Said run = isamap(words("run", file, "4"));
  EXPECT_EQ(run.code, 0) << run.out << run.err;
}

TEST(RealNumbers, AStateFieldFollowsTheSameRule) {
  const Folder folder;
  const std::string file = file_of(folder, "state: st.scale", "{scale}");
  const Said emitted = isamap(words("emit", file, "0.25"));
  EXPECT_NE(emitted.out.find("set 0.25 0x3e800000\n"), std::string::npos) << emitted.out << emitted.err;
  EXPECT_EQ(isamap(words("run", file, "0.25")).code, 0);
}

TEST(RealNumbers, WhatCannotBePrintedIsNoWrongResult) {
  const Folder folder;
  const std::string file =
      folder.write("machine.yaml", with(with(with(written_machine, "SCALE", "immediate: [4]"), "TEXT",
                                             "{scale}\"\n    encoding: {format: w, shift: S, scale: D}  #"),
                                        "capacity: 4KiB", "capacity: 4KiB, base: 0x1000"));
  EXPECT_EQ(isamap(words("emit", file, "4")).code, 3);
  EXPECT_EQ(isamap(words("run", file, "4")).code, 3);
}

}  // namespace
}  // namespace isamap::cli_test
