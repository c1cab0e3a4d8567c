// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/symbolic_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/symbolic/block_unit.h"
#include "backends/cpp/symbolic/shared_cells.h"
#include "backends/cpp/symbolic/symbolic_entry.h"
#include "backends/cpp/text/names.h"

namespace isamap {
namespace {

class SymbolicUnit {
 public:
  SymbolicUnit(const SymbolicProgram& program, const HardwareModel& model, bool team)
      : program_(program), model_(model), team_(team), name_(entry_name(program.versions[0].parts[0].program.name)) {}

  Result<TranslationUnit> print() {
    for (std::size_t v = 0; v < program_.versions.size(); ++v)
      for (const std::vector<RowPart>* parts : {&program_.versions[v].parts, &program_.versions[v].remainder_first})
        for (std::size_t p = 0; p < parts->size(); ++p)
          if (auto problems = print_part(v, (*parts)[p], parts == &program_.versions[v].parts ? 0 : p + 1);
              !problems.empty())
            return problems;
    around_.includes.insert("<cstdio>");
    TranslationUnit unit = std::move(first_);
    const std::string pack_text = unit.pack.empty() ? "" : pack_entry(unit);
    unit.name = name_;
    const std::string entry_text = entry(unit);
    const bool shared = std::any_of(program_.versions.begin(), program_.versions.end(), is_shared);
    unit.text = about() + surrounding_text(model_, around_, functions_) + symbolic_helpers +
                (shared ? shared_row_helpers() : "") + functions_ + pack_text + entry_text;
    return unit;
  }

 private:
  static bool is_shared(const RowVersion& version) { return version.shares.threads > 1; }
  /// `before`: rows before the tiles.
  std::string function_name(std::size_t v, const RowPart& part, std::size_t before = 0) const {
    return fmt::format("{}_{}_{}{}{}", name_, v + 1, part.loops.empty() ? "rows" : "tiles", part.rows,
                       before > 0 ? fmt::format("_and_{}", before) : "");
  }

  Diagnostics print_part(std::size_t v, const RowPart& part, std::size_t before) {
    Program body = part.program;
    const bool first = functions_.empty();
    if (!first || team_) body.prepack.clear();  // packed once, alike for all; of models ahead of time
    RuntimeNumbers numbers;
    if (!part.loops.empty()) numbers.parameters = {"rows"};
    for (const auto& [variable, step] : part.loops)
      numbers.trips[variable] = step == 1 ? "rows" : fmt::format("rows / {}", step);
    around_.numbers = part.loops.empty() ? nullptr : &numbers;
    around_.team = team_ && distributes(body.body, model_);
    const std::string name = function_name(v, part, before);
    if (around_.team) of_all_members_.insert(name);
    auto unit = print_functions(body, model_, name, own_frame, around_);
    around_.numbers = nullptr;
    if (!unit) return unit.diagnostics();
    functions_ +=
        comment(fmt::format("{} rows{}{}\n", part.rows, part.loops.empty() ? "" : " a tile, any number of tiles",
                            before > 0 ? fmt::format(", {} rows before them", before) : ""),
                " ") +
        unit->text + "\n";
    if (first) first_ = std::move(*unit);
    return {};
  }

  static std::string guard_words(const RowVersion& version) {
    std::string text;
    for (const SizeFact& fact : version.when) text += (text.empty() ? "for " : " and ") + fact.text;
    return text.empty() ? "for any number of rows" : text;
  }

  std::string about() const {
    std::string text =
        fmt::format("{}: printed by isamap for {}; belongs to whoever ran it{}\n\nkernel, for {}:", name_, model_.name,
                    flags_line(model_, team_), isamap::print(program_.kernel.facts));
    std::string out = comment(text, " ");
    for (const Computation& statement : program_.kernel.sample.statements)
      out += comment(print_formula(statement, program_.kernel.sample.tensors), "   ");
    for (std::size_t v = 0; v < program_.versions.size(); ++v) {
      const RowVersion& version = program_.versions[v];
      out += comment(fmt::format("\nversion {}, {}{}:", v + 1, guard_words(version),
                                 is_shared(version) ? fmt::format(", on {} threads", version.shares.threads) : ""),
                     " ");
      out += comment(main_part(version).program.schedule_text, "   ");
      if (const auto own = parts_with_own_schedule(version); !own.empty())
        out += comment(fmt::format("schedules of their own: {} rows", fmt::join(own, ", ")), "   ");
    }
    std::set<std::string> assumptions;
    for (const RowVersion& version : program_.versions)
      for (const RowPart& part : version.parts)
        for (const Assumption& one : part.program.assumptions) assumptions.insert(one.text);
    out += comment("\nassumptions:\narguments do not overlap\n", " ");
    for (const std::string& one : assumptions) out += comment(one, " ");
    return out + "\n";
  }

