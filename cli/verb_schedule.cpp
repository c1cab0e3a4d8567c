// isamap schedule: the best schedule that a search finds, and what it costs.

#include <fmt/format.h>

#include "cli/compile_verb.h"
#include "cli/json.h"
#include "cli/verbs.h"

namespace isamap::cli {
namespace {

/// An exhaustive search that has seen every point proves its best one: the lower bound is the best itself.
bool saw_everything(const Inputs& inputs, const Compilation& compiled, const ScheduleOptions& options) {
  if (options.strategy != "exhaustive") return false;
  double points = 0;
  for (std::size_t s = 0; s < inputs.kernel.statements.size(); ++s) {
    std::vector<Mapping> mine;
    for (const Mapping& m : compiled.mapped.mappings)
      if (m.statement.index() == s) mine.push_back(m);
    const SearchSpace space(inputs.kernel, make_id<StatementId>(s), std::move(mine), inputs.model, options.space);
    points += space.size();
  }
  return points <= static_cast<double>(compiled.scheduled->evaluations);
}

std::string text_of(const ScheduleAnswer& answer) {
  const Scheduled& found = answer.scheduled;
  return fmt::format("{}\n# {} cycles, {} pJ, {} bytes over links; bound by {}; {} evaluations{}\n",
                     print(found.schedule), short_number(found.cost.cycles), short_number(found.cost.energy_pJ),
                     short_number(found.cost.bytes), found.cost.bound.empty() ? "nothing" : found.cost.bound,
                     found.evaluations, answer.certified ? "; no schedule of the space is better" : "");
}

}  // namespace

Exit verb_schedule(const Options& options) {
  Exit code = Exit::ok;
  const auto compiled = compile_inputs(options, code);
  if (!compiled) return code;
  const ScheduleOptions used = schedule_options(options, compiled->inputs.model);
  ScheduleAnswer answer;
  answer.objective = used.objective;
  answer.scheduled = *compiled->compiled.scheduled;
  answer.seed = options.seed;
  answer.certified = options.schedule_file.empty() && saw_everything(compiled->inputs, compiled->compiled, used);
  if (answer.certified) {
    answer.lower_bound = value(answer.scheduled.cost, used.objective);
    answer.gap = 0;
  }
  if (options.certify && !answer.certified) {
    answer.problems = {error("the search ended before it had seen every schedule, so its best is not certified",
                             "--strategy exhaustive with a larger --budget evals=N, or a smaller --space")};
    code = fail(Exit::limit, answer.problems);
  }
  return deliver(options, options.json ? json_of_schedule(answer) : text_of(answer), code);
}

}  // namespace isamap::cli
