// SPDX-License-Identifier: Apache-2.0
// Tuning as jobs. First a search of each statement with each strategy and seed, by predicted cost; then one job for
// each rank of the candidates that these searches found together: emitted, compiled, compared with the interpreter and
// timed alone on its machine. What is chosen is a function of the records; times of different devices are never
// compared.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/compile_verb.h"
#include "cli/device.h"
#include "cli/jobs/kinds.h"
#include "cli/recorder.h"
#include "driver/execute.h"
#include "isamap/backend.h"
#include "jobs/device.h"
#include "lab/run.h"
#include "scheduler/measure.h"

namespace isamap::cli {
namespace {

using Json = nlohmann::json;

/// Options of the search without those that are stated by the job itself.
Json json_of_options(Options options) {
  if (!options.objective_given) {  // energy is not measured
    options.objective_given = true;
    options.schedule.objective = Objective::cycles;
  }
  for (std::string* own : {&options.kernel_file, &options.compute, &options.dims, &options.dtypes, &options.target})
    own->clear();
  options.params.clear();
  options.json = options.in_order = false;
  options.seed = 0;
  options.schedule.strategy.clear();
  options.schedule.strategy_options.clear();
  return Json::parse(options_json(options));
}

struct Candidate {
  double cycles = 0;
  std::string schedule;  ///< text, or its hash
  bool operator<(const Candidate& other) const {
    return std::tie(cycles, schedule) < std::tie(other.cycles, other.schedule);
  }
};

/// The cheapest nests of one statement, each once.
class Nests {
 public:
  Nests(StatementId statement, std::size_t most) : statement_(statement), most_(most) {}
  void add(const Trial& trial) {
    if (trial.statement != statement_ || !trial.objective || !trial.nest) return;
    if (list_.size() == most_ && !(*trial.objective < list_.back().objective)) return;
    if (std::any_of(list_.begin(), list_.end(), [&](const One& one) { return one.nest == *trial.nest; })) return;
    const auto place = std::upper_bound(list_.begin(), list_.end(), *trial.objective,
                                        [](double value, const One& one) { return value < one.objective; });
    list_.insert(place, {*trial.objective, trial.cost->cycles, *trial.nest});
    if (list_.size() > most_) list_.pop_back();
  }
  struct One {
    double objective = 0, cycles = 0;
    Nest nest;
  };
  const std::vector<One>& list() const { return list_; }

