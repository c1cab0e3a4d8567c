// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/machine_words.h"

#include <cctype>

namespace isamap {
namespace {

bool of_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void add_words(const std::string& text, std::set<std::string>& words) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && of_identifier(text[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0) words.insert(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace

std::set<std::string> words_of_machine(const HardwareModel& model) {
  std::set<std::string> words;
  for (const auto& [dtype, type] : model.program.types) add_words(type, words);
  for (const Memory& memory : model.memories())
    for (const auto& [dtype, type] : memory.value) add_words(type, words);
  for (const Instruction& instruction : model.instructions())
    for (const auto& part : instruction.emit.parts)
      if (const auto* text = std::get_if<std::string>(&part)) add_words(*text, words);
  return words;
}

}  // namespace isamap
