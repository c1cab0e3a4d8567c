// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "backends/cpp/compiler.h"
#include "backends/cpp/emit_functions.h"
#include "backends/cpp/model/fixed_text.h"
#include "backends/cpp/model/model_text.h"
#include "backends/cpp/model/model_unit.h"
#include "backends/cpp/names.h"
#include "backends/cpp/team.h"
#include "backends/cpp/types.h"
#include "backends/cpp/versions.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

const char* const run_text = R"(
extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena) {
  if (model == nullptr || sizes != nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
CHECKS  char* const arena = static_cast<char*>(own_arena == nullptr ? model->arena : own_arena);
  const unsigned char* const weights = model->weights;
  (void)arena;
  (void)weights;
#ifdef NAME_PROFILE
  double begun = isamap_now();
#define NAME_COUNT(part) \
  if (own_arena == nullptr) { \
    const double now = isamap_now(); \
    model->seconds[part] += now - begun; \
    begun = now; \
  }
#define NAME_AFTER(part) \
  NAME_COUNT(part) \
  if (own_arena == nullptr) { \
    if (model->after != nullptr) model->after(model->user, part, arena); \
    begun = isamap_now(); \
  }
#else
#define NAME_COUNT(part)
#define NAME_AFTER(part)
#endif
CALLS  return NAME_ok;
}
)";

const char* const shared_run_text = R"(
namespace {

struct NAME_call {
  NAME* model;
  const void* const* inputs;
  void* const* outputs;
  char* arena;
  bool own_arena;
};

void NAME_parts(const void* given, isamap_member team, int from) {
  const NAME_call call = *static_cast<const NAME_call*>(given);
  NAME* const model = call.model;
  const void* const* const inputs = call.inputs;
  void* const* const outputs = call.outputs;
  char* const arena = call.arena;
  const unsigned char* const weights = model->weights;
  (void)inputs;
  (void)outputs;
  (void)arena;
  (void)weights;
#ifdef NAME_PROFILE
  double begun = isamap_now();
#define NAME_COUNT(part) \
  if (!call.own_arena && team.number == 0) { \
    const double now = isamap_now(); \
    model->seconds[part] += now - begun; \
    begun = now; \
  }
#define NAME_AFTER(part) \
  NAME_COUNT(part) \
  if (!call.own_arena) { \
    if (team.number == 0) { \
      if (model->after != nullptr) model->after(model->user, part, arena); \
      begun = isamap_now(); \
    } \
    if (model->after != nullptr) isamap_wait_for_all(team); \
  }
#else
#define NAME_COUNT(part)
#define NAME_AFTER(part)
#endif
  switch (from) {
CALLS  }
}

}  // namespace

extern "C" int NAME_run(NAME* model, const std::int64_t* sizes, const void* const* inputs, void* const* outputs,
                        void* own_arena) {
  if (model == nullptr || sizes != nullptr || inputs == nullptr || outputs == nullptr) return NAME_bad_argument;
CHECKS  const NAME_call call{model, inputs, outputs, static_cast<char*>(own_arena == nullptr ? model->arena : own_arena),
                       own_arena != nullptr};
  const isamap_member team = isamap_take(&model->team);
  NAME_parts(&call, team, 0);
  isamap_release(team);
  return NAME_ok;
}
)";

/// The main entry only: the file of weights holds the results of the other.
Result<TranslationUnit> print_part(Program program, const HardwareModel& machine, const std::string& name,
                                   Surroundings& around) {
  program.name = name;
  program.prepack.clear();
  around.team = threads_of(machine) > 1 && distributes(program.body, machine);
  if (around.team && asks_for_sizes(program, machine))
    return error(fmt::format("'{}': threads of machines whose sizes are read at run time have no program", name));
  return asks_for_sizes(program, machine) ? print_versions(program, machine, around)
                                          : print_functions(program, machine, name, "static", around);
}

class ModelPrinter {
 public:
  ModelPrinter(const ModelProgram& model, const HardwareModel& machine, std::size_t least_in_units)
      : model_(model), machine_(machine), least_in_units_(least_in_units), name_(entry_name(model.name)) {
    around_.from_caller = true;
    aligns_in_.resize(model.inputs.size(), 1);
    aligns_out_.resize(model.outputs.size(), 1);
  }

