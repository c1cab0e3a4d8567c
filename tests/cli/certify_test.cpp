// SPDX-License-Identifier: Apache-2.0
// `schedule --certify` on a machine that is described level by level: the contract's fields, and what they promise.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

Said certified(const std::string& size, const std::vector<std::string>& more) {
  std::vector<std::string> words{"schedule",
                                 "--compute",
                                 "Z[m,n] += A[m,k] * B[k,n]",
                                 "--dims",
                                 size,
                                 "--dtypes",
                                 "A=s16,B=s16,Z=s16",
                                 "--target",
                                 "a1",
                                 "--certify",
                                 "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return isamap(words);
}

TEST(Certify, PublishedOptimum) {
  const Said said = certified("m=64,n=64,k=64", {"--space", "dividing,keep-all,single-buffered"});
  EXPECT_EQ(said.code, 0) << said.err;
  const auto json = parsed(said);
  EXPECT_EQ(json["cycles"], 1024) << said.out;
  EXPECT_EQ(json["energy_pJ"], 3858432.0);
  EXPECT_EQ(json["lower_bound"], 3858432.0 * 1024);
  EXPECT_EQ(json["gap"], 0.0);
  EXPECT_EQ(json["certified"], true);
  EXPECT_TRUE(json["nodes"].is_number() && json["pruned"].is_object() && json["curve"].is_array());
}

TEST(Certify, TheScheduleCostsWhatWasSaid) {
  const auto json = parsed(certified("m=37,n=5,k=101", {}));
  const Folder folder;
  const std::string file = folder.write("best.yaml", json["best"]["schedule"]);
  const auto priced = parsed(isamap({"evaluate", "--compute", "Z[m,n] += A[m,k] * B[k,n]", "--dims", "m=37,n=5,k=101",
                                     "--dtypes", "A=s16,B=s16,Z=s16", "--target", "a1", "--schedule", file, "--json"}));
  EXPECT_EQ(priced["cycles"], json["cycles"]) << json;
  EXPECT_EQ(priced["energy_pJ"], json["energy_pJ"]);
}

TEST(Certify, ABudgetLeavesAGap) {
  const Said said = certified("m=300,n=200,k=100", {"--budget", "evals=1"});
  EXPECT_EQ(said.code, 4);
  const auto json = parsed(said);
  EXPECT_EQ(json["certified"], false) << said.out;
  EXPECT_GT(json["gap"].get<double>(), 0);
  EXPECT_GT(json["lower_bound"].get<double>(), 0);
}

}  // namespace
}  // namespace isamap::cli_test
