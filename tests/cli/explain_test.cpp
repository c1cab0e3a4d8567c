// SPDX-License-Identifier: Apache-2.0
// isamap explain on kernels and targets that cover every kind of reason: the whole page, word for word.
//
// tests/golden/explain.txt holds the commands and what they print; ISAMAP_UPDATE_GOLDEN=1 writes it anew, and the
// difference is reviewed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string golden_file = std::string(ISAMAP_SOURCE_DIR) + "/tests/golden/explain.txt";

/// Units with what the models do not have: sums that saturate, sums written out, outputs that are written anew.
const char pairs_yaml[] = R"yaml(hardware: pairs
units: [{name: core, count: 1}]
memories:
  - {name: ram, per: core, kind: dram, capacity: 1GiB}
  - {name: vec, per: core, kind: register, count: 16, size: 64B}
links:
  - {name: ld, from: ram, to: vec, bandwidth: 64B/cycle}
  - {name: st, from: vec, to: ram, bandwidth: 64B/cycle}
instructions:
  - name: pair_dot
    unit: core
    compute: "C[j] += s32(sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1])))"
    dims: {j: 8}
    operands: {A: {memory: vec, dtype: u8}, B: {memory: vec, dtype: s8}, C: {memory: vec, dtype: s32}}
    emit: "pair_dot {C}, {A}, {B}"
  - name: pair_sum
    unit: core
    compute: "C[j] = sat_s16(s32(A[j,0])*s32(B[j,0]) + s32(A[j,1])*s32(B[j,1]))"
    dims: {j: 16}
    operands: {A: {memory: vec, dtype: u8}, B: {memory: vec, dtype: s8}, C: {memory: vec, dtype: s16}}
    emit: "pair_sum {C}, {A}, {B}"
  - name: largest
    unit: core
    compute: "C[j] max= A[j,k] + B[j,k]"
    dims: {j: 4, k: 4}
    operands: {A: {memory: vec, dtype: s32}, B: {memory: vec, dtype: s32}, C: {memory: vec, dtype: s32}}
    emit: "largest {C}, {A}, {B}"
)yaml";

using Words = std::vector<std::string>;