  Result<ModelUnit> print() {
    for (const Program& program : model_.programs) {
      distributed_.push_back(threads_of(machine_) > 1 && distributes(program.body, machine_));
      team_ |= distributed_.back();
    }
    if (auto problems = parts(); !problems.empty()) return problems;
    around_.includes.insert({"<cstdlib>", "<cstring>"});
    if (team_) around_.includes.insert("<atomic>");
    const std::string calls = run_entry();
    ModelUnit unit;
    unit.name = name_;
    unit.in_units = splits_into_units();
    const std::string rest = opening() + calls;
    const std::string code = (team_ ? named(team_text(machine_)) : "") +
                             (unit.in_units ? parts_in_units() + first_unit_only(rest) : all_parts() + rest);
    unit.text =
        comment(fmt::format("{}: printed by isamap for {}; belongs to whoever ran it\nneeds {}\n\nassumptions:\n"
                            "inputs, outputs and the arena do not overlap\n",
                            name_, machine_.name, needed_flags(machine_, team_ ? "-pthread" : "")),
                " ") +
        assumptions() + "\n#include \"" + name_ + ".h\"\n\n#include <fcntl.h>\n" +
        (team_ ? "#include <pthread.h>\n#include <sched.h>\n" : "") + "#include <sys/mman.h>\n" +
        "#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n\n" +
        surrounding_text(machine_, around_, code) + code;
    unit.header = fixed_header(model_, machine_.name, ModelKind::fixed, {aligns_in_, aligns_out_, model_.arena_align});
    unit.arena_bytes = model_.arena_bytes;
    return unit;
  }

 private:
  std::string named(std::string text) const {
    replace_all(text, "NAME", name_);
    return text;
  }

  Diagnostics parts() {
    for (std::size_t p = 0; p < model_.programs.size(); ++p) {
      const Program& program = model_.programs[p];
      auto unit = print_part(program, machine_, fmt::format("{}_part_{}", name_, p), around_);
      if (!unit) return unit.diagnostics();
      texts_.push_back(comment("\n" + isamap::print(program.kernel) + "\n" + program.schedule_text, " ") + unit->text +
                       "\n");
      units_.push_back(std::move(*unit));
      for (const Assumption& one : program.assumptions)
        if (std::find(assumed_.begin(), assumed_.end(), one.text) == assumed_.end()) assumed_.push_back(one.text);
    }
    return {};
  }

  std::string all_parts() const {
    std::string all;
    for (const std::string& text : texts_) all += text;
    return all;
  }

  bool splits_into_units() const {
    std::size_t size = 0;
    for (const std::string& text : texts_) size += text.size();
    return size >= least_in_units_ && texts_.size() > 1;
  }

  std::string first_unit_only(const std::string& text) const {
    return named("\n#if !defined(NAME_UNITS) || NAME_UNIT == 0\n") + text + "\n#endif\n";
  }

