// SPDX-License-Identifier: Apache-2.0
// The JSON documents of the contract: keys that scripts rely on.

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> gemm_on_scalar{
    "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8", "--target", "scalar_c"};

Json document(std::vector<std::string> words, int code = 0) {
  words.push_back("--json");
  const Said said = isamap(words);
  EXPECT_EQ(said.code, code) << said.err;
  Json json = parsed(said);
  EXPECT_FALSE(json.is_discarded()) << said.out;
  EXPECT_EQ(json.value("schema_version", 0), 1) << said.out;
  return json;
}

Json of_gemm(const std::string& verb, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{verb};
  words.insert(words.end(), gemm_on_scalar.begin(), gemm_on_scalar.end());
  words.insert(words.end(), more.begin(), more.end());
  return document(words);
}

void has(const Json& json, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) EXPECT_TRUE(json.contains(key)) << key << " in " << json.dump();
}

TEST(JsonDocument, Map) {
  Json json = of_gemm("map", {"--rule", "access"});
  has(json, {"kernel", "target", "rule", "mappings", "rejected", "solver"});
  EXPECT_EQ(json["rule"], "access");
  has(json["solver"], {"queries", "unknown", "seconds"});
  EXPECT_EQ(json["programmable"], json["mappings"].size());
  ASSERT_FALSE(json["mappings"].empty());
  Json& first = json["mappings"][0];
  has(first, {"id", "instruction", "statement", "operands", "dims", "outer", "kinds", "utilisation", "proof"});
  EXPECT_EQ(first["id"], 0);
  EXPECT_EQ(first["programmable"], true);
  EXPECT_FALSE(first.contains("why"));
  EXPECT_TRUE(first["proof"].contains("status"));
  EXPECT_FALSE(first["proof"].contains("file"));
}

/// A mapping that covers, proved, need not be one that lowering takes.
TEST(JsonDocument, MapSaysWhatCanBeProgrammed) {
  const std::vector<std::string> depthwise{"map", example("depthwise"), "--target", "outer16"};
  const Json json = document(depthwise);
  EXPECT_EQ(json["mappings"].size(), 276U);
  EXPECT_EQ(json["programmable"], 18);
  int programmable = 0;
  for (const Json& mapping : json["mappings"]) {
    programmable += mapping["programmable"].get<bool>() ? 1 : 0;
    EXPECT_EQ(mapping.contains("why"), !mapping["programmable"].get<bool>()) << mapping.dump();
  }
  EXPECT_EQ(programmable, 18);
  EXPECT_EQ(json["mappings"][4]["why"], "(q - s) is no plain dim");
  std::vector<std::string> counted = depthwise;
  counted.push_back("--count");
  const Json counts = document(counted);
  EXPECT_EQ(counts["count"], 276);
  EXPECT_EQ(counts["programmable"], 18);
  EXPECT_EQ(counts["counts"][0]["mappings"], 276);
  EXPECT_EQ(counts["counts"][0]["programmable"], 18);
}

TEST(JsonDocument, TextsOfMapHaveBothCounts) {
  const std::string grouped = example("conv2d_grouped");
  const Said list = isamap({"map", grouped, "--target", "dot16"});
  EXPECT_TRUE(list.out.starts_with("conv2d_grouped on dot16: 198 mappings, 28 programmable\n")) << list.out;
  EXPECT_NE(list.out.find("mappings that cover a statement, but of which lowering makes no program:\n"
                          "    76 of them: (p - r) is no plain dim\n"),
            std::string::npos);
  EXPECT_EQ(isamap({"map", grouped, "--target", "dot16", "--count"}).out.substr(0, 55),
            "conv2d_grouped on dot16: 198 mappings, 28 programmable\n");
  EXPECT_TRUE(isamap({"map", example("gemm"), "--target", "dot16"})
                  .out.starts_with("gemm on dot16: 2 mappings, all programmable\n"));
}

/// npu16 without the move that brings bytes into its scratchpad.
TEST(JsonDocument, MapCoverageAndScheduleNameTheMoveThatIsMissing) {
  const Folder folder;
  std::string machine = read_file(ISAMAP_SOURCE_DIR "/hardware_models/npu16.yaml");
  const std::size_t move = machine.find("  - name: mvin ");
  machine.erase(move, machine.find("  - name: ", move + 1) - move);
  const std::string target = folder.write("bytes.yaml", machine);
  const std::string note =
      "no way to operand A of mma: nothing takes s8 to spad; nearest is mvin_bias, which takes s32 "
      "from dram to acc";
  EXPECT_NE(isamap({"map", example("gemm_s8"), "--target", target}).out.find("note: " + note), std::string::npos);
  const Json mappings = document({"map", example("gemm_s8"), "--target", target});
  ASSERT_EQ(mappings["missing_moves"].size(), 2U);
  EXPECT_EQ(mappings["missing_moves"][0], note);
  EXPECT_FALSE(document({"map", example("gemm_s8"), "--target", "npu16"}).contains("missing_moves"));
  EXPECT_NE(isamap({"explain", example("gemm_s8"), "--target", target}).out.find("note: " + note), std::string::npos);
  EXPECT_EQ(document({"explain", example("gemm_s8"), "--target", target})["missing_moves"][0], note);
  const Folder suite;
  suite.write("gemm_s8.yaml", read_file(example("gemm_s8")));
  const Said covered = isamap({"coverage", "--target", target, "--suite", suite / ""});
  EXPECT_NE(covered.out.find("note: " + note), std::string::npos) << covered.out << covered.err;
  const Said schedule = isamap({"schedule", example("gemm_s8"), "--target", target, "--budget", "evals=20"});
  EXPECT_NE(schedule.out.find(note), std::string::npos) << schedule.out << schedule.err;
}

