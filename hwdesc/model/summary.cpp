// SPDX-License-Identifier: Apache-2.0
#include "hwdesc/model/summary.h"

#include <algorithm>
#include <fstream>
#include <map>

namespace isamap {
namespace {

/// The longest common prefix of all names, from two characters on: "fma_*". Without one, the first few names.
std::string name_of(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  std::string common = names[0];
  for (const std::string& name : names)
    common.erase(std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first, common.end());
  if (common.size() >= 2) return common + "*";
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i > 0 ? " " : "") + names[i];
  return names.size() > most ? text + " .." : text;
}

}  // namespace

std::vector<std::string> instruction_families(const HardwareModel& model) {
  std::vector<std::pair<std::string, int>> order;  // position of each entry
  std::map<std::pair<std::string, int>, std::vector<std::string>> names;
  for (const Instruction& instruction : model.instructions()) {
    if (!is_compute(instruction)) continue;
    const std::pair place(instruction.where.file, instruction.where.line);
    if (!names.contains(place)) order.push_back(place);
    names[place].push_back(instruction.name);
  }
  std::vector<std::string> families;
  for (const auto& place : order) families.push_back(name_of(names.at(place)));
  return families;
}

std::string verified_against(const HardwareModel& model) {
  if (model.verified.empty()) return "not stated";
  std::string text;
  for (const Evidence& one : model.verified) text += (text.empty() ? "" : "; ") + one.against;
  return text;
}

int lines_of_yaml(const std::string& file) {
  std::ifstream stream(file);
  int count = 0;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    count += first != std::string::npos && line[first] != '#';
  }
  return count;
}

}  // namespace isamap
