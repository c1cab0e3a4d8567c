// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/sized_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/function/team.h"
#include "backends/cpp/model/fixed_units.h"
#include "backends/cpp/model/model_text.h"
#include "backends/cpp/model/sized_calls.h"
#include "backends/cpp/plain_loops.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"

namespace isamap {
namespace {

ModelProgram only_weights(const SymbolicModelProgram& model) {
  ModelProgram weights;
  weights.weights = model.weights;
  return weights;
}

/// For the comment of the header.
std::string ports(const char* title, const std::vector<SymbolicPort>& ports, const std::vector<std::int64_t>& aligns) {
  std::string text = fmt::format("   {}:\n", title);
  for (std::size_t i = 0; i < ports.size(); ++i) {
    std::string shape;
    for (const AffineExpr& axis : ports[i].shape) shape += (shape.empty() ? "" : ", ") + isamap::print(axis);
    text += fmt::format("     {}: {}, {}[{}], at a multiple of {}\n", i, comment_text(ports[i].name),
                        name(ports[i].dtype), comment_text(shape), aligns[i]);
  }
  return text;
}

bool divides_work(const Grid& grid) {
  return grid.shares.threads > 1 ||
         std::any_of(grid.edges.begin(), grid.edges.end(), [](const Grid& edge) { return divides_work(edge); });
}

/// Do several threads divide the work of the part?
bool divides_work(const SymbolicPartProgram& part, const HardwareModel& machine) {
  if (threads_of(machine) < 2) return false;
  if (part.fixed) return distributes(part.fixed->body, machine);
  if (!part.rows) return false;
  const auto divides = [&](const RowPart& one) { return distributes(one.program.body, machine); };
  for (const RowVersion& version : part.rows->versions)
    if (version.shares.threads > 1 || std::any_of(version.parts.begin(), version.parts.end(), divides) ||
        std::any_of(version.remainder_first.begin(), version.remainder_first.end(), divides))
      return true;
  return std::any_of(part.rows->grids.begin(), part.rows->grids.end(),
                     [](const Grid& grid) { return divides_work(grid); });
}

class SizedModelPrinter {
 public:
  SizedModelPrinter(const SymbolicModelProgram& model, const HardwareModel& machine)
      : model_(model), machine_(machine), name_(model_name(model.name)) {
    Names names;
    for (const SymbolicSize& size : model.facts.sizes)
      names_.sizes[size.name] = names.unique("n_" + identifier(size.name));
    for (const SymbolicPartProgram& part : model.programs) team_ = team_ || divides_work(part, machine);
  }

  Result<ModelUnit> print() {
    for (std::size_t p = 0; p < model_.programs.size(); ++p)
      if (auto problems = part(p); !problems.empty()) return problems;
    around_.includes.insert({"<cstdlib>", "<cstring>", "<cstdio>"});
    if (team_) around_.includes.insert("<atomic>");
    run_ = run_at_sizes(model_, parts_, names_);
    const std::string code = (team_ ? named(team_text(machine_, TeamMemory::of_parts)) : "") + affine_helpers() +
                             code_ + spaces_ + opening() + size_functions() + named(run_.text);
    ModelUnit unit;
    unit.name = name_;
    unit.text = comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it\nneeds {}\n\nfor {}\n"
                                    "\nassumptions:\ninputs, outputs and the arena do not overlap\n",
                                    name_, machine_.name, needed_flags(machine_, team_ ? "-pthread" : ""),
                                    isamap::print(model_.facts)),
                        " ") +
                assumptions() + "\n#include \"" + name_ + ".h\"\n\n#include <fcntl.h>\n" +
                (team_ ? team_includes : "") +
                "#include <sys/mman.h>\n#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n\n";
    for (const std::string& include : includes_) unit.text += include + "\n";
    unit.text += surrounding_text(machine_, around_, code) + code;
    unit.header = header();
    return unit;
  }

 private:
  std::string named(std::string text) const {
    replace_all(text, "NAME", name_);
    return text;
  }

  Diagnostics part(std::size_t p) {
    const SymbolicPartProgram& part = model_.programs[p];
    SizedPart made{fmt::format("{}_part_{}", name_, p), {}, true, divides_work(part, machine_)};
    Diagnostics problems = part.fixed  ? fixed(*part.fixed, made)
                           : part.rows ? rows(*part.rows, made)
                                       : loops(part, made);
    parts_.push_back(std::move(made));
    return problems;
  }

