// SPDX-License-Identifier: Apache-2.0
// ISAMAP_EMULATION_COUNTS asks for counts: unset, empty and 0 do not.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

TEST(EmulationCounts, AreToldWhereTheyAreAskedFor) {
  const auto said = [](const char* asked) {
    setenv("ISAMAP_EMULATION", "late", 1);
    setenv("ISAMAP_EMULATION_COUNTS", asked, 1);
    const Said ran = isamap({"run", "--compute", "Y[i] = X[i] + 1", "--dims", "i=64", "--target", "nvidia_sm80"});
    unsetenv("ISAMAP_EMULATION_COUNTS");
    unsetenv("ISAMAP_EMULATION");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return (ran.out + ran.err).find(" sectors of 32 bytes") != std::string::npos;
  };
  EXPECT_TRUE(said("1"));
  EXPECT_FALSE(said("0"));
  EXPECT_FALSE(said(""));
}

TEST(EmulationCounts, WordsThatMeanNothingAreWrongUsage) {
  const auto said = [](const char* name, const char* value) {
    setenv(name, value, 1);
    const Said ran = isamap({"run", "--compute", "Y[i] = X[i] + 1", "--dims", "i=8", "--target", "nvidia_sm80"});
    unsetenv(name);
    return ran;
  };
  for (const char* value :
       {"bogus", "random", "random:", "random:x", "random:-1", "random:9999999999", "late:", "eager:1"}) {
    const Said ran = said("ISAMAP_EMULATION", value);
    EXPECT_EQ(ran.code, 2) << value;
    EXPECT_NE(ran.err.find("none of: late, eager, random:SEED"), std::string::npos) << ran.err;
  }
  for (const char* value : {"yes", "true", "2", " "}) {
    const Said ran = said("ISAMAP_EMULATION_COUNTS", value);
    EXPECT_EQ(ran.code, 2) << value;
    EXPECT_NE(ran.err.find("none of: 0, 1"), std::string::npos) << ran.err;
  }
  for (const char* value : {"", "late", "eager", "random:7"})
    EXPECT_EQ(said("ISAMAP_EMULATION", value).code, 0) << value;
}

TEST(EmulationCounts, AnEmulationHasNoTimeAndNoRate) {
  setenv("ISAMAP_EMULATION", "late", 1);
  std::vector<std::string> words{"run", "--compute", "Y[i] = X[i] + 1", "--dims", "i=64", "--target", "nvidia_sm80"};
  const Said text = isamap(words);
  words.push_back("--json");
  const Said json = isamap(words);
  unsetenv("ISAMAP_EMULATION");
  EXPECT_NE(text.out.find("executed emulated, correct; largest error 0; no time, as it was emulated; "),
            std::string::npos)
      << text.out;
  EXPECT_EQ(text.out.find("GFLOP"), std::string::npos) << text.out;
  EXPECT_EQ(parsed(json)["executed"], "emulated");
  EXPECT_EQ(parsed(json)["seconds"], 0);
  EXPECT_EQ(parsed(json)["gflops"], 0);
}

}  // namespace
}  // namespace isamap::cli_test
