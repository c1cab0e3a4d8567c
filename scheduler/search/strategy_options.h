// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of a strategy, --strategy NAME:key=value,...: every known key with its range, unknown ones refused.

#include <string>
#include <vector>

#include "isamap/search.h"

namespace isamap {

/// Ask for every option, then look at `problems`:
///   OptionReader read("annealing", options);
///   const double cooling = read.number("cooling", 0.99, 0.5, 0.99999);
///   if (const Diagnostics problems = read.problems(); has_errors(problems)) return problems;
class OptionReader {
 public:
  OptionReader(std::string strategy, const StrategyOptions& options)
      : strategy_(std::move(strategy)), options_(options) {}

  std::int64_t whole(const std::string& key, std::int64_t otherwise, std::int64_t low, std::int64_t high);
  std::size_t count(const std::string& key, std::size_t otherwise, std::size_t low, std::size_t high) {
    return static_cast<std::size_t>(whole(key, static_cast<std::int64_t>(otherwise), static_cast<std::int64_t>(low),
                                          static_cast<std::int64_t>(high)));
  }
  double number(const std::string& key, double otherwise, double low, double high);
  /// One of the words.
  std::string word(const std::string& key, const std::string& otherwise, const std::vector<std::string>& words);
  std::string text(const std::string& key, const std::string& otherwise);

  /// Values out of range, and keys nobody asked for, with the list of those that were.
  Diagnostics problems() const;

 private:
  const std::string* find(const std::string& key);
  void wrong(const std::string& key, const std::string& expected, const std::string& found);

  std::string strategy_;
  const StrategyOptions& options_;
  std::vector<std::string> known_;
  Diagnostics problems_;
};

/// Of an external strategy or cost model: words with blanks between them.
std::vector<std::string> words_of_command(const std::string& command);

}  // namespace isamap
