// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/text/machine_words.h"

#include <algorithm>
#include <cctype>

#include "backends/cpp/compile/included_texts.h"

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

/// `#define NAME ..` of each line.
void add_macros(const std::string& text, std::set<std::string>& words) {
  const auto word_at = [&](std::size_t& at) {
    at = std::min(text.find_first_not_of(" \t", at), text.size());
    const std::size_t begin = at;
    while (at < text.size() && of_identifier(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  for (std::size_t hash = text.find('#'); hash != std::string::npos; hash = text.find('#', hash + 1)) {
    const std::size_t before = hash == 0 ? std::string::npos : text.find_last_not_of(" \t", hash - 1);
    std::size_t at = hash + 1;
    if ((before == std::string::npos || text[before] == '\n') && word_at(at) == "define") words.insert(word_at(at));
  }
}

/// `-DNAME`, `-DNAME=VALUE` and `-D NAME`.
void add_macros_of_flags(const std::vector<std::string>& flags, std::set<std::string>& words) {
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i].starts_with("-D")) continue;
    const std::string macro = flags[i] != "-D" ? flags[i].substr(2) : i + 1 < flags.size() ? flags[i + 1] : "";
    if (!macro.empty()) words.insert(macro.substr(0, macro.find('=')));
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
  std::vector<std::string> flags;
  for (const CompilerFlags& sets : {model.program.flags, model.program.shim.flags})
    for (const auto& [set, list] : sets) flags.insert(flags.end(), list.begin(), list.end());
  add_macros_of_flags(flags, words);
  add_macros(texts_of_headers(model, include_folders(flags), true), words);
  return words;
}

}  // namespace isamap