/// A list says whether it holds everything of its class, and what is outside.
TEST(JsonDocument, MapSaysWhatIsOutsideItsClass) {
  const Json list = of_gemm("map");
  EXPECT_EQ(list["complete"], true);
  EXPECT_TRUE(list["outside"].empty());
  const Folder folder;
  const std::string kernel = folder.write("window.yaml", R"(kernel: window
dims: {P: 9, R: 3, U: 3}
tensors:
  I: {shape: [P + R + U - 2], dtype: f32}
  W: {shape: [R, U], dtype: f32}
  O: {shape: [P], dtype: f32}
compute:
  - O[p] += I[p+r+u] * W[r,u]
)");
  const Json json = document({"map", kernel, "--target", "outer16", "--rule", "all"});
  EXPECT_EQ(json["complete"], true);
  ASSERT_EQ(json["outside"].size(), 1U);
  EXPECT_EQ(json["outside"][0]["text"], "three digits along one direction of the output are no members of the class");
  EXPECT_FALSE(json["outside"][0]["instructions"].empty());
}

TEST(JsonDocument, MapWithCertificates) {
  const Folder folder;
  const std::string proofs = folder / "proofs";
  Json json = of_gemm("map", {"--certificates", proofs});
  for (const Json& mapping : json["mappings"]) {
    ASSERT_TRUE(mapping["proof"].contains("file")) << mapping.dump();
    const std::string file = mapping["proof"]["file"];
    EXPECT_TRUE(fs::exists(fs::path(proofs) / file)) << file;
  }
}

TEST(JsonDocument, CertificatesOfAnEarlierRunGo) {
  const Folder folder;
  const std::string old = folder.write("mapping_7777_fma.smt2", "(check-sat)"), other = folder.write("notes.smt2", "");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  of_gemm("map", {"--certificates", folder / ""});
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(other));
}

TEST(JsonDocument, CountsOfMappings) {
  Json json = of_gemm("map", {"--count"});
  has(json, {"kernel", "target", "rule", "count", "counts", "rejected", "solver"});
  EXPECT_EQ(json["count"], of_gemm("map")["mappings"].size());
  EXPECT_EQ(json["counts"][0]["mappings"], json["count"]);
  EXPECT_EQ(json["counts"][0]["statement"], 0);
  EXPECT_EQ(json["programmable"], json["count"]);
  EXPECT_FALSE(json.contains("limit_reached"));
  const std::vector<std::string> conv{"map", example("conv2d"), "--target", "x86_avx2", "--limit", "2"};
  EXPECT_EQ(document(conv)["limit_reached"], true);
  std::vector<std::string> counted = conv;
  counted.push_back("--count");
  EXPECT_EQ(document(counted)["limit_reached"], true);
  EXPECT_EQ(isamap({"map", example("gemm"), "--target", "npu16", "--count"}).code, 3);
}

TEST(JsonDocument, Schedule) {
  Json json = of_gemm("schedule", {"--objective", "cycles", "--seed", "3"});
  has(json, {"objective", "best", "cycles", "energy_pJ", "lower_bound", "gap", "certified", "evaluations", "seconds",
             "curve", "seed"});
  EXPECT_EQ(json["objective"], "cycles");
  EXPECT_EQ(json["seed"], 3);
  EXPECT_TRUE(json["best"]["schedule"].is_string());
}

TEST(JsonDocument, ScheduleThatWasPrintedIsReadBack) {
  const Folder folder;
  const std::string text = of_gemm("schedule", {"--objective", "cycles"})["best"]["schedule"];
  const std::string file = folder.write("s.yaml", text);
  Json priced = of_gemm("evaluate", {"--schedule", file});
  has(priced, {"memories", "cycles", "energy_pJ"});
  for (const auto& [memory, tensors] : priced["memories"].items())
    for (const auto& [tensor, traffic] : tensors.items())
      has(traffic, {"instances", "tile", "reads", "fills", "updates"});
  EXPECT_EQ(of_gemm("run", {"--schedule", file})["correct"], true);
}

