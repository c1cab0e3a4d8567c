// SPDX-License-Identifier: Apache-2.0
// Trials of the laboratory as jobs: one for each instance, strategy and seed. Their results together are, byte for
// byte, what `isamap lab run` writes.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/jobs/kinds.h"
#include "cli/lab_file.h"
#include "lab/run.h"
#include "lab/trial_json.h"

namespace isamap::cli {
namespace {

using Json = nlohmann::json;

Json json_of_space(const SpaceOptions& space) {
  Json words = Json::array();
  for (const auto& [word, option] : space_words)
    if (space.*option) words.push_back(word);
  return words;
}

/// Everything of an instance but its optimum, which decides nothing.
Json json_of_instance(const lab::Instance& instance) {
  return {{"name", instance.name},
          {"group", instance.group},
          {"statement", instance.statement.index()},
          {"objective", static_cast<int>(instance.objective)},
          {"space", json_of_space(instance.space)},
          {"noise", instance.noise}};
}

Result<lab::Instance> instance_of(const Json& job, JobInputs& inputs) {
  const Json& given = job.at("instance");
  lab::Instance instance;
  instance.name = given.at("name").get<std::string>();
  instance.group = given.at("group").get<std::string>();
  instance.statement = make_id<StatementId>(given.at("statement").get<std::size_t>());
  instance.objective = static_cast<Objective>(given.at("objective").get<int>());
  instance.noise = given.at("noise").get<double>();
  for (const Json& word : given.at("space"))
    if (const std::string wrong = set_space_word(instance.space, word.get<std::string>()); !wrong.empty())
      return error(wrong);
  auto kernel = inputs.kernel(job.at("kernel").get<std::string>());
  if (!kernel) return kernel.diagnostics();
  instance.kernel = std::move(*kernel);
  const auto machine = inputs.machine(job.at("target").get<std::string>());
  if (!machine) return machine.diagnostics();
  instance.model = *machine;
  const auto mapped = enumerate_mappings(instance.kernel, *instance.model, MapOptions{});
  if (!mapped) return mapped.diagnostics();
  instance.mapped.limit_reached = mapped->limit_reached;
  for (const Mapping& mapping : mapped->mappings)
    if (mapping.statement == instance.statement) instance.mapped.mappings.push_back(mapping);
  return instance;
}

/// The last instance, since jobs of one follow each other.
Result<std::shared_ptr<const lab::Instance>> cached_instance(const Json& job, JobInputs& inputs) {
  static std::string of;
  static std::shared_ptr<const lab::Instance> instance;
  const std::string key =
      job.at("instance").dump() + job.at("kernel").get<std::string>() + job.at("target").get<std::string>();
  if (instance && of == key) return instance;
  auto made = instance_of(job, inputs);
  if (!made) return made.diagnostics();
  of = key;
  return instance = std::make_shared<const lab::Instance>(std::move(*made));
}

}  // namespace

std::optional<jobs::Plan> plan_lab(const PlanRequest& request, Exit& code) {
  const Options& options = request.options;
  const auto run = lab_run_options(options, code);
  if (!run) return std::nullopt;
  const auto suite = lab_suite(options, code);
  if (!suite) return std::nullopt;
  jobs::Plan plan;
  plan.verb = "lab";
  plan.head = Json{{"header", lab::json_of_header(options.suite, *suite, *run)}}.dump();
  for (const lab::Instance& instance : suite->instances) {
    const std::string kernel = plan.add_text(print(instance.kernel)), target = plan.add_text(*instance.target_text);
    for (const lab::StrategyChoice& strategy : run->strategies)
      for (std::int64_t s = 0; s < run->seeds; ++s) {
        const std::uint64_t seed = run->seed + static_cast<std::uint64_t>(s);
        plan.add(Json{{"verb", "lab"},
                      {"name", fmt::format("{}, {}, seed {}", instance.name, strategy.text, seed)},
                      {"texts", {kernel, target}},
                      {"kernel", kernel},
                      {"target", target},
                      {"instance", json_of_instance(instance)},
                      {"strategy", strategy.text},
                      {"seed", seed},
                      {"evals", run->evaluations},
                      {"cost", run->cost},
                      {"versions", Json::parse(versions_json())}}
                     .dump());
      }
  }
  return plan;
}

jobs::Outcome do_trial(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  const auto instance = cached_instance(job, inputs);
  if (!instance) return not_done(Exit::wrong_input, instance.diagnostics());
  const auto strategies = lab::parse_strategies(job.at("strategy").get<std::string>());
  if (!strategies) return not_done(Exit::usage, strategies.diagnostics());
  const auto costs = lab::costs_of(job.at("cost").get<std::string>());
  if (!costs) return not_done(Exit::wrong_input, costs.diagnostics());
  const auto trial = lab::run_trial(**instance, strategies->front(), job.at("seed").get<std::uint64_t>(),
                                    {job.at("evals").get<std::int64_t>(), {}}, *costs);
  if (!trial) return not_done(Exit::limit, trial.diagnostics());
  std::string line = lab::json_of_trial(*trial);
  line.pop_back();
  return {0, line, ""};
}

bool is_trial(const Json& job, const Json& result) {
  const auto trial = lab::parse_trial(result.dump());
  return trial && job.at("instance").at("name") == Json(trial->instance) &&
         job.at("strategy") == Json(trial->strategy) && trial->seed == job.at("seed");
}

Exit results_of_lab(const RecordedPlan& recorded) {
  std::string text = Json::parse(recorded.plan.head).at("header").get<std::string>();
  JobInputs inputs(recorded.store);
  for (const jobs::Job& job : recorded.plan.jobs) {
    const jobs::Known* known = recorded.store.find(job.key);
    if (!known || known->ok.empty()) continue;
    const auto result = inputs.result(job.key);
    if (!result) return fail(Exit::wrong_input, result.diagnostics());
    text += *result + "\n";
  }
  auto trials = lab::parse_trials(text, recorded.store.path());
  if (!trials) return fail(Exit::wrong_input, trials.diagnostics());
  text.erase(text.find('\n') + 1);
  for (const lab::TrialResult& trial : trials->results) text += lab::json_of_trial(trial);
  return deliver(recorded.options, text, tell_missing(recorded));
}

}  // namespace isamap::cli
