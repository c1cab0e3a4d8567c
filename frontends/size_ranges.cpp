// SPDX-License-Identifier: Apache-2.0
#include "frontends/size_ranges.h"

#include <fmt/format.h>

#include <charconv>

#include "support/arithmetic.h"

namespace isamap {
namespace {

/// A number from `text` at `at`, which moves behind it.
std::optional<std::int64_t> number_at(const std::string& text, std::size_t& at) {
  std::int64_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (problem != std::errc() || value < 0) return std::nullopt;
  at = static_cast<std::size_t>(stop - text.data());
  return value;
}

std::string without_spaces(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// One entry, "seq=1..512" or "batch=1".
Result<SymbolicSize> size_of_entry(const std::string& entry) {
  const SourceLocation where{"--dims", 0, 0};
  const std::size_t equals = entry.rfind('=');
  const std::string shown = entry.substr(0, 64);
  if (equals == std::string::npos || equals == 0)
    return error_at(where, "'" + shown + "' is not of the form name=range", "--dims seq=1..512/16@128,batch=1");
  const std::string name = without_spaces(entry.substr(0, equals)), text = without_spaces(entry.substr(equals + 1));
  if (is_size_range(text)) {
    auto size = size_range(name, text);
    if (!size)
      return error_at(
          where, "'" + shown + "' is no range of sizes",
          fmt::format("write {0}=1..512, {0}=16..512/16@128 (a multiple of 16, likely 128) or {0}=?", name));
    if (const auto why = contradiction_of(*size))
      return error_at(where, *why,
                      size->min > size->max ? fmt::format("exchange them: {}={}..{}", size->name, size->max, size->min)
                                            : "state a range with such a size, or another multiple or likely size");
    return *size;
  }
  std::size_t at = 0;
  const auto number = number_at(text, at);
  if (!number || at != text.size())
    return error_at(where, "'" + shown + "' needs a size of at least 0, or a range", "write " + name + "=1..512");
  return SymbolicSize{name, *number, *number, 1, {*number}, true, where};
}

}  // namespace

bool is_size_range(const std::string& text) { return text.find("..") != std::string::npos || text.starts_with('?'); }

std::optional<SymbolicSize> size_range(const std::string& name, const std::string& text) {
  constexpr std::int64_t open_end = (std::int64_t{1} << 31) - 1;
  SymbolicSize size{name, 0, open_end, 1, {}, false, {"--dims", 0, 0}};
  std::size_t at = 0;
  if (text.starts_with('?')) {
    at = 1;
  } else {
    const auto min = number_at(text, at);
    if (!min || text.compare(at, 2, "..") != 0) return std::nullopt;
    at += 2;
    size.min = *min;
    if (at < text.size() && text[at] != '/' && text[at] != '@') {
      const auto max = number_at(text, at);
      if (!max) return std::nullopt;
      size.max = *max;
      size.max_stated = true;
    }
  }
  while (at < text.size()) {
    const char sign = text[at++];
    const auto value = number_at(text, at);
    if (!value || (sign != '/' && sign != '@') || (sign == '/' && *value < 1)) return std::nullopt;
    if (sign == '/')
      size.multiple_of = *value;
    else
      size.likely.push_back(*value);
  }
  return size;
}

std::optional<std::string> contradiction_of(const SymbolicSize& size) {
  if (round_up(size.min, size.multiple_of) > size.max)
    return fmt::format("no size of {} is in {}..{}{}", size.name, size.min, size.max,
                       size.multiple_of > 1 ? fmt::format(" and a multiple of {}", size.multiple_of) : "");
  for (const std::int64_t likely : size.likely)
    if (const auto broken = broken_fact({{size}, {}}, {{size.name, likely}}))
      return broken->message + ", but it is said to be likely";
  return std::nullopt;
}

Result<SizeFacts> size_facts_of(const std::string& dims) {
  SizeFacts facts;
  Diagnostics problems;
  for (std::size_t start = 0; start <= dims.size() && !dims.empty();) {
    const std::size_t comma = std::min(dims.find(',', start), dims.size());
    auto size = size_of_entry(without_spaces(dims.substr(start, comma - start)));
    start = comma + 1;
    if (!size)
      problems.insert(problems.end(), size.diagnostics().begin(), size.diagnostics().end());
    else if (facts.find(size->name))
      problems.push_back(error_at({"--dims", 0, 0}, "'" + size->name + "' is given twice"));
    else
      facts.sizes.push_back(std::move(*size));
  }
  if (!problems.empty()) return problems;
  return facts;
}

}  // namespace isamap
