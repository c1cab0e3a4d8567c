// SPDX-License-Identifier: Apache-2.0
#include "frontends/two_valued.h"

#include <optional>

#include "ir/text/cursor.h"
#include "ir/text/parse.h"

namespace isamap {
namespace {

/// Offsets of `(first, second)`; `end` is behind the parenthesis.
struct Pair {
  std::size_t first = 0, comma = 0, close = 0;
};

std::optional<Pair> pair_at(const std::string& text, std::size_t open) {
  Pair found{open + 1, 0, 0};
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
    if (depth == 1 && text[i] == ',' && found.comma == 0) found.comma = i;
    if (depth > 0) continue;
    found.close = i;
    return found.comma > 0 ? std::optional(found) : std::nullopt;
  }
  return std::nullopt;
}

std::string first_of(const std::string& text, const Pair& pair) {
  return text.substr(pair.first, pair.comma - pair.first);
}
std::string second_of(const std::string& text, const Pair& pair) {
  return text.substr(pair.comma + 1, pair.close - pair.comma - 1);
}

/// `text` with blanks for all but [begin, end) of each range.
std::string kept(const std::string& text, std::initializer_list<std::pair<std::size_t, std::size_t>> ranges) {
  std::string result(text.size(), ' ');
  for (const auto& [begin, end] : ranges) result.replace(begin, end - begin, text, begin, end - begin);
  return result;
}

}  // namespace

Result<std::vector<std::string>> statements_of(const std::string& text, const SourceLocation& where) {
  const std::size_t open = text.find_first_not_of(" \t\r\n");
  if (open == std::string::npos || text[open] != '(' || text.size() > Cursor::max_text) return std::vector{text};
  const auto wrong = [&](std::size_t at, std::string message) {
    return error_at(place_in(where, at), std::move(message), "write (V[i], I[i]) max= (A[i,k], value(k))");
  };
  const auto written = pair_at(text, open);
  if (!written) return wrong(open, "a statement in parentheses writes a value and its place");
  const std::size_t sign = text.find_first_not_of(" \t\r\n", written->close + 1);
  const std::string operation = sign == std::string::npos ? "" : text.substr(sign, 4);
  if (operation != "max=" && operation != "min=")
    return wrong(written->close, "a value and its place are those of the largest or smallest element");
  const std::size_t terms = text.find_first_not_of(" \t\r\n", sign + 4);
  const auto read = terms != std::string::npos && text[terms] == '(' ? pair_at(text, terms) : std::nullopt;
  if (!read || text.find_first_not_of(" \t\r\n", read->close + 1) != std::string::npos)
    return wrong(sign, "a value and its place are needed on the right");
  const std::string element = first_of(text, *read), value = first_of(text, *written);
  const auto alone = parse_statement("X[] = " + element);
  if (alone && !std::holds_alternative<Read>(alone->body.op))
    return wrong(read->first, "what is compared must be an element, not arithmetic");
  const std::string difference = operation == "max=" ? value + " - " + element : element + " - " + value;
  return std::vector{
      kept(text, {{written->first, written->comma}, {sign, sign + 4}, {read->first, read->comma}}),
      second_of(text, *written) + " min= select(" + difference + ", 2147483647, " + second_of(text, *read) + ")"};
}

}  // namespace isamap
