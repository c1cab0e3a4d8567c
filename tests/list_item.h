// SPDX-License-Identifier: Apache-2.0
#pragma once
// Items of the lists in pages that tests write.

#include <sstream>
#include <string>

namespace isamap {

/// "- TEXT", in lines of at most 120 columns, broken at blanks.
inline std::string list_item(const std::string& text) {
  constexpr std::size_t columns = 120;
  std::string item, line = "-";
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > columns) {
      item += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return item + line + "\n";
}

}  // namespace isamap
