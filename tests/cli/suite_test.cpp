// SPDX-License-Identifier: Apache-2.0
// `isamap coverage` and `isamap hw diff`: what a folder of kernels gains and loses.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

using Json = nlohmann::json;

constexpr const char* gemm_file = R"(kernel: gemm
dims: {I: 8, J: 8, K: 8}
tensors:
  A: {shape: [I, K], dtype: s8}
  B: {shape: [K, J], dtype: s8}
  C: {shape: [I, J], dtype: s32}
compute:
  - C[i,j] += s32(A[i,k]) * s32(B[k,j])
)";
constexpr const char* dot = R"(kernel: dot
dims: {K: 20}
tensors:
  A: {shape: [K], dtype: f32}
  B: {shape: [K], dtype: f32}
  C: {shape: [], dtype: f32}
compute:
  - C[] += A[k] * B[k]
)";

constexpr const char* sum = R"(kernel: sum
dims: {K: 20}
tensors:
  A: {shape: [K], dtype: f32}
  C: {shape: [], dtype: f32}
compute:
  - C[] += A[k]
)";

/// A small machine, and variants of it.
class Suites : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(folder_ / "suite");
    toy_ = read_file(ISAMAP_SOURCE_DIR "/tests/cli/data/toy.yaml");
    a_ = folder_.write("a.yaml", toy_);
    add("gemm.yaml", gemm_file);
    add("dot.yaml", dot);
  }
  void add(const std::string& name, const std::string& text) { folder_.write("suite/" + name, text); }
  std::string variant(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = toy_;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return folder_.write(name, text.replace(at, from.size(), to));
  }
  /// With a dot product beside the matrix unit.
  std::string with_dot() {
    return variant("b.yaml", "  - name: clear ", R"(  - name: dot8
    unit: npu
    compute: "C[] += A[k] * B[k]"
    dims: {k: 8}
    operands:
      A: {memory: spad, dtype: f32}
      B: {memory: spad, dtype: f32}
      C: {memory: acc, dtype: f32}
    timing: {interval: 2cycles}
    emit: "dot8 {C}, {A}, {B}"
  - name: clear )");
  }
  std::string suite() { return folder_ / "suite"; }
  Said diff(const std::string& b, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"hw", "diff", a_, b, "--suite", suite()};
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words);
  }
  Said coverage(const std::string& target, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"coverage", "--target", target, "--suite", suite()};
    words.insert(words.end(), more.begin(), more.end());
    return isamap(words);
  }

  Folder folder_;
  std::string toy_, a_;
};

TEST_F(Suites, ANewInstructionGains) {
  const Said said = diff(with_dot());
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, suite() + ", rule full\na: toy (" + a_ + ")\nb: toy (" + (folder_ / "b.yaml") + ")\n" + R"(
kernel  maps a  maps b  used a  used b  cycles a  cycles b  change
------  ------  ------  ------  ------  --------  --------  ------
dot          0       1       -     83%         -        6~  gains
gemm         2       2    100%    100%       32~       32~
~: no schedule; calls of the best mapping times the instruction's interval

why one of the two does not map (the first reason; `isamap explain` has all):
  dot on a: mac4x4: dtype: the instruction computes s32(A) * s32(B) (s8 by s8 into s32) exactly; the statement has A * B (f32 by f32 into f32)

2 kernels: 1 map on a, 2 on b; 1 gain, 0 lose; b takes 1 of a's cycles (geometric mean over 1 kernel)
)");
}