  void take(const TranslationUnit& unit, const Program& program, SizedPart& made) {
    for (const EntryArgument& a : unit.arguments) {
      const Buffer& buffer = program.buffers[a.buffer.index()];
      made.arguments.push_back({a.buffer.index(), buffer.ahead_of_time ? TensorId{} : buffer.tensor, a.type, a.written,
                                std::max<std::int64_t>(buffer.align, bytes(buffer.dtype))});
    }
    for (const Assumption& one : program.assumptions) assumed_.insert(one.text);
  }

  Diagnostics fixed(Program program, SizedPart& made) {
    program.name = made.function;
    program.prepack.clear();
    made.sized = false;
    around_.team = made.distributed;
    auto unit = print_functions(program, machine_, made.function, "static", around_);
    around_.team = false;
    if (!unit) return unit.diagnostics();
    take(*unit, program, made);
    code_ += comment("\n" + isamap::print(program.kernel) + "\n" + program.schedule_text, " ") + unit->text + "\n";
    return {};
  }

  /// Its file becomes a namespace, so that its helpers are its own.
  Diagnostics rows(const SymbolicProgram& program, SizedPart& made) {
    SymbolicProgram renamed = program;
    for (RowVersion& version : renamed.versions)
      for (std::vector<RowPart>* parts : {&version.parts, &version.remainder_first})
        for (RowPart& part : *parts) part.program.name = made.function;
    renamed.arguments.name = made.function;
    auto unit = print_symbolic_cpp(renamed, machine_, made.distributed ? ExecutedBy::team : ExecutedBy::caller);
    if (!unit) return unit.diagnostics();
    take(*unit, renamed.grids.empty() ? renamed.versions[0].parts[0].program : renamed.arguments, made);
    for (const Grid& grid : renamed.grids) {
      for (const Block& block : grid.blocks)
        for (const Assumption& one : block.program.assumptions) assumed_.insert(one.text);
      for (const Grid& edge : grid.edges)
        for (const Block& block : edge.blocks)
          for (const Assumption& one : block.program.assumptions) assumed_.insert(one.text);
    }
    std::string body;
    for (std::size_t start = 0; start < unit->text.size();) {
      const std::size_t end = std::min(unit->text.find('\n', start), unit->text.size());
      const std::string line = unit->text.substr(start, end - start);
      start = end + 1;
      if (line.starts_with("#include"))
        includes_.insert(line);
      else
        body += line + "\n";
    }
    replace_all(body, "extern \"C\" ", "[[maybe_unused]] static ");
    spaces_ += fmt::format("namespace in_{0} {{\n\n{1}\n}}  // namespace in_{0}\n\n", made.function, body);
    made.function = fmt::format("in_{0}::{0}", unit->name);
    return {};
  }

