// SPDX-License-Identifier: Apache-2.0
#include "cli/utf8_names.h"

#include <fmt/format.h>

#include "support/utf8.h"

namespace isamap::cli {
namespace {

/// Bytes that begin no character, as \xff.
std::string with_escapes(const std::string& word) {
  std::string text;
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t length = utf8_length(word, i);
    text += length > 0 ? word.substr(i, length) : fmt::format("\\x{:02x}", static_cast<unsigned char>(word[i]));
    i += length > 0 ? length : 1;
  }
  return text;
}

}  // namespace

std::optional<Diagnostic> no_utf8(const std::string& word) {
  if (is_utf8(word)) return std::nullopt;
  return error(fmt::format("'{}' is no UTF-8 text, as names in plans and records are", with_escapes(word)),
               "rename the file");
}

std::optional<Diagnostic> no_utf8(const Options& options) {
  for (const std::string& word : options.files)
    if (auto wrong = no_utf8(word)) return wrong;
  for (const std::string* word : {&options.target, &options.lab.strategies})
    if (auto wrong = no_utf8(*word)) return wrong;
  for (const auto& named : {options.cost_options, options.schedule.strategy_options})
    for (const auto& [key, value] : named)
      if (auto wrong = no_utf8(value)) return wrong;
  return std::nullopt;
}

}  // namespace isamap::cli
