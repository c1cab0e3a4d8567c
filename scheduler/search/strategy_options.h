// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options of a strategy, --strategy NAME:key=value,...: known keys have ranges, unknown ones are errors.

#include <string>
#include <vector>

#include "isamap/search.h"

namespace isamap {

/// Read every option, then check `problems`:
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
  /// One of these words.
  std::string word(const std::string& key, const std::string& otherwise, const std::vector<std::string>& words);
  std::string text(const std::string& key, const std::string& otherwise);

  /// Values out of range, and unknown keys with the list of known ones.
  Diagnostics problems() const;

 private:
  const std::string* find(const std::string& key);
  void wrong(const std::string& key, const std::string& expected, const std::string& found);

  std::string strategy_;
  const StrategyOptions& options_;
  std::vector<std::string> known_;
  Diagnostics problems_;
};

/// Splits the command of an external strategy or cost model at blanks.
std::vector<std::string> words_of_command(const std::string& command);

}  // namespace isamap