  std::string pack_entry(const TranslationUnit& unit) const {
    std::string list;
    for (const EntryArgument& a : unit.pack) list += (list.empty() ? "" : ", ") + a.name;
    return fmt::format("extern \"C\" void {}_pack({}) {{\n  {}_pack({});\n}}\n\n", name_, parameter_list(unit.pack),
                       unit.name, list);
  }

  /// The arguments at row `at`.
  std::string shifted(const TranslationUnit& unit) const {
    std::string list;
    const RowPart& part = program_.versions[0].parts[0];
    for (const EntryArgument& a : unit.arguments) {
      const Buffer& buffer = part.program.buffers[a.buffer.index()];
      const auto step = buffer.ahead_of_time ? program_.step.end() : program_.step.find(buffer.tensor);
      list += (list.empty() ? "" : ", ") + a.name;
      if (step != program_.step.end()) list += fmt::format(" + {} * {}", step->second, at_);
    }
    return list;
  }

  /// A call of a part, with further arguments; where members of a team do not divide it, one of them executes it.
  std::string call(std::size_t v, const std::string& function, const std::string& arguments,
                   const std::string& rows) const {
    const std::string text = fmt::format("{}({}{}{})", function, arguments,
                                         of_all_members_.contains(function) ? fmt::format(", {}", member_name) : "",
                                         rows.empty() ? "" : ", " + rows);
    const bool alone = is_of_all_members(v) && !of_all_members_.contains(function);
    return alone ? fmt::format("{}.number == 0 ? {} : void()", member_name, text) : text;
  }

  /// Do members of a team divide loops inside of parts of this version?
  bool is_of_all_members(std::size_t v) const {
    const RowVersion& version = program_.versions[v];
    for (const std::vector<RowPart>* parts : {&version.parts, &version.remainder_first})
      for (std::size_t p = 0; p < parts->size(); ++p)
        if (of_all_members_.contains(function_name(v, (*parts)[p], parts == &version.parts ? 0 : p + 1))) return true;
    return false;
  }

  /// The parts of a version: each takes as many rows as it can.
  std::string walk(std::size_t v, const TranslationUnit& unit, const std::string& indent) const {
    const std::vector<RowPart>& parts = program_.versions[v].parts;
    const std::string arguments = shifted(unit);
    std::string text;
    const std::size_t remainders = first_remainder(parts);  // from here on: one part for each remainder
    for (std::size_t p = 0; p < remainders; ++p) {
      const RowPart& part = parts[p];
      if (part.loops.empty())
        text += fmt::format("{0}for (; {1} - {2} >= {3}; {2} += {3}) {4};\n", indent, end_, at_, part.rows,
                            call(v, function_name(v, part), arguments, ""));
      else if (takes_remainder(program_.versions[v], p))
        text += tiles_and_remainder(v, part, arguments, indent);
      else
        text += fmt::format("{0}if (const long n = ({1} - {2}) / {3} * {3}; n > 0) {4}, {2} += n;\n", indent, end_, at_,
                            part.rows, call(v, function_name(v, part), arguments, "n"));
    }
    if (remainders == parts.size()) return text;
    text += fmt::format("{}switch ({} - {}) {{\n", indent, end_, at_);
    for (std::size_t p = parts.size(); p-- > remainders;)
      text += fmt::format("{0}  case {1}:\n{0}    {2};\n{0}    break;\n", indent, parts[p].rows,
                          call(v, function_name(v, parts[p]), arguments, ""));
    return text + fmt::format("{0}  default:\n{0}    break;\n{0}}}\n", indent);
  }