Words formula(const std::string& compute, const std::string& dims, const std::string& dtypes, Words more) {
  Words words{"explain", "--compute", compute, "--dims", dims};
  if (!dtypes.empty()) words.insert(words.end(), {"--dtypes", dtypes});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string example(const std::string& name) { return std::string(ISAMAP_SOURCE_DIR) + "/examples/" + name + ".yaml"; }

/// Every kind of reason at least once; `PAIRS` is the file above.
std::vector<Words> cases() {
  const std::string product = "C[i,j] += A[i,k]*B[k,j]";
  return {
      {"explain", example("conv2d"), "--target", "npu16"},
      {"explain", example("gemm_s8"), "--target", "x86_avx512_vnni"},
      {"explain", example("gemm_s16"), "--target", "npu16"},
      {"explain", example("gemm"), "--target", "nvidia_sm80"},
      {"explain", example("max_pool"), "--target", "npu16"},
      {"explain", example("depthwise_separable_fused"), "--target", "x86_avx2", "--instruction", "fma_f32"},
      {"explain", example("depthwise"), "--target", "x86_avx512_bf16"},
      {"explain", example("softmax"), "--target", "x86_avx512"},
      {"explain", example("stencil"), "--target", "x86_avx2", "--instruction", "fma_f32"},
      {"explain", example("gemv"), "--target", "nvidia_sm80", "--rule", "access"},
      formula("O[n,c,p] += I[n,c,p+r]*F[c,r]", "n=2,c=16,p=30,r=3", "I=s8,F=s8,O=s32",
              {"--target", "npu16", "--rule", "access"}),
      formula(product, "i=16,j=16,k=32", "A=u8,B=s8,C=s32", {"--target", "PAIRS"}),
      formula(product, "i=16,j=16,k=32", "A=u8,B=s8,C=s16", {"--target", "PAIRS", "--instruction", "pair_sum"}),
      formula(product, "i=16,j=16,k=32", "A=s8,B=s8,C=s32", {"--target", "PAIRS", "--instruction", "pair_dot"}),
      formula("C[j] max= A[j,k] + B[j,k]", "j=6,k=7", "A=s32,B=s32,C=s32",
              {"--target", "PAIRS", "--instruction", "largest"}),
  };
}

std::string shown(const Words& words) {
  std::string text = "$ isamap";
  for (std::string word : words) {
    const std::string source = std::string(ISAMAP_SOURCE_DIR) + "/";
    if (word.rfind(source, 0) == 0) word = word.substr(source.size());
    text += " " + (word.find(' ') == std::string::npos ? word : "'" + word + "'");
  }
  return text + "\n";
}

TEST(Explain, WholePagesForEveryKindOfReason) {
  const Folder folder;
  const std::string pairs = folder.write("pairs.yaml", pairs_yaml);
  std::string text;
  for (const Words& words : cases()) {
    Words real = words;
    for (std::string& word : real)
      if (word == "PAIRS") word = pairs;
    const Said said = isamap(real);
    EXPECT_TRUE(said.code == 0 || said.code == 3) << shown(words) << said.err;
    EXPECT_LE(std::count(said.out.begin(), said.out.end(), '\n'), 2 * 66) << "more than two pages: " << shown(words);
    text += shown(words) + said.out + "\n";
  }
  if (std::getenv("ISAMAP_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden_file, std::ios::binary) << text;
    GTEST_SKIP() << "written anew: " << golden_file;
  }
  EXPECT_EQ(text, read_file(golden_file)) << "ISAMAP_UPDATE_GOLDEN=1 rewrites it";
}

/// No change of an instruction is looked for.
TEST(Explain, ValuesOfIteratorsAreTheReason) {
  const char* const statements[][3] = {{"C[i] max= value(i)", "i=8", "C=s32"},
                                       {"C[i] += A[i,k] * value(k)", "i=8,k=8", "A=s32,C=s32"}};
  for (const char* target : {"npu16", "x86_avx512"})
    for (const auto& [statement, dims, types] : statements) {
      const Said said =
          isamap({"explain", "--compute", statement, "--dims", dims, "--dtypes", types, "--target", target});
      EXPECT_EQ(said.code, 3) << statement << said.err;
      EXPECT_NE(said.out.find("the statement uses the value of "), std::string::npos) << said.out;
    }
}

TEST(Explain, TheSameAsJson) {
  const Folder folder;
  const Said said =
      isamap(formula("C[i,j] += A[i,k]*B[k,j]", "i=16,j=16,k=32", "A=u8,B=s8,C=s32",
                     {"--target", folder.write("pairs.yaml", pairs_yaml), "--json", "--instruction", "pair_dot"}));
  EXPECT_EQ(said.code, 3);
  const auto json = nlohmann::json::parse(said.out);
  ASSERT_EQ(json["refusals"].size(), 1u) << said.out;
  const auto& refusal = json["refusals"][0];
  EXPECT_EQ(refusal["instructions"], nlohmann::json({"pair_dot"}));
  EXPECT_EQ(refusal["statement"], 0);
  EXPECT_EQ(refusal["other_operation"], false);
  EXPECT_EQ(refusal["reasons"].size(), 1u);
  EXPECT_EQ(refusal["kernel_changes"][0], "state range: [0, 128] on A if its values are in it");
  EXPECT_EQ(refusal["hardware_changes"][0], "a variant that adds up exactly in s32");
}

TEST(Explain, ProposedKernelsAreFilesThatRun) {
  const Folder folder;
  const Said said = isamap({"explain", example("gemm_s8"), "--target", "x86_avx512_vnni", "--instruction", "dpbusd",
                            "--write", folder / "new"});
  EXPECT_EQ(said.code, 3) << said.err;
  EXPECT_NE(said.out.find("add 128 to A and subtract 128 * (sum of B over k) (gemm_s8_1.yaml)\n"), std::string::npos)
      << said.out;
  const Said run = isamap({"run", folder / "new/gemm_s8_1.yaml", "--target", "scalar_c"});
  EXPECT_EQ(run.code, 0) << run.out << run.err;
  const Said maps =
      isamap({"map", folder / "new/gemm_s8_1.yaml", "--target", "x86_avx512_vnni", "--instruction", "dpbusd"});
  EXPECT_EQ(maps.code, 0) << maps.out << maps.err;
}

}  // namespace
}  // namespace isamap::cli_test
