// SPDX-License-Identifier: Apache-2.0
// evaluate and schedule: --cost, --explain, --report, --trace.

#include <gtest/gtest.h>

#include <set>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

using Json = nlohmann::json;

constexpr const char* by_hand = R"(schedule: g64_hand
levels:
  - {memory: DRAM, loops: [n 2, k 4]}
  - {memory: GLB,  loops: [m 2, n 4], spatial: [m 8 x, n 2 y, k 8 y]}
  - {memory: RF,   loops: [m 4, n 4, k 2]}
)";

std::vector<std::string> on_a1(const std::string& verb, const std::string& size, std::vector<std::string> more) {
  std::vector<std::string> words{verb,
                                 "--compute",
                                 "Z[m,n] += A[m,k] * B[k,n]",
                                 "--dims",
                                 "m=" + size + ",n=" + size + ",k=" + size,
                                 "--dtypes",
                                 "A=s16,B=s16,Z=s16",
                                 "--target",
                                 "a1"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Explained, EveryModelOfCostIsChosenByName) {
  const Folder folder;
  const std::string file = folder.write("s.yaml", by_hand);
  double closed = 0, latency = 0, simulated = 0;
  for (const auto& [name, cycles] : std::vector<std::pair<std::string, double*>>{
           {"closed_form", &closed}, {"latency", &latency}, {"simulator", &simulated}}) {
    const Said said = isamap(on_a1("evaluate", "64", {"--schedule", file, "--cost", name, "--json"}));
    ASSERT_EQ(said.code, 0) << said.err;
    const Json json = parsed(said);
    *cycles = json["cycles"];
    EXPECT_EQ(json["cost_model"], name);
    EXPECT_EQ(json["memories"]["GLB"]["Z"]["updates"], 16384);
    EXPECT_EQ(json["energy_pJ"], 5079040.0);
    EXPECT_EQ(json.contains("simulated"), name == "simulator");
    // Parts of the latency add up.
    double sum = json["latency"]["fill"].get<double>() + json["latency"]["compute"].get<double>() +
                 json["latency"]["drain"].get<double>();
    for (const auto& wait : json["latency"]["waits"]) sum += wait.get<double>();
    EXPECT_NEAR(sum, json["latency"]["cycles"], 1);
  }
  EXPECT_EQ(closed, 2048);
  EXPECT_GT(latency, closed);
  EXPECT_NEAR(latency / simulated, 1, 0.01);
  const Said wrong = isamap(on_a1("evaluate", "64", {"--schedule", file, "--cost", "guess"}));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("'guess' is none of: closed_form, latency, simulator, measured, learned"), std::string::npos)
      << wrong.err;
  EXPECT_EQ(isamap(on_a1("evaluate", "64", {"--schedule", file, "--cost", "learned"})).code, 2);
}

TEST(Explained, PartsOfPredictedCyclesAddUpToThem) {
  const Folder folder;
  const std::string file = folder.write("s.yaml", R"(schedule: packed
target: x86_avx512
nest:
  - for j by 64
  - stage B in ram as [j/32, k, j%32]
  - for k by 40
  - for i by 6
  - for j by 32
  - stage C in vec
  - for k by 1
  - stage B in vec
  - for i by 1 unroll
  - for j by 16 unroll
  - do s0 with fma_f32_bcast(j=j)
)");
  const std::vector<std::string> words{"evaluate",   "--compute",        "C[i,j] += A[i,k] * B[k,j]",
                                       "--dims",     "i=96,j=700,k=901", "--target",
                                       "x86_avx512", "--schedule",       file};
  std::vector<std::string> as_json = words, in_words = words;
  as_json.push_back("--json");
  in_words.push_back("--explain");
  const Json json = parsed(isamap(as_json));
  double sum = 0;
  std::set<std::string> names;
  for (const Json& term : json["terms"]["predicted"])
    sum += term["value"].get<double>(), names.insert(term["name"].get<std::string>());
  EXPECT_NEAR(sum, json["cycles"].get<double>(), 1);
  EXPECT_TRUE(names.contains("packed copy of B")) << json["terms"].dump();
  EXPECT_NE(isamap(in_words).out.find("cycles predicted"), std::string::npos);
}

TEST(Explained, FiguresNameTheirLines) {
  const Folder folder;
  const Said said = isamap(on_a1("evaluate", "64", {"--schedule", folder.write("s.yaml", by_hand), "--explain"}));
  ASSERT_EQ(said.code, 0) << said.err;
  for (const std::string needed :
       {"for n: 2 steps of 32", "Z in GLB: m 64 x n 32 (2048 words), renewed 2 times", "for k on mac.y: 8 steps of 2",
        "reads of A in DRAM", "8192 words x 200 pJ", "a1.yaml:13", "calls of mac", "a1.yaml:23",
        "to_rf     Z       24576", "bound by compute: 2048 cycles with perfect overlap"})
    EXPECT_NE(said.out.find(needed), std::string::npos) << needed << "\n" << said.out;
  // Terms of the energy add up to it, bytes of links to theirs.
  const Json json = parsed(isamap(on_a1("evaluate", "64", {"--schedule", folder / "s.yaml", "--json"})));
  double energy = 0, bytes = 0;
  for (const Json& term : json["terms"]["energy"]) energy += term["value"].get<double>();
  EXPECT_NEAR(energy, json["energy_pJ"].get<double>(), 1e-6 * energy);
  for (const auto& link : json["links"])
    for (const auto& tensor : link) bytes += tensor.get<double>();
  EXPECT_EQ(bytes, json["bytes"]);
}