/// A sum is covered by a dot product with ones, for which lowering has no place: no gain, and said.
TEST_F(Suites, WhatIsOnlyCoveredGainsNothing) {
  fs::remove(folder_ / "suite/dot.yaml");
  add("sum.yaml", sum);
  const Said said = diff(with_dot());
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("\nsum          0  1 (0 programmable)"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("covered, not programmable\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\n2 kernels: 1 map on a, 2 on b (1 programmable); 0 gain, 0 lose; 1 is covered by b only "
                          "and not programmable"),
            std::string::npos)
      << said.out;
  const Json json = parsed(diff(with_dot(), {"--json"}));
  const Json& one = json["kernels"][1];
  ASSERT_EQ(one["name"], "sum") << json.dump();
  EXPECT_EQ(one["change"]["verdict"], "differs");
  EXPECT_EQ(one["change"]["covering"], "gains");
  EXPECT_EQ(one["change"]["gained"], 1);
  EXPECT_EQ(one["change"]["programmable_gained"], 0);
  EXPECT_EQ(one["b"]["mappings"], 1);
  EXPECT_EQ(one["b"]["programmable"], 0);
  EXPECT_EQ(one["b"]["programmable_instructions"]["dot8"], 0);
  EXPECT_EQ(one["b"]["not_programmable"],
            Json::parse(R"([{"why": "dot8: an operand in a memory has the constant value 1", "mappings": 1}])"));
  EXPECT_FALSE(one["b"].contains("programmable_utilisation"));
  EXPECT_FALSE(json["kernels"][0]["change"].contains("covering"));
  EXPECT_EQ(json["summary"]["mapped_b"], 2);
  EXPECT_EQ(json["summary"]["programmable_b"], 1);
  EXPECT_EQ(json["summary"]["gains"], 0);
  EXPECT_EQ(json["summary"]["covering_gains"], 1);
}

/// A row with a star that maps has a reason: no instruction takes results out of the accumulator.
TEST_F(Suites, WhatMapsButIsScalarCodeHasAReason) {
  fs::remove(folder_ / "suite/dot.yaml");
  std::string text = read_file(ISAMAP_SOURCE_DIR "/hardware_models/npu16.yaml");
  const auto store = text.find("  - name: mvout ");
  ASSERT_EQ(text.find("- name: ", store + 10), std::string::npos) << "it is the last instruction";
  const std::string target = folder_.write("no_store.yaml", text.substr(0, store));
  const std::string why = ": no schedule of the mappings fits and lowers: C has no way to operand C of mma\n",
                    head =
                        "\nmapped, but scalar "
                        "code (the first reason; `isamap schedule` has all):\n  gemm";
  const Said covered = coverage(target, {"--budget", "evals=20"});
  EXPECT_NE(covered.out.find(head + why), std::string::npos) << covered.out << covered.err;
  const Said changed = isamap({"hw", "diff", target, "npu16", "--suite", suite(), "--budget", "evals=20"});
  EXPECT_NE(changed.out.find(head + " on a" + why), std::string::npos) << changed.out << changed.err;
  EXPECT_EQ(changed.out.find(" on b:"), std::string::npos) << changed.out;
  const Json json = parsed(coverage(target, {"--budget", "evals=20", "--json"}));
  EXPECT_TRUE(json["kernels"][0].contains("reasons")) << json.dump();
}

