// SPDX-License-Identifier: Apache-2.0
// isamap schedule: the best schedule of a search, and its cost.

#include <fmt/format.h>

#include <sstream>

#include "cli/command_line.h"
#include "cli/compile_verb.h"
#include "cli/extras.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/scalar_code.h"
#include "cli/search_answer.h"
#include "cli/sizes.h"
#include "cli/symbolic_verbs.h"
#include "driver/runner_up.h"
#include "ir/verify/recurrence.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "scheduler/schedule_exact.h"

namespace isamap::cli {
namespace {

/// As comment lines, so that the output is a valid schedule file.
std::string comments_of(const std::string& lines) {
  std::istringstream text(lines);
  std::string comments;
  for (std::string line; std::getline(text, line);) comments += "# " + line + "\n";
  return comments;
}

std::string text_of(const ScheduleAnswer& answer) {
  const Scheduled& found = answer.scheduled;
  return fmt::format("{}\n# {} cycles, {} pJ, {} bytes over links; bound by {}; {} evaluations{}\n{}",
                     answer.text.empty() ? print(found.schedule) : answer.text, short_number(found.cost.cycles),
                     short_number(found.cost.energy_pJ), short_number(found.cost.bytes),
                     found.cost.bound.empty() ? "nothing" : found.cost.bound, found.evaluations,
                     answer.certified ? "; no schedule of the space is better" : "",
                     comments_of(answer.splits + scalar_code_text(answer.scalar)));
}

/// With the output of --explain, --report and --trace; `second` is evaluated only for these.
SearchAnswer finished(const Options& options, ScheduleAnswer& answer, const Inputs& inputs, Exit code,
                      const std::function<std::optional<RunnerUp>()>& second) {
  std::string more;
  answer.cost_model = options.cost;
  if (answer.scheduled.stopped)
    tell(fmt::format("interrupted: the best of {} evaluations", answer.scheduled.evaluations));
  if (options.explain || !options.report.empty() || !options.trace.empty()) {
    const Schedule& schedule = answer.scheduled.schedule;
    Exit problem = Exit::ok;
    const auto extras = extras_of(options, {schedule, answer.text.empty() ? print(schedule) : answer.text, second()},
                                  inputs.kernel, inputs.model, problem);
    if (!extras) return {"", problem};
    more = extras->text;
  }
  return {options.json ? json_of_schedule(answer) : text_of(answer) + more, code};
}

/// The exact search, for machines that are priced but not programmed. Nothing: not applicable; --strategy exact reports
/// most of the reasons. It has no trials for a store.
std::optional<SearchAnswer> by_exact_search(const Options& options, const Inputs& inputs) {
  const bool requested = options.schedule.strategy == "exact";
  const auto refused = [&](const std::string& why, const std::string& hint) {
    return requested ? std::optional(SearchAnswer{"", fail(Exit::usage, why, hint)}) : std::nullopt;
  };
  if (!options.lab.store.empty())
    return refused("the exact search has no trials that --store could record",
                   "any other --strategy has; docs/laboratory.md lists them");
  if (!options.schedule_file.empty() || (options.strategy_given && !requested)) return {};
  if (options.cost != "closed_form")
    return refused("the exact search uses the closed form; --cost " + options.cost + " is for strategies",
                   "leave --strategy out");
  const auto mapped = enumerate_mappings(inputs.kernel, inputs.model, options.map);
  if (!mapped) return {};
  if (const Diagnostics refusals = exact_search_refusal(inputs.kernel, *mapped, inputs.model); !refusals.empty()) {
    if (!requested) return {};
    const Exit code = mapped->mappings.empty() && !mapped->limit_reached ? Exit::no_answer : Exit::usage;
    return SearchAnswer{"", fail_after_start(options, code, refusals, inputs, *mapped)};
  }
  ScheduleOptions used = schedule_options(options, inputs.model);
  used.progress = search_progress();
  ExactLimits limits;
  limits.max_seconds = used.max_seconds;
  if (options.evaluations_given) limits.max_evaluations = used.max_evaluations;
  if (!options.certify && !options.evaluations_given && used.max_seconds <= 0) limits.max_nodes = usual_nodes;
  bool proved = false;
  auto found = schedule_exactly(inputs.kernel, *mapped, inputs.model, used, limits, &proved);
  if (!found)
    return SearchAnswer{
        "", fail_after_start(options, proved ? Exit::no_answer : Exit::limit, found.diagnostics(), inputs, *mapped)};
  ScheduleAnswer answer;
  answer.objective = used.objective;
  answer.scheduled = std::move(found->scheduled);
  answer.text = std::move(found->text);
  answer.counts = found->counts;
  answer.seed = options.seed;
  answer.certified = found->certified;
  answer.lower_bound = found->lower_bound;
  const double best = value(answer.scheduled.cost, used.objective);
  answer.gap = best > 0 ? (best - found->lower_bound) / best : 0;
  Exit code = Exit::ok;
  if (answer.certified) {
    answer.lower_bound = best;
    answer.gap = 0;
  } else if (options.certify) {
    answer.problems = {
        error(fmt::format("budget exhausted before the proof: the best is at most {:.2f} % above the optimum",
                          100 * (best / std::max(*answer.lower_bound, 1e-300) - 1)),
              "a larger --budget, or a smaller --space")};
    code = fail(Exit::limit, answer.problems);
  }
  return finished(options, answer, inputs, code, [&] {
    return best_neighbour(answer.scheduled.schedule, one_step_of(inputs.kernel), inputs.model, used.objective);
  });
}

/// By an ask-and-tell strategy. Where the exact search applies nothing is compiled: the machine is only priced.
std::optional<Compilation> by_strategy(const Options& options, const Inputs& inputs, const CompileHook& hook,
                                       Exit& code) {
  const auto mapped = enumerate_mappings(inputs.kernel, inputs.model, options.map);
  if (!options.schedule_file.empty() || !mapped || !exact_search_refusal(inputs.kernel, *mapped, inputs.model).empty())
    return compile_loaded(options, inputs, code, false, hook);
  code = Exit::usage;
  if (!strategy_accepts(options, inputs.kernel, inputs.model)) return {};
  auto with = compile_options(options, inputs, code);
  if (!with) return {};
  code = Exit::wrong_input;
  if (!hook(*with, inputs)) return {};
  with->schedule.must_lower = false;
  bool proved = false;
  auto scheduled = schedule(inputs.kernel, *mapped, inputs.model, with->schedule, &proved);
  code = scheduled ? Exit::ok : proved ? Exit::no_answer : Exit::limit;
  if (scheduled) {
    Compilation priced;
    priced.mapped = *mapped;
    priced.scheduled = std::move(*scheduled);
    return priced;
  }
  code = fail_after_start(options, code, scheduled.diagnostics(), inputs, *mapped);
  return {};
}

}  // namespace

SearchAnswer schedule_answer(const Options& options, Recorder& recorder, std::optional<double> seconds) {
  Exit code = Exit::ok;
  const auto inputs = load_inputs(options, code);
  if (!inputs) return {"", code};
  if (const auto done = by_exact_search(options, *inputs)) return *done;
  RunnerUpTracker second;
  const bool explained = options.explain || !options.report.empty();
  const CompileHook record = recorder.hook();
  auto compiled = by_strategy(
      options, *inputs,
      [&](CompileOptions& compile, const Inputs& same) {
        if (!record(compile, same)) return false;
        if (explained)
          compile.schedule.watch = [&, inner = compile.schedule.watch](const Trial& trial) {
            if (inner) inner(trial);
            second.see(trial);
          };
        return true;
      },
      code);
  if (!compiled) return {"", code};
  const ScheduleOptions used = schedule_options(options, inputs->model);
  ScheduleAnswer answer;
  answer.objective = used.objective;
  answer.scalar = scalar_code(*compiled, inputs->kernel, inputs->model);
  answer.scheduled = std::move(*compiled->scheduled);
  if (options.schedule_file.empty()) answer.splits = text_of_splits(inputs->kernel, answer.scheduled.schedule);
  answer.text = answer.scheduled.view;
  if (seconds) answer.scheduled.seconds = *seconds;
  answer.seed = options.seed;
  answer.certified = options.schedule_file.empty() && answer.scheduled.exhausted;
  if (answer.certified) {
    answer.lower_bound = value(answer.scheduled.cost, used.objective);
    answer.gap = 0;
  }
  if (options.certify && !answer.certified) {
    answer.problems = {error("the search ended before it saw every schedule, so its best is not certified",
                             "--strategy exhaustive with a larger --budget evals=N, or a smaller --space")};
    code = fail(Exit::limit, answer.problems);
  }
  return finished(options, answer, *inputs, code, [&] {
    const Schedule& found = answer.scheduled.schedule;
    return second.of(found, scheduled_kernel_of(one_step_of(inputs->kernel), found), inputs->model);
  });
}

namespace {

Exit verb_schedule(const Options& options) {
  Exit loaded = Exit::ok;
  answer_interrupts();
  if (std::optional<SymbolicKernel> symbolic; !load_if_symbolic(options, symbolic, loaded))
    return loaded;
  else if (symbolic)
    return schedule_symbolic(options, *symbolic);
  Recorder recorder(options, "schedule");
  const SearchAnswer answer = schedule_answer(options, recorder, std::nullopt);
  if (answer.text.empty()) return answer.code;
  if (!interrupted() && !recorder.finish(answer.text)) return Exit::wrong_input;
  return deliver(options, answer.text, answer.code);
}

}  // namespace

std::vector<VerbRow> verbs_schedule() {
  return {{250, "schedule", "search the best schedule",
           [](Flags& flags) {
             flags.kernel();
             flags.target();
             flags.mapping();
             flags.search();
             flags.cost_and_pictures();
             flags.on("--certify", flags.options.certify, "fail unless no schedule of the space is better");
             flags.schedule_file();
             flags.strict_float();
             flags.no_reorder();
             flags.store();
           },
           verb_schedule}};
}

}  // namespace isamap::cli
