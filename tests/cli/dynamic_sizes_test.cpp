// SPDX-License-Identifier: Apache-2.0
// Symbolic sizes on the command line: binding, lists, refusals, and what the verbs say of all sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <regex>
#include <sstream>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

using Json = nlohmann::json;

const std::string rows_of_a_product = R"(kernel: projection
dims: {M: {min: 0, max: 4096, likely: [30, 1]}, N: 40, K: 24}
tensors: {A: {shape: [M, K]}, B: {shape: [K, N], constant: true}, C: {shape: [M, N]}}
compute:
  - C[i,j] += A[i,k] * B[k,j]
)";

TEST(DynamicSizes, ABoundKernelGivesTheOutputOfTheNumber) {
  const Folder folder;
  for (const auto& [example, size] :
       {std::pair("gemm", "M"), std::pair("conv2d_strided", "P"), std::pair("softmax", "N")}) {
    const std::string text = read_file(ISAMAP_SOURCE_DIR "/examples/" + std::string(example) + ".yaml");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(text, found, std::regex("[{ ]" + std::string(size) + ": ([0-9]+)")));
    const std::string number = found[1];
    std::string open = text;
    open.replace(static_cast<std::size_t>(found.position(1)), number.size(), "{min: 0, max: 900, likely: 7}");
    const std::string fixed = folder.write("k.yaml", text);
    const std::vector<std::string> bind{"--sizes", std::string(size) + "=" + number};
    for (const char* target : {"x86_avx2", "systolic16"})
      for (const char* verb : {"map", "schedule", "emit"}) {
        std::vector<std::string> words{verb, fixed, "--target", target};
        if (std::string(verb) != "map") words.insert(words.end(), {"--budget", "evals=20"});
        folder.write("k.yaml", text);
        const Said plain = isamap(words);
        folder.write("k.yaml", open);
        words.insert(words.end(), bind.begin(), bind.end());
        const Said bound = isamap(words);
        EXPECT_EQ(bound.code, plain.code) << example << " " << verb << " " << target << "\n" << bound.err;
        EXPECT_EQ(bound.out, plain.out) << example << " " << verb << " " << target;
      }
  }
}

TEST(DynamicSizes, ASizeThatBreaksAFactGetsTheNearestOneAndWritesNothing) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", rows_of_a_product), file = folder / "out.cpp";
  for (const char* verb : {"run", "emit", "schedule", "map"}) {
    const Said said = isamap({verb, kernel, "--target", "x86_avx2", "--sizes", "M=5000", "-o", file});
    EXPECT_EQ(said.code, 1);
    EXPECT_EQ(said.err, kernel + ":2:11: M = 5000 is not in 0..4096\n  hint: the nearest size here is M=4096\n");
    EXPECT_EQ(said.out, "");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"k.yaml"});
  }
  EXPECT_EQ(isamap({"run", kernel, "--target", "x86_avx2", "--sizes", "M=1,7,5000"}).code, 1);
}

TEST(DynamicSizes, WrongLists) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", rows_of_a_product);
  for (const char* sizes : {"M", "M=", "=3", "3", "M=1,N", "M=1,M=2", "M=1.5", ","}) {
    const Said said = isamap({"run", kernel, "--target", "x86_avx2", "--sizes", sizes});
    EXPECT_EQ(said.code, 2) << sizes << said.err;
  }
  EXPECT_EQ(isamap({"emit", kernel, "--target", "x86_avx2", "--sizes", "M=1,2"}).code, 2);
  const Said unknown = isamap({"emit", kernel, "--target", "x86_avx2", "--sizes", "Q=1"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("'Q' in --sizes is no symbolic size of this kernel"), std::string::npos) << unknown.err;
  const Said open = isamap({"extract", kernel, "--target", "x86_avx2"});
  EXPECT_EQ(open.code, 1);
  EXPECT_NE(open.err.find("hint: bind it: --sizes M=30"), std::string::npos) << open.err;
}

