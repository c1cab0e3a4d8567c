// SPDX-License-Identifier: Apache-2.0
// What users reported, as they reported it: each folder of data/reports/ has the inputs, `cmd`, which bash runs there,
// and `expect`: `code N`, and lines that start with `says` or `never` and go on with text that must be in what was
// said (both streams), or must not; `one` with text that must be there exactly once. `heavy`: only under --all.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string reports = ISAMAP_SOURCE_DIR "/tests/cli/data/reports";

struct Expectation {
  std::string how, text;
};

std::vector<Expectation> expectations(const std::string& name) {
  std::vector<Expectation> all;
  std::istringstream lines(read_file(reports + "/" + name + "/expect"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    all.push_back({line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))});
  }
  return all;
}

std::vector<std::string> report_names(bool heavy) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(reports)) {
    const std::string name = entry.path().filename().string();
    const auto all = expectations(name);
    if (heavy == std::any_of(all.begin(), all.end(), [](const Expectation& e) { return e.how == "heavy"; }))
      found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// Runs `cmd` in a copy of its folder; what it leaves in temporary folders goes with the copy.
Said run_report(const std::string& name) {
  const Folder place;
  fs::copy(reports + "/" + name, place / "");
  fs::create_directory(place / "tmp");
  const std::string command = "cd '" + (place / "") + "' && TMPDIR='" + (place / "tmp") +
                              "' ISAMAP='" ISAMAP_PROGRAM "' ISAMAP_SOURCE='" ISAMAP_SOURCE_DIR
                              "' ISAMAP_BUILD='" ISAMAP_BINARY_DIR "' bash ./cmd >said 2>&1 </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_file(place / "said"), ""};
}

void expect_as_written(const std::string& name) {
  const Said said = run_report(name);
  if (said.code == 77 || said.code == 127 || occurrences(said.out, "rc=77\n") > 0)
    GTEST_SKIP() << "missing on this machine: " << said.out;
  for (const Expectation& e : expectations(name)) {
    const std::size_t found = occurrences(said.out, e.text);
    bool met = false;
    if (e.how == "code") met = said.code == std::stoi(e.text);
    if (e.how == "says") met = found > 0;
    if (e.how == "one") met = found == 1;
    if (e.how == "never") met = found == 0;
    EXPECT_TRUE(met || e.how == "heavy") << e.how << " " << e.text << "\nexit code " << said.code << ":\n" << said.out;
  }
}

std::string name_of_case(const testing::TestParamInfo<std::string>& info) { return info.param; }

class Reports : public testing::TestWithParam<std::string> {};
TEST_P(Reports, IsAsExpected) { expect_as_written(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Folder, Reports, testing::ValuesIn(report_names(false)), name_of_case);

class ReportsHeavy : public testing::TestWithParam<std::string> {};
TEST_P(ReportsHeavy, IsAsExpected) { expect_as_written(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Folder, ReportsHeavy, testing::ValuesIn(report_names(true)), name_of_case);

}  // namespace
}  // namespace isamap::cli_test
