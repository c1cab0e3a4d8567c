// SPDX-License-Identifier: Apache-2.0
#include "scheduler/search/strategy_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace isamap {

namespace {

/// The whole text must be the number: no plus sign, no blanks.
template <class T>
std::optional<T> parsed(const std::string& text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

const std::string* OptionReader::find(const std::string& key) {
  known_.push_back(key);
  const auto it = options_.find(key);
  return it == options_.end() ? nullptr : &it->second;
}

void OptionReader::wrong(const std::string& key, const std::string& expected, const std::string& found) {
  problems_.push_back(error(fmt::format("option {} of {} is {}, found '{}'", key, strategy_, expected, found)));
}

std::int64_t OptionReader::whole(const std::string& key, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
  const std::string* given = find(key);
  if (!given) return otherwise;
  const auto value = parsed<std::int64_t>(*given);
  if (value && *value >= low && *value <= high) return *value;
  wrong(key, fmt::format("a number from {} to {}", low, high), *given);
  return otherwise;
}

double OptionReader::number(const std::string& key, double otherwise, double low, double high) {
  const std::string* given = find(key);
  if (!given) return otherwise;
  const auto value = parsed<double>(*given);
  if (value && *value >= low && *value <= high) return *value;
  wrong(key, fmt::format("a number from {} to {}", low, high), *given);
  return otherwise;
}

std::string OptionReader::word(const std::string& key, const std::string& otherwise,
                               const std::vector<std::string>& words) {
  const std::string* given = find(key);
  if (!given) return otherwise;
  if (std::find(words.begin(), words.end(), *given) != words.end()) return *given;
  wrong(key, fmt::format("one of {}", fmt::join(words, ", ")), *given);
  return otherwise;
}

std::string OptionReader::text(const std::string& key, const std::string& otherwise) {
  const std::string* given = find(key);
  return given ? *given : otherwise;
}

Diagnostics OptionReader::problems() const {
  Diagnostics all = problems_;
  for (const auto& [key, value] : options_)
    if (std::find(known_.begin(), known_.end(), key) == known_.end())
      all.push_back(
          error(fmt::format("{} has no option '{}'", strategy_, key),
                known_.empty() ? "it has no options" : fmt::format("its options: {}", fmt::join(known_, ", "))));
  return all;
}

std::vector<std::string> words_of_command(const std::string& command) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find(' ', at), command.size());
    if (end > at) words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

StrategyFactory::Made StrategyFactory::operator()(const SearchSpace& space, const StrategyOptions& options,
                                                  std::uint64_t seed) const {
  auto made = make_ ? make_(space, options, seed) : Made(std::unique_ptr<SearchStrategy>());
  if (made && *made == nullptr)
    return error("the strategy factory returned no strategy for statement " +
                     space.kernel().statements[space.statement().index()].name,
                 "it must return a strategy, or diagnostics");
  return made;
}

bool is_user_strategy(const std::string& name) { return name == "external" || name == "extension"; }

Result<std::unique_ptr<SearchStrategy>> strategy_named(const std::string& name, const SearchSpace& space,
                                                       const StrategyOptions& options, std::uint64_t seed) {
  std::string known;
  for (const auto& [own, make] : strategies()) {
    if (own == name) return make(space, options, seed);
    known += (known.empty() ? "" : ", ") + own;
  }
  return error("no strategy '" + name + "'", "there are: " + known);
}

}  // namespace isamap
