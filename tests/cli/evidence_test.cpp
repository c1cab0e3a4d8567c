// SPDX-License-Identifier: Apache-2.0
// `verified`: what a file states that it was compared with is printed as it stands, by every verb that shows machines.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string machine = R"(program: {language: asm}
units: [{name: core, scalar: true}]
memories: [{name: ram, per: core, kind: dram, capacity: 1MiB}]
)";
const std::string stated = R"(hardware: stated
verified:
  - {against: "board, rev. B", what: every instruction, how: isamap hw verify stated}
  - {against: sim 2, what: 20 products, how: "run.simulator"}
)" + machine;

TEST(Evidence, HwShowPrintsEachEntry) {
  const Folder folder;
  const std::string file = folder.write("stated.yaml", stated);
  const Said show = isamap({"hw", "show", file});
  EXPECT_NE(show.out.find("verified against board, rev. B: every instruction (isamap hw verify stated)\n"
                          "verified against sim 2: 20 products (run.simulator)\n"),
            std::string::npos)
      << show.out;
  const auto json = parsed(isamap({"hw", "show", file, "--json"}))["verified"];
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0],
            (nlohmann::json{
                {"against", "board, rev. B"}, {"what", "every instruction"}, {"how", "isamap hw verify stated"}}));
}

/// What was compared is the base: a file on top of it may change every instruction.
TEST(Evidence, IsNotStatedWithoutEntriesAndNotInherited) {
  const Folder folder;
  folder.write("stated.yaml", stated);
  for (const std::string& file : {folder.write("over.yaml", "hardware: over\nextends: stated.yaml\n"),
                                  folder.write("silent.yaml", "hardware: silent\n" + machine)}) {
    const Said show = isamap({"hw", "show", file});
    EXPECT_NE(show.out.find("verified: not stated\n"), std::string::npos) << show.out << show.err;
    EXPECT_EQ(parsed(isamap({"hw", "show", file, "--json"}))["verified"], nlohmann::json::array());
  }
}

TEST(Evidence, TargetsHaveAColumn) {
  const Folder folder;
  folder.write("stated.yaml", stated);
  folder.write("silent.yaml", "hardware: silent\n" + machine);
  ::setenv("ISAMAP_MODELS", (folder / ".").c_str(), 1);
  const Said table = isamap({"targets"});
  const auto json = parsed(isamap({"targets", "--json"}))["targets"];
  ::unsetenv("ISAMAP_MODELS");
  EXPECT_NE(table.out.find("board, rev. B; sim 2"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("not stated"), std::string::npos) << table.out;
  const auto named = [&](const std::string& name) {
    for (const auto& row : json)
      if (row.value("name", "") == name) return row;
    return nlohmann::json::object();
  };
  EXPECT_EQ(named("stated")["verified"].size(), 2u) << json.dump();
  EXPECT_EQ(named("silent")["verified"], nlohmann::json::array());
}

TEST(Evidence, EveryModelOfOursStatesSome) {
  const auto json = parsed(isamap({"targets", "--json"}))["targets"];
  ASSERT_GT(json.size(), 20u);
  for (const auto& row : json) EXPECT_FALSE(row["verified"].empty()) << row["name"];
}

}  // namespace
}  // namespace isamap::cli_test
