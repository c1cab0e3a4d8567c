// SPDX-License-Identifier: Apache-2.0
#include "support/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace isamap {
namespace {

bool is_numeric(const std::string& cell) {
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) || cell == "-");
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == width.size()) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::string text;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      line += is_numeric(rows[r][c]) ? fmt::format("{:>{}}  ", rows[r][c], width[c])
                                     : fmt::format("{:<{}}  ", rows[r][c], width[c]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (r > 0) continue;
    for (const std::size_t w : width) text += std::string(w, '-') + "  ";
    text = text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string short_number(double value) {
  const char* const units[] = {"", "k", "M", "G", "T", "P", "E"};
  int unit = 0;
  while (std::abs(value) >= 999.5 && unit < 6) value /= 1000, ++unit;
  return fmt::format("{:.3g}{}", value, units[unit]);
}

}  // namespace isamap
