// SPDX-License-Identifier: Apache-2.0
// The JSON documents of `coverage` and `hw diff`.

#include "cli/json.h"
#include "cli/json_internal.h"
#include "mapper/mapping_names.h"

namespace isamap::cli {
namespace {

/// One kernel on one machine; without a prediction there is no key for cycles.
Json json_of(const SuiteAnswer& answer) {
  Json json{{"mappings", answer.count()},
            {"instructions", object_of(answer.mappings)},
            {"programmable", answer.programmable_count()},
            {"programmable_instructions", object_of(answer.programmable)}};
  for (const auto& [why, mappings] : answer.not_programmable)
    json["not_programmable"].push_back({{"why", why}, {"mappings", mappings}});
  if (answer.limit_reached) json["limit_reached"] = true;
  if (answer.count() > 0) json["utilisation"] = answer.utilisation;
  if (answer.programmable_count() > 0) json["programmable_utilisation"] = answer.programmable_utilisation;
  if (answer.prediction != Prediction::none) {
    json["cycles"] = number(answer.cycles);
    json["cycles_from"] = std::string(name(answer.prediction));
  }
  if (!answer.instruction.empty()) json["instruction"] = answer.instruction;
  if (!answer.reasons.empty()) json["reasons"] = answer.reasons;
  return json;
}

Json json_of(const SuiteCase& one) {
  Json json{{"file", one.file}, {"name", one.name}};
  if (one.times > 1) json["times"] = one.times;
  if (!one.kernel) json["problems"] = diagnostics_json(one.problems);
  return json;
}

Json json_of(const SuiteChange& change) {
  Json json{{"verdict", std::string(name(change.verdict))}};
  if (change.gained) json["gained"] = *change.gained;
  if (change.lost) json["lost"] = *change.lost;
  if (change.programmable_gained) json["programmable_gained"] = *change.programmable_gained;
  if (change.programmable_lost) json["programmable_lost"] = *change.programmable_lost;
  if (change.covering != SuiteChange::Covering::same) json["covering"] = std::string(name(change.covering));
  if (change.speedup) json["speedup"] = *change.speedup;
  return json;
}

void add_no_kernels(Json& json, const Suite& suite) {
  if (suite.no_kernels.empty()) return;
  json["no_kernels"] = Json::array();
  for (const NoKernels& group : suite.no_kernels)
    json["no_kernels"].push_back({{"file", group.file}, {"layers", group.layers}, {"reason", group.reason}});
}

}  // namespace

std::string json_of_coverage(const Coverage& coverage) {
  Json json = document();
  json["suite"] = coverage.suite.folder;
  json["target"] = coverage.model.name;
  json["rule"] = std::string(name(coverage.rule));
  json["kernels"] = Json::array();
  for (std::size_t c = 0; c < coverage.suite.cases.size(); ++c) {
    Json row = json_of(coverage.suite.cases[c]);
    if (coverage.suite.cases[c].kernel) row.update(json_of(coverage.answers[c]));
    json["kernels"].push_back(std::move(row));
  }
  add_no_kernels(json, coverage.suite);
  if (auto missing = missing_moves(coverage); !missing.empty()) json["missing_moves"] = std::move(missing);
  const SuiteTotals totals = totals_of(coverage);
  json["summary"] = {{"kernels", totals.kernels},
                     {"mapped", totals.mapped_a},
                     {"failed", totals.failed},
                     {"programmable", totals.programmable_a}};
  return text_of(json);
}

std::string json_of_difference(const Difference& difference) {
  Json json = document();
  json["suite"] = difference.suite.folder;
  json["a"] = {{"target", difference.a.name}, {"file", difference.a.file}};
  json["b"] = {{"target", difference.b.name}, {"file", difference.b.file}};
  json["rule"] = std::string(name(difference.rule));
  json["kernels"] = Json::array();
  for (std::size_t c = 0; c < difference.suite.cases.size(); ++c) {
    const SuiteAnswer &a = difference.on_a[c], &b = difference.on_b[c];
    Json row = json_of(difference.suite.cases[c]);
    if (difference.suite.cases[c].kernel) {
      row["a"] = json_of(a);
      row["b"] = json_of(b);
    }
    row["change"] = json_of(change_of(difference.suite.cases[c], a, b));
    json["kernels"].push_back(std::move(row));
  }
  add_no_kernels(json, difference.suite);
  const SuiteTotals totals = totals_of(difference);
  json["summary"] = {{"kernels", totals.kernels},   {"failed", totals.failed}, {"mapped_a", totals.mapped_a},
                     {"mapped_b", totals.mapped_b}, {"gains", totals.gains},   {"loses", totals.loses}};
  json["summary"].update({{"programmable_a", totals.programmable_a},
                          {"programmable_b", totals.programmable_b},
                          {"covering_gains", totals.covering_gains},
                          {"covering_loses", totals.covering_loses}});
  if (totals.compared > 0) {
    json["summary"]["compared"] = totals.compared;
    json["summary"]["speedup"] = totals.speedup;
  }
  return text_of(json);
}

namespace {

/// "12", "0.5": a number; "80 %": 0.8; "1.2 [1.1, 1.3]": the value and its interval; what stands for none: null.
Json json_of_cell(const std::string& text) {
  for (const char* none : {"", "-", "none"})
    if (text == none) return nullptr;
  const auto number = [](const std::string& word) {
    const Json json = Json::parse(word, nullptr, false);
    return json.is_number() ? json : Json();
  };
  if (Json whole = number(text); whole.is_number()) return whole;
  if (const std::size_t sign = text.find('%'); sign != std::string::npos && sign + 1 == text.size())
    if (const Json share = number(text.substr(0, text.find_last_not_of(" %") + 1)); share.is_number())
      return share.get<double>() / 100;
  const std::size_t open = text.find(" ["), comma = text.find(", ", open == std::string::npos ? 0 : open);
  if (open == std::string::npos || comma == std::string::npos || !text.ends_with(']')) return text;
  const Json value = number(text.substr(0, open)), low = number(text.substr(open + 2, comma - open - 2)),
             high = number(text.substr(comma + 2, text.size() - comma - 3));
  if (!value.is_number() || !low.is_number() || !high.is_number()) return text;
  return {{"value", value}, {"low", low}, {"high", high}};
}

}  // namespace

std::string json_of_rows(const std::string& key, const std::vector<std::vector<std::string>>& rows,
                         const std::set<std::string>& names) {
  Json json = document();
  json[key] = Json::array();
  for (std::size_t r = 1; r < rows.size(); ++r) {
    Json one = Json::object();
    for (std::size_t c = 0; c < rows[r].size(); ++c)
      one[rows[0][c]] = names.contains(rows[0][c]) ? Json(rows[r][c]) : json_of_cell(rows[r][c]);
    json[key].push_back(std::move(one));
  }
  return text_of(json);
}

std::string json_of_texts(const std::vector<std::pair<std::string, std::string>>& texts) {
  Json json = document();
  for (const auto& [key, text] : texts) json[key] = text;
  return text_of(json);
}

}  // namespace isamap::cli