TEST(DynamicSizes, MapProvesForAllSizes) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", rows_of_a_product), proofs = folder / "proofs";
  const Said said = isamap({"map", kernel, "--target", "x86_avx2", "--certificates", proofs, "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json json = parsed(said);
  EXPECT_EQ(json["sizes"]["M"]["max"], 4096);
  EXPECT_EQ(json["unknown"], 0);
  ASSERT_FALSE(json["mappings"].empty());
  for (const Json& mapping : json["mappings"]) {
    EXPECT_EQ(mapping["proof"]["status"], "proved");
    const std::string text = read_file(proofs + "/" + std::string(mapping["proof"]["file"]));
    EXPECT_NE(text.find("(declare-const size.M Int)\n(assert (and (<= 0 size.M) (<= size.M 4096)))"),
              std::string::npos);
    EXPECT_FALSE(std::regex_search(text, std::regex("\\(\\* [a-z][^ ]* [a-z]"))) << "a product of two unknowns";
  }
  const Said wide =
      isamap({"map", "--compute", "O[n,p] = I[n,p]*S[n,p]", "--dims", "n=1..64,p=1..500", "--target", "x86_avx2"});
  EXPECT_NE(wide.out.find("needs p of constant size; bind it with --sizes p=128"), std::string::npos) << wide.out;
}

TEST(DynamicSizes, OneCompilationRunsAListOfSizes) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", rows_of_a_product);
  const Said said =
      isamap({"run", kernel, "--target", "x86_avx2", "--sizes", "M=0,1,7,37", "--budget", "evals=40", "--json"});
  const Json json = parsed(said);
  ASSERT_EQ(json["runs"].size(), 4U) << said.err;
  EXPECT_EQ(json["runs"][3]["sizes"], Json({{"M", 37}}));
  EXPECT_LE(json["versions"], 4);
  EXPECT_EQ(json["recompiles"], 0);
  EXPECT_EQ(json["unknown"], 0);
  if (said.code == 77) GTEST_SKIP() << said.err;
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(json["correct"], true);
  for (const Json& run : json["runs"]) EXPECT_EQ(run["correct"], true);
}

TEST(DynamicSizes, OtherStatementsArePlainLoopsAndSaySo) {
  const Folder folder;
  const std::string kernel =
      folder.write("k.yaml",
                   "kernel: k\ndims: {M: {max: 64, likely: 8}}\ntensors: {A: {shape: [M]}, C: {shape: [M]}}\n"
                   "compute: ['C[i] = A[i] * f32(value(i))']\n");
  const std::string warning = "s0 is plain loops at all sizes: statement s0 uses value(i)";
  const Said said =
      isamap({"run", kernel, "--target", "scalar_c", "--sizes", "M=0,1,7", "--budget", "evals=20", "--json"});
  const Json json = parsed(said);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(json["recompiles"], 0);
  EXPECT_EQ(json["correct"], true);
  EXPECT_NE(said.err.find(warning), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("hint: bind sizes: --sizes M=8"), std::string::npos) << said.err;
  const Json emitted = parsed(isamap({"emit", kernel, "--target", "scalar_c", "--json"}));
  EXPECT_EQ(emitted["versions"][0]["grids"][0]["loops_because"], "statement s0 uses value(i)");
  const std::string file = folder / "s.yaml";
  EXPECT_EQ(isamap({"schedule", kernel, "--target", "scalar_c", "-o", file}).code, 0);
  EXPECT_EQ(isamap({"emit", kernel, "--target", "scalar_c", "--schedule", file}).code, 0);
  // Loops are compiled where vectors have a length of their own, too.
  const Said any = isamap({"emit", kernel, "--target", "arm_sve"});
  EXPECT_EQ(any.code, 0) << any.err;
  EXPECT_NE(any.err.find("has sizes of its own at run time"), std::string::npos) << any.err;
}

TEST(DynamicSizes, TimeLoopsHaveAnyNumberOfSteps) {
  const Folder folder;
  const std::string text = read_file(ISAMAP_SOURCE_DIR "/examples/gru_sequence.yaml");
  const std::string kernel =
      folder.write("k.yaml", std::regex_replace(text, std::regex("dims: .*"),
                                                "dims: {T: {max: 64, likely: 9}, B: {min: 1, max: 8}, J: 10, K: 6}"));
  const Said said =
      isamap({"run", kernel, "--target", "scalar_c", "--sizes", "T=0,1,5,B=1,3", "--budget", "evals=20", "--json"});
  const Json json = parsed(said);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(json["runs"].size(), 6U);
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["versions"], 1);
  EXPECT_EQ(json["recompiles"], 0) << json.value("recompiled_because", "");
  const Said emitted = isamap({"emit", kernel, "--target", "scalar_c", "--budget", "evals=20", "-o", folder / "out"});
  EXPECT_EQ(emitted.code, 0) << emitted.err;
  const std::string code = read_file(folder / "out/gru_sequence.cpp");
  EXPECT_NE(code.find("turn < n_T"), std::string::npos);
  EXPECT_NE(code.find("H_before"), std::string::npos);
}

