// SPDX-License-Identifier: Apache-2.0
// isamap tune: search with measured cost.

#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/models.h"
#include "cli/search_answer.h"
#include "jobs/device.h"

namespace isamap::cli {
namespace {

Exit verb_tune(const Options& given) {
  if (given.compute.empty() && is_onnx(given.kernel_file))
    return without_kernel_flags(given) &&
                   !has_unused(given, {"--dims"}, "is for one program of many sizes, and parts are timed at one",
                               "--sizes NAME=128")
               ? tune_model(given)
               : Exit::usage;
  Exit code = Exit::ok;
  const auto of_kernel = kernel_options(given, code);
  if (!of_kernel) return code;
  if (given.schedule.strategy == "exact")
    return fail(Exit::usage, "tune measures the candidates of a search, and 'exact' has one answer",
                "isamap schedule KERNEL --target HW --strategy exact");
  Options options = *of_kernel;
  if (!options.strategy_given)
    options.schedule.strategy =
        "annealing";  // the default strategy: smallest gap in the laboratory (docs/laboratory.md)
  answer_interrupts();
  Recorder recorder(options, "tune");
  MeasureOptions measure;
  measure.seed = options.seed;
  measure.jobs = options.schedule.jobs;
  measure.stopped = interrupted;
  measure.alone = [] { return std::make_shared<jobs::DeviceLock>(); };  // of all timings on this machine
  const auto times = std::make_shared<TimesOfFastest>();
  const SearchAnswer answer =
      tune_answer(options, recorder, by_running(measure, times), by_every_compiler(measure, times), std::nullopt);
  if (answer.text.empty()) return answer.code;
  if (!interrupted() && !recorder.finish(answer.text)) return Exit::wrong_input;
  return deliver(options, answer.text, answer.code);
}

}  // namespace

std::vector<VerbRow> verbs_tune() {
  return {{290, "tune", "search with measured cost",
           [](Flags& flags) {
             flags.kernel();
             flags.target();
             flags.mapping();
             flags.search();
             flags.store();
             flags.strict_float();
             flags.model();
             flags.model_plan();
             flags.text("--measured", flags.written.measured,
                        "candidates of each statement, or part of a model, that are executed (default 12)");
           },
           verb_tune}};
}

}  // namespace isamap::cli