TEST(Explained, ATraceHasATrackForEachPartAndNothingOverlapsOnIt) {
  const Folder folder;
  const Said said = isamap(
      on_a1("evaluate", "64", {"--schedule", folder.write("s.yaml", by_hand), "--trace", folder / "t.json", "--json"}));
  ASSERT_EQ(said.code, 0) << said.err;
  const Json trace = Json::parse(read_file(folder / "t.json"), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  std::map<int, std::string> tracks;
  std::map<int, double> until, busy;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] != "X") continue;
    const int track = event["tid"];
    const double begin = event["args"]["cycle"], cycles = event["args"]["cycles"];
    EXPECT_GE(begin, until[track] - 1e-6) << event.dump();
    until[track] = begin + cycles;
    busy[track] += cycles;
  }
  std::map<std::string, double> by_name;
  for (const auto& [track, name] : tracks) by_name[name] = busy[track];
  EXPECT_EQ(by_name["calls of mac"], 2048);
  // Words by ports: 12288 words read from DRAM at 8 a cycle, 28672 from GLB at 32.
  EXPECT_EQ(by_name["DRAM read port"], 1536);
  EXPECT_EQ(by_name["GLB read port"], 28672 / 32.0);
  EXPECT_TRUE(by_name.contains("fill A in GLB") && by_name.contains("drain Z in RF"));
  const Json json = parsed(said);
  EXPECT_EQ(json["simulated"]["busy"]["DRAM read port"], 1536);
}

TEST(Explained, TheReportStandsAlone) {
  const Folder folder;
  const Said said =
      isamap(on_a1("evaluate", "64", {"--schedule", folder.write("s.yaml", by_hand), "--report", folder / "r.html"}));
  ASSERT_EQ(said.code, 0) << said.err;
  const std::string html = read_file(folder / "r.html");
  EXPECT_EQ(html.rfind("<!doctype html>", 0), 0u);
  for (const std::string needed : {"<svg", "where each tensor lives", "calls of mac", "a1.yaml:15", "</html>"})
    EXPECT_NE(html.find(needed), std::string::npos) << needed;
  for (const std::string outside : {"<script", "src=", "@import", "<link"})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  EXPECT_EQ(isamap(on_a1("evaluate", "64", {"--schedule", folder / "s.yaml", "--trace", folder / "no/t.json"})).code,
            1);
  EXPECT_EQ(folder.names().size(), 2u);  // no temporary files are left
}

TEST(Explained, TheSecondSaysWhyItLost) {
  const Said exact = isamap(on_a1("schedule", "16", {"--explain", "--space", "dividing,keep-all"}));
  ASSERT_EQ(exact.code, 0) << exact.err;
  EXPECT_NE(exact.out.find("% worse"), std::string::npos) << exact.out;
  EXPECT_NE(exact.out.find(" -> "), std::string::npos);
  const Said second = isamap({"schedule", "--compute", "C[i,j] += s32(A[i,k])*s32(B[k,j])", "--dims", "i=40,j=40,k=40",
                              "--dtypes", "A=s8,B=s8,C=s32", "--target", "npu16", "--explain"});
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_NE(second.out.find("second: "), std::string::npos) << second.out;
}

TEST(Explained, SearchesTakeOtherModels) {
  for (const std::string cost : {"latency", "simulator"}) {
    const Said said = isamap(on_a1("schedule", "16", {"--cost", cost, "--budget", "evals=200", "--json"}));
    ASSERT_EQ(said.code, 0) << said.err;
    const Json json = parsed(said);
    EXPECT_EQ(json["cost_model"], cost);
    const Folder folder;
    const std::string file = folder.write("s.yaml", json["best"]["schedule"]);
    const Json priced = parsed(isamap(on_a1("evaluate", "16", {"--schedule", file, "--cost", cost, "--json"})));
    EXPECT_EQ(priced["cycles"], json["cycles"]);
  }
  const Said exact = isamap(on_a1("schedule", "16", {"--cost", "latency", "--strategy", "exact"}));
  EXPECT_EQ(exact.code, 2);
  EXPECT_NE(exact.err.find("uses the closed form"), std::string::npos) << exact.err;
}

}  // namespace
}  // namespace isamap::cli_test
