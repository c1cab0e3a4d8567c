// SPDX-License-Identifier: Apache-2.0
// isamap hw diff: mappings, utilisation and cycles that the kernels of a folder gain or lose between two machines.

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/common.h"
#include "cli/json.h"
#include "mapper/mapping_names.h"
#include "report/suite_report.h"

namespace isamap::cli {
namespace {

std::string kernels_table(const Difference& difference) {
  std::vector<std::vector<std::string>> rows{
      {"kernel", "maps a", "maps b", "used a", "used b", "cycles a", "cycles b", "change"}};
  for (std::size_t c = 0; c < difference.suite.cases.size(); ++c) {
    const SuiteCase& one = difference.suite.cases[c];
    const SuiteAnswer &a = difference.on_a[c], &b = difference.on_b[c];
    if (one.kernel)
      rows.push_back({one.name, mappings_cell(a), mappings_cell(b), used_cell(a), used_cell(b), cycles_cell(a),
                      cycles_cell(b), change_cell(change_of(one, a, b))});
    else
      rows.push_back({one.name, "-", "-", "-", "-", "-", "-", "cannot be read"});
  }
  return table(rows);
}

/// Of kernels that map, but whose only schedule on a or b is scalar code.
std::string scalar_text(const Difference& difference) {
  std::vector<std::pair<std::string, std::string>> scalar;
  for (const auto& [where, answers] : {std::pair(" on a", &difference.on_a), std::pair(" on b", &difference.on_b)})
    for (std::size_t c = 0; c < answers->size(); ++c)
      if (const std::string why = scalar_reason((*answers)[c]); !why.empty())
        scalar.emplace_back(difference.suite.cases[c].name + where, why);
  if (scalar.empty()) return "";
  return "\nmapped, but scalar code (the first reason; `isamap schedule` has all):\n" + grouped(scalar);
}

/// Why the machine that has no mapping of a kernel that can be programmed has none.
std::string reasons_text(const Difference& difference) {
  std::vector<std::pair<std::string, std::string>> unmapped, unprogrammable;
  for (std::size_t c = 0; c < difference.suite.cases.size(); ++c) {
    const SuiteCase& one = difference.suite.cases[c];
    const SuiteChange change = change_of(one, difference.on_a[c], difference.on_b[c]);
    const bool gains = change.verdict == SuiteChange::Verdict::gains;
    if (!gains && change.verdict != SuiteChange::Verdict::loses) continue;
    const SuiteAnswer& without = gains ? difference.on_a[c] : difference.on_b[c];
    const std::string where = one.name + (gains ? " on a" : " on b");
    if (const std::string why = unprogrammable_reason(without); !why.empty())
      unprogrammable.emplace_back(where, why);
    else if (!without.reasons.empty())
      unmapped.emplace_back(where, without.reasons.front());
  }
  std::string text;
  if (!unmapped.empty())
    text += "\nwhy one of the two does not map (the first reason; `isamap explain` has all):\n" + grouped(unmapped);
  if (!unprogrammable.empty())
    text += "\ncovered, but not programmable on one of the two (the reason of most mappings; `isamap map` has all):\n" +
            grouped(unprogrammable);
  return text;
}

std::string summary_of(const Difference& difference) {
  const SuiteTotals totals = totals_of(difference);
  std::string text =
      fmt::format("\n{} kernels: {}; {}", totals.kernels, machines_that_map(totals), gains_and_losses(totals));
  if (totals.compared > 0)
    text += fmt::format("; b takes {:.3g} of a's cycles (geometric mean over {})", 1 / totals.speedup,
                        totals.compared == 1 ? "1 kernel" : fmt::format("{} kernels", totals.compared));
  if (totals.failed > 0) text += fmt::format("; {} cannot be read", totals.failed);
  return text + "\n";
}

std::string text_of(const Difference& difference) {
  const std::vector<const std::vector<SuiteAnswer>*> both{&difference.on_a, &difference.on_b};
  return fmt::format("{}, rule {}\na: {} ({})\nb: {} ({})\n\n", difference.suite.folder, name(difference.rule),
                     difference.a.name, difference.a.file, difference.b.name, difference.b.file) +
         kernels_table(difference) + marks_legend(both) + reasons_text(difference) + scalar_text(difference) +
         no_kernels_text(difference.suite) + summary_of(difference);
}

std::optional<HardwareModel> load_one(const Options& options, std::size_t which) {
  Options one = options;
  one.target = options.files[which];
  if (which == 1)
    for (const auto& [key, value] : options.params_b) one.params[key] = value;
  return load_target(one);
}

Exit verb_hw_diff(const Options& options) {
  const auto a = load_one(options, 0), b = load_one(options, 1);
  const auto suite = load_suite(options.suite);
  if (!suite) fail(Exit::wrong_input, suite.diagnostics());
  if (!a || !b || !suite) return Exit::wrong_input;
  if (!suite->warnings.empty()) fail(Exit::ok, suite->warnings);
  if (const Diagnostics problems = problems_of(*suite); !problems.empty()) fail(Exit::wrong_input, problems);
  Progress progress;
  const Tell tell = [&](const std::string& text) { progress(text); };
  const ScheduleOptions schedule = suite_schedule_options(options);
  const Difference difference{*suite,
                              *a,
                              *b,
                              options.map.rule,
                              answers(*suite, *a, options.map, schedule, tell),
                              answers(*suite, *b, options.map, schedule, tell)};
  if (!options.report.empty())
    if (const auto written = write_file(options.report, html_report(difference)); !written)
      return fail(Exit::wrong_input, written.diagnostics());
  return deliver(options, options.json ? json_of_difference(difference) : text_of(difference),
                 exit_of(*suite, {&difference.on_a, &difference.on_b}));
}

}  // namespace

std::vector<VerbRow> verbs_hw_diff() {
  return {{140, "hw diff", "what a folder of kernels gains and loses from one machine to another",
           [](Flags& flags) {
             flags.texts("HW", flags.options.files, "the two machines").required().count(2);
             flags.params("both hardware files");
             flags.texts("--set-b", flags.written.params_b, "name=value: a parameter of the second one only");
             flags.suite();
           },
           verb_hw_diff}};
}

}  // namespace isamap::cli
