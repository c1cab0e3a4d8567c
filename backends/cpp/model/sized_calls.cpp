// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/sized_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_text.h"
#include "backends/cpp/model/run_text.h"
#include "backends/cpp/plain_loops.h"
#include "backends/cpp/text/names.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

class SizedCalls {
 public:
  SizedCalls(const SymbolicModelProgram& model, const std::vector<SizedPart>& parts, const SizedNames& names)
      : model_(model), parts_(parts), names_(names), team_(has_team(parts)) {
    made_.inputs.resize(model.inputs.size(), 1);
    made_.outputs.resize(model.outputs.size(), 1);
  }

  SizedRun run() {
    RunText run;
    run.kind = ModelKind::sized;
    run.team = team_;
    run.calls = all_calls();
    run.checks = pointer_checks(made_.inputs, made_.outputs, place_align);
    run.numbers = names_.numbers(model_);
    run.slots = model_.slots.size() + 1;
    run.fills = fills_before();
    made_.text = run_text(run);
    return std::move(made_);
  }

 private:
  /// With the rows of a band or the slice of a step, which a loop counts.
  std::string pointer(const SymbolicPlace& place) const {
    std::string rows;
    if (place.offset != 0) rows += fmt::format("{}", place.offset);
    if (place.step != 0) rows += fmt::format("{}{} * turn", rows.empty() ? "" : " + ", place.step);
    const bool sized =
        std::any_of(place.row.begin(), place.row.end(), [](const auto& e) { return e != AffineExpr(1); });
    if (!rows.empty())
      rows = sized ? fmt::format(" + ({}) * {}", rows, count_text(place.row, names_.sizes)) : " + " + rows;
    return pointer_text(place, fmt::format("slots[{}]", place.at), rows);
  }

  std::string call_text(const SymbolicCall& call) {
    const SizedPart& part = parts_[call.program];
    std::string list;
    for (const SizedArgument& a : part.arguments) {
      const SymbolicPlace& place = call.arguments[a.place];
      if (place.in == ModelPlace::In::input || place.in == ModelPlace::In::output) {
        auto& align =
            (place.in == ModelPlace::In::input ? made_.inputs : made_.outputs)[static_cast<std::size_t>(place.at)];
        align = std::max(align, a.align);
      }
      const std::string type = fmt::format("{}{}*", a.written ? "" : "const ", a.type);
      list += (list.empty() ? "" : ", ") + (place.in == ModelPlace::In::nowhere
                                                ? fmt::format("static_cast<{}>(nullptr)", type)
                                                : fmt::format("({})({})", type, pointer(place)));
    }
    if (part.sized)
      for (const SymbolicSize& size : model_.facts.sizes) list += ", " + names_.sizes.at(size.name);
    if (part.distributed) list += fmt::format(", {}", member_name);
    return fmt::format("{}({});", part.function, list);
  }

  std::string fill_text(const SymbolicFill& fill) const {
    return fill_statement(fill.tensor.dtype, fill.value, pointer(fill.place), names_.bytes_of(fill.tensor));
  }
  std::string fills_of(std::size_t c) const {
    std::string text;
    for (const SymbolicFill& fill : model_.calls[c].fill) text += fill_text(fill);
    return text;
  }

  /// Results of a call, for who observes it.
  std::string results_text(std::size_t c) const {
    std::string text;
    for (const SymbolicResult& result : model_.calls[c].results)
      text += fmt::format("  NAME_RESULT({}, {}, {})\n", c, pointer(result.place), names_.bytes_of(result.tensor));
    return text;
  }

  /// Around the call of a step.
  std::string loop_text(const TimeLoop& loop) const {
    const std::string steps = affine_text(loop.steps, names_.sizes);
    return loop.backward ? fmt::format("  for (long turn = {}; turn-- > 0;)\n  ", steps)
                         : fmt::format("  for (long turn = 0; turn < {}; ++turn)\n  ", steps);
  }

  /// One member of a team executes what is not distributed.
  std::string by_one(const std::string& text) const { return team_ && !text.empty() ? alone_text(text) : text; }
  bool is_distributed(const SymbolicCall& call) const { return parts_[call.program].distributed; }

  /// A call, with what is filled before it and its time.
  std::string part_text(std::size_t c, bool with_fills) {
    const SymbolicCall& call = model_.calls[c];
    std::string called;
    if (call.loop) called += loop_text(*call.loop);
    called += fmt::format("  {}  // {}\n", call_text(call), comment_text(call.name));
    std::string fills = with_fills ? fills_of(c) : "";
    if (is_distributed(call))
      fills = by_one(fills);
    else
      called = by_one(std::exchange(fills, "") + called);
    return fills + called + fmt::format("  NAME_COUNT({})\n", c);
  }

  std::string step_text(const SymbolicBandStep& step) {
    return std::visit(overloaded{[&](const SymbolicCall& call) {
                                   const std::string called =
                                       fmt::format("  {}  // {}\n", call_text(call), comment_text(call.name));
                                   return (is_distributed(call) ? called : by_one(called)) +
                                          fmt::format("  NAME_COUNT({})\n", step.call);
                                 },
                                 [&](const SymbolicFill& fill) { return by_one(fill_text(fill)); },
                                 [&](const SymbolicMove& move) {
                                   return by_one(fmt::format("  std::memmove({}, {}, {});\n", pointer(move.to),
                                                             pointer(move.from), names_.bytes_of(move.rows)));
                                 }},
                      step.is);
  }

