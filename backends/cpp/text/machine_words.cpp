// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/machine_words.h"

#include <cctype>
#include <functional>

namespace isamap {
namespace {

bool of_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Calls `take` with each identifier of a text and the first character behind it that is no blank, or 0.
void each_word(const std::string& text, const std::function<void(const std::string& word, char behind)>& take) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && of_identifier(text[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const std::size_t next = text.find_first_not_of(" \t\n", end);
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0)
      take(text.substr(at, end - at), next == std::string::npos ? '\0' : text[next]);
    at = end;
  }
}

}  // namespace

std::set<std::string> words_of_machine(const HardwareModel& model) {
  std::set<std::string> words;
  const auto any = [&](const std::string& word, char) { words.insert(word); };
  const auto called = [&](const std::string& word, char behind) {
    if (behind == '(' || behind == '<') words.insert(word);
  };
  for (const auto& [dtype, type] : model.program.types) each_word(type, any);
  for (const Memory& memory : model.memories())
    for (const auto& [dtype, type] : memory.value) each_word(type, any);
  for (const Instruction& instruction : model.instructions())
    for (const auto& part : instruction.emit.parts)
      if (const auto* text = std::get_if<std::string>(&part)) each_word(*text, called);
  return words;
}

}  // namespace isamap
