// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/versions.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/text/names.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

bool grow(const std::vector<Node>& nodes, const HardwareModel& model) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node& node) {
    return std::visit(overloaded{[&](const Loop& loop) { return grow(loop.body, model); },
                                 [&](const Guard& g) { return grow(g.then, model) && grow(g.otherwise, model); },
                                 [&](const Call& call) { return model.instruction(call.instruction).grows; },
                                 [](const auto&) { return true; }},
                      node.is);
  });
}

/// The model that the program was lowered for.
const HardwareModel* model_at(const Sizes& sizes, const HardwareModel& model) {
  if (sizes.empty() || sizes == model.sizes()) return &model;
  for (const HardwareModel& version : model.versions())
    if (version.sizes() == sizes) return &version;
  return nullptr;
}

struct Version {
  const Program* program;
  const HardwareModel* model;
  TranslationUnit unit;

  /// "VB >= 32", or "VB == 32" if valid at that size only; empty: valid at any size.
  std::string condition(const std::map<std::string, std::string>& variables) const {
    const bool grows = grow(program->body, *model) && grow(program->prepack, *model);
    std::string text;
    for (const auto& [symbol, variable] : variables)
      if (const auto size = program->sizes.find(symbol); size != program->sizes.end())
        text += fmt::format("{}{} {} {}", text.empty() ? "" : " && ", variable, grows ? ">=" : "==", size->second);
    return text;
  }
};

class Dispatch {
 public:
  Dispatch(const Program& program, const HardwareModel& model) : program_(program), model_(model) {}

  Result<TranslationUnit> print(Surroundings& around) {
    if (const Diagnostics problems = take(program_, around); !problems.empty()) return problems;
    for (const Program& version : program_.versions)
      if (const Diagnostics problems = take(version, around); !problems.empty()) return problems;
    TranslationUnit unit = versions_.front().unit;
    unit.name = entry_name(program_.name);
    std::stable_sort(versions_.begin(), versions_.end(),
                     [](const Version& a, const Version& b) { return a.program->sizes > b.program->sizes; });
    unit.text.clear();
    for (const Version& version : versions_) unit.text += version.unit.text + "\n";
    if (!unit.pack.empty()) unit.text += entry(unit.name + "_pack", unit.pack, true, around) + "\n";
    unit.text += entry(unit.name, unit.arguments, false, around);
    return unit;
  }

 private:
  Diagnostics take(const Program& program, Surroundings& around) {
    const HardwareModel* model = model_at(program.sizes, model_);
    if (!model) return {error(fmt::format("'{}' has no version with {}", model_.name, isamap::print(program.sizes)))};
    std::string name = entry_name(program_.name);
    for (const auto& [symbol, size] : program.sizes) name += fmt::format("_{}{}", symbol, size);
    if (program.sizes.empty()) name += "_any";
    auto unit = print_functions(program, *model, name, "static", around);
    if (!unit) return unit.diagnostics();
    if (!program.sizes.empty())
      unit->text.insert(0, comment("For " + isamap::print(program.sizes) + "\n", " ") +
                               (&program == &program_ ? "" : comment(program.schedule_text, "   ")));
    versions_.push_back({&program, model, std::move(*unit)});
    return {};
  }

  std::string entry(const std::string& name, const std::vector<EntryArgument>& arguments, bool pack,
                    Surroundings& around) const {
    Names names;
    std::string list;
    for (const EntryArgument& a : arguments) {
      list += (list.empty() ? "" : ", ") + pointer_parameter(a, around);
      names.unique(a.name);
    }
    if (around.from_caller) list += fmt::format("{}void* __restrict {}", list.empty() ? "" : ", ", workspace_name);
    names.unique(workspace_name);
    std::string text = fmt::format("extern \"C\" void {}({}) {{\n", name, list);
    std::map<std::string, std::string> variables;
    for (const Symbol& symbol : model_.symbols()) {
      if (symbol.known_at_compile_time) continue;
      variables[symbol.name] = names.unique(symbol.name);
      text += fmt::format("  const long {} = static_cast<long>({});\n", variables[symbol.name], symbol.emit);
    }
    for (const Version& version : versions_) {
      const auto& taken = pack ? version.unit.pack : version.unit.arguments;
      if (pack && taken.empty()) continue;
      const std::string condition = version.condition(variables);
      const std::string call = fmt::format("{}{}({})", version.unit.name, pack ? "_pack" : "",
                                           values(taken, arguments, around.from_caller ? workspace_name : ""));
      if (condition.empty()) return text + "  " + call + ";\n}\n";
      text += fmt::format("  if ({}) return {};\n", condition, call);
    }
    if (pack) return text + "}\n";
    around.includes.insert({"<cstdio>", "<cstdlib>"});
    std::string format, shown;
    for (const auto& [symbol, variable] : variables) {
      format += (format.empty() ? "" : ", ") + symbol + " = %ld";
      shown += ", " + variable;
    }
    return text + fmt::format("  std::fprintf(stderr, \"{}: no code for {}\\n\"{});\n  std::abort();\n}}\n", name,
                              format, shown);
  }

  /// The caller's arguments in the order of a version, without packed buffers that it does not have.
  std::string values(const std::vector<EntryArgument>& taken, const std::vector<EntryArgument>& given,
                     const std::string& last) const {
    std::string text;
    for (const EntryArgument& wanted : taken)
      for (const EntryArgument& a : given)
        if (a.name == wanted.name) text += (text.empty() ? "" : ", ") + a.name;
    return text + (text.empty() || last.empty() ? "" : ", ") + last;
  }

  const Program& program_;
  const HardwareModel& model_;
  std::vector<Version> versions_;
};

}  // namespace

bool asks_for_sizes(const Program& program, const HardwareModel& model) {
  return !program.sizes.empty() && std::any_of(model.symbols().begin(), model.symbols().end(),
                                               [](const Symbol& s) { return !s.known_at_compile_time; });
}

Result<TranslationUnit> print_versions(const Program& program, const HardwareModel& model, Surroundings& around) {
  return Dispatch(program, model).print(around);
}

std::string compiled_for(const HardwareModel& model) {
  std::string text;
  for (const Symbol& symbol : model.symbols())
    if (symbol.known_at_compile_time && !symbol.emit.empty())
      text += fmt::format("static_assert(({}) == {}, \"printed for {} = {}\");\n", symbol.emit, symbol.value,
                          symbol.name, symbol.value);
  return text.empty() ? "" : text + "\n";
}

}  // namespace isamap