  /// Each part in one unit, the longest ones first in turn; the others declare it. A function that is not static (one
  /// with versions) is in the first.
  std::string parts_in_units() const {
    std::vector<std::size_t> order(texts_.size()), rank(texts_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return texts_[a].size() > texts_[b].size(); });
    for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
    std::string all = named(
        "// In several units, compiled side by side and linked: -DNAME_UNITS=N -DNAME_UNIT=0 to N-1 with -c.\n"
        "#ifdef NAME_UNITS\n#define NAME_LINKAGE __attribute__((visibility(\"hidden\")))\n#else\n"
        "#define NAME_LINKAGE static\n#endif\n\n");
    for (std::size_t p = 0; p < texts_.size(); ++p) {
      const std::string function = "static void " + units_[p].name + "(";
      const std::size_t at = texts_[p].find(function);
      if (at == std::string::npos) {
        all += first_unit_only(texts_[p]);
        continue;
      }
      std::string text = texts_[p];
      text.replace(at, std::string("static").size(), named("NAME_LINKAGE"));
      all += named(fmt::format("#if !defined(NAME_UNITS) || {} % NAME_UNITS == NAME_UNIT\n", rank[p])) + text +
             named("#else\nNAME_LINKAGE ") + declaration(p) + "#endif\n\n";
    }
    return all;
  }

  std::string declaration(std::size_t p) const {
    std::string list;
    for (const EntryArgument& a : units_[p].arguments)
      list += fmt::format("{}{}*, ", a.written ? "" : "const ", a.type);
    return fmt::format("void {}({}void*{});\n", units_[p].name, list,
                       distributed_[p] ? fmt::format(", const {}&", member_type) : "");
  }

  std::string assumptions() const {
    std::string text;
    for (const std::string& one : assumed_) text += comment(one, " ");
    return text;
  }

  std::string pointer(const ModelPlace& place) const {
    std::string rows = place.offset == 0 ? "" : fmt::format(" + {}", place.offset);
    if (place.step != 0) rows += fmt::format(" + {} * band", place.step);
    switch (place.in) {
      case ModelPlace::In::nowhere:
        return "nullptr";
      case ModelPlace::In::input:
        return fmt::format("{}inputs[{}]{}", rows.empty() ? "" : "(const char*)", place.at, rows);
      case ModelPlace::In::output:
        return fmt::format("{}outputs[{}]{}", rows.empty() ? "" : "(char*)", place.at, rows);
      case ModelPlace::In::arena:
        return fmt::format("arena + {}{}", place.at, rows);
      case ModelPlace::In::weights:
        return fmt::format("weights + {}{}", place.at, rows);
    }
    return "nullptr";
  }

  std::string call_text(const PartCall& call) {
    const TranslationUnit& unit = units_[call.program];
    std::string list;
    for (const EntryArgument& a : unit.arguments) {
      const ModelPlace& place = call.arguments[a.buffer.index()];
      const Buffer& buffer = model_.programs[call.program].buffers[a.buffer.index()];
      if (place.in == ModelPlace::In::input) widen(aligns_in_[static_cast<std::size_t>(place.at)], buffer);
      if (place.in == ModelPlace::In::output) widen(aligns_out_[static_cast<std::size_t>(place.at)], buffer);
      const std::string type = fmt::format("{}{}*", a.written ? "" : "const ", a.type);
      list += place.in == ModelPlace::In::nowhere ? fmt::format("static_cast<{}>(nullptr), ", type)
                                                  : fmt::format("({})({}), ", type, pointer(place));
    }
    return fmt::format("{}({}{}{});", unit.name, list, pointer(call.workspace),
                       distributed_[call.program] ? ", team" : "");
  }
  static void widen(std::int64_t& align, const Buffer& buffer) {
    align = std::max({align, buffer.align, std::int64_t{bytes(buffer.dtype)}});
  }

  std::string fill_text(const FilledTensor& fill) const {
    return fill_statement(fill.dtype, fill.value, pointer(fill.place), std::to_string(fill.count * bytes(fill.dtype)));
  }

  std::string step_text(const ModelBandStep& step, const std::string& indent) {
    return std::visit(overloaded{[&](const PartCall& call) {
                                   return fmt::format("{0}{1}  // {2}\n{0}NAME_COUNT({3})\n", indent, call_text(call),
                                                      comment_text(call.name), step.call);
                                 },
                                 [&](const FilledTensor& fill) { return fill_text(fill); },
                                 [&](const MovedRows& rows) {
                                   return fmt::format("{}std::memmove({}, {}, {});\n", indent, pointer(rows.to),
                                                      pointer(rows.from), rows.bytes);
                                 }},
                      step.is);
  }

  /// The loops of calls that run in bands of rows; `steps` are those of one loop.
  template <class Steps>
  std::string bands_text(const ModelBands& bands, const Steps& steps) {
    std::string text = fmt::format("  // bands of {} rows\n", bands.by);
    for (const ModelBandLoop& loop : bands.loops) {
      if (loop.times > 1) text += fmt::format("  for (std::ptrdiff_t band = 0; band < {}; ++band) {{\n", loop.times);
      text += steps(loop);
      if (loop.times > 1) text += "  }\n";
    }
    for (std::size_t c = bands.first; c < bands.first + bands.count; ++c) text += fmt::format("  NAME_AFTER({})\n", c);
    return text;
  }

  /// The bands that begin at this call; null: none do.
  const ModelBands* bands_at(std::size_t call) const {
    for (const ModelBands& bands : model_.bands)
      if (bands.first == call) return &bands;
    return nullptr;
  }

  /// The calls of one thread.
  std::string calls() {
    std::string text;
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      if (const ModelBands* bands = bands_at(c)) {
        text += bands_text(*bands, [&](const ModelBandLoop& loop) {
          std::string all;
          for (const ModelBandStep& step : loop.steps) all += step_text(step, "  ");
          return all;
        });
        c += bands->count - 1;
        continue;
      }
      for (const FilledTensor& fill : model_.calls[c].fill) text += fill_text(fill);
      text += fmt::format("  {}  // {}\n  NAME_AFTER({})\n", call_text(model_.calls[c]),
                          comment_text(model_.calls[c].name), c);
    }
    return text;
  }

  bool is_distributed(const ModelBandStep& step) const {
    const auto* call = std::get_if<PartCall>(&step.is);
    return call != nullptr && distributed_[call->program];
  }

  /// Steps of a member of a team. `alone`: were the last ones before the loop executed by one member? and behind it.
  std::string shared_steps(const ModelBandLoop& loop, bool& alone) {
    const std::string wait = fmt::format("    {}\n", wait_for_all);
    const bool repeats = loop.times > 1;
    bool one = alone || (repeats && !is_distributed(loop.steps.back()));
    std::string text;
    for (const ModelBandStep& step : loop.steps) {
      const bool all = is_distributed(step);
      if (all && one) text += wait;
      const std::string called = step_text(step, "    ");
      text += all ? called : "    if (team.number == 0) {\n" + called + "    }\n";
      one = !all;
    }
    alone = one;
    return text;
  }

  /// Those of a member of a team. The others begin at a distributed part; one member alone executes what is not
  /// distributed, and all wait before a part that is. Bands of which a part is distributed are one to begin at.
  std::string shared_calls() {
    const std::string first = "    if (team.number == 0) {\n", wait = fmt::format("    {}\n", wait_for_all);
    std::string text;
    bool alone = false;
    const auto begins = [&](std::size_t c, bool all) {
      if (c > 0 && all) text += "    [[fallthrough]];\n";
      if (c == 0 || all) text += fmt::format("  case {}:\n", c);
      if (all) text += fmt::format("    isamap_join(team, given, {}, {:.3g});\n", c, model_.calls[c].seconds);
    };
    for (std::size_t c = 0; c < model_.calls.size(); ++c) {
      if (const ModelBands* bands = bands_at(c)) {
        begins(c, std::any_of(bands->loops.begin(), bands->loops.end(), [&](const ModelBandLoop& loop) {
                 return std::any_of(loop.steps.begin(), loop.steps.end(),
                                    [&](const ModelBandStep& step) { return is_distributed(step); });
               }));
        text += bands_text(*bands, [&](const ModelBandLoop& loop) { return shared_steps(loop, alone); });
        c += bands->count - 1;
        continue;
      }
      const PartCall& call = model_.calls[c];
      const bool all = distributed_[call.program];
      std::string fill;
      for (const FilledTensor& one : call.fill) fill += fill_text(one);
      if (all && (alone || !fill.empty())) text += (fill.empty() ? "" : first + fill + "    }\n") + wait;
      begins(c, all);
      const std::string called = fmt::format("    {}  // {}\n", call_text(call), comment_text(call.name));
      text += (all ? called : first + fill + called + "    }\n") + fmt::format("    NAME_AFTER({})\n", c);
      alone = !all;
    }
    return text;
  }

  std::string run_entry() {
    std::string text = team_ ? shared_run_text : run_text;
    replace_all(text, "CALLS", team_ ? shared_calls() : calls());
    replace_all(text, "CHECKS", pointer_checks(aligns_in_, aligns_out_, model_.arena_align));
    return named(text);
  }

  std::string opening() const {
    const int helpers = team_ ? threads_of(machine_) - 1 : 0;
    return named(fixed_opening(model_, ModelKind::fixed, model_.arena_bytes, helpers));
  }

  const ModelProgram& model_;
  const HardwareModel& machine_;
  const std::size_t least_in_units_;
  std::string name_;
  Surroundings around_;
  std::vector<TranslationUnit> units_;  ///< by program
  std::vector<std::string> texts_;      ///< by program
  std::vector<std::string> assumed_;
  std::vector<std::int64_t> aligns_in_, aligns_out_;
  std::vector<bool> distributed_;  ///< by program: the team executes it
  bool team_ = false;
};

}  // namespace

Result<Workspace> workspace_of(const Program& part, const HardwareModel& machine) {
  Surroundings around;
  around.from_caller = true;
  const auto unit = print_part(part, machine, "part", around);
  if (!unit) return unit.diagnostics();
  return around.workspace;
}

Result<ModelUnit> print_model(const ModelProgram& model, const HardwareModel& machine, std::size_t least_in_units) {
  return ModelPrinter(model, machine, least_in_units).print();
}

}  // namespace isamap
