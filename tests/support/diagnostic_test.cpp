// SPDX-License-Identifier: Apache-2.0
// What a diagnostic looks like.

#include <gtest/gtest.h>

#include "isamap/result.h"

namespace isamap {
namespace {

std::string shown(const std::string& line, int column) {
  Diagnostic d = error_at({"f", 1, column}, "m");
  d.source_line = line;
  return render(d);
}

TEST(Diagnostic, ShortLinesAreWhole) { EXPECT_EQ(shown("ab\tcd", 4), "f:1:4: m\n    ab\tcd\n      \t^\n"); }

TEST(Diagnostic, LongLinesAreClippedAroundTheCaret) {
  std::string line(5000, 'a');
  line[2999] = 'X';
  const std::string text = shown(line, 3000), part = "..." + line.substr(2939, 120) + "...";
  EXPECT_EQ(text, "f:1:3000: m\n    " + part + "\n    " + std::string(63, ' ') + "^\n");
  EXPECT_EQ(part[63], 'X');
  EXPECT_EQ(shown(std::string(121, 'a'), 1), "f:1:1: m\n    " + std::string(120, 'a') + "...\n    ^\n");
  EXPECT_EQ(shown(std::string(121, 'a'), 121),
            "f:1:121: m\n    ..." + std::string(120, 'a') + "\n    " + std::string(122, ' ') + "^\n");
}

TEST(Diagnostic, ClippingKeepsCharactersWhole) {
  std::string line;
  for (int i = 0; i < 200; ++i) line += "\xc3\xa4";
  const std::string text = shown(line, 201);
  for (const auto& [begin, end] : {std::pair{text.find("..."), text.rfind("...")}})
    EXPECT_EQ((end - begin - 3) % 2, 0u) << text;
  EXPECT_NE(text.find("...\xc3\xa4"), std::string::npos) << text;
}

}  // namespace
}  // namespace isamap
