// SPDX-License-Identifier: Apache-2.0
#include "lab/trial_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>
#include <vector>

#include "isamap/frontends.h"

namespace isamap::lab {

namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Trials header_of(const Json& json) {
  Trials trials;
  trials.suite = json.at("suite").get<std::string>();
  trials.options.seeds = json.at("seeds").get<std::int64_t>();
  trials.options.seed = json.at("seed").get<std::uint64_t>();
  trials.options.evaluations = json.at("budget").at("evals").get<std::int64_t>();
  trials.options.cost = json.value("cost", trials.options.cost);
  std::string texts;
  for (const Json& text : json.at("strategies")) texts += (texts.empty() ? "" : ",") + text.get<std::string>();
  if (auto parsed = parse_strategies(texts)) trials.options.strategies = std::move(*parsed);
  for (const Json& one : json.at("instances")) {
    InstanceFacts facts;
    facts.name = one.at("name").get<std::string>();
    facts.group = one.at("group").get<std::string>();
    facts.kernel_hash = one.at("kernel_hash").get<std::string>();
    facts.target = one.at("target").get<std::string>();
    facts.target_hash = one.value("target_hash", "");  // older files have none
    facts.space = one.value("space", facts.space);
    facts.objective = one.at("objective").get<std::string>();
    facts.proof = one.at("proof").get<std::string>();
    facts.noise = one.at("noise").get<double>();
    if (!one.at("optimum").is_null()) facts.optimum = one.at("optimum").get<double>();
    trials.instances.push_back(std::move(facts));
  }
  return trials;
}

TrialResult trial_of(const Json& json) {
  TrialResult trial;
  trial.instance = json.at("instance").get<std::string>();
  trial.strategy = json.at("strategy").get<std::string>();
  trial.seed = json.at("seed").get<std::uint64_t>();
  trial.evaluations = json.at("evaluations").get<std::int64_t>();
  trial.legal = json.at("legal").get<std::int64_t>();
  for (const Json& step : json.at("curve"))
    trial.curve.emplace_back(step.at(0).get<std::int64_t>(), step.at(1).get<double>());
  trial.best = json.at("best").get<std::vector<int>>();
  return trial;
}

/// As suites write them.
std::vector<std::string> words_of(const SpaceOptions& space) {
  std::vector<std::string> words;
  for (const auto& [word, option] : space_words)
    if (space.*option) words.emplace_back(word);
  return words;
}

/// "7", "small", "random, genetic", "evals=300".
std::string in_words(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() && !value.is_object()) return value.dump();
  std::string text;
  for (const auto& [key, one] : value.items())
    text += (text.empty() ? "" : ", ") + (value.is_object() ? key + "=" : "") + in_words(one);
  return text;
}

/// "its instances are others", "its instance 'a' differs in target_hash"; empty: they are equal.
std::string difference_of_instances(const Json& written, const Json& now) {
  if (written.size() != now.size()) return "its instances are others";
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (written[i].at("name") != now[i].at("name")) return "its instances are others";
    for (const auto& [key, value] : now[i].items())
      if (written[i].value(key, Json()) != value)
        return fmt::format("its instance '{}' differs in {}", in_words(now[i].at("name")), key);
  }
  return "";
}

}  // namespace

std::optional<std::string> differences_of_headers(const std::string& written, const std::string& now) {
  const Json a = Json::parse(written, nullptr, false), b = Json::parse(now);
  if (!a.is_object() || a.value("kind", Json()) != b.at("kind")) return std::nullopt;
  std::vector<std::string> found;
  try {
    for (const auto& [key, verb, absent] : {std::tuple("suite", "is", Json()),
                                            {"strategies", "are", Json()},
                                            {"seeds", "are", Json()},
                                            {"seed", "is", Json()},
                                            {"budget", "is", Json()},
                                            {"cost", "is", Json(RunOptions{}.cost)}})
      if (const Json before = a.value(key, absent), after = b.value(key, absent); before != after)
        found.push_back(fmt::format("its {} {} {}, not {}", key, verb, in_words(before), in_words(after)));
    if (auto instances = difference_of_instances(a.at("instances"), b.at("instances")); !instances.empty())
      found.push_back(std::move(instances));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  if (found.empty()) found.emplace_back("its first line is of another version");
  return fmt::format("{}", fmt::join(found, "; "));
}

std::string json_of_header(const std::string& suite_name, const Suite& suite, const RunOptions& options) {
  Json json;
  json["schema_version"] = 1;
  json["kind"] = "lab";
  json["suite"] = suite_name;
  json["strategies"] = Json::array();
  for (const StrategyChoice& strategy : options.strategies) json["strategies"].push_back(strategy.text);
  json["seeds"] = options.seeds;
  json["seed"] = options.seed;
  json["budget"] = {{"evals", options.evaluations}};
  const bool closed_form = options.cost == RunOptions{}.cost;
  if (!closed_form) json["cost"] = options.cost;
  json["instances"] = Json::array();
  for (const Instance& instance : suite.instances)
    json["instances"].push_back({{"name", instance.name},
                                 {"group", instance.group},
                                 {"kernel_hash", hash_of(print(instance.kernel))},
                                 {"target", instance.model->name},
                                 {"target_hash", hash_of(*instance.target_text)},
                                 {"space", words_of(instance.space)},
                                 {"objective", std::string(name(instance.objective))},
                                 {"noise", instance.noise},
                                 {"optimum", instance.optimum && closed_form ? Json(*instance.optimum) : Json(nullptr)},
                                 {"proof", closed_form ? instance.proof : ""}});
  return line_of(json);
}

std::string json_of_trial(const TrialResult& trial) {
  Json json;
  json["instance"] = trial.instance;
  json["strategy"] = trial.strategy;
  json["seed"] = trial.seed;
  json["evaluations"] = trial.evaluations;
  json["legal"] = trial.legal;
  json["curve"] = Json::array();
  for (const auto& [evaluations, objective] : trial.curve) json["curve"].push_back({evaluations, objective});
  json["best"] = trial.best;
  return line_of(json);
}

std::optional<TrialResult> parse_trial(const std::string& line) {
  try {
    return trial_of(Json::parse(line, nullptr, false));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Result<Trials> parse_trials(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  Trials trials;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const bool cut_off = stream.eof() && !text.ends_with('\n');
    const Json json = Json::parse(line, nullptr, false);
    try {
      if (number == 1 && (!json.is_object() || json.value("kind", "") != "lab"))
        return error_at({file, 1, 0}, "is no file of trials: its first line says nothing of a laboratory run",
                        "`isamap lab run` writes such files");
      if (number == 1)
        trials = header_of(json);
      else
        trials.results.push_back(trial_of(json));
    } catch (const nlohmann::json::exception&) {
      if (cut_off && number > 1) break;  // the run was ended while it wrote
      if (number == 1) return error_at({file, number, 0}, "is no line of a trial", "each line is one JSON object");
      trials.damaged.push_back(error_at({file, number, 0}, "is no line of a trial", "each line is one JSON object"));
    }
  }
  if (number == 0) return error_at({file, 0, 0}, "is empty");
  return trials;
}

}  // namespace isamap::lab