  /// All rows from one tile on.
  std::string tiles_and_remainder(std::size_t v, const RowPart& part, const std::string& arguments,
                                  const std::string& indent) const {
    std::string text =
        fmt::format("{0}if (const long n = ({1} - {2}) / {3} * {3}; n > 0) {{\n{0}  switch ({1} - {2} - n) {{\n",
                    indent, end_, at_, part.rows);
    const std::vector<RowPart>& others = program_.versions[v].remainder_first;
    for (std::size_t before = 0; before <= others.size(); ++before)
      text += fmt::format("{0}    {1}:\n{0}      {2};\n{0}      break;\n", indent,
                          before == 0 ? "default" : fmt::format("case {}", before),
                          call(v, function_name(v, part, before), arguments, "n"));
    return text + fmt::format("{0}  }}\n{0}  {1} = {2};\n{0}}}\n", indent, at_, end_);
  }

  /// A version on the threads that execute the entry.
  std::string distributed(std::size_t v, const TranslationUnit& unit, const std::string& indent) {
    const RowVersion& version = program_.versions[v];
    if (is_shared(version)) {
      EntryNames names;
      names.sizes = sizes_;
      end_ = last_;
      std::string text =
          begin_row_shares(version, {count_, at_, end_, cycles_text(version.shares.costs.front(), names)});
      text += walk(v, unit, "    ");
      end_ = count_;
      return indent + "{\n" + text + end_shares(1, model_, team_) + indent + "}\n";
    }
    if (!team_) return walk(v, unit, indent);
    if (is_of_all_members(v)) return walk(v, unit, indent) + indent + wait_for_all + "\n";
    return alone_text(walk(v, unit, "    "));
  }

  std::string entry(const TranslationUnit& unit) {
    Names names;
    for (const EntryArgument& a : unit.arguments) names.unique(a.name);
    for (const std::string& word : shared_words()) names.unique(word);
    names.unique("tiles");
    if (team_) names.unique(member_name);
    std::string list = parameter_list(unit.arguments);
    for (const SymbolicSize& size : program_.kernel.facts.sizes) {
      sizes_[size.name] = names.unique(identifier(size.name));
      list += fmt::format("{}long {}", list.empty() ? "" : ", ", sizes_[size.name]);
    }
    if (team_) list += fmt::format("{}const {}& {}", list.empty() ? "" : ", ", member_type, member_name);
    count_ = end_ = names.unique("rows");
    at_ = names.unique("row");
    last_ = names.unique("last");
    names.unique("n");
    std::string text =
        fmt::format("extern \"C\" int {}({}) {{\n", name_, list) + size_checks(name_, program_.kernel.facts, sizes_);
    text += fmt::format("  const long {} = {};\n", count_, size_text(program_.rows, sizes_));
    if (!std::all_of(program_.versions.begin(), program_.versions.end(), is_shared))
      text += fmt::format("  long {} = 0;\n", at_);
    for (std::size_t v = 0; v < program_.versions.size(); ++v) {
      std::string guard;
      for (const SizeFact& fact : program_.versions[v].when)
        guard += (guard.empty() ? "" : " && ") + size_text(fact.nonnegative, sizes_) + " >= 0";
      const bool guarded = !guard.empty();
      if (guarded) text += fmt::format("  if ({}) {{  // {}\n", guard, guard_words(program_.versions[v]));
      text += distributed(v, unit, guarded ? "    " : "  ");
      if (guarded) text += "    return 0;\n  }\n";
    }
    return text + "  return 0;\n}\n";
  }

  const SymbolicProgram& program_;
  const HardwareModel& model_;
  bool team_;
  std::string name_;
  Surroundings around_;
  std::set<std::string> of_all_members_;  ///< functions whose loops members of a team divide
  TranslationUnit first_;
  std::string functions_;
  std::map<std::string, std::string> sizes_;  ///< names of arguments
  std::string count_, at_, last_;             ///< all rows, the first of a part, and the end of a share
  std::string end_;                           ///< of the rows that parts walk
};

}  // namespace

Result<TranslationUnit> print_symbolic_cpp(const SymbolicProgram& program, const HardwareModel& model,
                                           ExecutedBy executed) {
  const bool team = executed == ExecutedBy::team;
  return program.grids.empty() ? SymbolicUnit(program, model, team).print() : print_block_unit(program, model, team);
}

}  // namespace isamap