 private:
  StatementId statement_;
  std::size_t most_;
  std::vector<One> list_;
};

std::optional<std::string> resolved_text(const Options& options) {
  const auto loaded = load_hardware(options.target, model_folders(), {options.params, false, {}, options.in_order});
  if (loaded) return loaded->resolved;
  fail(Exit::wrong_input, loaded.diagnostics());
  return std::nullopt;
}

}  // namespace

std::optional<jobs::Plan> plan_tune(const PlanRequest& request, Exit& code) {
  const Options& options = request.options;
  const auto inputs = load_inputs(options, code);
  if (!inputs) return std::nullopt;
  code = Exit::usage;
  const auto strategies = lab::parse_strategies(options.lab.strategies.empty() ? "annealing" : options.lab.strategies);
  if (!strategies) return fail(code, strategies.diagnostics()), std::nullopt;
  if (options.schedule.max_seconds > 0)
    return fail(code, "limit searches by evaluations: a limit in seconds is not reproducible", "--budget evals=N"),
           std::nullopt;
  code = Exit::wrong_input;
  const auto target_text = resolved_text(options);
  if (!target_text) return std::nullopt;
  jobs::Plan plan;
  plan.verb = "tune";
  const std::string kernel = plan.add_text(print(inputs->kernel)), target = plan.add_text(*target_text);
  const Json common{
      {"texts", {kernel, target}}, {"kernel", kernel}, {"target", target}, {"versions", Json::parse(versions_json())}};
  Json statements = Json::array();
  for (std::size_t s = 0; s < inputs->kernel.statements.size(); ++s) {
    const std::string of = inputs->kernel.name + "." + inputs->kernel.statements[s].name;
    Json searches = Json::array(), measured = Json::array();
    for (const lab::StrategyChoice& strategy : *strategies)
      for (std::int64_t n = 0; n < options.lab.seeds; ++n) {
        const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(n);
        Json job = common;
        job["verb"] = "search";
        job["name"] = fmt::format("{}, {}, seed {}", of, strategy.text, seed);
        job["options"] = json_of_options(options);
        job["statement"] = s;
        job["strategy"] = strategy.text;
        job["seed"] = seed;
        job["keep"] = options.lab.measured;
        searches.push_back(plan.add(job.dump()));
      }
    for (std::int64_t rank = 0; rank < options.lab.measured; ++rank) {
      Json job = common;
      job["verb"] = "measure";
      job["name"] = fmt::format("{}, candidate {}", of, rank);
      job["needs"] = searches;
      job["rank"] = rank;
      job["seed"] = options.seed;
      if (!request.device.empty()) job["device"] = request.device;
      measured.push_back(plan.add(job.dump()));
    }
    statements.push_back({{"name", of}, {"measured", measured}});
  }
  plan.head = Json{{"kernel", kernel}, {"target", target}, {"statements", statements}}.dump();
  return plan;
}

namespace {

/// Schedules of the whole kernel that differ in one statement, cheapest first; those that do not lower are left out.
Result<std::vector<Candidate>> candidates_of(const Nests& nests, std::size_t statement, const Schedule& schedule,
                                             const Inputs& inputs, std::size_t most) {
  std::vector<Candidate> found;
  for (const Nests::One& one : nests.list()) {
    if (found.size() == most) break;
    Schedule with = schedule;
    with.nests[statement] = one.nest;
    if (lower(with, inputs.kernel, inputs.model)) found.push_back({one.cycles, print(with)});
  }
  return found;
}

}  // namespace

jobs::Outcome do_search(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  auto kernel = inputs.kernel(job.at("kernel").get<std::string>());
  if (!kernel) return not_done(Exit::wrong_input, kernel.diagnostics());
  const auto machine = inputs.machine(job.at("target").get<std::string>());
  if (!machine) return not_done(Exit::wrong_input, machine.diagnostics());
  const Inputs both{std::move(*kernel), **machine};
  auto options = options_of(job.at("options").dump(), "");
  const auto strategies = lab::parse_strategies(job.at("strategy").get<std::string>());
  if (!options || !strategies) return not_done(Exit::usage, {error("the options of the job cannot be read")});
  options->schedule.strategy = strategies->front().name;
  options->schedule.strategy_options = strategies->front().options;
  options->strategy_given = true;
  options->seed = job.at("seed").get<std::uint64_t>();
  Exit code = Exit::ok;
  auto compile_with = compile_options(*options, both, code);
  if (!compile_with) return {static_cast<int>(code), "", ""};
  const auto statement = job.at("statement").get<std::size_t>(), keep = job.at("keep").get<std::size_t>();
  constexpr std::size_t more = 4;  // some do not lower
  Nests nests(make_id<StatementId>(statement), more * keep);
  compile_with->schedule.fuse = false;  // statements are measured one by one
  compile_with->schedule.stop_after.assign(both.kernel.statements.size(), 1);
  compile_with->schedule.stop_after[statement] = options->schedule.max_evaluations;
  compile_with->schedule.watch = [&](const Trial& trial) { nests.add(trial); };
  const Compilation compiled = compile(both.kernel, both.model, *compile_with);
  if (!compiled.scheduled) return not_done(compiled.code, compiled.problems);
  Json list = Json::array();
  if (statement < compiled.scheduled->schedule.nests.size()) {
    const auto found = candidates_of(nests, statement, compiled.scheduled->schedule, both, keep);
    for (const Candidate& one : *found) {
      const auto hash = inputs.put(one.schedule);
      if (!hash) return not_done(Exit::wrong_input, hash.diagnostics());
      list.push_back({{"schedule", *hash}, {"cycles", one.cycles}});
    }
  }
  return {0, Json{{"candidates", list}, {"evaluations", compiled.scheduled->evaluations}}.dump(), ""};
}

namespace {

/// Candidates of all searches, each once, cheapest first; of equal costs by text.
Result<std::vector<Candidate>> ranked(const Json& job, JobInputs& inputs) {
  std::set<Candidate> all;
  for (const Json& need : job.at("needs")) {
    const auto result = inputs.result(need.get<std::string>());
    if (!result) return result.diagnostics();
    const Json found = Json::parse(*result);
    for (const Json& one : found.at("candidates"))
      all.insert({one.at("cycles").get<double>(), one.at("schedule").get<std::string>()});
  }
  std::vector<Candidate> list;
  std::set<std::string> seen;
  for (const Candidate& one : all)
    if (seen.insert(one.schedule).second) list.push_back(one);
  return list;
}

/// The reference computation of this process, done once before its first measurement.
double reference_of_process() {
  static const double seconds = jobs::reference_seconds();
  return seconds;
}

/// Alone on this machine: compiled and compared before the lock, timed under it.
jobs::Outcome measured(const Program& program, const HardwareModel& model, const Candidate& one, std::uint64_t seed) {
  const auto runner = make_runner(model);
  MeasureOptions options;
  options.seed = seed;
  MeasureOptions check = options;
  check.rounds = 1;
  check.min_seconds = 0;
  Measured found = measure({program}, *runner, check).front();
  const jobs::DeviceLock alone;
  const double reference = reference_of_process();
  if (found.correct() && found.seconds > 0) found = measure({program}, *runner, options).front();
  if (!found.correct())
    return {static_cast<int>(found.verdict == RunVerdict::wrong_result ? Exit::wrong_result : Exit::limit), "",
            found.problem};
  static const std::string device = device_here();
  return {0,
          Json{{"schedule", one.schedule},
               {"predicted", one.cycles},
               {"seconds", found.seconds},
               {"cycles", found.cycles},
               {"executed", std::string(name(found.executed))},
               {"device", found.seconds > 0 ? device : "simulator"},
               {"reference", found.seconds > 0 ? reference : 0}}
              .dump(),
          ""};
}

}  // namespace

jobs::Outcome do_measure(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  const auto list = ranked(job, inputs);
  if (!list) return not_done(Exit::wrong_input, list.diagnostics());
  const auto rank = job.at("rank").get<std::size_t>();
  if (rank >= list->size()) return {0, R"({"absent":true})", ""};
  auto kernel = inputs.kernel(job.at("kernel").get<std::string>());
  if (!kernel) return not_done(Exit::wrong_input, kernel.diagnostics());
  const auto machine = inputs.machine(job.at("target").get<std::string>());
  if (!machine) return not_done(Exit::wrong_input, machine.diagnostics());
  if (const Diagnostics large = too_large_to_run(*kernel); !large.empty()) return not_done(Exit::limit, large);
  if (const std::string why = not_timed(**machine); !why.empty())
    return not_done(Exit::missing, {error("nothing can be measured: " + why)});
  const auto schedule_text = inputs.text((*list)[rank].schedule);
  if (!schedule_text) return not_done(Exit::wrong_input, schedule_text.diagnostics());
  const auto schedule = parse_schedule(*schedule_text, "candidate", *kernel, **machine);
  if (!schedule) return not_done(Exit::wrong_input, schedule.diagnostics());
  const auto program = lower(*schedule, *kernel, **machine);
  if (!program) return not_done(Exit::no_answer, program.diagnostics());
  return measured(*program, **machine, (*list)[rank], job.at("seed").get<std::uint64_t>());
}

namespace {

struct Timed {
  std::string schedule, executed;
  std::size_t statement = 0;
  double predicted = 0, value = 0, reference = 0;  ///< value: seconds, or cycles of a simulator
  bool clock = false, off = false;                 ///< off: its reference is not that of its device
};

/// By device; of each the times of all statements, fastest first, those that are off last.
using Times = std::map<std::string, std::vector<Timed>>;

void mark_and_rank(Times& times) {
  for (auto& [device, list] : times) {
    std::vector<double> references;
    for (const Timed& one : list) references.push_back(one.reference);
    std::nth_element(references.begin(), references.begin() + static_cast<std::ptrdiff_t>(references.size() / 2),
                     references.end());
    const double median = references[references.size() / 2];
    for (Timed& one : list) one.off = std::abs(one.reference - median) > jobs::reference_tolerance * median;
    std::stable_sort(list.begin(), list.end(), [](const Timed& a, const Timed& b) {
      return std::tie(a.statement, a.off, a.value, a.schedule) < std::tie(b.statement, b.off, b.value, b.schedule);
    });
  }
}

Result<Times> times_of(const Json& head, JobInputs& inputs) {
  Times times;
  for (std::size_t s = 0; s < head.at("statements").size(); ++s)
    for (const Json& key : head.at("statements")[s].at("measured")) {
      const jobs::Known* known = inputs.store().find(key.get<std::string>());
      for (std::size_t r = 0; known && r < known->ok.size(); ++r) {
        const auto record = inputs.store().read(known->ok[r]);
        if (!record) return record.diagnostics();
        const Json result = Json::parse(record->result);
        if (result.contains("absent")) continue;
        const double seconds = result.at("seconds").get<double>(), cycles = result.at("cycles").get<double>();
        times[result.at("device").get<std::string>()].push_back(
            {result.at("schedule").get<std::string>(), result.at("executed").get<std::string>(), s,
             result.at("predicted").get<double>(), seconds > 0 ? seconds : cycles, result.at("reference").get<double>(),
             seconds > 0, false});
      }
    }
  mark_and_rank(times);
  return times;
}

/// The schedule with the fastest nest of each statement. Statements without one (scalar code) are as in the first.
Result<std::string> best_schedule(const std::vector<Timed>& list, const Json& head, JobInputs& inputs) {
  auto kernel = inputs.kernel(head.at("kernel").get<std::string>());
  if (!kernel) return kernel.diagnostics();
  const auto machine = inputs.machine(head.at("target").get<std::string>());
  if (!machine) return machine.diagnostics();
  std::optional<Schedule> best;
  std::set<std::size_t> seen;
  for (const Timed& one : list) {
    if (!seen.insert(one.statement).second) continue;
    const auto text = inputs.text(one.schedule);
    if (!text) return text.diagnostics();
    auto schedule = parse_schedule(*text, "candidate", *kernel, **machine);
    if (!schedule) return schedule.diagnostics();
    if (!best)
      best = std::move(*schedule);
    else
      best->nests[one.statement] = schedule->nests[one.statement];
  }
  return print(*best);
}

std::string value_text(const Timed& one) {
  return one.clock ? fmt::format("{:.4g} us", one.value * 1e6) : fmt::format("{:.0f} cycles", one.value);
}

std::string text_of(const std::string& device, const std::vector<Timed>& list, const std::string& schedule) {
  std::string text = fmt::format("# device {}\n{}\n", device, schedule);
  for (const Timed& one : list)
    text += fmt::format("# statement {}: {:.4g} cycles predicted, {}{}\n", one.statement, one.predicted,
                        value_text(one), one.off ? ", marked: the reference computation was off by over 5 %" : "");
  return text;
}

Json json_of(const std::string& device, const std::vector<Timed>& list, const std::string& schedule) {
  Json rows = Json::array();
  for (const Timed& one : list)
    rows.push_back({{"statement", one.statement},
                    {"schedule", one.schedule},
                    {"predicted", one.predicted},
                    {one.clock ? "seconds" : "cycles", one.value},
                    {"executed", one.executed},
                    {"marked", one.off}});
  return {{"device", device}, {"best", {{"schedule", schedule}}}, {"candidates", rows}};
}

}  // namespace

Exit results_of_tune(const RecordedPlan& recorded) {
  const Json head = Json::parse(recorded.plan.head);
  JobInputs inputs(recorded.store);
  const auto times = times_of(head, inputs);
  if (!times) return fail(Exit::wrong_input, times.diagnostics());
  std::string text;
  Json devices = Json::array();
  for (const auto& [device, list] : *times) {
    const auto schedule = best_schedule(list, head, inputs);
    if (!schedule) return fail(Exit::wrong_input, schedule.diagnostics());
    text += text_of(device, list, *schedule);
    devices.push_back(json_of(device, list, *schedule));
  }
  const Exit missing = tell_missing(recorded);
  if (times->empty() && missing == Exit::ok)
    return fail(Exit::no_answer, "nothing to tune: every statement is scalar code",
                "isamap explain KERNEL --target HW says why no instruction maps");
  const Json all{{"schema_version", 1}, {"devices", devices}};
  return deliver(recorded.options, recorded.options.json ? all.dump(2) + "\n" : text, missing);
}

}  // namespace isamap::cli
