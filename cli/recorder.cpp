// SPDX-License-Identifier: Apache-2.0
#include "cli/recorder.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "build_facts.h"
#include "cli/cost_choice.h"
#include "cli/device.h"
#include "lab/run.h"
#include "scheduler/cost/learned_cost.h"
#include "support/yaml.h"

namespace isamap::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string print_lines(const Nest& nest) {
  std::string text;
  for (const Line& line : nest.lines) text += print(line) + "\n";
  return text;
}

std::string kernel_text(const Options& options) {
  if (options.kernel_file.empty()) return "";
  const auto text = yaml::read_text_file(options.kernel_file);
  return text ? *text : "";
}

/// The resolved hardware file: equal text means equal machine.
std::string resolved_target(const Options& options) {
  const auto loaded = load_hardware(options.target, model_folders(), {options.params, false, {}, options.in_order});
  return loaded ? loaded->resolved : "";
}

/// Initial knowledge of a run: known points of each statement, and earlier measurements.
std::string known_json(const std::vector<std::vector<Point>>& known, const std::vector<Lesson>& lessons) {
  Json json;
  json["points"] = Json::array();
  for (const auto& points : known) {
    json["points"].push_back(Json::array());
    for (const Point& point : points) json["points"].back().push_back(point.choice);
  }
  json["lessons"] = Json::array();
  for (const Lesson& lesson : lessons) json["lessons"].push_back({lesson.features, lesson.ratio});
  return json.dump();
}

/// The most recent measurements on a machine, up to a limit.
std::vector<Lesson> lessons_of(const std::vector<lab::TrialRecord>& trials, double hertz) {
  constexpr std::size_t most = 300;
  std::vector<Lesson> lessons;
  for (std::size_t t = trials.size() > most ? trials.size() - most : 0; t < trials.size(); ++t) {
    const Json features = Json::parse(trials[t].features, nullptr, false);
    if (!features.is_array() || features.size() < nest_feature_names().size() || !(trials[t].cycles > 0)) continue;
    Lesson lesson;
    for (std::size_t i = 0; i < nest_feature_names().size(); ++i) lesson.features.push_back(features[i].get<double>());
    lesson.ratio = *trials[t].measured * hertz / trials[t].cycles;
    lessons.push_back(std::move(lesson));
  }
  return lessons;
}

/// Further options that determine the meaning and cost of a point.
std::string space_text(const Options& options, Objective objective) {
  std::string space;
  for (const auto& [word, option] : space_words) space += options.schedule.space.*option ? "1" : "0";
  return fmt::format("{} {} {} {} {} {}{}", ISAMAP_VERSION, static_cast<int>(options.map.rule), options.map.instruction,
                     space, options.map.max_mappings, name(objective),
                     options.cost == "closed_form" ? "" : " " + options.cost + Json(options.cost_options).dump());
}

}  // namespace

std::string text_of(const Point& point) { return Json(point.choice).dump(); }

std::optional<Point> point_of(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_array()) return std::nullopt;
  Point point;
  for (const Json& value : json) {
    if (!value.is_number_integer()) return std::nullopt;
    point.choice.push_back(value.get<int>());
  }
  return point;
}

