// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/sized_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "backends/cpp/compile/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/model/model_text.h"
#include "backends/cpp/plain_loops.h"
#include "backends/cpp/symbolic/symbolic_unit.h"
#include "backends/cpp/text/names.h"
#include "backends/cpp/text/types.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

ModelProgram only_weights(const SymbolicModelProgram& model) {
  ModelProgram weights;
  weights.weights = model.weights;
  return weights;
}

/// A pointer argument of a part: its place among SymbolicCall::arguments.
struct SizedArgument {
  std::size_t place = 0;
  TensorId tensor;  ///< none: packed ahead of time
  std::string type;
  bool written = false;
  std::int64_t align = 1;
};

struct SizedPart {
  std::string function;
  std::vector<SizedArgument> arguments;
  bool sized = true;  ///< the sizes follow the pointers
};

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

/// With the rows of a band or the slice of a step, which a loop counts.
std::string place_text(const SymbolicPlace& place, const std::map<std::string, std::string>& sizes) {
  std::string rows;
  if (place.offset != 0) rows += fmt::format("{}", place.offset);
  if (place.step != 0) rows += fmt::format("{}{} * turn", rows.empty() ? "" : " + ", place.step);
  const bool sized = std::any_of(place.row.begin(), place.row.end(), [](const auto& e) { return e != AffineExpr(1); });
  if (!rows.empty()) rows = sized ? fmt::format(" + ({}) * {}", rows, count_text(place.row, sizes)) : " + " + rows;
  return pointer_text(place, fmt::format("slots[{}]", place.at), rows);
}

class SizedModelPrinter {
 public:
  SizedModelPrinter(const SymbolicModelProgram& model, const HardwareModel& machine)
      : model_(model), machine_(machine), name_(model_name(model.name)) {
    aligns_in_.resize(model.inputs.size(), 1);
    aligns_out_.resize(model.outputs.size(), 1);
    for (const SymbolicSize& size : model.facts.sizes) sizes_[size.name] = names_.unique("n_" + identifier(size.name));
  }

