// SPDX-License-Identifier: Apache-2.0
// A cost model in a process of its own, in any language: --cost external:command=PROGRAM ARGUMENTS. It reads and writes
// JSON, one object a line (docs/laboratory.md):
//   to it: {"schema_version":1,"role":"cost","kernel":..,"statement":..,"target":..,"feature_names":[..]}    once
//          {"estimate":{"schedule":..,"features":[..],"predicted":{"cycles":..,"energy_pJ":..,"bytes":..}}}
//   answered by {"cycles":..,"energy_pJ":..} or {"illegal":"why"}; energy_pJ is the predicted one where it is left out
// `predicted` is the closed form; points that it rejects are not sent. Its stdin ends with the search.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scheduler/cost/learned_cost.h"
#include "scheduler/search/cost_names.h"
#include "scheduler/search/first_failure.h"
#include "scheduler/search/strategy_options.h"
#include "support/child_process_lines.h"

namespace isamap {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t shown_of_estimate = 60;

std::string text_of(const Nest& nest) {
  std::string text;
  for (const Line& line : nest.lines) text += print(line) + "\n";
  return text;
}

class ExternalCost final : public CostModel {
 public:
  ExternalCost(const SearchSpace& space, std::string command, double seconds, std::shared_ptr<FirstFailure> failure)
      : command_(std::move(command)), seconds_(seconds), failure_(std::move(failure)) {
    // In the searching thread: the process ends with the thread that starts it.
    if (const std::string why = child_.start(words_of_command(command_)); !why.empty()) {
      complain("cannot be started: " + why);
      return;
    }
    Json hello{{"schema_version", 1}, {"role", "cost"}};
    hello["kernel"] = print(space.kernel());
    hello["statement"] = space.kernel().statements[space.statement().index()].name;
    hello["target"] = space.model().name;
    hello["feature_names"] = nest_feature_names();
    tell(hello);
  }

  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = closed_form_->estimate(candidate);
    if (!cost) return cost;
    Json question{{"schedule", text_of(candidate.nest)}, {"features", nest_features(candidate.nest, *cost)}};
    question["predicted"] = {{"cycles", cost->cycles}, {"energy_pJ", cost->energy_pJ}, {"bytes", cost->bytes}};
    ++asked_;
    std::string line;
    if (over_ || !tell(Json{{"estimate", std::move(question)}})) return failure_->problems();
    const auto heard = child_.hear(line, seconds_);
    if (heard != ChildProcess::Heard::line) return failed(heard);
    return understood(line, std::move(*cost));
  }

 private:
  bool tell(const Json& json) {
    const auto heard = child_.say(json.dump(-1, ' ', false, Json::error_handler_t::replace), seconds_);
    if (heard != ChildProcess::Heard::line) failed(heard);
    return !over_;
  }

  Diagnostics failed(ChildProcess::Heard heard) {
    if (heard == ChildProcess::Heard::late)
      return complain(fmt::format("has not answered question {} within {} seconds", asked_, seconds_),
                      "seconds=N in the options of the cost model allows more");
    if (heard == ChildProcess::Heard::too_long) return complain("sends a line that does not end");
    return complain(fmt::format("ended {} at question {}", child_.how_it_ended(), asked_));
  }

  Result<Cost> understood(const std::string& line, Cost cost) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("illegal")) {
      const Json& why = json["illegal"];
      return error("the external cost model refuses it: " + (why.is_string() ? why.get<std::string>() : why.dump()));
    }
    if (!json.is_object() || !json.contains("cycles") || !json["cycles"].is_number() ||
        (json.contains("energy_pJ") && !json["energy_pJ"].is_number()))
      return complain(
          fmt::format("answers question {} with '{}{}', which is no JSON object with a number 'cycles', and "
                      "none with 'illegal'",
                      asked_, line.substr(0, shown_of_estimate), line.size() > shown_of_estimate ? "..." : ""));
    cost.cycles = json["cycles"].get<double>();
    cost.scalar_cycles = 0;
    if (json.contains("energy_pJ")) cost.energy_pJ = json["energy_pJ"].get<double>();
    return cost;
  }

  Diagnostics complain(const std::string& what, const std::string& hint = "") {
    over_ = true;
    failure_->add(error(fmt::format("the external cost model '{}' {}", command_, what), hint));
    return failure_->problems();
  }

  std::string command_;
  double seconds_;
  std::shared_ptr<FirstFailure> failure_;
  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
  ChildProcess child_;
  bool over_ = false;
  std::int64_t asked_ = 0;
};

}  // namespace

Result<CostModelFactory> external_cost_models(const StrategyOptions& options) {
  OptionReader read("the external cost model", options);
  const std::string command = read.text("command", "");
  const double seconds = read.number("seconds", 10, 0.001, 1e6);
  if (Diagnostics problems = read.problems(); has_errors(problems)) return problems;
  if (words_of_command(command).empty())
    return error("external needs the command of a cost model", "--cost 'external:command=python3 my_costs.py'");
  const auto failure = std::make_shared<FirstFailure>();
  return CostModelFactory(
      [=](const SearchSpace& space) { return std::make_unique<ExternalCost>(space, command, seconds, failure); },
      [failure] { return failure->problems(); });
}

}  // namespace isamap
