// SPDX-License-Identifier: Apache-2.0
#include "backends/cpp/model/fixed_calls.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpp/function/team.h"
#include "backends/cpp/model/model_text.h"
#include "backends/cpp/model/run_text.h"
#include "backends/cpp/text/names.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

std::string pointer(const ModelPlace& place) {
  std::string rows = place.offset == 0 ? "" : fmt::format(" + {}", place.offset);
  if (place.step != 0) rows += fmt::format(" + {} * band", place.step);
  return pointer_text(place, std::to_string(place.at), rows);
}

std::string part_call(const PartCall& call, const std::vector<FixedPart>& parts) {
  const TranslationUnit& unit = parts[call.program].unit;
  std::string list;
  for (const EntryArgument& a : unit.arguments) {
    const ModelPlace& place = call.arguments[a.buffer.index()];
    const std::string type = fmt::format("{}{}*", a.written ? "" : "const ", a.type);
    list += place.in == ModelPlace::In::nowhere ? fmt::format("static_cast<{}>(nullptr), ", type)
                                                : fmt::format("({})({}), ", type, pointer(place));
  }
  return fmt::format("{}({}{}{});", unit.name, list, pointer(call.workspace),
                     parts[call.program].distributed ? ", team" : "");
}

std::string fill_text(const FilledTensor& fill) {
  return fill_statement(fill.dtype, fill.value, pointer(fill.place), std::to_string(fill.count * bytes(fill.dtype)));
}