  Result<ModelUnit> print() {
    for (std::size_t p = 0; p < model_.programs.size(); ++p)
      if (auto problems = part(p); !problems.empty()) return problems;
    around_.includes.insert({"<cstdlib>", "<cstring>", "<cstdio>"});
    const std::string calls = run_entry();
    const std::string code = affine_helpers() + code_ + spaces_ + opening() + size_functions() + calls;
    ModelUnit unit;
    unit.name = name_;
    unit.text = comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it\nneeds {}\n\nfor {}\n"
                                    "\nassumptions:\ninputs, outputs and the arena do not overlap\n",
                                    name_, machine_.name, needed_flags(machine_), isamap::print(model_.facts)),
                        " ") +
                assumptions() + "\n#include \"" + name_ + ".h\"\n\n#include <fcntl.h>\n#include <sys/mman.h>\n" +
                "#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n\n";
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
    SizedPart made{fmt::format("{}_part_{}", name_, p), {}, true};
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
    auto unit = print_functions(program, machine_, made.function, "static", around_);
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
    auto unit = print_symbolic_cpp(renamed, machine_);
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

  std::string pointer(const SymbolicPlace& place) const { return place_text(place, sizes_); }

  std::string call_text(const SymbolicCall& call) {
    const SizedPart& part = parts_[call.program];
    std::string list;
    for (const SizedArgument& a : part.arguments) {
      const SymbolicPlace& place = call.arguments[a.place];
      if (place.in == ModelPlace::In::input || place.in == ModelPlace::In::output) {
        auto& align =
            (place.in == ModelPlace::In::input ? aligns_in_ : aligns_out_)[static_cast<std::size_t>(place.at)];
        align = std::max(align, a.align);
      }
      const std::string type = fmt::format("{}{}*", a.written ? "" : "const ", a.type);
      list += (list.empty() ? "" : ", ") + (place.in == ModelPlace::In::nowhere
                                                ? fmt::format("static_cast<{}>(nullptr)", type)
                                                : fmt::format("({})({})", type, pointer(place)));
    }
    if (part.sized)
      for (const SymbolicSize& size : model_.facts.sizes) list += ", " + sizes_.at(size.name);
    return fmt::format("{}({});", part.function, list);
  }

  std::string bytes_text(const SymbolicPort& tensor) const {
    return fmt::format("static_cast<std::size_t>({}) * {}", count_text(tensor.shape, sizes_), bytes(tensor.dtype));
  }

  std::string fill_text(const SymbolicFill& fill) const {
    return fill_statement(fill.tensor.dtype, fill.value, pointer(fill.place), bytes_text(fill.tensor));
  }

  /// Results of a call, for who observes it.
  std::string results_text(std::size_t c) const {
    std::string text;
    for (const SymbolicResult& result : model_.calls[c].results)
      text += fmt::format("  NAME_RESULT({}, {}, {})\n", c, pointer(result.place), bytes_text(result.tensor));
    return text;
  }

  /// Around the call of a step.
  std::string loop_text(const TimeLoop& loop) const {
    const std::string steps = affine_text(loop.steps, sizes_);
    return loop.backward ? fmt::format("  for (long turn = {}; turn-- > 0;)\n  ", steps)
                         : fmt::format("  for (long turn = 0; turn < {}; ++turn)\n  ", steps);
  }

  /// One after another, with their times.
  std::string calls_text(std::size_t first, std::size_t count) {
    std::string text;
    for (std::size_t c = first; c < first + count; ++c) {
      for (const SymbolicFill& fill : model_.calls[c].fill) text += fill_text(fill);
      if (const auto& loop = model_.calls[c].loop) text += loop_text(*loop);
      text += fmt::format("  {}  // {}\n  NAME_AFTER({})\n", call_text(model_.calls[c]),
                          comment_text(model_.calls[c].name), c);
    }
    return text;
  }

  std::string step_text(const SymbolicBandStep& step) {
    return std::visit(overloaded{[&](const SymbolicCall& call) {
                                   return fmt::format("  {}  // {}\n  NAME_AFTER({})\n", call_text(call),
                                                      comment_text(call.name), step.call);
                                 },
                                 [&](const SymbolicFill& fill) { return fill_text(fill); },
                                 [&](const SymbolicMove& move) {
                                   return fmt::format("  std::memmove({}, {}, {});\n", pointer(move.to),
                                                      pointer(move.from), bytes_text(move.rows));
                                 }},
                      step.is);
  }

  /// Loops of calls at sizes where a tensor between them is large, else one call after another.
  std::string bands_text(const SymbolicBands& bands) {
    std::string large;
    for (const SymbolicPort& tensor : bands.between)
      large += fmt::format("{}{} > {}", large.empty() ? "" : " || ", bytes_text(tensor), bands.bytes);
    if (large.empty()) large = "true";
    std::string text = fmt::format("  if ({}) {{\n  // bands of {} rows\n", large, bands.by);
    for (const SymbolicBandLoop& loop : bands.loops) {
      if (loop.times > 1) text += fmt::format("  for (long turn = 0; turn < {}; ++turn) {{\n", loop.times);
      for (const SymbolicBandStep& step : loop.steps) text += step_text(step);
      if (loop.times > 1) text += "  }\n";
    }
    return text + "  } else {\n" + calls_text(bands.first, bands.count) + "  }\n";
  }

  std::string all_calls() {
    std::string text;
    auto bands = model_.bands.begin();
    for (std::size_t c = 0; c < model_.calls.size();) {
      const bool begins = bands != model_.bands.end() && bands->first == c;
      const std::size_t count = begins ? bands->count : 1;
      text += begins ? bands_text(*bands++) : calls_text(c, 1);
      for (const std::size_t end = c + count; c < end; ++c) text += results_text(c);
    }
    return text;
  }

  std::string run_entry() {
    const std::string calls = all_calls();
    return named(fmt::format(R"(
extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena) {{
  if (model == nullptr || sizes == nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
{}  if (!sizes_fit(sizes, true)) return NAME_wrong_size;
{}  std::size_t slots[{}];
  const std::size_t bytes = place_slots(sizes, slots);
  if (own_arena == nullptr && !grow(model, bytes)) return NAME_no_memory;
  char* const arena = static_cast<char*>(own_arena == nullptr ? model->arena : own_arena);
  const unsigned char* const weights = model->weights;
  (void)arena;
  (void)weights;
#ifdef NAME_PROFILE
  double begun = isamap_now();
#define NAME_AFTER(part) \
  if (own_arena == nullptr) {{ \
    const double now = isamap_now(); \
    model->seconds[part] += now - begun; \
    begun = now; \
  }}
#define NAME_RESULT(part, at, bytes) \
  if (own_arena == nullptr && model->after != nullptr) model->after(model->user, part, at, bytes); \
  begun = isamap_now();
#else
#define NAME_AFTER(part)
#define NAME_RESULT(part, at, bytes)
#endif
{}  return NAME_ok;
}}
)",
                             pointer_checks(aligns_in_, aligns_out_, place_align), numbers(), model_.slots.size() + 1,
                             calls));
  }

  /// The sizes of a call by their names.
  std::string numbers() const {
    std::string text;
    for (std::size_t i = 0; i < model_.facts.sizes.size(); ++i)
      text += fmt::format("  [[maybe_unused]] const long {} = sizes[{}];\n", sizes_.at(model_.facts.sizes[i].name), i);
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
      const std::string& name = sizes_.at(size.name);
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
        if (seen.insert(bytes_text(tensor)).second)
          text += fmt::format("    if (const std::size_t n = {}; n > most) most = n;\n", bytes_text(tensor));
      text += fmt::format("    end += (most + {0}) / {1} * {1};\n  }}\n", place_align - 1, place_align);
    }
    return text;
  }

  std::string shape_function(const char* kind, const std::vector<SymbolicPort>& ports) const {
    std::string cases;
    for (std::size_t i = 0; i < ports.size(); ++i) {
      std::string list;
      for (std::size_t d = 0; d < ports[i].shape.size(); ++d)
        list += fmt::format("      if (shape != nullptr) shape[{}] = {};\n", d, affine_text(ports[i].shape[d], sizes_));
      cases += fmt::format("    case {}:\n{}      return {};\n", i, list, ports[i].shape.size());
    }
    return fmt::format(
        "\nextern \"C\" int NAME_{}_shape(const NAME*, const std::int64_t* sizes, int number, std::int64_t* shape) {{\n"
        "  if (sizes == nullptr || !sizes_fit(sizes, false)) return -1;\n{}  switch (number) {{\n{}    default:\n      "
        "return -1;\n  }}\n}}\n",
        kind, numbers(), cases);
  }

  std::string size_functions() const {
    return named(
        fmt::format("\nnamespace {{\n\nbool sizes_fit(const std::int64_t* sizes, bool tell) {{\n{}{}  (void)tell;\n  "
                    "return true;\n}}\n\n// Where the slots of the arena begin, and its bytes.\n"
                    "std::size_t place_slots(const std::int64_t* sizes, std::size_t* slots) {{\n{}"
                    "  std::size_t end = 0;\n{}  (void)slots;\n  return end;\n}}\n\n}}  // namespace\n",
                    numbers(), size_checks(), numbers(), slots_text()) +
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
    text += ports("Inputs", model_.inputs, aligns_in_) + ports("Outputs", model_.outputs, aligns_out_) +
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
  Names names_;
  std::map<std::string, std::string> sizes_;
  std::vector<SizedPart> parts_;  ///< by program
  std::string code_, spaces_;
  std::set<std::string> includes_, assumed_;
  std::vector<std::int64_t> aligns_in_, aligns_out_;
};

}  // namespace

Result<ModelUnit> print_symbolic_model(const SymbolicModelProgram& model, const HardwareModel& machine) {
  return SizedModelPrinter(model, machine).print();
}

std::string weights_file(const SymbolicModelProgram& model) { return weights_file(only_weights(model)); }

}  // namespace isamap