TEST(DynamicSizes, StepsOfAnInputThatAreNotOutermostArePlainLoops) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", R"(kernel: k
dims: {T: {max: 64, likely: 9}, B: 3, J: 10}
tensors: {X: {shape: [B, T, J]}, H: {shape: [T + 1, B, J], inout: true}}
compute:
  - repeat: {t: T}
    compute: ["H[t+1,b,j] = 0.5*H[t,b,j] + X[b,t,j]"]
)");
  const Said said = isamap({"emit", kernel, "--target", "scalar_c", "--budget", "evals=20", "-o", folder / "out"});
  EXPECT_EQ(said.code, 0);
  EXPECT_NE(said.err.find("the steps of 'X' are not its outermost axis"), std::string::npos) << said.err;
  EXPECT_NE(read_file(folder / "out/k.cpp").find("for (long step = 0; step < T; ++step)"), std::string::npos);
  const Said ran =
      isamap({"run", kernel, "--target", "scalar_c", "--sizes", "T=0,1,5", "--budget", "evals=20", "--json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(parsed(ran)["recompiles"], 0);
}

/// An output of a model does not begin with what the caller has there.
TEST(DynamicSizes, StepsThatNeedOldSlicesArePlainLoops) {
  const Folder folder;
  for (const std::string step : {"H[t+1,b,j] += X[t,b,j]", "H[t+1,b,j] = H[t+1,b,j] + X[t,b,j]"}) {
    const std::string kernel = folder.write("k.yaml", R"(kernel: k
dims: {T: {max: 64, likely: 9}, B: 3, J: 10}
tensors: {X: {shape: [T, B, J]}, H: {shape: [T + 1, B, J], inout: true}}
compute:
  - repeat: {t: T}
    compute: [")" + step + "\"]\n");
    const Said said = isamap({"emit", kernel, "--target", "scalar_c", "--budget", "evals=20", "-o", folder / "out"});
    EXPECT_EQ(said.code, 0) << step;
    EXPECT_NE(said.err.find("slice by slice"), std::string::npos) << said.err;
  }
}

TEST(DynamicSizes, AnyDimMayBeSymbolic) {
  const Folder folder;
  const std::string open = std::regex_replace(rows_of_a_product, std::regex("N: 40, K: 24"),
                                              "N: {max: 90, likely: 40}, K: {max: 64, likely: 24}");
  const std::string kernel = folder.write("k.yaml", open), file = folder / "out.cpp";
  const Said said = isamap(
      {"run", kernel, "--target", "x86_avx2", "--sizes", "M=0,5,N=1,33,K=0,7", "--budget", "evals=40", "--json"});
  const Json json = parsed(said);
  ASSERT_EQ(json["runs"].size(), 8U) << said.err;
  EXPECT_EQ(json["recompiles"], 0);
  EXPECT_FALSE(json.contains("recompiled_because"));
  EXPECT_GE(json["versions"], 1);
  EXPECT_LE(json["versions"], 4);
  if (said.code != 77) {
    EXPECT_EQ(json["correct"], true);
  }
  const Said wrong = isamap({"run", kernel, "--target", "x86_avx2", "--sizes", "M=1,2,N=91,K=1", "-o", file});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.err, kernel + ":2:52: N = 91 is not in 0..90\n  hint: the nearest size here is N=90\n");
}

TEST(DynamicSizes, FactsRemoveTheCodeOfRemainders) {
  const Folder folder;
  const auto schedule = [&](const std::string& facts) {
    return isamap({"schedule",
                   folder.write("k.yaml", std::regex_replace(rows_of_a_product, std::regex("N: 40, K: 24"),
                                                             "N: {max: 960, likely: 96" + facts + "}, K: 24")),
                   "--target", "x86_avx2", "--budget", "evals=40"})
        .out;
  };
  const std::string open = schedule("");
  std::int64_t multiple = 1;  // of the tiles of all versions
  const std::regex fact("the fact N: \\{multiple_of: ([0-9]+)\\} would");
  for (auto tile = std::sregex_iterator(open.begin(), open.end(), fact); tile != std::sregex_iterator(); ++tile)
    multiple = std::lcm(multiple, std::stoll((*tile)[1]));
  ASSERT_GT(multiple, 1) << open;
  const std::string stated = schedule(", multiple_of: " + std::to_string(multiple));
  EXPECT_EQ(stated.find("the fact N: {multiple_of: " + std::to_string(multiple)), std::string::npos) << stated;
}

TEST(DynamicSizes, ScheduleAndExplainPrintTheRegretOfTheVersions) {
  const Folder folder;
  const std::string kernel = folder.write(
      "k.yaml", std::regex_replace(rows_of_a_product, std::regex("N: 40, K: 24"), "N: {max: 90, likely: 40}, K: 24"));
  const std::vector<std::string> words{"schedule", kernel, "--target", "x86_avx2", "--budget", "evals=40"};
  const Said said = isamap(words);
  EXPECT_TRUE(std::regex_search(said.out, std::regex("# predicted, of the best of [0-9]+ schedules at [0-9]+ samples: "
                                                     "mean [0-9.]+, worst [0-9.]+\n# M +N +version +cycles +best "
                                                     "+regret\n")))
      << said.out;
  std::vector<std::string> with_json = words;
  with_json.push_back("--json");
  const Json json = parsed(isamap(with_json));
  ASSERT_GE(json["samples"].size(), 4U);
  for (const Json& sample : json["samples"]) {
    EXPECT_GE(sample["regret"], 1.0);
    EXPECT_LE(sample["version"], json["versions"].size());
  }
  EXPECT_EQ(json["versions"].back()["when"], Json::array());  // so the versions cover all sizes
}

TEST(DynamicSizes, ExplainNamesTheFactsThatWouldRemoveCode) {
  const Folder folder;
  const std::string kernel = folder.write(
      "k.yaml", std::regex_replace(rows_of_a_product, std::regex("N: 40, K: 24"), "N: {max: 90, likely: 40}, K: 24"));
  const Said said = isamap({"explain", kernel, "--target", "x86_avx2"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("j leaves a remainder of its tiles; the fact N: {multiple_of: "), std::string::npos)
      << said.out;
}

/// The schedule of a file has no regret: no others were searched.
TEST(DynamicSizes, SchedulesOfFilesHaveNoRegret) {
  const Folder folder;
  const std::string kernel = folder.write(
      "k.yaml", std::regex_replace(rows_of_a_product, std::regex("N: 40, K: 24"), "N: {max: 90, likely: 40}, K: 24"));
  const std::string one = folder.write(
      "one.yaml",
      isamap({"schedule", kernel, "--target", "x86_avx2", "--sizes", "M=30,N=40", "--budget", "evals=20"}).out);
  const std::vector<std::string> words{"schedule", kernel, "--target", "x86_avx2", "--schedule", one};
  const Said said = isamap(words);
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out.find("regret"), std::string::npos) << said.out;
  std::vector<std::string> with_json = words;
  with_json.push_back("--json");
  for (const Json& sample : parsed(isamap(with_json))["samples"]) EXPECT_FALSE(sample.contains("regret")) << sample;
}

/// The same schedule twice, for few and for many rows.
std::string two_versions(const std::string& one) {
  const std::size_t nest = one.find("nest:\n");
  EXPECT_NE(nest, std::string::npos) << one;
  const std::string lines = std::regex_replace(one.substr(nest), std::regex("\n(?=.)"), "\n    ");
  return one.substr(0, nest) + "versions:\n  - when: [\"M <= 8\"]\n    " + lines + "  - " + lines;
}

/// Iterators are the names of a formula's sizes, also where some are bound.
TEST(DynamicSizes, GuardsNameBoundSizesOfAFormula) {
  const Folder folder;
  const auto with = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--compute", "C[i,j] += A[i,k] * B[k,j]", "--target", "x86_avx2"});
    return isamap(words);
  };
  const Said one = with({"schedule", "--dims", "i=30,j=20,k=10", "--budget", "evals=20"});
  ASSERT_EQ(one.code, 0) << one.err;
  const std::string text = two_versions(std::regex_replace(one.out, std::regex("\n(#[^\n]*\n)+"), ""));
  const std::string file = folder.write("two.yaml", std::regex_replace(text, std::regex("M <= 8"), "j <= 8"));
  for (const char* j : {"5", "13"}) {
    const Said ran =
        with({"run", "--dims", "i=1..64,j=1..64,k=10", "--schedule", file, "--sizes", std::string("i=3,30,j=") + j});
    EXPECT_EQ(ran.code, 0) << j << ran.err << text;
  }
}