std::string options_json(const Options& options) {
  const ScheduleOptions& s = options.schedule;
  Json json;
  json["kernel_name"] = std::filesystem::path(options.kernel_file).filename().string();
  json["kernel_text"] = kernel_text(options);
  json["compute"] = options.compute;
  json["dims"] = options.dims;
  json["dtypes"] = options.dtypes;
  json["target"] = options.target;
  json["params"] = options.params;
  json["in_order"] = options.in_order;
  json["rule"] = static_cast<int>(options.map.rule);
  json["instruction"] = options.map.instruction;
  json["objective"] = static_cast<int>(s.objective);
  json["objective_given"] = options.objective_given;
  json["strategy"] = s.strategy;
  json["strategy_options"] = s.strategy_options;
  json["evals"] = s.max_evaluations;
  json["seconds"] = s.max_seconds;
  for (const auto& [word, option] : space_words) json["space"].push_back(s.space.*option);
  json["cost"] = options.cost;
  json["cost_options"] = options.cost_options;
  json["explain"] = options.explain;
  json["seed"] = options.seed;
  json["json"] = options.json;
  json["certify"] = options.certify;
  json["strict_float"] = options.strict_float;
  json["measured"] = options.lab.measured;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Options> options_of(const std::string& text, const std::string& folder) {
  const Json json = Json::parse(text, nullptr, false);
  Options options;
  try {
    if (const std::string kernel = json.at("kernel_name"); !kernel.empty()) {
      options.kernel_file = (std::filesystem::path(folder) / kernel).string();
      if (!write_file(options.kernel_file, json.at("kernel_text"))) return std::nullopt;
    }
    options.compute = json.at("compute");
    options.dims = json.at("dims");
    options.dtypes = json.at("dtypes");
    options.target = json.at("target");
    options.params = json.at("params").get<std::map<std::string, std::string>>();
    options.in_order = json.value("in_order", false);
    options.map.rule = static_cast<Rule>(json.at("rule").get<int>());
    options.map.instruction = json.at("instruction");
    options.schedule.objective = static_cast<Objective>(json.at("objective").get<int>());
    options.objective_given = json.at("objective_given");
    options.schedule.strategy = json.at("strategy");
    options.schedule.strategy_options = json.at("strategy_options").get<StrategyOptions>();
    options.schedule.max_evaluations = json.at("evals");
    options.schedule.max_seconds = json.at("seconds");
    for (std::size_t i = 0; i < std::min(space_words.size(), json.at("space").size()); ++i)  // older runs have fewer
      options.schedule.space.*space_words[i].second = json.at("space").at(i);
    options.cost = json.value("cost", options.cost);
    options.cost_options = json.value("cost_options", options.cost_options);
    options.explain = json.value("explain", options.explain);
    options.seed = json.at("seed");
    options.json = json.at("json");
    options.certify = json.at("certify");
    options.strict_float = json.at("strict_float");
    options.schedule.space.no_skipping = options.schedule.space.sums_in_order = options.strict_float;
    options.lab.measured = json.at("measured");
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return options;
}

CompileHook Recorder::hook() {
  return [this](CompileOptions& compile, const Inputs& inputs) {
    if (!options_.lab.store.empty() && !begin(compile, inputs)) return false;
    if (!known_.empty()) compile.schedule.known = known_;
    if (options_.cost == "learned") {
      Exit code = Exit::ok;
      if (const auto costs = cost_models(options_, inputs.model, code, lessons_)) compile.schedule.costs = *costs;
    }
    if (store_ || keep_) compile.schedule.watch = [this](const Trial& trial) { add(trial); };
    return true;
  };
}

bool Recorder::begin(CompileOptions& compile, const Inputs& inputs) {
  if (const auto wrong = no_utf8(options_)) return failed({*wrong});
  auto opened = lab::TrialStore::open(options_.lab.store, true);
  if (!opened) return failed(opened.diagnostics());
  store_.emplace(std::move(*opened));
  run_.verb = verb_;
  run_.kernel_hash = lab::hash_of(print(inputs.kernel));
  run_.target_text = resolved_target(options_);
  run_.target_hash = lab::hash_of(run_.target_text);
  run_.space_hash = lab::hash_of(space_text(options_, compile.schedule.objective));
  run_.options = options_json(options_);
  const std::string device = device_here();
  for (const bool measured : {true, false}) {
    const auto best = store_->best_points(run_, measured, device);
    if (!best) return failed(best.diagnostics());
    known_.resize(std::max(known_.size(), best->size()));
    for (std::size_t s = 0; s < best->size(); ++s)
      if (const auto point = point_of((*best)[s]))
        if (std::find(known_[s].begin(), known_[s].end(), *point) == known_[s].end()) known_[s].push_back(*point);
  }
  const auto before = store_->measured_on(run_.target_hash, device);
  if (!before) return failed(before.diagnostics());
  lessons_ = lessons_of(*before, inputs.model.clock_hz);
  run_.known = known_json(known_, lessons_);
  auto id = store_->begin(run_);
  if (!id) return failed(id.diagnostics());
  run_.id = *id;
  if (const Diagnostics problems = store_->measured_by(run_.id, device); has_errors(problems)) return failed(problems);
  return true;
}

bool Recorder::begin_as(const std::string& known) {
  const Json json = Json::parse(known, nullptr, false);
  try {
    for (const Json& points : json.at("points")) {
      known_.emplace_back();
      for (const Json& point : points) known_.back().push_back(Point{point.get<std::vector<int>>()});
    }
    for (const Json& lesson : json.at("lessons"))
      lessons_.push_back({lesson.at(0).get<std::vector<double>>(), lesson.at(1).get<double>()});
  } catch (const nlohmann::json::exception&) {
    return failed({error("the run has no record of its initial knowledge")});
  }
  return true;
}

void Recorder::add(const Trial& trial) {
  const std::size_t s = trial.statement.index();
  if (numbers_.size() <= s) numbers_.resize(s + 1, 0), names_.resize(s + 1);
  lab::TrialRecord t;
  t.statement = static_cast<std::int64_t>(s);
  t.number = ++numbers_[s];
  t.point = text_of(*trial.point);
  t.problem = trial.problem;
  std::vector<double> features;
  if (trial.cost && trial.nest) {
    t.schedule = print_lines(*trial.nest);
    t.objective = *trial.objective;
    t.cycles = trial.cost->cycles;
    t.energy_pJ = trial.cost->energy_pJ;
    t.bytes = trial.cost->bytes;
    features = nest_features(*trial.nest, *trial.cost);
    for (const double value : trial.space->features(*trial.point)) features.push_back(value);
    t.features = Json(features).dump();
  }
  number_of_.emplace(std::pair(t.statement, trial.point->choice), t.number);
  if (keep_) trials_.push_back(t);
  if (!store_ || broken_) return;
  if (names_[s].empty()) {
    names_[s] = nest_feature_names();
    for (std::string& feature : trial.space->feature_names()) names_[s].push_back(std::move(feature));
    broken_ = has_errors(store_->name_features(run_.id, Json(names_).dump()));
  }
  if (const Diagnostics problems = store_->add(run_.id, t); has_errors(problems)) failed(problems);
}

std::int64_t Recorder::add_nest(std::int64_t statement, const Nest& nest, const Cost& cost) {
  const auto s = static_cast<std::size_t>(statement);
  if (numbers_.size() <= s) numbers_.resize(s + 1, 0), names_.resize(s + 1);
  lab::TrialRecord t;
  t.statement = statement;
  t.number = ++numbers_[s];
  t.schedule = print_lines(nest);
  t.objective = t.cycles = cost.cycles;
  t.energy_pJ = cost.energy_pJ;
  t.bytes = cost.bytes;
  if (keep_) trials_.push_back(t);
  if (!store_ || broken_) return t.number;
  const Diagnostics problems = store_->add(run_.id, t);
  return has_errors(problems) && !failed(problems) ? 0 : t.number;
}

std::int64_t Recorder::number_of(std::int64_t statement, const std::vector<int>& choice) const {
  const auto it = number_of_.find({statement, choice});
  return it == number_of_.end() ? 0 : it->second;
}

bool Recorder::measured(const lab::TrialRecord& trial) {
  if (!store_ || broken_) return true;
  const Diagnostics problems = store_->measured(run_.id, trial);
  return !has_errors(problems) || failed(problems);
}

bool Recorder::compilers(const std::vector<lab::CompilerRecord>& compilers) {
  if (!store_ || broken_) return true;
  const Diagnostics problems = store_->add_compilers(run_.id, compilers);
  return !has_errors(problems) || failed(problems);
}

bool Recorder::finish(const std::string& text) {
  if (!store_) return true;
  if (broken_) return false;
  const Diagnostics problems = store_->finish(run_.id, text);
  return !has_errors(problems) || failed(problems);
}

bool Recorder::failed(const Diagnostics& problems) {
  if (!broken_) fail(Exit::wrong_input, problems);
  broken_ = true;
  return false;
}

}  // namespace isamap::cli
