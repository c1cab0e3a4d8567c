// SPDX-License-Identifier: Apache-2.0
// Machines whose sizes are known at run time: which size each verb speaks of, and for which a schedule is.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

using Json = nlohmann::json;

const std::string lengths = ISAMAP_SOURCE_DIR "/tests/conformance/models/lengths.yaml";

Said at_length(const std::string& verb, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{verb,       "--compute", "C[i,j] += A[i,k]*B[k,j]", "--dims", "i=5,j=29,k=7",
                                 "--target", lengths};
  words.insert(words.end(), more.begin(), more.end());
  return isamap(words);
}

TEST(SizesOfTheMachine, AScheduleSaysForWhichItIs) {
  const Folder folder;
  const std::string file = folder / "s.yaml";
  Said said = at_length("schedule", {"--set", "VB=48", "-o", file});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(read_file(file).find("\nsizes: {VB: 48}\n"), std::string::npos);
  said = at_length("evaluate", {"--schedule", file});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("this schedule is for VB = 48; 'lengths' has VB = 32"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("s.yaml:4:13: "), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("--set VB=48"), std::string::npos) << said.err;
  said = at_length("evaluate", {"--schedule", file, "--set", "VB=48"});
  EXPECT_EQ(said.code, 0) << said.err;
}

TEST(SizesOfTheMachine, EmitHasAVersionForEach) {
  const Said said = at_length("emit", {"--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json json = parsed(said);
  EXPECT_EQ(json["sizes"], Json({{"VB", 32}}));
  ASSERT_EQ(json["versions"].size(), 3u);
  EXPECT_EQ(json["versions"][0]["sizes"], Json({{"VB", 16}}));
  EXPECT_EQ(json["versions"][1]["sizes"], Json({{"VB", 48}}));
  EXPECT_EQ(json["versions"][2]["sizes"], Json::object());
  const std::string text = json["files"][0]["text"];
  EXPECT_NE(text.find("if (VB >= 48) return"), std::string::npos) << text;
}

TEST(SizesOfTheMachine, ASizeThatIsSetIsTheOnlyVersion) {
  const Said said = at_length("emit", {"--json", "--set", "VB=20"});
  ASSERT_EQ(said.code, 0) << said.err;
  const Json json = parsed(said);
  EXPECT_EQ(json["sizes"], Json({{"VB", 20}}));
  EXPECT_EQ(json["versions"].size(), 1u);
}

TEST(SizesOfTheMachine, RunTakesTheOneThatIsSet) {
  for (const char* size : {"VB=8", "VB=28", "VB=64"}) {
    const Said said = at_length("run", {"--set", size, "--json"});
    if (said.code == 77) GTEST_SKIP() << said.err;
    ASSERT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(parsed(said)["executed"], "emulated");
  }
  const Said said = at_length("run", {"--set", "VB=30"});
  EXPECT_EQ(said.code, 1);
  EXPECT_NE(said.err.find("symbol 'VB' as set is 30; symbol 'VB' is 8 to 64, a multiple of 4"), std::string::npos)
      << said.err;
}

TEST(SizesOfTheMachine, ShowSaysWhichOneItShows) {
  const Said said = isamap({"hw", "show", lengths, "--set", "VB=16"});
  ASSERT_EQ(said.code, 0) << said.err;
  EXPECT_NE(
      said.out.find("symbol VB: 8 to 64, a multiple of 4; here 16; programs have code for 16 and ask vector_bytes()"),
      std::string::npos)
      << said.out;
}

}  // namespace
}  // namespace isamap::cli_test
