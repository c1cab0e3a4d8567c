// isamap schedule: the best schedule that a search finds, and what it costs.

#include <fmt/format.h>

#include "cli/compile_verb.h"
#include "cli/json.h"
#include "cli/verbs.h"

namespace isamap::cli {
namespace {

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
  answer.certified = options.schedule_file.empty() && answer.scheduled.exhausted;
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
