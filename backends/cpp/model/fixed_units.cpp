// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/fixed_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_text.h"

namespace isamap {
namespace {

std::string first_unit_only(const std::string& text, const std::string& name) {
  return with_name("\n#if !defined(NAME_UNITS) || NAME_UNIT == 0\n", name) + text + "\n#endif\n";
}

std::string declaration_of(const FixedPart& part) {
  std::string list;
  for (const EntryArgument& a : part.unit.arguments) list += fmt::format("{}{}*, ", a.written ? "" : "const ", a.type);
  return fmt::format("void {}({}void*{});\n", part.unit.name, list,
                     part.distributed ? fmt::format(", const {}&", member_type) : "");
}

const char* const hidden = "__attribute__((visibility(\"hidden\")))";

/// The text of a part with another linkage than static; nothing: its functions are not static (one with versions).
std::optional<std::string> with_linkage(const FixedPart& part, const std::string& linkage) {
  const std::size_t at = part.unit.text.find("static void " + part.unit.name + "(");
  if (at == std::string::npos) return std::nullopt;
  std::string text = part.unit.text;
  text.replace(at, std::string("static").size(), linkage);
  return text;
}

/// Each part in one unit, the longest ones first in turn; the others declare it. The first unit, which has the rest, is
/// the last in turn. A function that is not static is in the first.
std::string parts_in_units(const std::vector<FixedPart>& parts, const std::string& name) {
  std::vector<std::size_t> order(parts.size()), rank(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a].unit.text.size() > parts[b].unit.text.size(); });
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i + 1;
  std::string all = with_name(
      "// In several units, compiled side by side and linked: -DNAME_UNITS=N -DNAME_UNIT=0 to N-1 with -c.\n"
      "#if defined(NAME_UNITS) != defined(NAME_UNIT)\n"
      "#error \"give both: -DNAME_UNITS=N, the number of units, and -DNAME_UNIT=0 to N-1, which of them this is\"\n"
      "#elif defined(NAME_UNITS) && (NAME_UNIT < 0 || NAME_UNIT >= NAME_UNITS)\n"
      "#error \"NAME_UNIT is not in 0 to NAME_UNITS - 1\"\n#endif\n"
      "#ifdef NAME_UNITS\n#define NAME_LINKAGE " +
          std::string(hidden) +
          "\n#else\n"
          "#define NAME_LINKAGE static\n#endif\n\n",
      name);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto text = with_linkage(parts[p], with_name("NAME_LINKAGE", name));
    if (!text) {
      all += first_unit_only(parts[p].unit.text, name);
      continue;
    }
    all += with_name(fmt::format("#if !defined(NAME_UNITS) || {} % NAME_UNITS == NAME_UNIT\n", rank[p]), name) + *text +
           with_name("#else\nNAME_LINKAGE ", name) + declaration_of(parts[p]) + "#endif\n\n";
  }
  return all;
}

}  // namespace

std::string PartFiles::add(const FixedPart& part) {
  const auto text = with_linkage(part, hidden);
  if (!text) return "";  // it is in the file of the whole
  functions_ += *text + "\n";
  add_surroundings(around_, part.around);
  team_ |= part.distributed;
  return functions_.size() < bytes_ ? "" : rest();
}

std::string PartFiles::rest() {
  if (functions_.empty()) return "";
  around_.includes.insert({"<cstdlib>", "<cstring>"});
  if (team_) around_.includes.insert("<atomic>");
  const std::string code = (team_ ? with_name(team_text(machine_), name_) : "") + std::exchange(functions_, "");
  std::string text = (team_ ? team_includes + std::string("#include <time.h>\n\n") : "") +
                     surrounding_text(machine_, std::exchange(around_, {}), code) + code;
  team_ = false;
  return text;
}

std::vector<std::string> part_files(const std::vector<FixedPart>& parts, const HardwareModel& machine,
                                    const std::string& name, std::size_t bytes) {
  PartFiles files(machine, name, bytes);
  std::vector<std::string> all;
  for (const FixedPart& part : parts)
    if (std::string full = files.add(part); !full.empty()) all.push_back(std::move(full));
  if (std::string last = files.rest(); !last.empty()) all.push_back(std::move(last));
  return all;
}

std::vector<std::string> flags_for_part_files(const std::vector<FixedPart>& parts, const std::string& name) {
  return {fmt::format("-D{}_UNITS={}", name, parts.size() + 1), fmt::format("-D{}_UNIT=0", name)};
}

bool splits_into_units(const std::vector<FixedPart>& parts, std::size_t least_bytes) {
  std::size_t size = 0;
  for (const FixedPart& part : parts) size += part.unit.text.size();
  return size >= least_bytes && parts.size() > 1;
}

std::string text_of_one_unit(const std::vector<FixedPart>& parts, const std::string& rest) {
  std::string all;
  for (const FixedPart& part : parts) all += part.unit.text;
  return all + rest;
}

std::string text_of_units(const std::vector<FixedPart>& parts, const std::string& rest, const std::string& name) {
  return parts_in_units(parts, name) + first_unit_only(rest, name);
}

}  // namespace isamap
