// SPDX-License-Identifier: Apache-2.0
#include "report/lab_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html.h"
#include "report/plot.h"

namespace isamap {
namespace {

using lab::Interval;
using lab::Study;

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }
std::string gap_name(double gap) { return gap == 0 ? "the optimum" : fmt::format("{:g} %", 100 * gap); }

std::vector<std::int64_t> columns(const Study& study) {
  std::vector<std::int64_t> list;
  for (const std::int64_t evaluations : {10, 30, 100, 300, 1000, 3000, 10000})
    if (evaluations < study.budget()) list.push_back(evaluations);
  list.push_back(study.budget());
  return list;
}

/// Strategies, best first: by distance to the optimum when the budget ends.
std::vector<std::size_t> ranking(const Study& study) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t s = 0; s < study.strategies().size(); ++s)
    order.emplace_back(study.quality(s, study.budget()).value, s);
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> list;
  for (const auto& [quality, s] : order) list.push_back(s);
  return list;
}

using Rows = std::vector<std::vector<std::string>>;

Rows quality_rows(const Study& study) {
  Rows rows{{"strategy"}};
  for (const std::int64_t evaluations : columns(study)) rows[0].push_back(fmt::format("{} evals", evaluations));
  for (const double gap : lab::gaps) rows[0].push_back(gap == 0 ? "at optimum" : "within " + gap_name(gap));
  rows[0].push_back("no legal");
  for (const std::size_t s : ranking(study)) {
    std::vector<std::string> row{study.strategies()[s]};
    for (const std::int64_t evaluations : columns(study)) {
      const Interval q = study.quality(s, evaluations);
      row.push_back(fmt::format("{:.3f} [{:.3f}, {:.3f}]", q.value, q.low, q.high));
    }
    for (const double gap : lab::gaps) row.push_back(percent(study.solved(s, gap, study.budget())));
    row.push_back(std::to_string(study.without_legal(s)));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Expected running time to `gap`, one row an instance.
Rows time_rows(const Study& study, double gap) {
  Rows rows{{"instance", "optimum", "proof"}};
  for (const std::size_t s : ranking(study)) rows[0].push_back(study.strategies()[s]);
  for (std::size_t i = 0; i < study.instances().size(); ++i) {
    const auto& instance = study.instances()[i];
    std::vector<std::string> row{instance.name, fmt::format("{:.6g}", study.optimum(i)),
                                 instance.proof.empty() ? "best known" : instance.proof};
    for (const std::size_t s : ranking(study)) {
      const auto time = study.expected_running_time(i, s, gap);
      row.push_back(time ? fmt::format("{:.0f}", *time) : "never");
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string anytime(const Study& study, const std::string& group) {
  std::vector<Series> series;
  double most = 1.1;
  for (const std::size_t s : ranking(study)) {
    Series one{study.strategies()[s], s, {}, {}, false};
    for (const std::int64_t mark : study.marks()) {
      const Interval q = study.quality(s, mark, group);
      one.points.emplace_back(mark, q.value);
      one.band.emplace_back(q.low, q.high);
      most = std::max(most, q.value);
    }
    series.push_back(std::move(one));
  }
  const double budget = static_cast<double>(study.budget());
  return line_figure(series, {"evaluations", true, 1, budget}, {"best / optimum", true, 1, most},
                     fmt::format("{}: geometric mean over instances and seeds; bands: 95 % of {} of the seeds.",
                                 group.empty() ? "All instances" : "Group " + group, "bootstrap samples"));
}

std::string distribution(const Study& study) {
  std::vector<Series> series;
  for (const std::size_t s : ranking(study)) {
    Series one{study.strategies()[s], s, {}, {}, true};
    for (const std::int64_t mark : study.marks()) one.points.emplace_back(mark, study.reached(s, mark));
    series.push_back(std::move(one));
  }
  return line_figure(series, {"evaluations", true, 1, static_cast<double>(study.budget())},
                     {"share of targets", false, 0, 1},
                     "Empirical distribution of running times: share of (instance, seed, target) reached; 42 targets "
                     "from twice the optimum to the optimum itself.");
}

std::string profiles(const Study& study, double gap) {
  std::vector<Series> series;
  for (const std::size_t s : ranking(study)) {
    Series one{study.strategies()[s], s, {}, {}, true};
    for (double factor = 1; factor <= 100; factor *= std::pow(10, 0.1)) {
      const Interval share = study.profile(s, factor, gap);
      one.points.emplace_back(factor, share.value);
      one.band.emplace_back(share.low, share.high);
    }
    series.push_back(std::move(one));
  }
  return line_figure(series, {"factor to the fastest strategy", true, 1, 100}, {"share of instances", false, 0, 1},
                     fmt::format("Performance profile: expected running time to {}, as a factor to the least of all "
                                 "strategies.",
                                 gap == 0 ? gap_name(gap) : "within " + gap_name(gap)));
}

}  // namespace

std::string lab_page(const lab::Trials& trials) {
  const Study study(trials);
  std::string body = fmt::format(
      "<p>Suite {}: {} instances, {} strategies, {} seeds, budget {} evaluations. Every number is an objective "
      "divided by the optimum: 1 is optimal. No legal point yet counts as {:g}.</p>\n",
      escaped(trials.suite), study.instances().size(), study.strategies().size(), trials.options.seeds, study.budget(),
      lab::worst_ratio);
  if (trials.results.size() < trials.expected())
    body += fmt::format("<p class=\"bad\">{} of {} trials: the run was ended before.</p>\n", trials.results.size(),
                        trials.expected());
  if (!study.untried().empty())
    body += fmt::format("<p class=\"bad\">Strategies without a trial, left out: {}.</p>\n",
                        escaped(fmt::format("{}", fmt::join(study.untried(), ", "))));
  for (const std::string& name : study.beaten())
    body += fmt::format("<p class=\"bad\">A trial is below the stated optimum of {}.</p>\n", escaped(name));
  body += "<h2>How near, after how many evaluations</h2>\n" + html_table(quality_rows(study));
  body += "<h2>Anytime curves</h2>\n" + anytime(study, "");
  if (study.groups().size() > 1)
    for (const std::string& group : study.groups()) body += anytime(study, group);
  body += "<h2>Running times</h2>\n" + distribution(study);
  for (const double gap : {0.1, 0.01, 0.0}) body += profiles(study, gap);
  for (const double gap : lab::gaps)
    body += fmt::format(
        "<h2>Expected running time to {}</h2>\n<p>Evaluations of all seeds until the target or the "
        "budget, divided by the number of seeds that reached it.</p>\n{}",
        gap == 0 ? gap_name(gap) : "within " + gap_name(gap), html_table(time_rows(study, gap)));
  body +=
      "<p><small>Hansen et al., COCO, 2021; Dolan, Mor\u00e9, performance profiles, 2002; intervals: percentile "
      "bootstrap over seeds.</small></p>\n";
  return page("Laboratory: " + trials.suite, body);
}

std::vector<std::vector<std::string>> lab_summary(const lab::Trials& trials) {
  const Study study(trials);
  return quality_rows(study);
}

std::string lab_csv(const lab::Trials& trials) {
  const Study study(trials);
  std::string text = "instance,strategy,seed,evaluations,objective,optimum,ratio\n";
  for (std::size_t i = 0; i < study.instances().size(); ++i)
    for (std::size_t s = 0; s < study.strategies().size(); ++s)
      for (const lab::TrialResult* trial : study.trials(i, s))
        for (const auto& [evaluations, objective] : trial->curve)
          text += fmt::format("{},{},{},{},{},{},{}\n", trial->instance, trial->strategy, trial->seed, evaluations,
                              objective, study.optimum(i), objective / study.optimum(i));
  return text;
}

}  // namespace isamap