TEST(JsonDocument, Emit) {
  Json json = of_gemm("emit");
  has(json, {"kernel", "target", "schedule", "files"});
  ASSERT_FALSE(json["files"].empty());
  has(json["files"][0], {"name", "text"});
}

TEST(JsonDocument, Run) {
  Json json = of_gemm("run");
  has(json, {"executed", "correct", "max_error", "seconds", "gflops"});
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["executed"], "native");
}

TEST(JsonDocument, ScalarCodeSaysWhy) {
  const std::vector<std::string> copy{"run", "--compute", "C[i] = tan(A[i])", "--dims", "i=8", "--target", "x86_avx2"};
  const Said text = isamap(copy);
  EXPECT_NE(text.out.find("s0 is scalar code: fma_f32: reduction: "), std::string::npos) << text.out << text.err;
  std::vector<std::string> words = copy;
  words.push_back("--json");
  const auto json = parsed(isamap(words));
  ASSERT_EQ(json["scalar"].size(), 1u) << json.dump();
  EXPECT_EQ(json["scalar"][0]["statement"], "s0");
  EXPECT_NE(json["scalar"][0]["reasons"][0].get<std::string>().find("reduction"), std::string::npos);
  const auto mapped = parsed(isamap(
      {"run", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8", "--target", "x86_avx2", "--json"}));
  EXPECT_EQ(mapped["scalar"], nlohmann::json::array());
  words[0] = "extract";
  EXPECT_EQ(parsed(isamap(words))["layers"][0]["scalar"], true);
}

TEST(JsonDocument, NewHardware) {
  const auto json = parsed(isamap({"hw", "new", "mine", "--json"}));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["hardware"], "mine");
  EXPECT_EQ(json["text"], isamap({"hw", "new", "mine"}).out);
}

TEST(JsonDocument, AScheduleFileWithoutNamesIsPrintedWithThem) {
  const Folder folder;
  const std::string file = folder.write("s.yaml", "schedule: s\nnest:\n  - for i by 1\n  - do s0 with scalar\n");
  const std::string out =
      isamap({"schedule", "--compute", "C[i] = A[i]", "--dims", "i=8", "--target", "x86_avx2", "--schedule", file}).out;
  EXPECT_NE(out.find("kernel: formula\ntarget: x86_avx2\n"), std::string::npos) << out;
}

TEST(JsonDocument, ExtractOfOneMatrixMultiplication) {
  Json json = of_gemm("extract", {"--run"});
  has(json, {"model", "target", "layers"});
  ASSERT_EQ(json["layers"].size(), 1u);
  Json& layer = json["layers"][0];
  has(layer, {"name", "op", "m", "n", "k", "outer", "instruction", "mapping", "mappings", "tiles", "cycles", "bytes",
              "executed", "correct", "seconds", "gflops"});
  EXPECT_EQ(layer["m"], 8);
  EXPECT_EQ(layer["n"], 8);
  EXPECT_EQ(layer["k"], 8);
  EXPECT_EQ(layer["outer"], Json::object());
  EXPECT_EQ(layer["correct"], true);
}

TEST(JsonDocument, ExtractWithoutRunSaysNothingOfARun) {
  Json layer = of_gemm("extract")["layers"][0];
  EXPECT_FALSE(layer.contains("executed"));
  EXPECT_FALSE(layer.contains("correct"));
}

TEST(JsonDocument, TargetsNameEveryModel) {
  Json json = document({"targets"});
  const std::set<std::string> ways{"native", "emulated", "simulator", "shim", "unavailable"};
  std::set<std::string> names;
  for (const Json& target : json["targets"]) {
    has(target, {"name", "file", "language", "how", "why"});
    EXPECT_TRUE(ways.count(target["how"])) << target.dump();
    const bool kernels = target["language"] == "cuda";  // on which GPU, or why on none
    EXPECT_EQ(target["how"] == "unavailable" || target["how"] == "shim" || kernels, target["why"] != "")
        << target.dump();
    names.insert(target["name"]);
  }
  EXPECT_TRUE(names.count("scalar_c"));
}

TEST(JsonDocument, HardwareCheckListsItsProblems) {
  const Folder folder;
  const std::string bad = folder.write("bad.yaml", "hardware: x\nnonsense: 3\n");
  Json json = document({"hw", "check", bad, "scalar_c"}, 1);
  ASSERT_EQ(json["files"].size(), 2u);
  EXPECT_EQ(json["files"][0]["ok"], false);
  EXPECT_EQ(json["files"][0]["diagnostics"][0]["file"], bad);
  EXPECT_EQ(json["files"][1]["ok"], true);
}

TEST(JsonDocument, HardwareShow) {
  has(document({"hw", "show", "scalar_c"}), {"hardware", "units", "memories", "links", "instructions"});
}

}  // namespace
}  // namespace isamap::cli_test
