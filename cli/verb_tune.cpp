// SPDX-License-Identifier: Apache-2.0
// isamap tune: search with measured cost.

#include "cli/command_line.h"
#include "cli/search_answer.h"

namespace isamap::cli {
namespace {

Exit verb_tune(const Options& given) {
  Options options = given;
  if (!options.strategy_given)
    options.schedule.strategy =
        "annealing";  // the default strategy: smallest gap in the laboratory (docs/laboratory.md)
  Recorder recorder(options, "tune");
  const SearchAnswer answer =
      tune_answer(options, recorder, by_running(options.seed), by_every_compiler(options.seed), std::nullopt);
  if (answer.text.empty()) return answer.code;
  if (!recorder.finish(answer.text)) return Exit::wrong_input;
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
             flags.text("--measured", flags.written.measured,
                        "candidates of each statement that are executed (default 12)");
           },
           verb_tune}};
}

}  // namespace isamap::cli