TEST(DynamicSizes, AScheduleFileOfVersionsIsReadBack) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", rows_of_a_product);
  const std::string one = folder.write(
      "one.yaml", isamap({"schedule", kernel, "--target", "x86_avx2", "--sizes", "M=30", "--budget", "evals=40"}).out);
  const std::string text = two_versions(std::regex_replace(read_file(one), std::regex("\n(#[^\n]*\n)+"), ""));
  const std::string file = folder.write("two.yaml", text);
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--target", "x86_avx2", "--schedule", file});
    return isamap(words);
  };
  const Said printed = with({"schedule", kernel});
  ASSERT_EQ(printed.code, 0) << printed.err << text;
  EXPECT_EQ(std::regex_replace(printed.out, std::regex(" *#[^\n]*\n"), ""), text);
  const Json ran = parsed(with({"run", kernel, "--sizes", "M=0,1,8,9,37", "--json"}));
  ASSERT_EQ(ran["runs"].size(), 5U) << ran;
  EXPECT_EQ(ran["versions"], 2);
  EXPECT_EQ(ran["recompiles"], 0);
  std::vector<int> versions;
  for (const Json& run : ran["runs"]) versions.push_back(run["version"]);
  EXPECT_EQ(versions, (std::vector<int>{1, 1, 1, 2, 2}));
  const Json priced = parsed(with({"evaluate", kernel, "--sizes", "M=8,37", "--json"}));
  EXPECT_EQ(priced["versions"], 2) << priced;
  EXPECT_EQ(priced["runs"][0]["version"], 1);
  EXPECT_EQ(priced["runs"][1]["version"], 2);
  EXPECT_EQ(with({"evaluate", kernel, "--sizes", "M=8"}).code, 0);
  folder.write("two.yaml", std::regex_replace(text, std::regex("  - nest:"), "  - when: [\"M > 9\"]\n    nest:"));
  for (const char* verb : {"run", "schedule", "emit"}) {
    const Said refused = with({verb, kernel});
    EXPECT_EQ(refused.code, 1) << verb;
    EXPECT_NE(refused.err.find("no version serves M = 9"), std::string::npos) << verb << refused.err;
  }
  EXPECT_EQ(with({"evaluate", kernel, "--sizes", "M=1,2"}).code, 1);
}