std::string step_text(const ModelBandStep& step, const std::vector<FixedPart>& parts, const std::string& indent) {
  return std::visit(overloaded{[&](const PartCall& call) {
                                 return fmt::format("{0}{1}  // {2}\n{0}NAME_COUNT({3})\n", indent,
                                                    part_call(call, parts), comment_text(call.name), step.call);
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
const ModelBands* bands_at(const ModelProgram& model, std::size_t call) {
  for (const ModelBands& bands : model.bands)
    if (bands.first == call) return &bands;
  return nullptr;
}

/// The calls of one thread.
std::string calls_of_thread(const ModelProgram& model, const std::vector<FixedPart>& parts) {
  std::string text;
  for (std::size_t c = 0; c < model.calls.size(); ++c) {
    if (const ModelBands* bands = bands_at(model, c)) {
      text += bands_text(*bands, [&](const ModelBandLoop& loop) {
        std::string all;
        for (const ModelBandStep& step : loop.steps) all += step_text(step, parts, "  ");
        return all;
      });
      c += bands->count - 1;
      continue;
    }
    for (const FilledTensor& fill : model.calls[c].fill) text += fill_text(fill);
    text += fmt::format("  {}  // {}\n  NAME_AFTER({})\n", part_call(model.calls[c], parts),
                        comment_text(model.calls[c].name), c);
  }
  return text;
}

bool is_distributed(const ModelBandStep& step, const std::vector<FixedPart>& parts) {
  const auto* call = std::get_if<PartCall>(&step.is);
  return call != nullptr && parts[call->program].distributed;
}

/// Steps of a member of a team. `alone`: were the last ones before the loop executed by one member? and behind it.
std::string shared_steps(const ModelBandLoop& loop, const std::vector<FixedPart>& parts, bool& alone) {
  const std::string wait = fmt::format("    {}\n", wait_for_all);
  const bool repeats = loop.times > 1;
  bool one = alone || (repeats && !is_distributed(loop.steps.back(), parts));
  std::string text;
  for (const ModelBandStep& step : loop.steps) {
    const bool all = is_distributed(step, parts);
    if (all && one) text += wait;
    const std::string called = step_text(step, parts, "    ");
    text += all ? called : "    if (team.number == 0) {\n" + called + "    }\n";
    one = !all;
  }
  alone = one;
  return text;
}

/// What is filled for the first call of a team, if that is distributed: by the member that begins alone, in front of
/// the place where the others begin.
std::string fills_before(const ModelProgram& model, const std::vector<FixedPart>& parts) {
  if (model.calls.empty() || bands_at(model, 0) || !parts[model.calls[0].program].distributed) return "";
  std::string fill;
  for (const FilledTensor& one : model.calls[0].fill) fill += fill_text(one);
  return fill.empty() ? "" : "  if (from == 0 && team.number == 0) {\n" + fill + "  }\n";
}

/// Those of a member of a team. The others begin at a distributed part; one member alone executes what is not
/// distributed, and all wait before a part that is. Bands of which a part is distributed are one to begin at.
std::string calls_of_member(const ModelProgram& model, const std::vector<FixedPart>& parts) {
  const std::string first = "    if (team.number == 0) {\n", wait = fmt::format("    {}\n", wait_for_all);
  std::string text;
  bool alone = false;
  const auto begins = [&](std::size_t c, bool all) {
    if (c > 0 && all) text += "    [[fallthrough]];\n";
    if (c == 0 || all) text += fmt::format("  case {}:\n", c);
    if (all) text += fmt::format("    isamap_join(team, given, {}, {:.3g});\n", c, model.calls[c].seconds);
  };
  for (std::size_t c = 0; c < model.calls.size(); ++c) {
    if (const ModelBands* bands = bands_at(model, c)) {
      begins(c, std::any_of(bands->loops.begin(), bands->loops.end(), [&](const ModelBandLoop& loop) {
               return std::any_of(loop.steps.begin(), loop.steps.end(),
                                  [&](const ModelBandStep& step) { return is_distributed(step, parts); });
             }));
      text += bands_text(*bands, [&](const ModelBandLoop& loop) { return shared_steps(loop, parts, alone); });
      c += bands->count - 1;
      continue;
    }
    const PartCall& call = model.calls[c];
    const bool all = parts[call.program].distributed;
    std::string fill;
    for (const FilledTensor& one : call.fill) fill += fill_text(one);
    if (c == 0 && all) fill.clear();  // fills_before
    if (all && (alone || !fill.empty())) text += (fill.empty() ? "" : first + fill + "    }\n") + wait;
    begins(c, all);
    const std::string called = fmt::format("    {}  // {}\n", part_call(call, parts), comment_text(call.name));
    text += (all ? called : first + fill + called + "    }\n") + fmt::format("    NAME_AFTER({})\n", c);
    alone = !all;
  }
  return text;
}

}  // namespace

PointerAlignments pointer_alignments(const ModelProgram& model, const std::vector<FixedPart>& parts) {
  PointerAlignments aligns{std::vector<std::int64_t>(model.inputs.size(), 1),
                           std::vector<std::int64_t>(model.outputs.size(), 1), model.arena_align};
  const auto widen = [](std::int64_t& align, const Buffer& buffer) {
    align = std::max({align, buffer.align, std::int64_t{bytes(buffer.dtype)}});
  };
  const auto add = [&](const PartCall& call) {
    for (const EntryArgument& a : parts[call.program].unit.arguments) {
      const ModelPlace& place = call.arguments[a.buffer.index()];
      const Buffer& buffer = model.programs[call.program].buffers[a.buffer.index()];
      if (place.in == ModelPlace::In::input) widen(aligns.inputs[static_cast<std::size_t>(place.at)], buffer);
      if (place.in == ModelPlace::In::output) widen(aligns.outputs[static_cast<std::size_t>(place.at)], buffer);
    }
  };
  for (std::size_t c = 0; c < model.calls.size(); ++c) {
    const ModelBands* bands = bands_at(model, c);
    if (bands == nullptr) {
      add(model.calls[c]);
      continue;
    }
    for (const ModelBandLoop& loop : bands->loops)
      for (const ModelBandStep& step : loop.steps)
        if (const auto* call = std::get_if<PartCall>(&step.is)) add(*call);
    c += bands->count - 1;
  }
  return aligns;
}

std::string run_function(const ModelProgram& model, const FixedParts& parts, const PointerAlignments& aligns) {
  RunText run;
  run.team = parts.team;
  run.checks = pointer_checks(aligns.inputs, aligns.outputs, aligns.arena);
  if (parts.team) run.fills = fills_before(model, parts.parts);
  run.calls = parts.team ? calls_of_member(model, parts.parts) : calls_of_thread(model, parts.parts);
  return run_text(run);
}

}  // namespace isamap
