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

}  // namespace
}  // namespace isamap::cli_test