  Diagnostics loops(const SymbolicPartProgram& part, SizedPart& made) {
    auto text = print_plain_loops(part.kernel, machine_, made.function, model_.strict_float, around_);
    if (!text) return text.diagnostics();
    const Kernel& kernel = part.kernel.sample;
    for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
      const Tensor& tensor = kernel.tensors[t];
      made.arguments.push_back({t, make_id<TensorId>(t), element_type(machine_, tensor.dtype),
                                role_of(kernel, make_id<TensorId>(t)) != Role::input, bytes(tensor.dtype)});
    }
    code_ += *text + "\n";
    return {};
  }

  std::string assumptions() const {
    std::string text;
    for (const std::string& one : assumed_) text += comment(one, " ");
    return text;
  }

  std::string size_checks() const {
    std::string text;
    const auto check = [&](const std::string& condition, const std::string& what, const std::string& value) {
      text +=
          fmt::format("  if ({}) {{\n    if (tell) std::fprintf(stderr, \"{}: {}\\n\", {});\n    return false;\n  }}\n",
                      condition, name_, what, value);
    };
    for (const SymbolicSize& size : model_.facts.sizes) {
      const std::string& name = names_.sizes.at(size.name);
      check(fmt::format("{0} < {1} || {0} > {2}", name, size.min, size.max),
            fmt::format("{} = %ld is not in {}..{}", size.name, size.min, size.max), name);
      if (size.multiple_of > 1)
        check(fmt::format("{} % {} != 0", name, size.multiple_of),
              fmt::format("{} = %ld is not a multiple of {}", size.name, size.multiple_of), name);
    }
    return text;
  }

  std::string slots_text() const {
    std::string text;
    for (std::size_t i = 0; i < model_.slots.size(); ++i) {
      text += fmt::format("  slots[{}] = end;\n  {{\n    std::size_t most = 0;\n", i);
      std::set<std::string> seen;
      for (const SymbolicPort& tensor : model_.slots[i].tensors)
        if (seen.insert(names_.bytes_of(tensor)).second)
          text += fmt::format("    if (const std::size_t n = {}; n > most) most = n;\n", names_.bytes_of(tensor));
      text += fmt::format("    end += (most + {0}) / {1} * {1};\n  }}\n", place_align - 1, place_align);
    }
    return text;
  }

  std::string shape_function(const char* kind, const std::vector<SymbolicPort>& ports) const {
    std::string cases;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      std::string list;
      for (std::size_t d = 0; d < ports[i].shape.size(); ++d)
        list += fmt::format("      if (shape != nullptr) shape[{}] = {};\n", d,
                            affine_text(ports[i].shape[d], names_.sizes));
      cases += fmt::format("    case {}:\n{}      return {};\n", i, list, ports[i].shape.size());
    }
    return fmt::format(
        "\nextern \"C\" int NAME_{}_shape(const NAME*, const std::int64_t* sizes, int number, std::int64_t* shape) {{\n"
        "  if (sizes == nullptr || !sizes_fit(sizes, false)) return -1;\n{}  switch (number) {{\n{}    default:\n      "
        "return -1;\n  }}\n}}\n",
        kind, names_.numbers(model_), cases);
  }

  std::string size_functions() const {
    return named(
        fmt::format("\nnamespace {{\n\nbool sizes_fit(const std::int64_t* sizes, bool tell) {{\n{}{}  (void)tell;\n  "
                    "return true;\n}}\n\n// Where the slots of the arena begin, and its bytes.\n"
                    "std::size_t place_slots(const std::int64_t* sizes, std::size_t* slots) {{\n{}"
                    "  std::size_t end = 0;\n{}  (void)slots;\n  return end;\n}}\n\n}}  // namespace\n",
                    names_.numbers(model_), size_checks(), names_.numbers(model_), slots_text()) +
        fmt::format("\nextern \"C\" std::size_t NAME_arena_bytes(const NAME*, const std::int64_t* sizes) {{\n"
                    "  std::size_t slots[{}];\n  if (sizes == nullptr || !sizes_fit(sizes, false)) return 0;\n"
                    "  const std::size_t bytes = place_slots(sizes, slots);\n  return bytes > 0 ? bytes : {};\n}}\n",
                    model_.slots.size() + 1, place_align) +
        shape_function("input", model_.inputs) + shape_function("output", model_.outputs));
  }

  std::string opening() const {
    OpeningText text;
    text.kind = ModelKind::sized;
    for (const SymbolicCall& call : model_.calls) text.part_names.push_back(call.name);
    text.weights_hash = fmt::format("{:#x}u", weights_hash(only_weights(model_)));
    text.weights_bytes = model_.weights.size();
    text.helpers = team_ ? static_cast<int>(threads_of(machine_)) - 1 : 0;
    return named(opening_text(text));
  }

  std::string header() const {
    const std::string guard = "ISAMAP_MODEL_" + upper(name_) + "_H";
    std::string text = fmt::format(
        "/* {}: a model, printed by isamap for {}, to be called from C and C++; belongs to whoever ran it.\n\n"
        "   Sizes of a call:\n",
        name_, machine_.name);
    for (std::size_t i = 0; i < model_.facts.sizes.size(); ++i)
      text += fmt::format("     {}: {}\n", i, comment_text(isamap::print(model_.facts.sizes[i])));
    text += ports("Inputs", model_.inputs, run_.inputs) + ports("Outputs", model_.outputs, run_.outputs) +
            fmt::format("*/\n#ifndef {0}\n#define {0}\n\n", guard) +
            fmt::format(
                "#define NAME_SIZES {}\n#define NAME_INPUTS {}\n#define NAME_OUTPUTS {}\n"
                "#define NAME_ARENA_ALIGN {}\n",
                model_.facts.sizes.size(), model_.inputs.size(), model_.outputs.size(), place_align);
    return named(text + "\n" + interface_text(ModelKind::sized));
  }

  const SymbolicModelProgram& model_;
  const HardwareModel& machine_;
  std::string name_;
  Surroundings around_;
  SizedNames names_;
  bool team_ = false;             ///< some part is distributed
  std::vector<SizedPart> parts_;  ///< by program
  std::string code_, spaces_;
  std::set<std::string> includes_, assumed_;
  SizedRun run_;
};

}  // namespace

Result<ModelUnit> print_symbolic_model(const SymbolicModelProgram& model, const HardwareModel& machine) {
  return SizedModelPrinter(model, machine).print();
}

std::string weights_file(const SymbolicModelProgram& model) { return weights_file(only_weights(model)); }

}  // namespace isamap
