// SPDX-License-Identifier: Apache-2.0
// Schedules as text: the YAML around the lines of nests (ir/text/schedule_line.cpp).

#include "isamap/schedule.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace isamap {

namespace {

std::string yaml_scalar(const std::string& text) {
  const bool null = text == "null" || text == "Null" || text == "NULL";
  const bool plain = !null && !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.';
  });
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return quoted + "\"";
}

std::string print_lines(const Nest& nest, const std::string& indent) {
  std::string text;
  for (const Line& line : nest.lines) text += indent + "- " + print(line) + "\n";
  return text;
}

}  // namespace

std::string print(const SplitPart& part) { return part.statement + " " + std::to_string(part.operation); }

Result<SplitPart> parse_split_part(const std::string& text, const SourceLocation& where) {
  std::istringstream words(text);
  SplitPart part;
  std::string more;
  if (!(words >> part.statement >> part.operation) || (words >> more) || part.operation < 0)
    return error_at(where, "'" + text + "' does not say which operation of a statement becomes a statement of its own",
                    "write s0 1: operation 1 of the body of s0, counted from 0, innermost first");
  return part;
}

std::string print(const Schedule& schedule) {
  std::string text = "schedule: " + yaml_scalar(schedule.name) + "\nkernel: " + yaml_scalar(schedule.kernel) +
                     "\ntarget: " + yaml_scalar(schedule.target) + "\n";
  std::string sizes;
  for (const auto& [name, value] : schedule.sizes)
    sizes += (sizes.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  if (!sizes.empty()) text += "sizes: {" + sizes + "}\n";
  std::string splits;
  for (const SplitPart& part : schedule.splits) splits += (splits.empty() ? "" : ", ") + print(part);
  if (!splits.empty()) text += "splits: [" + splits + "]\n";
  std::string lanes;
  for (const VectorizedReduction& parts : schedule.lanes) lanes += (lanes.empty() ? "" : ", ") + print(parts);
  if (!lanes.empty()) text += "lanes: [" + lanes + "]\n";
  if (schedule.nests.size() == 1) {
    const std::string lines = print_lines(schedule.nests[0], "  ");
    return text + (lines.empty() ? "nest: []\n" : "nest:\n" + lines);
  }
  text += schedule.nests.empty() ? "nests: []\n" : "nests:\n";
  for (const Nest& nest : schedule.nests) {
    const std::string lines = print_lines(nest, "    ");
    text += lines.empty() ? "  - []\n" : "  -\n" + lines;
  }
  return text;
}

}  // namespace isamap
