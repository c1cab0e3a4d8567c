// SPDX-License-Identifier: Apache-2.0
// What small kernels are printed as, for every kind of target: tests/golden/emissions. Their schedules stand beside
// them, so that only lowering and printing can change the text, never a search or a price.

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/cli/program.h"

namespace isamap::cli_test {
namespace {

const std::string emissions = ISAMAP_SOURCE_DIR "/tests/golden/emissions/";

struct Emission {
  std::string name, target, compute, dims, dtypes;
};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::vector<Emission> listed() {
  std::vector<Emission> all;
  std::istringstream lines(read_file(emissions + "list.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    Emission one;
    for (std::string* cell : {&one.name, &one.target, &one.compute, &one.dims, &one.dtypes}) {
      std::getline(cells, *cell, '|');
      *cell = trimmed(*cell);
    }
    all.push_back(one);
  }
  return all;
}

/// The file itself: headers that it includes stand beside it.
std::string emitted(const Emission& one) {
  const Folder folder;
  std::vector<std::string> arguments = {"emit",     "--compute",   one.compute,
                                        "--dims",   one.dims,      "--target",
                                        one.target, "--schedule",  emissions + one.name + ".schedule.yaml",
                                        "-o",       folder / "out"};
  if (!one.dtypes.empty()) arguments.insert(arguments.end(), {"--dtypes", one.dtypes});
  const Said said = isamap(arguments);
  EXPECT_EQ(said.code, 0) << said.err;
  return read_file(folder / (fs::is_directory(folder / "out") ? "out/formula.cu" : "out"));
}

TEST(Emissions, AreAsTheyWere) {
  const bool update = std::getenv("ISAMAP_UPDATE_GOLDEN") != nullptr;
  const std::vector<Emission> all = listed();
  EXPECT_GE(all.size(), 30U);
  for (const Emission& one : all) {
    SCOPED_TRACE(one.name);
    const std::string text = emitted(one), path = emissions + one.name + ".txt";
    if (update) std::ofstream(path, std::ios::binary) << text;
    EXPECT_EQ(text, read_file(path)) << "ISAMAP_UPDATE_GOLDEN=1 rewrites it";
  }
}

}  // namespace
}  // namespace isamap::cli_test
