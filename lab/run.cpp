// SPDX-License-Identifier: Apache-2.0
#include "lab/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numbers>
#include <set>
#include <tuple>

#include "isamap/interpret.h"
#include "lab/trial_json.h"
#include "scheduler/search/cost_names.h"
#include "support/hash.h"
#include "support/threads.h"

namespace isamap::lab {

namespace {

using LabClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds poll_interval{20};  ///< of `progress`, within a trial

/// Log-normal noise: the strategy is told objective * exp(noise * N(0, 1)); the draw depends only on instance, seed and
/// evaluation number.
double with_noise(double objective, double noise, std::uint64_t seed, std::int64_t number) {
  Random random(seed * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(number));
  const double u = 1 - random.unit(), v = random.unit();
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);  // Box, Muller 1958
  return objective * std::exp(noise * normal);
}

struct Job {
  const Instance* instance;
  const StrategyChoice* strategy;
  std::uint64_t seed;
};

std::vector<Job> jobs_of(const Suite& suite, const RunOptions& options) {
  std::vector<Job> jobs;
  for (const Instance& instance : suite.instances)
    for (const StrategyChoice& strategy : options.strategies)
      for (std::int64_t s = 0; s < options.seeds; ++s)
        jobs.push_back({&instance, &strategy, options.seed + static_cast<std::uint64_t>(s)});
  return jobs;
}

/// Emits results in the order of the jobs.
class InOrder {
 public:
  InOrder(std::size_t count, const std::function<void(const std::string&)>& write) : lines_(count), write_(write) {}
  void put(std::size_t at, std::string line) {
    const std::lock_guard lock(mutex_);
    lines_[at] = std::move(line);
    for (; next_ < lines_.size() && lines_[next_]; ++next_) {
      write_(*lines_[next_]);
      lines_[next_] = "";
    }
  }
  std::size_t done() {
    const std::lock_guard lock(mutex_);
    return next_;
  }

 private:
  std::vector<std::optional<std::string>> lines_;
  std::size_t next_ = 0;
  std::mutex mutex_;
  const std::function<void(const std::string&)>& write_;
};

/// Adds "key=value"; the problem of another text. `of`: "strategy 'NAME:..'".
std::optional<Diagnostic> add_option(const std::string& text, const std::string& of, const std::string& form,
                                     StrategyOptions& options) {
  const std::size_t equal = text.find('=');
  if (equal == 0 || equal == std::string::npos)
    return error(fmt::format("'{}' of {} is not of the form key=value", text, of), form);
  options[text.substr(0, equal)] = text.substr(equal + 1);
  return std::nullopt;
}

}  // namespace

Result<std::vector<StrategyChoice>> parse_strategies(const std::string& text) {
  std::vector<StrategyChoice> choices;
  std::set<std::string> seen;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    StrategyChoice choice;
    choice.text = text.substr(at, end - at);
    at = end + 1;
    std::size_t colon = choice.text.find(':');
    choice.name = choice.text.substr(0, colon);
    while (colon != std::string::npos) {
      const std::size_t next = choice.text.find(':', colon + 1);
      const std::string part = choice.text.substr(colon + 1, next == std::string::npos ? next : next - colon - 1);
      if (auto wrong =
              add_option(part, "strategy '" + choice.text + "'", "NAME:key=value:key=value,NAME,...", choice.options))
        return std::move(*wrong);
      colon = next;
    }
    if (choice.name.empty()) return error("a strategy has no name", "--strategies random,genetic:population=64");
    if (!seen.insert(choice.text).second) return error(fmt::format("strategy '{}' is given twice", choice.text));
    choices.push_back(std::move(choice));
  }
  return choices;
}

Result<CostModelFactory> costs_of(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  StrategyOptions options;
  for (std::size_t at = colon + 1; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (auto wrong =
            add_option(text.substr(at, end - at), "cost model '" + text + "'", "NAME:key=value,key=value", options))
      return std::move(*wrong);
    at = end + 1;
  }
  return cost_model_named(text.substr(0, colon), options);
}

Result<TrialResult> run_trial(const Instance& instance, const StrategyChoice& strategy, std::uint64_t seed,
                              const TrialLimits& limits, const CostModelFactory& costs) {
  const SearchSpace space = instance.search_space();
  auto made = strategy_named(strategy.name, space, strategy.options, seed);
  if (!made) return made.diagnostics();
  TrialResult result;
  result.instance = instance.name;
  result.strategy = strategy.text;
  result.seed = seed;
  LoopOptions loop;
  loop.objective = instance.objective;
  loop.max_evaluations = limits.evaluations;
  if (limits.stopped) loop.progress = [&](std::int64_t, double) { return !limits.stopped(); };
  const std::uint64_t noise_seed = seed ^ fnv1a(instance.name);
  if (instance.noise > 0)
    loop.noise = [&](std::int64_t number, double objective) {
      return with_noise(objective, instance.noise, noise_seed, number);
    };
  loop.watch = [&](const Trial& trial) {
    if (trial.best) result.curve.emplace_back(trial.number, value(*trial.cost, instance.objective));
  };
  const Found found = search(space, **made, costs, loop);
  if (has_errors(found.failure)) return found.failure;
  result.evaluations = found.evaluations;
  result.legal = found.legal;
  if (found.best) result.best = found.best->point.choice;
  return result;
}

