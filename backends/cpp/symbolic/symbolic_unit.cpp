// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/symbolic/symbolic_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/symbolic/block_unit.h"
#include "backends/cpp/symbolic/symbolic_entry.h"
#include "backends/cpp/text/names.h"

namespace isamap {
namespace {

class SymbolicUnit {
 public:
  SymbolicUnit(const SymbolicProgram& program, const HardwareModel& model)
      : program_(program), model_(model), name_(entry_name(program.versions[0].parts[0].program.name)) {}

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
    unit.text = about() + surrounding_text(model_, around_, functions_) + symbolic_helpers + functions_ + pack_text +
                entry_text;
    return unit;
  }

 private:
  /// `before`: rows before the tiles.
  std::string function_name(std::size_t v, const RowPart& part, std::size_t before = 0) const {
    return fmt::format("{}_{}_{}{}{}", name_, v + 1, part.loops.empty() ? "rows" : "tiles", part.rows,
                       before > 0 ? fmt::format("_and_{}", before) : "");
  }

  Diagnostics print_part(std::size_t v, const RowPart& part, std::size_t before) {
    Program body = part.program;
    const bool first = functions_.empty();
    if (!first) body.prepack.clear();  // packed once, alike for all
    RuntimeNumbers numbers;
    if (!part.loops.empty()) numbers.parameters = {"rows"};
    for (const auto& [variable, step] : part.loops)
      numbers.trips[variable] = step == 1 ? "rows" : fmt::format("rows / {}", step);
    around_.numbers = part.loops.empty() ? nullptr : &numbers;
    auto unit = print_functions(body, model_, function_name(v, part, before), own_frame, around_);
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
    std::string text = fmt::format(
        "{}: printed by isamap for {}; belongs to whoever ran it{}\n\nkernel, for {}:", name_, model_.name,
        needed_flags(model_).empty() ? "" : "\nneeds " + needed_flags(model_), isamap::print(program_.kernel.facts));
    std::string out = comment(text, " ");
    for (const Computation& statement : program_.kernel.sample.statements)
      out += comment(print_formula(statement, program_.kernel.sample.tensors), "   ");
    for (std::size_t v = 0; v < program_.versions.size(); ++v) {
      const RowVersion& version = program_.versions[v];
      out += comment(fmt::format("\nversion {}, {}:", v + 1, guard_words(version)), " ");
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

  /// The parts of a version: each takes as many rows as it can.
  std::string walk(std::size_t v, const TranslationUnit& unit, const std::string& indent) const {
    const std::vector<RowPart>& parts = program_.versions[v].parts;
    const std::string arguments = shifted(unit);
    std::string text;
    std::size_t remainders = parts.size();  // from here on: one part for each remainder
    while (remainders > 0 && parts[remainders - 1].loops.empty() &&
           parts[remainders - 1].rows == static_cast<std::int64_t>(parts.size() - remainders) + 1)
      --remainders;
    // The first of them takes one block only where the part before it leaves no more.
    if (remainders < parts.size() && (remainders == 0 || parts[remainders - 1].rows != parts[remainders].rows + 1))
      ++remainders;
    for (std::size_t p = 0; p < remainders; ++p) {
      const RowPart& part = parts[p];
      if (part.loops.empty())
        text += fmt::format("{0}for (; {1} - {2} >= {3}; {2} += {3}) {4}({5});\n", indent, count_, at_, part.rows,
                            function_name(v, part), arguments);
      else if (!program_.versions[v].remainder_first.empty() && (p + 1 == remainders || parts[p + 1].loops.empty()))
        text += tiles_and_remainder(v, part, arguments, indent);
      else
        text += fmt::format("{0}if (const long n = ({1} - {2}) / {3} * {3}; n > 0) {4}({5}, n), {2} += n;\n", indent,
                            count_, at_, part.rows, function_name(v, part), arguments);
    }
    if (remainders == parts.size()) return text;
    text += fmt::format("{}switch ({} - {}) {{\n", indent, count_, at_);
    for (std::size_t p = parts.size(); p-- > remainders;)
      text += fmt::format("{0}  case {1}:\n{0}    {2}({3});\n{0}    break;\n", indent, parts[p].rows,
                          function_name(v, parts[p]), arguments);
    return text + fmt::format("{0}  default:\n{0}    break;\n{0}}}\n", indent);
  }

  /// All rows from one tile on.
  std::string tiles_and_remainder(std::size_t v, const RowPart& part, const std::string& arguments,
                                  const std::string& indent) const {
    std::string text =
        fmt::format("{0}if (const long n = ({1} - {2}) / {3} * {3}; n > 0) {{\n{0}  switch ({1} - {2} - n) {{\n",
                    indent, count_, at_, part.rows);
    const std::vector<RowPart>& others = program_.versions[v].remainder_first;
    for (std::size_t before = 0; before <= others.size(); ++before)
      text += fmt::format("{0}    {1}:\n{0}      {2}({3}, n);\n{0}      break;\n", indent,
                          before == 0 ? "default" : fmt::format("case {}", before), function_name(v, part, before),
                          arguments);
    return text + fmt::format("{0}  }}\n{0}  {1} = {2};\n{0}}}\n", indent, at_, count_);
  }

  std::string entry(const TranslationUnit& unit) {
    Names names;
    for (const EntryArgument& a : unit.arguments) names.unique(a.name);
    std::string list = parameter_list(unit.arguments);
    for (const SymbolicSize& size : program_.kernel.facts.sizes) {
      sizes_[size.name] = names.unique(identifier(size.name));
      list += fmt::format("{}long {}", list.empty() ? "" : ", ", sizes_[size.name]);
    }
    count_ = names.unique("rows");
    at_ = names.unique("row");
    names.unique("n");
    std::string text =
        fmt::format("extern \"C\" int {}({}) {{\n", name_, list) + size_checks(name_, program_.kernel.facts, sizes_);
    text += fmt::format("  const long {} = {};\n  long {} = 0;\n", count_, size_text(program_.rows, sizes_), at_);
    for (std::size_t v = 0; v < program_.versions.size(); ++v) {
      std::string guard;
      for (const SizeFact& fact : program_.versions[v].when)
        guard += (guard.empty() ? "" : " && ") + size_text(fact.nonnegative, sizes_) + " >= 0";
      const bool guarded = !guard.empty();
      if (guarded) text += fmt::format("  if ({}) {{  // {}\n", guard, guard_words(program_.versions[v]));
      text += walk(v, unit, guarded ? "    " : "  ");
      if (guarded) text += "    return 0;\n  }\n";
    }
    return text + "  return 0;\n}\n";
  }

  const SymbolicProgram& program_;
  const HardwareModel& model_;
  std::string name_;
  Surroundings around_;
  TranslationUnit first_;
  std::string functions_;
  std::map<std::string, std::string> sizes_;  ///< names of arguments
  std::string count_, at_;
};

}  // namespace

Result<TranslationUnit> print_symbolic_cpp(const SymbolicProgram& program, const HardwareModel& model) {
  return program.grids.empty() ? SymbolicUnit(program, model).print() : print_block_unit(program, model);
}

}  // namespace isamap