  /// Loops of calls at sizes where a tensor between them is large, else one call after another.
  std::string bands_text(const SymbolicBands& bands) {
    std::string large;
    for (const SymbolicPort& tensor : bands.between)
      large += fmt::format("{}{} > {}", large.empty() ? "" : " || ", names_.bytes_of(tensor), bands.bytes);
    if (large.empty()) large = "true";
    std::string text = fmt::format("  if ({}) {{\n  // bands of {} rows\n", large, bands.by);
    for (const SymbolicBandLoop& loop : bands.loops) {
      if (loop.times > 1) text += fmt::format("  for (long turn = 0; turn < {}; ++turn) {{\n", loop.times);
      for (const SymbolicBandStep& step : loop.steps) text += step_text(step);
      if (loop.times > 1) text += "  }\n";
    }
    text += "  } else {\n";
    for (std::size_t c = bands.first; c < bands.first + bands.count; ++c) text += part_text(c, true);
    return text + "  }\n";
  }

  bool is_distributed(const SymbolicBands& bands) const {
    const auto steps = [&](const SymbolicBandLoop& loop) {
      return std::any_of(loop.steps.begin(), loop.steps.end(), [&](const SymbolicBandStep& step) {
        const auto* call = std::get_if<SymbolicCall>(&step.is);
        return call != nullptr && is_distributed(*call);
      });
    };
    bool found = std::any_of(bands.loops.begin(), bands.loops.end(), steps);
    for (std::size_t c = bands.first; c < bands.first + bands.count; ++c)
      found = found || is_distributed(model_.calls[c]);
    return found;
  }

  /// What is filled for the first call of a team, if it is one where the others begin: by the member that begins alone,
  /// in front of that place.
  std::string fills_before() const {
    const bool bands = !model_.bands.empty() && model_.bands.front().first == 0;
    if (!team_ || model_.calls.empty() || bands || !is_distributed(model_.calls[0])) return "";
    const std::string fills = fills_of(0);
    return fills.empty() ? "" : fmt::format("  if (from == 0 && {}.number == 0) {{\n{}  }}\n", member_name, fills);
  }

  /// Predicted at the sizes of the call, in proportion to the points of its statements; empty: unknown.
  std::string seconds_text(const SymbolicCall& call) const {
    const SymbolicKernel& kernel = model_.programs[call.program].kernel;
    double points = 0;  // at the sizes of the prediction
    std::string text;
    for (const SymbolicStatement& statement : kernel.statements) {
      double of_statement = 1;
      for (const AffineExpr& extent : statement.extents)
        of_statement *= static_cast<double>(evaluate(extent, kernel.at));
      points += of_statement;
      text += (text.empty() ? "" : " + ") + count_text(statement.extents, names_.sizes);
    }
    if (call.seconds == 0 || points == 0) return "";
    if (call.loop) text = fmt::format("({}) * ({})", text, affine_text(call.loop->steps, names_.sizes));
    return fmt::format("{:.3g} * static_cast<double>({})", call.seconds / points, text);
  }

  std::string join_text(std::size_t c) const {
    const std::string seconds = seconds_text(model_.calls[c]);
    if (seconds.empty()) return fmt::format("  isamap_join({}, given, {}, 0);\n", member_name, c);
    return fmt::format("  isamap_join({}, given, {}, {}, {:.3g});\n", member_name, c, seconds, model_.start);
  }

  /// Of a team: the first call, and those where the other members may begin.
  std::string place_to_begin(std::size_t c, bool all) const {
    if (!team_ || (c > 0 && !all)) return "";
    std::string text = fmt::format("{}  case {}:\n", c > 0 ? "  [[fallthrough]];\n" : "", c);
    if (all) text += join_text(c);
    return text;
  }

  std::string all_calls() {
    std::string text;
    auto bands = model_.bands.begin();
    for (std::size_t c = 0; c < model_.calls.size();) {
      const bool begins = bands != model_.bands.end() && bands->first == c;
      const std::size_t count = begins ? bands->count : 1;
      const bool all = begins ? is_distributed(*bands) : is_distributed(model_.calls[c]);
      const bool fills_first = team_ && all && !begins;  // in front of the place where the others begin
      if (fills_first && c > 0) text += by_one(fills_of(c));
      text += place_to_begin(c, all);
      text += begins ? bands_text(*bands++) : part_text(c, !fills_first);
      for (const std::size_t end = c + count; c < end; ++c) text += results_text(c);
    }
    return text;
  }

  const SymbolicModelProgram& model_;
  const std::vector<SizedPart>& parts_;  ///< by program
  const SizedNames& names_;
  bool team_;
  SizedRun made_;
};

}  // namespace

std::string SizedNames::numbers(const SymbolicModelProgram& model) const {
  std::string text;
  for (std::size_t i = 0; i < model.facts.sizes.size(); ++i)
    text += fmt::format("  [[maybe_unused]] const long {} = sizes[{}];\n", sizes.at(model.facts.sizes[i].name), i);
  return text;
}

std::string SizedNames::bytes_of(const SymbolicPort& tensor) const {
  return fmt::format("static_cast<std::size_t>({}) * {}", count_text(tensor.shape, sizes), bytes(tensor.dtype));
}

bool has_team(const std::vector<SizedPart>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const SizedPart& part) { return part.distributed; });
}

SizedRun run_at_sizes(const SymbolicModelProgram& model, const std::vector<SizedPart>& parts, const SizedNames& names) {
  return SizedCalls(model, parts, names).run();
}

}  // namespace isamap