/// An instruction that sums makes a program of what was only covered before.
TEST_F(Suites, WhatCanBeProgrammedAnewGains) {
  fs::remove(folder_ / "suite/dot.yaml");
  add("sum.yaml", sum);
  const std::string dots = with_dot();
  std::string text = read_file(dots);
  const auto at = text.find("  - name: clear ");
  const std::string sums = folder_.write("c.yaml", text.insert(at, R"(  - name: sum8
    unit: npu
    compute: "C[] += A[k]"
    dims: {k: 8}
    operands:
      A: {memory: spad, dtype: f32}
      C: {memory: acc, dtype: f32}
    timing: {interval: 2cycles}
    emit: "sum8 {C}, {A}"
)"));
  const Said said = isamap({"hw", "diff", dots, sums, "--suite", suite()});
  EXPECT_NE(said.out.find("\nsum     1 (0 programmable)  2 (1 programmable)"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("  gains\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("covered, but not programmable on one of the two (the reason of most mappings; `isamap map` "
                          "has all):\n  sum on a: dot8: an operand in a memory has the constant value 1\n"),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("1 gain, 0 lose;"), std::string::npos) << said.out;
}

TEST_F(Suites, CoverageHasBothCounts) {
  fs::remove(folder_ / "suite/dot.yaml");
  fs::remove(folder_ / "suite/gemm.yaml");
  fs::copy(ISAMAP_SOURCE_DIR "/examples/depthwise.yaml", folder_ / "suite/depthwise.yaml");
  add("sum.yaml", sum);
  const std::string report = folder_ / "report.html";
  const Said said = coverage("outer16", {"--report", report});
  EXPECT_NE(said.out.find("276 (18 programmable)"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("13% (6%)"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("\nouter_f32          2       280            18\n"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("covered, not programmable (the reason of most mappings; `isamap map` has all):\n"
                          "  sum: outer_f32: an operand in a memory has the constant value 1\n"),
            std::string::npos)
      << said.out;
  EXPECT_NE(said.out.find("\n2 of 2 kernels map, 1 of them programmable\n"), std::string::npos) << said.out;
  const std::string html = read_file(report);
  EXPECT_NE(html.find("276 (18 programmable)"), std::string::npos);
  EXPECT_NE(html.find("2 of 2 kernels map, 1 of them programmable"), std::string::npos);
  EXPECT_NE(html.find("not programmable: outer_f32: an operand in a memory has the constant value 1"),
            std::string::npos);
  const Json json = parsed(coverage("outer16", {"--json"}));
  EXPECT_EQ(json["kernels"][0]["mappings"], 276);
  EXPECT_EQ(json["kernels"][0]["programmable"], 18);
  EXPECT_EQ(json["summary"]["mapped"], 2);
  EXPECT_EQ(json["summary"]["programmable"], 1);
}

TEST_F(Suites, TheOtherWayRoundLoses) {
  const Json json = parsed(isamap({"hw", "diff", with_dot(), a_, "--suite", suite(), "--json"}));
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["kernels"].size(), 2u) << json.dump();
  const Json& one = json["kernels"][0];
  EXPECT_EQ(one["name"], "dot");
  EXPECT_EQ(one["change"]["verdict"], "loses");
  EXPECT_EQ(one["change"]["gained"], 0);
  EXPECT_EQ(one["change"]["lost"], 1);
  EXPECT_EQ(one["a"]["mappings"], 1);
  EXPECT_EQ(one["a"]["instructions"], Json::parse(R"({"dot8": 1, "mac4x4": 0})"));
  EXPECT_EQ(one["b"]["mappings"], 0);
  EXPECT_FALSE(one["b"].contains("utilisation"));
  EXPECT_NE(one["b"]["reasons"][0].get<std::string>().find("mac4x4: "), std::string::npos);
  EXPECT_EQ(json["kernels"][1]["change"]["verdict"], "same");
  EXPECT_EQ(json["kernels"][1]["change"]["speedup"], 1.0);
  EXPECT_EQ(json["summary"]["loses"], 1);
  EXPECT_EQ(json["summary"]["gains"], 0);
}

TEST_F(Suites, AWiderUnitIsUsedLess) {
  const Json json = parsed(diff(variant("wide.yaml", "{i: 4, j: 4, k: 4}", "{i: 4, j: 4, k: 32}"), {"--json"}));
  const Json& one = json["kernels"][1];
  EXPECT_EQ(one["name"], "gemm");
  EXPECT_EQ(one["change"]["verdict"], "differs");
  EXPECT_EQ(one["a"]["utilisation"], 1.0);
  EXPECT_EQ(one["b"]["utilisation"], 0.25);
  EXPECT_DOUBLE_EQ(one["change"]["speedup"], one["a"]["cycles"].get<double>() / one["b"]["cycles"].get<double>());
}

TEST_F(Suites, WithoutAScheduleTheMappingIsPriced) {
  // Nothing carries an accumulator's start from outside: 2 x 2 x 2 calls of 4 cycles are what is left to say.
  const Json json = parsed(coverage(a_, {"--json"}));
  const Json& one = json["kernels"][1];
  EXPECT_EQ(one["cycles"], 32);
  EXPECT_EQ(one["cycles_from"], "mapping");
  EXPECT_EQ(one["reasons"][0].get<std::string>().rfind("no schedule: ", 0), 0u) << one.dump();
}

TEST_F(Suites, ASlowerLinkShowsInTheSchedule) {
  std::string text = read_file(ISAMAP_SOURCE_DIR "/hardware_models/npu16.yaml");
  const std::string fast = "to: spad, bandwidth: 16B/cycle";
  ASSERT_NE(text.find(fast), std::string::npos);
  const std::string slow =
      folder_.write("slow.yaml", text.replace(text.find(fast), fast.size(), "to: spad, bandwidth: 1B/cycle"));
  const Json json = parsed(isamap({"hw", "diff", "npu16", slow, "--suite", suite(), "--json"}));
  const Json &dot_row = json["kernels"][0], &gemm_row = json["kernels"][1];
  EXPECT_EQ(dot_row["a"]["cycles_from"], "scalar");
  EXPECT_EQ(dot_row["change"]["verdict"], "neither");
  EXPECT_EQ(gemm_row["a"]["cycles_from"], "schedule");
  EXPECT_EQ(gemm_row["change"]["verdict"], "differs");
  EXPECT_EQ(gemm_row["change"]["gained"], 0);
  EXPECT_EQ(gemm_row["change"]["lost"], 0);
  EXPECT_LT(gemm_row["change"]["speedup"], 0.9);
}

TEST_F(Suites, OneBadFileIsARowWithItsError) {
  add("bad.yaml", "kernel: bad\nwhatever\n");
  add("notes.txt", "no kernel, not looked at");
  const Said text = coverage(a_);
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.err.find("suite/bad.yaml:"), std::string::npos) << text.err;
  EXPECT_NE(text.out.find("cannot be read"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("1 of 3 kernels map; 1 cannot be read"), std::string::npos) << text.out;
  const Said said = diff(with_dot(), {"--json"});
  EXPECT_EQ(said.code, 1);
  const Json json = parsed(said);
  ASSERT_EQ(json["kernels"].size(), 3u) << said.out;
  EXPECT_EQ(json["kernels"][0]["change"]["verdict"], "failed");
  EXPECT_FALSE(json["kernels"][0]["problems"].empty());
  EXPECT_EQ(json["kernels"][1]["change"]["verdict"], "gains");
}

TEST_F(Suites, WhereNothingMapsThatIsTheAnswer) {
  fs::remove(folder_ / "suite/gemm.yaml");
  EXPECT_EQ(coverage(a_).code, 3);
  EXPECT_EQ(diff(a_).code, 3);
  EXPECT_EQ(diff(with_dot()).code, 0);
}

TEST_F(Suites, FoldersWithoutKernelsAreWrongInput) {
  for (const std::string& name : {folder_ / "none", a_}) {
    const Said said = isamap({"coverage", "--target", a_, "--suite", name});
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.err.find(name + ": "), std::string::npos) << said.err;
  }
  fs::create_directory(folder_ / "empty");
  EXPECT_NE(isamap({"coverage", "--target", a_, "--suite", folder_ / "empty"}).err.find("holds no kernels"),
            std::string::npos);
}

TEST_F(Suites, WrongWordsAreUsage) {
  EXPECT_EQ(isamap({"hw", "diff", a_, "--suite", suite()}).code, 2);
  EXPECT_EQ(isamap({"hw", "diff", a_, a_}).code, 2);
  EXPECT_EQ(isamap({"coverage", "--target", a_}).code, 2);
  EXPECT_EQ(diff(a_, {"--rule", "most"}).code, 2);
  EXPECT_EQ(diff(a_, {"--budget", "evals=0"}).code, 2);
  EXPECT_EQ(diff(folder_ / "missing.yaml").code, 1);
}

TEST_F(Suites, ParametersOfTheSecondMachineOnly) {
  const Said said = isamap({"hw", "diff", "npu16", "npu16", "--suite", suite(), "--set-b", "no_such=1"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("no_such"), std::string::npos) << said.err;
}

TEST_F(Suites, TheReportEscapesNamesAndDrawsBars) {
  fs::rename(folder_ / "suite/dot.yaml", folder_ / "suite/<i>&.yaml");
  const std::string report = folder_ / "report.html";
  const Said said = diff(with_dot(), {"--report", report});
  EXPECT_EQ(said.code, 0) << said.err;
  const std::string html = read_file(report);
  EXPECT_NE(html.find("&lt;i&gt;&amp;"), std::string::npos);
  EXPECT_EQ(html.find("<i>"), std::string::npos);
  EXPECT_NE(html.find("<rect"), std::string::npos);
  EXPECT_NE(html.find("utilisation of the best mapping"), std::string::npos);
  EXPECT_EQ(coverage(a_, {"--report", report}).code, 0);
  EXPECT_NE(read_file(report).find("1 of 2 kernels map"), std::string::npos);
}

TEST_F(Suites, SameInputSameOutput) {
  const std::string b = with_dot();
  EXPECT_EQ(diff(b, {"--json"}).out, diff(b, {"--json"}).out);
  EXPECT_EQ(coverage(b, {"--json", "--rule", "all"}).out, coverage(b, {"--json", "--rule", "all"}).out);
}

}  // namespace
}  // namespace isamap::cli_test
