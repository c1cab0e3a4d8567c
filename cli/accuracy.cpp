// SPDX-License-Identifier: Apache-2.0
#include "cli/accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "lab/accuracy.h"
#include "report/html.h"
#include "report/plot.h"

namespace isamap::cli {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;
constexpr std::size_t worst_shown = 10;

struct Reported {
  lab::RunRecord run;
  std::vector<lab::Accuracy> statements;
};

/// The requested run, or the last one with measurements.
Result<Reported> reported_run(const lab::TrialStore& store, const std::string& file, std::int64_t number) {
  auto run = store.run(number);
  if (!run) return run.diagnostics();
  for (std::int64_t id = run->id; id > 0; --id) {
    if (id != run->id) run = store.run(id);
    if (!run) break;
    const auto trials = store.trials(id);
    if (!trials) return trials.diagnostics();
    if (auto found = lab::accuracy_of(*trials); !found.empty()) return Reported{std::move(*run), std::move(found)};
    if (number != 0) break;
  }
  return error_at({file, 0, 0}, "has no trial that was measured and compared with the interpreter",
                  "`isamap tune KERNEL --target HW --store FILE` measures");
}

std::string in_digits(std::optional<double> value) { return value ? fmt::format("{:.3f}", *value) : "none"; }

Rows statement_rows(const Reported& reported) {
  Rows rows{{"statement", "measured trials", "rank correlation"}};
  for (const lab::Accuracy& one : reported.statements)
    rows.push_back(
        {fmt::format("{}", one.statement), fmt::format("{}", one.trials.size()), in_digits(one.rank_correlation)});
  return rows;
}

/// The largest outliers of the ratio of measured to predicted cost within a statement.
std::vector<lab::Compared> worst_of(const Reported& reported) {
  std::vector<lab::Compared> worst;
  for (const lab::Accuracy& one : reported.statements)
    worst.insert(worst.end(), one.trials.begin(),
                 one.trials.begin() + static_cast<std::ptrdiff_t>(std::min(worst_shown, one.trials.size())));
  std::stable_sort(worst.begin(), worst.end(), [](const lab::Compared& a, const lab::Compared& b) {
    return std::max(a.factor, 1 / a.factor) > std::max(b.factor, 1 / b.factor);
  });
  if (worst.size() > worst_shown) worst.resize(worst_shown);
  return worst;
}

Rows worst_rows(const Reported& reported) {
  Rows rows{{"statement", "trial", "predicted cycles", "measured", "factor"}};
  for (const lab::Compared& one : worst_of(reported))
    rows.push_back({fmt::format("{}", one.statement), fmt::format("{}", one.number),
                    fmt::format("{:.0f}", one.predicted), fmt::format("{:.4g}", one.measured),
                    fmt::format("{:.2f}", one.factor)});
  return rows;
}

std::string figure(const Reported& reported) {
  std::vector<Series> series;
  PlotAxis x{"predicted cycles", true, 1e300, 0}, y{"measured", true, 1e300, 0};
  for (const lab::Accuracy& one : reported.statements) {
    Series dots;
    dots.name = fmt::format("statement {}", one.statement);
    dots.colour = series.size();
    dots.dots = true;
    for (const lab::Compared& trial : one.trials) {
      dots.points.emplace_back(trial.predicted, trial.measured);
      dots.labels.push_back(fmt::format("trial {}: factor {:.2f}", trial.number, trial.factor));
      x.low = std::min(x.low, trial.predicted), x.high = std::max(x.high, trial.predicted);
      y.low = std::min(y.low, trial.measured), y.high = std::max(y.high, trial.measured);
    }
    series.push_back(std::move(dots));
  }
  for (PlotAxis* axis : {&x, &y}) axis->low /= 1.1, axis->high *= 1.1;
  return line_figure(series, x, y,
                     "Each point is a schedule: predicted cycles against what was measured (seconds, or cycles of a "
                     "simulator). A prediction that ranks right gives points that only rise.");
}

std::string page_of(const Reported& reported) {
  return page(fmt::format("Predicted and measured: run {}", reported.run.id),
              "<h2>Predicted against measured</h2>\n" + figure(reported) +
                  "<h2>Rank correlation</h2>\n<p>Spearman: 1 is the same order, 0 none.</p>\n" +
                  html_table(statement_rows(reported)) +
                  "<h2>Worst cases</h2>\n<p>factor: measured / predicted, divided by its geometric mean over the "
                  "statement; 1 is as the others.</p>\n" +
                  html_table(worst_rows(reported)));
}

Json json_of(const lab::Compared& one) {
  return {{"statement", one.statement},
          {"trial", one.number},
          {"predicted", one.predicted},
          {"measured", one.measured},
          {"factor", one.factor}};
}

std::string json_of(const Reported& reported) {
  Json json{{"schema_version", 1}, {"run", reported.run.id}};
  json["statements"] = Json::array();
  for (const lab::Accuracy& one : reported.statements) {
    Json statement{{"statement", one.statement}};
    statement["rank_correlation"] = one.rank_correlation ? Json(*one.rank_correlation) : Json(nullptr);
    statement["trials"] = Json::array();
    for (const lab::Compared& trial : one.trials) statement["trials"].push_back(json_of(trial));
    json["statements"].push_back(std::move(statement));
  }
  json["worst"] = Json::array();
  for (const lab::Compared& one : worst_of(reported)) json["worst"].push_back(json_of(one));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

Exit report_accuracy(const Options& options) {
  const auto store = lab::TrialStore::open(options.lab.file, false);
  if (!store) return fail(Exit::wrong_input, store.diagnostics());
  const auto reported = reported_run(*store, options.lab.file, options.lab.run);
  if (!reported) return fail(Exit::wrong_input, reported.diagnostics());
  if (!options.report.empty()) {
    const auto written = write_file(options.report, page_of(*reported));
    if (!written) return fail(Exit::wrong_input, written.diagnostics());
  }
  if (options.json) return deliver(options, json_of(*reported), Exit::ok);
  return deliver(options, table(statement_rows(*reported)) + "\nworst cases\n" + table(worst_rows(*reported)),
                 Exit::ok);
}

}  // namespace isamap::cli
