// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "backends/common/process.h"
#include "bench/gpu/bundle.h"
#include "bench/gpu/ranks.h"
#include "lab/run.h"
#include "lab/trial_store.h"
#include "scheduler/cost/learned_cost.h"

namespace isamap::bench {
namespace {

using Json = nlohmann::json;
constexpr std::size_t most_bytes = std::size_t{1} << 28;

struct TimedCase {
  Json row;  ///< line of the manifest
  double seconds = 0;
};

/// Timed cases with their predictions. Unreadable lines are counted.
std::vector<TimedCase> timed_cases(const std::filesystem::path& folder, int& unreadable) {
  std::vector<TimedCase> found;
  std::istringstream manifest(read_file(folder / "manifest.jsonl", most_bytes));
  for (std::string line; std::getline(manifest, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object() || !row.contains("case") || !row["case"].is_string()) {
      ++unreadable;
      continue;
    }
    const std::string text = read_file(folder / "results" / "time" / row["case"].get<std::string>(), 1 << 16);
    if (text.empty()) continue;
    const Json result = Json::parse(text, nullptr, false);
    if (!result.is_object()) {
      ++unreadable;
      continue;
    }
    if (result.value("status", "") != "ok") continue;
    const Json seconds = result.value("seconds", Json());
    if (seconds.is_number() && seconds.get<double>() > 0) found.push_back({row, seconds.get<double>()});
  }
  return found;
}

/// Results of earlier imports, which are skipped.
std::set<std::string> imported_before(const lab::TrialStore& store) {
  std::set<std::string> found;
  const auto last = store.run(0);
  for (std::int64_t id = 1; last && id <= last->id; ++id)
    if (const auto run = store.run(id); run && run->verb == "import") found.insert(run->kernel_hash + run->result);
  return found;
}

/// One run of the store per kernel; its trials are the measurements.
Diagnostics remember(lab::TrialStore& store, const std::vector<TimedCase>& cases, const std::string& target_text) {
  std::map<std::string, std::vector<const TimedCase*>> by_kernel;
  for (const TimedCase& one : cases) by_kernel[one.row.at("kernel")].push_back(&one);
  const std::set<std::string> before = imported_before(store);
  for (const auto& [kernel, list] : by_kernel) {
    std::string times;
    for (const TimedCase* one : list)
      times += fmt::format("{} {}\n", one->row.at("case").get<std::string>(), one->seconds);
    const std::string result = "imported " + lab::hash_of(times);
    if (before.contains(list[0]->row.at("kernel_hash").get<std::string>() + result)) continue;
    lab::RunRecord run;
    run.verb = "import";
    run.kernel_hash = list[0]->row.at("kernel_hash");
    run.target_hash = list[0]->row.at("target_hash");
    run.target_text = target_text;
    run.options = Json{{"kernel_text", list[0]->row.at("yaml")}}.dump();
    const auto id = store.begin(run);
    if (!id) return id.diagnostics();
    if (const Diagnostics problems = store.name_features(*id, Json{nest_feature_names()}.dump()); has_errors(problems))
      return problems;
    std::int64_t number = 0;
    for (const TimedCase* one : list) {
      lab::TrialRecord trial;
      trial.number = ++number;
      trial.schedule = one->row.at("nest");
      trial.objective = trial.cycles = one->row.at("predicted_cycles");
      trial.measured = one->seconds;
      trial.verdict = RunVerdict::correct;
      if (!one->row.at("features").empty()) trial.features = one->row.at("features").dump();
      Diagnostics problems = store.add(*id, trial);
      if (!has_errors(problems)) problems = store.measured(*id, trial);
      if (has_errors(problems)) return problems;
    }
    if (const Diagnostics problems = store.finish(*id, result); has_errors(problems)) return problems;
  }
  return {};
}

void print_ranks(const std::vector<TimedCase>& cases) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> of;  // predicted, measured
  for (const TimedCase& one : cases) {
    const double predicted = one.row.at("predicted_cycles").get<double>() / one.row.at("clock_hz").get<double>();
    for (const std::string& key : {std::string("all"), one.row.at("kernel").get<std::string>()}) {
      of[key].first.push_back(predicted);
      of[key].second.push_back(one.seconds);
    }
  }
  fmt::print("predicted against measured, by rank:\n");
  for (const auto& [name, values] : of) {
    if (values.first.size() < 3) continue;
    fmt::print("  {:34} {:4} cases  Spearman {:6.3f}  Kendall {:6.3f}\n", name == "all" ? "all kernels" : name,
               values.first.size(), spearman(values.first, values.second), kendall(values.first, values.second));
  }
  double log_ratio = 0;
  for (const TimedCase& one : cases)
    log_ratio +=
        std::log(one.seconds * one.row.at("clock_hz").get<double>() / one.row.at("predicted_cycles").get<double>());
  fmt::print("measured time is {:.3g} times the predicted (geometric mean)\n",
             std::exp(log_ratio / static_cast<double>(cases.size())));
}

}  // namespace

Diagnostics import_bundle(const std::filesystem::path& folder, const std::filesystem::path& store) {
  int unreadable = 0;
  const auto cases = timed_cases(folder, unreadable);
  if (unreadable > 0)
    fmt::print(stderr, "{} lines of {} cannot be read and are left out\n", unreadable, folder.string());
  if (cases.empty())
    return {error(fmt::format("{}: no case was timed there", folder.string()),
                  "run ./run.sh in that folder on a machine with a GPU; it says what is missing")};
  const std::string target = read_file(folder / "target.yaml", most_bytes);
  try {
    if (lab::hash_of(target) != cases[0].row.at("target_hash"))
      return {
          error(fmt::format("{}/target.yaml is not the description that its kernels were made from", folder.string()))};
    auto opened = lab::TrialStore::open(store.string(), true);
    if (!opened) return opened.diagnostics();
    if (const Diagnostics problems = remember(*opened, cases, target); has_errors(problems)) return problems;
    fmt::print("{} times are in {}: isamap tune --store, --cost learned\n", cases.size(), store.string());
    print_ranks(cases);
  } catch (const Json::exception& problem) {
    return {error(fmt::format("{}/manifest.jsonl: {}", folder.string(), problem.what()))};
  }
  return {};
}

}  // namespace isamap::bench
