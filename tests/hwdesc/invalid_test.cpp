// SPDX-License-Identifier: Apache-2.0
// Each file of tests/invalid/hardware begins with the problems that the loader must report, one comment line each:
// `# line:column: message` or, for a file that another one names, `# file:line:column: message`.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/hwdesc/support.h"

namespace isamap {
namespace {

const std::string invalid_folder = ISAMAP_SOURCE_DIR "/tests/invalid/hardware";

std::vector<std::string> invalid_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(invalid_folder))
    files.push_back(entry.path().stem().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string expected(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  for (std::string line; std::getline(file, line) && line.starts_with("# ");) text += line.substr(2) + "\n";
  return text;
}

std::string place_of(const SourceLocation& where, const std::string& asked) {
  const std::string file = where.file == asked ? "" : std::filesystem::path(where.file).filename().string() + ":";
  return where.line == 0 ? file : file + std::to_string(where.line) + ":" + std::to_string(where.column) + ": ";
}

class InvalidHardware : public testing::TestWithParam<std::string> {};

TEST_P(InvalidHardware, ReportsWhatItsFirstCommentSays) {
  const std::string path = invalid_folder + "/" + GetParam() + ".yaml";
  const auto loaded = load_hardware(path, {data_folder});
  ASSERT_FALSE(loaded);
  std::string found;
  for (const Diagnostic& d : loaded.diagnostics()) {
    if (d.severity != Severity::error) continue;
    found += place_of(d.where, path) + d.message + "\n";
    EXPECT_TRUE(d.where.line == 0 || !d.source_line.empty()) << "no source line: " << d.message;
    EXPECT_FALSE(d.hint.empty() && d.notes.empty()) << "nothing says what would work: " << d.message;
  }
  EXPECT_EQ(found, expected(path));
}

INSTANTIATE_TEST_SUITE_P(Files, InvalidHardware, testing::ValuesIn(invalid_files()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace isamap
