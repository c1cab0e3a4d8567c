// SPDX-License-Identifier: Apache-2.0
#pragma once
// Enumerations of the model whose `name` is the word that stands for the value in a hardware file: the table of types
// lists the words, and the loader finds the value of a word, both from the enumeration.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace isamap::keys {

/// words_between(MemoryKind::dram, MemoryKind::scratchpad)  gives  "dram", "cache", "scratchpad"
template <class Enum>
std::vector<std::string> words_between(Enum first, Enum last) {
  std::vector<std::string> words;
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
    words.emplace_back(name(static_cast<Enum>(i)));
  return words;
}

/// Nothing: no value from `first` to `last` has this word.
template <class Enum>
std::optional<Enum> value_of(std::string_view word, Enum first, Enum last) {
  for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i)
    if (name(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace isamap::keys
