// SPDX-License-Identifier: Apache-2.0
// Flags, exit codes and where things are said.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::vector<std::string> given_gemm{"--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=8,j=8,k=8"};

std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Usage, HelpAndVersionAreResults) {
  const Said help = isamap({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("extract"), std::string::npos);
  EXPECT_EQ(help.err, "");
  EXPECT_EQ(isamap({"--version"}).out, "isamap 0.1.0\n");
  EXPECT_EQ(isamap({"map", "--help"}).code, 0);
}

TEST(Usage, AMissingCommandIsNamedBeforeFlags) {
  for (const std::string group : {"hw", "lab", "import"}) {
    const Said bare = isamap({group}), json = isamap({group, "--json"});
    EXPECT_EQ(bare.code, 2);
    EXPECT_NE(bare.err.find("'isamap " + group + "' needs a command"), std::string::npos) << bare.err;
    EXPECT_EQ(json.code, 2);
    EXPECT_EQ(json.err, bare.err);
    EXPECT_EQ(isamap({group, "--help"}).code, 0);
  }
}

TEST(Usage, AnOutputWithoutAFolderIsToldBeforeTheSearch) {
  // Ten million evaluations would take hours.
  for (const std::string output : {"-o", "--report", "--trace"}) {
    const Said said = isamap(joined(
        {"schedule"},
        joined(given_gemm, {"--target", "scalar_c", "--budget", "evals=10000000", output, "no/such/folder/s.yaml"})));
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.err.find("cannot be written: there is no folder 'no/such/folder'"), std::string::npos) << said.err;
  }
}

TEST(Usage, SizesBeyond64BitsAreWrongInputInEveryFlag) {
  const std::string large = "99999999999999999999";
  const std::vector<std::pair<std::string, std::string>> given{
      {"i=1..8,j=8,k=8", "i=" + large}, {"i=1..8,j=8,k=8", "i=3," + large}, {"i=8,j=8,k=" + large, ""}};
  for (const auto& [dims, sizes] : given) {
    std::vector<std::string> words{"run",      "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", dims,
                                   "--target", "scalar_c"};
    if (!sizes.empty()) words = joined(words, {"--sizes", sizes});
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 1) << dims;
    EXPECT_NE(said.err.find("does not fit 64 bits\n  hint: sizes are below 2^63\n"), std::string::npos) << said.err;
  }
}

TEST(Usage, AFileThatCannotBeWrittenHasAHint) {
  for (const char* verb : {"schedule", "emit", "map"}) {
    const Said said = isamap(joined(joined({verb}, given_gemm), {"--target", "scalar_c", "-o", "no/such/folder/x"}));
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.err.find("there is no folder 'no/such/folder'\n  hint: mkdir -p no/such/folder\n"),
              std::string::npos)
        << verb << said.err;
  }
  const Said device = isamap(joined(joined({"map"}, given_gemm), {"--target", "scalar_c", "-o", "/dev/full"}));
  EXPECT_NE(device.err.find("/dev/full: cannot be written: No space left on device\n  hint: free some space"),
            std::string::npos)
      << device.err;
}

