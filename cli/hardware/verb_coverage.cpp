// SPDX-License-Identifier: Apache-2.0
// isamap coverage: kernels of a folder that a machine covers, with utilisation and cycles.

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "mapper/mapping_names.h"
#include "report/suite_report.h"

namespace isamap::cli {
namespace {

std::string kernels_table(const Coverage& coverage) {
  std::vector<std::vector<std::string>> rows{{"kernel", "times", "maps", "used", "cycles", "instruction"}};
  for (std::size_t c = 0; c < coverage.suite.cases.size(); ++c) {
    const SuiteCase& one = coverage.suite.cases[c];
    const SuiteAnswer& answer = coverage.answers[c];
    if (one.kernel)
      rows.push_back({one.name, std::to_string(one.times), mappings_cell(answer), used_cell(answer),
                      cycles_cell(answer), answer.instruction});
    else
      rows.push_back({one.name, "-", "-", "-", "-", "cannot be read"});
  }
  return table(rows);
}

/// What each compute instruction is good for: kernels it covers, its mappings of them, and those that can be
/// programmed.
std::string instructions_table(const Coverage& coverage) {
  struct Count {
    std::size_t kernels = 0, mappings = 0, programmable = 0;
  };
  std::map<std::string, Count> counts;
  for (const SuiteAnswer& answer : coverage.answers)
    for (const auto& [instruction, mappings] : answer.mappings) {
      Count& count = counts[instruction];
      count.kernels += mappings > 0 ? 1 : 0;
      count.mappings += mappings;
      count.programmable += answer.programmable.at(instruction);
    }
  std::vector<std::vector<std::string>> rows{{"instruction", "kernels", "mappings", "programmable"}};
  for (const auto& [instruction, count] : counts)
    rows.push_back({instruction, std::to_string(count.kernels), std::to_string(count.mappings),
                    std::to_string(count.programmable)});
  return rows.size() > 1 ? "\n" + table(rows) : "";
}

std::string reasons_text(const Coverage& coverage) {
  std::vector<std::pair<std::string, std::string>> unmapped, unprogrammable, scalar, unscheduled;
  for (std::size_t c = 0; c < coverage.suite.cases.size(); ++c) {
    const SuiteAnswer& answer = coverage.answers[c];
    if (const std::string why = unprogrammable_reason(answer); !why.empty()) {
      unprogrammable.emplace_back(coverage.suite.cases[c].name, why);
      continue;
    }
    if (const std::string why = scalar_reason(answer); !why.empty())
      scalar.emplace_back(coverage.suite.cases[c].name, why);
    else if (!answer.reasons.empty())
      (answer.count() == 0 ? unmapped : unscheduled).emplace_back(coverage.suite.cases[c].name, answer.reasons.front());
  }
  std::string text;
  if (!unmapped.empty()) text += "\nnot mapped (the first reason; `isamap explain` has all):\n" + grouped(unmapped);
  if (!unprogrammable.empty())
    text +=
        "\ncovered, not programmable (the reason of most mappings; `isamap map` has all):\n" + grouped(unprogrammable);
  if (!scalar.empty())
    text += "\nmapped, but scalar code (the first reason; `isamap schedule` has all):\n" + grouped(scalar);
  if (!unscheduled.empty()) text += "\nmapped, not scheduled:\n" + grouped(unscheduled);
  return text;
}

/// What no data reach, of the instructions that cover something.
std::string missing_text(const Coverage& coverage) {
  std::string text;
  for (const std::string& one : missing_moves(coverage)) text += "note: " + one + "\n";
  return text.empty() ? text : "\n" + text;
}

std::string text_of(const Coverage& coverage) {
  const SuiteTotals totals = totals_of(coverage);
  std::string text =
      fmt::format("{} on {}, rule {}\n", coverage.suite.folder, coverage.model.name, name(coverage.rule)) +
      kernels_table(coverage) + marks_legend({&coverage.answers}) + instructions_table(coverage) +
      missing_text(coverage) + reasons_text(coverage) + no_kernels_text(coverage.suite);
  text += "\n" + kernels_that_map(totals);
  if (totals.failed > 0) text += fmt::format("; {} cannot be read", totals.failed);
  return text + "\n";
}

Exit verb_coverage(const Options& options) {
  const auto suite = load_suite(options.suite);
  const auto model = load_target(options);
  if (!suite) fail(Exit::wrong_input, suite.diagnostics());
  if (!suite || !model) return Exit::wrong_input;
  if (!suite->warnings.empty()) fail(Exit::ok, suite->warnings);
  if (const Diagnostics problems = problems_of(*suite); !problems.empty()) fail(Exit::wrong_input, problems);
  Progress progress;
  const Coverage coverage{*suite, *model, options.map.rule,
                          answers(*suite, *model, options.map, suite_schedule_options(options),
                                  [&](const std::string& text) { progress(text); })};
  if (!options.report.empty())
    if (const auto written = write_file(options.report, html_report(coverage)); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  return deliver(options, options.json ? json_of_coverage(coverage) : text_of(coverage),
                 exit_of(*suite, {&coverage.answers}));
}

}  // namespace

std::vector<VerbRow> verbs_coverage() {
  return {{210, "coverage", "kernels of a folder that a machine covers",
           [](Flags& flags) {
             flags.target();
             flags.suite();
           },
           verb_coverage}};
}

}  // namespace isamap::cli