Diagnostics check(const Suite& suite, const RunOptions& options) {
  if (const auto costs = costs_of(options.cost); !costs) return costs.diagnostics();
  Diagnostics problems;
  const SearchSpace space = suite.instances.front().search_space();
  for (const StrategyChoice& strategy : options.strategies)
    if (const auto made = strategy_named(strategy.name, space, strategy.options, 0); !made)
      remember(problems, made.diagnostics());
  return problems;
}

Diagnostics run(const std::string& suite_name, const Suite& suite, const RunOptions& options,
                const std::function<void(const std::string&)>& write,
                const std::function<bool(std::size_t, std::size_t)>& progress, const WrittenBefore& before) {
  if (Diagnostics problems = check(suite, options); has_errors(problems)) return problems;
  const auto costs = costs_of(options.cost);
  std::vector<Job> jobs = jobs_of(suite, options);
  const std::size_t all = jobs.size();
  jobs.erase(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(before.trials));
  if (before.bytes == 0) write(json_of_header(suite_name, suite, options));
  InOrder results(jobs.size(), write);
  Diagnostics failed;
  std::mutex mutex;
  std::atomic<bool> stop{false};
  const auto poll = [&] {
    if (!progress) return;
    const std::lock_guard lock(mutex);
    if (!stop && !progress(before.trials + results.done(), all)) stop = true;
  };
  std::atomic<LabClock::time_point> polled{LabClock::now()};
  const TrialLimits limits{options.evaluations, [&] {
                             LabClock::time_point last = polled;
                             const LabClock::time_point now = LabClock::now();
                             if (now - last > poll_interval && polled.compare_exchange_strong(last, now)) poll();
                             return stop.load();
                           }};
  for_each_in_parallel(jobs.size(), options.jobs, [&](std::size_t j) {
    if (stop) return;
    if (const auto known = before.later.find(before.trials + j); known != before.later.end()) {
      results.put(j, known->second);
      return;
    }
    auto trial = run_trial(*jobs[j].instance, *jobs[j].strategy, jobs[j].seed, limits, *costs);
    if (stop) return;  // the trial is incomplete
    if (!trial) {
      const std::lock_guard lock(mutex);
      remember(failed, trial.diagnostics());
      stop = true;
      return;
    }
    results.put(j, json_of_trial(*trial));
    poll();
  });
  return failed;
}

WrittenBefore written_before(const std::string& text, const std::string& suite_name, const Suite& suite,
                             const RunOptions& options) {
  const std::string header = json_of_header(suite_name, suite, options);
  if (!text.starts_with(header)) return {};
  WrittenBefore before{header.size(), 0};
  const std::vector<Job> jobs = jobs_of(suite, options);
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::size_t> numbers;
  for (std::size_t j = 0; j < jobs.size(); ++j)
    numbers.emplace(std::tuple(jobs[j].instance->name, jobs[j].strategy->text, jobs[j].seed), j);
  std::size_t end = 0;
  for (std::size_t at = header.size(); (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = text.substr(at, end + 1 - at);
    const auto read = parse_trials(header + line, "");
    if (!read || read->results.size() != 1) continue;
    const TrialResult& trial = read->results.front();
    const auto number = numbers.find({trial.instance, trial.strategy, trial.seed});
    if (number == numbers.end()) continue;
    if (at == before.bytes && number->second == before.trials)
      before.bytes = end + 1, ++before.trials;
    else if (number->second >= before.trials)
      before.later.emplace(number->second, line);
  }
  return before;
}

std::string held_by_another_run(const std::string& text, const std::string& suite_name, const Suite& suite,
                                const RunOptions& options) {
  const std::string header = json_of_header(suite_name, suite, options);
  if (text.starts_with(header) || header.starts_with(text)) return "";
  const std::size_t end = text.find('\n');
  const auto differences =
      end == std::string::npos ? std::nullopt : differences_of_headers(text.substr(0, end), header);
  if (!differences) return "is no file of trials";
  if (end + 1 == text.size()) return "";  // a header alone
  return "holds trials of another run: " + *differences;
}

std::string hash_of(const std::string& text) { return fmt::format("{:016x}", fnv1a(text)); }

}  // namespace isamap::lab