TEST(DynamicSizes, SimulatorsAreBoundAtTheCallWithoutANewSearch) {
  const Folder folder;
  const std::string kernel =
      folder.write("k.yaml",
                   "kernel: k\ndims: {M: {max: 400, likely: 32}, N: 32, K: 16}\n"
                   "tensors: {A: {shape: [M, K], dtype: s8}, B: {shape: [K, N], dtype: s8}, C: {shape: [M, N], dtype: "
                   "s32}}\ncompute: ['C[i,j] += A[i,k] * B[k,j]']\n");
  const Said said =
      isamap({"run", kernel, "--target", "systolic16", "--sizes", "M=32,37,64", "--budget", "evals=40", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json json = parsed(said);
  EXPECT_EQ(json["correct"], true);
  EXPECT_EQ(json["recompiles"].get<int>(), json["versions"].get<int>() - 1);
  for (const Json& run : json["runs"]) {
    const std::string size = std::to_string(run["sizes"]["M"].get<int>());
    EXPECT_EQ(run["executed"], run.contains("searched_because") ? "simulator" : "simulator, bound at M = " + size);
  }
  EXPECT_FALSE(json["runs"][0].contains("searched_because"));
  EXPECT_FALSE(json["runs"][2].contains("searched_because"));
}

/// Sizes that nobody named: where a fact ties them they move together.
TEST(DynamicSizes, CommonSizesSatisfyTheFacts) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", R"(kernel: pairs
dims: {N: {max: 100}, M: {max: 50}}
facts: ["N == 2*M"]
tensors: {I: {shape: [N]}, O: {shape: [M]}}
compute: ['O[i] += I[2*i+r]']
where: {r: 2}
)");
  const Said said = isamap({"run", kernel, "--target", "scalar_c", "--budget", "evals=40", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  std::vector<int> values;
  const Json json = parsed(said);
  for (const Json& run : json["runs"]) values.push_back(run["sizes"]["M"]);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, (std::vector<int>{0, 1, 50})) << json;
}

/// A schedule whose tiles need more registers than there are at some sizes, at sums of no terms, too.
TEST(DynamicSizes, SimulatorsSearchWhereTheScheduleOfOtherSizesDoesNotFit) {
  const Said said = isamap({"run", "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=0..200@32,j=0..100,k=0..100",
                            "--target", "outer16", "--sizes", "i=0,33,j=19,k=0,1", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(parsed(said)["correct"], true);
}

/// Blocks of rows are searched by themselves: the schedule of the largest is the one of the kernel, in every verb.
TEST(DynamicSizes, ScheduleAndEmitSayTheSameSchedule) {
  const Folder folder;
  const std::string file = folder.write("rows.yaml", R"(kernel: rows
dims: {M: {min: 0, max: 300}}
tensors:
  A: {shape: [M, 37]}
  B: {shape: [37, 19], constant: true}
  C: {shape: [M, 19], output: true}
  D: {shape: [M]}
compute:
  - C[i,j] += A[i,k] * B[k,j]
  - D[i] max= C[i,j]
)");
  const Said found = isamap({"schedule", file, "--target", "x86_avx512", "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const std::string schedule = parsed(found)["best"]["schedule"];
  const std::string lines = schedule.substr(schedule.find("schedule: "));
  std::string commented;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) commented += "//   " + line + "\n";
  const Said emitted = isamap({"emit", file, "--target", "x86_avx512"});
  EXPECT_NE(emitted.out.find(commented), std::string::npos) << emitted.out.substr(0, 3000) << "\nexpected\n"
                                                            << commented;
  const Said again = isamap({"emit", file, "--target", "x86_avx512", "--schedule", folder.write("s.yaml", schedule)});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find(commented), std::string::npos) << again.out.substr(0, 3000);
  const Said ran = isamap({"run", file, "--target", "x86_avx512", "--sizes", "M=0,1,63,64,65,300"});
  EXPECT_TRUE(ran.code == 0 || ran.code == 77) << ran.out << ran.err;
}

/// Tile registers whose shape is state need numbers: scalar code in their place is no secret.
TEST(DynamicSizes, ScalarCodeForAllSizesIsAWarning) {
  const std::string warning = "s0 is scalar code: no program of instructions serves all sizes: ";
  const std::vector<std::string> product{"schedule", "--compute",           "C[i,j] += A[i,k] * B[k,j]",
                                         "--dims",   "i=64,j=1..4096,k=64", "--dtypes"};
  std::vector<std::string> tiles = product, vectors = product;
  tiles.insert(tiles.end(), {"A=s8,B=s8,C=s32", "--target", "intel_amx", "--json"});
  vectors.insert(vectors.end(), {"A=f32,B=f32,C=f32", "--target", "x86_avx512"});
  const Said scalar = isamap(tiles);
  EXPECT_EQ(scalar.code, 0) << scalar.err;
  EXPECT_NE(scalar.err.find(warning), std::string::npos) << scalar.err;
  EXPECT_NE(scalar.err.find("hint: bind sizes: --sizes j="), std::string::npos) << scalar.err;
  ASSERT_EQ(parsed(scalar)["notes"].size(), 1U) << scalar.out;
  EXPECT_NE(parsed(scalar)["notes"][0].get<std::string>().find(warning), std::string::npos);
  EXPECT_EQ(isamap(vectors).err.find(warning), std::string::npos);
}

TEST(DynamicSizes, EmitHasOneEntryWithTheSizes) {
  const Folder folder;
  const std::string kernel = folder.write("k.yaml", rows_of_a_product);
  const Said said = isamap({"emit", kernel, "--target", "x86_avx2", "--budget", "evals=40", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json json = parsed(said);
  const std::string text = json["files"][0]["text"];
  EXPECT_NE(text.find("float* __restrict C"), std::string::npos);
  EXPECT_NE(text.find("long M) {\n  if (M < 0 || M > 4096) return isamap_wrong_size("), std::string::npos) << text;
  EXPECT_EQ(json["versions"].back()["when"], Json::array());
  EXPECT_EQ(json["unknown"], 0);
}

}  // namespace
}  // namespace isamap::cli_test
