// SPDX-License-Identifier: Apache-2.0
// Schedules as text: the YAML around the lines of nests (ir/text/schedule_line.cpp).

#include "isamap/schedule.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "isamap/schedule.h"

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

std::string head_of(const Schedule& schedule) {
  std::string text = "schedule: " + yaml_scalar(schedule.name) + "\nkernel: " + yaml_scalar(schedule.kernel) +
                     "\ntarget: " + yaml_scalar(schedule.target) + "\n";
  std::string sizes;
  for (const auto& [name, value] : schedule.sizes)
    sizes += (sizes.empty() ? "" : ", ") + name + ": " + std::to_string(value);
  if (!sizes.empty()) text += "sizes: {" + sizes + "}\n";
  return text;
}

std::string body_of(const Schedule& schedule) {
  std::string text, splits, lanes;
  for (const SplitPart& part : schedule.splits) splits += (splits.empty() ? "" : ", ") + print(part);
  if (!splits.empty()) text += "splits: [" + splits + "]\n";
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

/// As an entry of a list at this depth.
std::string entry_of(const std::string& lines, const std::string& indent) {
  std::istringstream text(lines);
  std::string entry;
  for (std::string line; std::getline(text, line);) entry += indent + (entry.empty() ? "- " : "  ") + line + "\n";
  return entry;
}

std::string guard_of(const ScheduleVersion& version) {
  std::string list;
  for (std::size_t c = 0; c < version.when.size(); ++c)
    if (c == 0 || version.when[c].text != version.when[c - 1].text)  // `==` is two facts
      list += (list.empty() ? "\"" : ", \"") + version.when[c].text + "\"";
  return list.empty() ? "" : "when: [" + list + "]\n";
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

std::string print(const Schedule& schedule) { return head_of(schedule) + body_of(schedule); }

std::string print(const std::vector<ScheduleVersion>& versions, const std::vector<std::string>& comments) {
  std::string text = head_of(versions[0].schedules[0]) + "versions:\n";
  for (std::size_t v = 0; v < versions.size(); ++v) {
    const std::vector<Schedule>& schedules = versions[v].schedules;
    std::istringstream lines(v < comments.size() ? comments[v] : "");
    for (std::string line; std::getline(lines, line);) text += "  # " + line + "\n";
    std::string body = guard_of(versions[v]);
    if (schedules.size() == 1) {
      body += body_of(schedules[0]);
    } else {
      body += "statements:\n";
      for (const Schedule& one : schedules) body += entry_of(body_of(one), "  ");
    }
    text += entry_of(body, "  ");
  }
  return text;
}

std::size_t version_at(const std::vector<ScheduleVersion>& versions, const Bindings& sizes) {
  const auto serves = [&](const ScheduleVersion& version) {
    return std::all_of(version.when.begin(), version.when.end(),
                       [&](const SizeFact& fact) { return evaluate(fact.nonnegative, sizes) >= 0; });
  };
  std::size_t v = 0;
  while (v + 1 < versions.size() && !serves(versions[v])) ++v;
  return v;
}

}  // namespace isamap