TEST(Usage, AHardwareFileNearbyIsSuggested) {
  const std::string data = std::string(ISAMAP_SOURCE_DIR) + "/hardware_models/";
  const Said said = isamap({"hw", "check", data + "dot61.yaml"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("did you mean '" + data + "dot16.yaml'?"), std::string::npos) << said.err;
}

/// The word for this processor is a name of --target like those of the files.
TEST(Usage, NativeIsSuggestedToo) {
  for (const char* word : {"nativ", "natvie"})
    EXPECT_NE(isamap(joined(joined({"map"}, given_gemm), {"--target", word})).err.find("did you mean 'native'?"),
              std::string::npos);
  EXPECT_NE(isamap(joined(joined({"map"}, given_gemm), {"--target", "x86_avx51"})).err.find("'x86_avx512'?"),
            std::string::npos);
}

TEST(Usage, ARecordThatCannotBeWrittenIsTold) {
  const Said early = isamap({"hw", "verify", "npu16", "--record", "no/such/folder/r.jsonl"});
  EXPECT_EQ(early.code, 1);
  EXPECT_NE(early.err.find("there is no folder 'no/such/folder'"), std::string::npos) << early.err;
  const Said late = isamap({"hw", "verify", "npu16", "--instruction", "clear", "--record", "/proc/r.jsonl"});
  EXPECT_EQ(late.code, 1);
  EXPECT_NE(late.err.find("/proc/r.jsonl: cannot be written"), std::string::npos) << late.err;
}

TEST(Usage, AHardwareFileMayBeAPipe) {
  const std::string command = "bash -c '" ISAMAP_PROGRAM " hw check <(cat " ISAMAP_SOURCE_DIR
                              "/hardware_models/scalar_c.yaml)' >/dev/null 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const Said none = isamap({"hw", "check", ISAMAP_SOURCE_DIR "/hardware_models"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.err.find("did you mean"), std::string::npos) << none.err;
}

TEST(Usage, WrongFlagsAreUsage) {
  const std::vector<std::vector<std::string>> wrong{
      {},
      {"nonsense"},
      {"map"},
      {"map", example("gemm")},
      {"map", "--target", "scalar_c"},
      {"map", example("gemm"), "--target", "scalar_c", "--no-such-flag"},
      {"map", example("gemm"), "--target", "scalar_c", "--rule", "most"},
      {"map", example("gemm"), "--target", "scalar_c", "--seed", "minus"},
      {"map", example("gemm"), "--target", "scalar_c", "--seed", "-1"},
      {"map", example("gemm"), "--target", "scalar_c", "--seed", ""},
      {"map", example("gemm"), "--target", "scalar_c", "--seed", "99999999999999999999"},
      {"map", example("gemm"), "--target", "scalar_c", "--limit", "0"},
      {"map", example("gemm"), "--target", "scalar_c", "--limit", "1000000"},
      {"map", example("gemm"), "--target", "scalar_c", "--count", "--certificates", "proofs"},
      {"map", example("gemm"), "--target", "scalar_c", "--dims", "i=4"},
      {"map", example("gemm"), "--target", "scalar_c", "--dtypes", "A=s8"},
      {"extract", std::string(ISAMAP_SOURCE_DIR) + "/examples/mobilenet_v1.onnx", "--target", "scalar_c", "--dims",
       "i=4"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--schedule", "s.yaml", "--budget", "evals=1"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--schedule", "s.yaml", "--certify"},
      {"run", example("gemm"), "--target", "scalar_c", "--schedule", "s.yaml", "--strategy", "greedy"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--budget", "seconds=0"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--budget", "seconds=inf"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--budget", "evals=many"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--budget", "hours=1"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--strategy", "nonsense"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--strategy", "greedy:key"},
      {"schedule", example("gemm"), "--target", "scalar_c", "--space", "small"},
      {"evaluate", example("gemm"), "--target", "scalar_c"},
      {"hw"},
      {"targets", "--best", "zz"},
      {"hw", "new", "../evil"},
      joined(joined({"map", example("gemm")}, given_gemm), {"--target", "scalar_c"}),
  };
  for (const auto& words : wrong) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 2) << testing::PrintToString(words) << said.err;
    EXPECT_EQ(said.out, "") << testing::PrintToString(words);
    EXPECT_NE(said.err, "") << testing::PrintToString(words);
  }
}

TEST(Usage, WrongWordsAreNamedWithTheChoices) {
  const auto says = [](const std::vector<std::string>& words, const std::string& text) {
    const Said said = isamap(words);
    EXPECT_EQ(said.code, 2);
    EXPECT_NE(said.err.find(text), std::string::npos) << said.err;
  };
  says({"nonsense"}, "there is no command 'nonsense'");
  says({"hw", "nonsense"}, "there is no command 'nonsense'");
  says({"--json", "nonsense"}, "there is no command 'nonsense'");
  says({"lab", "--json", "nonsense"}, "there is no command 'nonsense'");
  says({"lab", "--json"}, "'isamap lab' needs a command");
  says({"lab", "--json", "run"}, "'--json' stands before 'run'");
  says({"map", "--bad"}, "there is no flag '--bad'");  // before what else is missing
  says({"map", example("gemm"), "--taget", "scalar_c"}, "did you mean '--target'?");
  says({"map", example("gemm"), "--target", "scalar_c", "--rule", "most"}, "'most' is none of: access, all, full");
  says({"map", example("gemm"), "--target", "scalar_c", "--seed", "-1"},
       "--seed: '-1' is no whole number from 0 to 18446744073709551615");
  says({"map", example("gemm"), "--target", "scalar_c", "--dims", "i=4"}, "--dims belongs to --compute; '");
  says({"schedule", example("gemm"), "--target", "scalar_c", "--objective", "time"},
       "'time' is none of: cycles, edp, energy");
}

TEST(Usage, AModelIsForExtract) {
  const Said said =
      isamap({"map", std::string(ISAMAP_SOURCE_DIR) + "/examples/mobilenet_v1.onnx", "--target", "scalar_c"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("isamap extract"), std::string::npos) << said.err;
}

TEST(Usage, SameInputSameOutput) {
  for (const std::string verb : {"map", "explain", "emit"}) {
    const auto words = joined({verb, "--target", "scalar_c", "--seed", "7"}, given_gemm);
    EXPECT_EQ(isamap(words).out, isamap(words).out) << verb;
  }
}

TEST(Usage, NoColourWhenNotATerminal) {
  for (const auto& words : {std::vector<std::string>{"targets"}, std::vector<std::string>{"hw", "check", "no_such"},
                            std::vector<std::string>{"--help"}}) {
    const Said said = isamap(words);
    EXPECT_EQ((said.out + said.err).find('\033'), std::string::npos) << words[0];
  }
}

}  // namespace
}  // namespace isamap::cli_test
