// SPDX-License-Identifier: Apache-2.0
// Gap to the optimum of all heuristic strategies after at most 1000 evaluations, on the suites of isamap. Claim: the
// default has the smallest gap. usage: bench_lab [SUITE [STRATEGIES [SEEDS [EVALUATIONS]]]]

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "isamap/scheduler.h"
#include "lab/run.h"
#include "lab/statistics.h"

int main(int argc, char** argv) {
  using namespace isamap;
  const std::string source = ISAMAP_SOURCE_DIR;
  const std::string suite_name = argc > 1 ? argv[1] : source + "/lab/suites";
  std::string names = argc > 2 ? argv[2] : "";
  if (names.empty())
    for (const auto& [name, make] : strategies())
      if (name != "exhaustive" && name != "external" && name != "extension" && name != "exact")
        names += (names.empty() ? "" : ",") + name;
  const auto suite = lab::load_suite(suite_name, {source + "/lab/suites"}, {source + "/hardware_models"});
  const auto chosen = lab::parse_strategies(names);
  if (!suite || !chosen) {
    fmt::print(stderr, "{}{}\n", render(suite.diagnostics()), render(chosen.diagnostics()));
    return 1;
  }
  lab::RunOptions options;
  options.strategies = *chosen;
  options.seeds = argc > 3 ? std::stoll(argv[3]) : 5;
  options.evaluations = argc > 4 ? std::stoll(argv[4]) : 1000;
  options.jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::string text;
  const Diagnostics failed = lab::run(suite_name, *suite, options, [&](const std::string& line) { text += line; });
  if (has_errors(failed)) return fmt::print(stderr, "{}\n", render(failed)), 1;
  const auto trials = lab::parse_trials(text, "trials");
  const lab::Study study(*trials);
  std::vector<std::pair<double, std::string>> rows;
  for (std::size_t s = 0; s < study.strategies().size(); ++s) {
    std::string row = fmt::format("{:<40}", study.strategies()[s]);
    for (const std::int64_t evaluations : {30, 100, 300, 1000})
      if (evaluations <= options.evaluations) row += fmt::format(" {:>8.3f}", study.quality(s, evaluations).value);
    const lab::Interval last = study.quality(s, options.evaluations);
    row += fmt::format("  [{:.3f}, {:.3f}]  within 5 %: {:3.0f} %  at optimum: {:3.0f} %  no legal: {}", last.low,
                       last.high, 100 * study.solved(s, 0.05, options.evaluations),
                       100 * study.solved(s, 0, options.evaluations), study.without_legal(s));
    rows.emplace_back(last.value, row);
  }
  std::sort(rows.begin(), rows.end());
  fmt::print("{} instances, {} seeds; best / optimum after 30, 100, 300, 1000 evaluations (geometric mean)\n",
             study.instances().size(), options.seeds);
  for (const auto& [value, row] : rows) fmt::print("{}\n", row);
  for (std::size_t i = 0; i < study.instances().size(); ++i) {
    fmt::print("{:<28} {:.6g}", study.instances()[i].name, study.optimum(i));
    for (std::size_t s = 0; s < study.strategies().size(); ++s) {
      double sum = 0;
      for (const lab::TrialResult* trial : study.trials(i, s)) sum += study.ratio(i, *trial, options.evaluations);
      fmt::print("  {:.3f}", sum / static_cast<double>(study.trials(i, s).size()));
    }
    fmt::print("\n");
  }
  const std::string winner = rows.front().second.substr(0, rows.front().second.find(' '));
  fmt::print("nearest: {}; default: {}\n", winner, ScheduleOptions{}.strategy);
  return 0;
}
