// SPDX-License-Identifier: Apache-2.0
// isamap evaluate: the cost of a hand-written schedule, memory by memory.

#include <fmt/format.h>

#include <algorithm>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/cost_choice.h"
#include "cli/extras.h"
#include "cli/json.h"
#include "cli/sizes.h"
#include "hwdesc/model/timing_choice.h"
#include "isamap/compile.h"
#include "isamap/scheduler.h"

namespace isamap::cli {
namespace {

std::string text_of(const Evaluation& evaluation) {
  std::vector<std::vector<std::string>> rows{{"memory", "tensor", "instances", "tile", "reads", "fills", "updates"}};
  for (const auto& [memory, tensors] : evaluation.total.memories)
    for (const auto& [tensor, t] : tensors)
      rows.push_back({memory, tensor, std::to_string(t.instances), std::to_string(t.tile), std::to_string(t.reads),
                      std::to_string(t.fills), std::to_string(t.updates)});
  return table(rows) + fmt::format("{} cycles, {} pJ\n", evaluation.total.cycles, evaluation.total.energy_pJ);
}

/// Besides the cycles with perfect overlap: those of the formula with fill and drain, and of the event simulation. The
/// formula does not model waves of thread blocks, so it is omitted for machines with thread blocks.
std::string more_cycles(const Extras& extras, const std::string& cost, const HardwareModel& model) {
  const bool blocks = std::any_of(model.units().begin(), model.units().end(),
                                  [](const Unit& unit) { return unit.queued && !unit.index.empty(); });
  double latency = 0, fill = 0, drain = 0, simulated = 0;
  for (const CostReport& e : extras.statements) {
    latency += e.latency_cycles;
    fill += e.times.fill;
    drain += e.times.drain;
  }
  for (const Timeline& t : extras.timelines) simulated += t.simulated.cycles;
  std::string text = cost == "latency" || blocks
                         ? ""
                         : fmt::format("{} cycles with fill ({}), drain ({}) and buffers\n", latency, fill, drain);
  if (!extras.timelines.empty() && cost != "simulator") text += fmt::format("{} cycles simulated\n", simulated);
  return text;
}

Exit verb_evaluate(const Options& options) {
  Exit code = Exit::ok;
  if (const auto sizes = several_sizes(options, code)) return evaluate_sizes(options, *sizes);
  if (code != Exit::ok) return code;
  const auto inputs = load_inputs(options, code);
  if (!inputs) return code;
  const auto& [kernel, model] = *inputs;
  const auto schedule = load_schedule(options.schedule_file, kernel, model);
  if (!schedule) return fail(Exit::wrong_input, schedule.diagnostics());
  const Diagnostics problems = verify(*schedule, kernel, model);
  if (has_errors(problems)) return fail(Exit::wrong_input, problems);
  const auto costs = cost_models(options, model, code);
  if (!costs) return code;
  const auto evaluation = evaluate(*schedule, kernel, model, *costs);
  if (!evaluation)  // where a cost model of the user's fails, the schedule is not at fault
    return fail(has_errors(costs->problems()) ? Exit::limit : Exit::wrong_input, evaluation.diagnostics());
  // If moves are instructions a schedule is legal if it lowers; other machines are only priced.
  if (issues_moves(model))
    if (const auto program = lower(*schedule, kernel, model); !program)
      return fail(Exit::wrong_input, program.diagnostics());
  const auto extras = extras_of(options, {*schedule, print(*schedule), std::nullopt}, kernel, model, code);
  if (!extras) return code;
  if (options.json)
    return deliver(options, json_of_evaluate(*evaluation, options.cost, extras->statements, extras->timelines));
  return deliver(options, text_of(*evaluation) + more_cycles(*extras, options.cost, model) + extras->text);
}

}  // namespace

std::vector<VerbRow> verbs_evaluate() {
  return {{260, "evaluate", "the cost of a schedule",
           [](Flags& flags) {
             flags.kernel();
             flags.target();
             flags.cost_and_pictures();
             flags.text("--schedule", flags.options.schedule_file, "schedule file").required();
             flags.no_reorder();
           },
           verb_evaluate}};
}

}  // namespace isamap::cli
