// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/notation.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace isamap::oracle {
namespace {

Row row_from(const std::string& text, const std::vector<std::string>& names) {
  Row row{Vec(names.size(), 0), 0};
  for (std::size_t at = 0; at < text.size();) {
    Int sign = 1, factor = 1;
    if (text[at] == '+' || text[at] == '-') sign = text[at++] == '-' ? -1 : 1;
    std::size_t end = at;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > at) factor = std::stoll(text.substr(at, end - at));
    at = end;
    while (end < text.size() && std::isalpha(static_cast<unsigned char>(text[end])) != 0) ++end;
    const auto found = std::find(names.begin(), names.end(), text.substr(at, end - at));
    if (found == names.end())
      row.constant += sign * factor;
    else
      row.coefficients[static_cast<std::size_t>(found - names.begin())] += sign * factor;
    at = end;
  }
  return row;
}

}  // namespace

Nest nest_from(const std::string& dims, const std::string& operands, const std::map<std::string, Int>& sizes,
               Int otherwise) {
  Nest nest;
  std::istringstream names(dims), words(operands);
  for (std::string name; names >> name;) {
    nest.names.push_back(name);
    nest.extents.push_back(sizes.count(name) > 0 ? sizes.at(name) : otherwise);
  }
  for (std::string word; words >> word;) {
    const std::string inner = word.substr(word.find('[') + 1, word.size() - word.find('[') - 2);
    std::istringstream indices(inner);
    nest.operands.emplace_back();
    for (std::string index; std::getline(indices, index, ',');)
      nest.operands.back().push_back(row_from(index, nest.names));
  }
  return nest;
}

}  // namespace isamap::oracle
