// SPDX-License-Identifier: Apache-2.0
// Tuning as jobs, which measure what `tune` measures. First a search of each statement with each strategy and seed, by
// predicted cost; then one job for each rank of the candidates that these searches found together: emitted, compiled,
// compared with the interpreter and timed alone on its machine. Then one job for each statement times variants of the
// fastest (scheduler/tuning_variants.h), and one for the kernel times what each available compiler makes of the best
// schedule. What is chosen is a function of the records; times of different devices are never compared.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/compile_verb.h"
#include "cli/device.h"
#include "cli/jobs/kinds.h"
#include "cli/recorder.h"
#include "driver/compilers.h"
#include "driver/execute.h"
#include "ir/verify/recurrence.h"
#include "isamap/backend.h"
#include "jobs/device.h"
#include "lab/run.h"
#include "scheduler/measure.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "scheduler/tuning_variants.h"

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

/// A search of statement `s`, named `of`, with each strategy and seed; their keys.
Json add_searches(jobs::Plan& plan, const Json& common, const std::string& of, std::size_t s,
                  const std::vector<lab::StrategyChoice>& strategies, const Options& options) {
  Json searches = Json::array();
  for (const lab::StrategyChoice& strategy : strategies)
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
  return searches;
}

}  // namespace

std::optional<jobs::Plan> plan_tune(const PlanRequest& request, Exit& code) {
  const Options& options = request.options;
  const auto inputs = load_inputs(options, code);
  if (!inputs) return std::nullopt;
  code = Exit::usage;
  const auto strategies = lab::parse_strategies(options.lab.strategies.empty() ? "annealing" : options.lab.strategies);
  if (!strategies) return fail(code, strategies.diagnostics()), std::nullopt;
  if (refused_seconds(options, "searches")) return std::nullopt;
  code = Exit::wrong_input;
  const auto target_text = resolved_text(options);
  if (!target_text) return std::nullopt;
  jobs::Plan plan;
  plan.verb = "tune";
  const std::string kernel = plan.add_text(print(inputs->kernel)), target = plan.add_text(*target_text);
  const Json common{
      {"texts", {kernel, target}}, {"kernel", kernel}, {"target", target}, {"versions", Json::parse(versions_json())}};
  Json statements = Json::array(), ended = Json::array();
  // A job that times what follows from earlier times of these statements, as far as they have some: a candidate that
  // has none, like one with a wrong result, is not chosen.
  const auto timing = [&](const std::string& verb, const std::string& name, const Json& after, const Json& of) {
    Json job = common;
    job["verb"] = verb;
    job["name"] = name;
    job["after"] = after;
    job["statements"] = of;
    job["seed"] = options.seed;
    if (!request.device.empty()) job["device"] = request.device;
    return plan.add(job.dump());
  };
  for (std::size_t s = 0; s < inputs->kernel.statements.size(); ++s) {
    const std::string of = inputs->kernel.name + "." + inputs->kernel.statements[s].name;
    const Json searches = add_searches(plan, common, of, s, *strategies, options);
    Json measured = Json::array();
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
    Json statement{{"name", of}, {"number", s}, {"measured", measured}};
    statement["varied"] = timing("variants", of + ", variants of the fastest", measured, Json::array({statement}));
    ended.insert(ended.end(), measured.begin(), measured.end());
    ended.push_back(statement["varied"]);
    statements.push_back(std::move(statement));
  }
  const std::string compilers = timing("compilers", inputs->kernel.name + ", each compiler", ended, statements);
  plan.head = Json{{"kernel", kernel}, {"target", target}, {"statements", statements}, {"compilers", compilers}}.dump();
  return plan;
}

namespace {

/// Schedules of the whole kernel that differ in one statement, cheapest first; those that do not lower are left out.
/// None where the schedule computes the statement in parts, of which there are no trials.
std::vector<Candidate> candidates_of(const Nests& nests, std::size_t statement, const Schedule& schedule,
                                     const Inputs& inputs, std::size_t most) {
  std::vector<Candidate> found;
  const auto at = nest_of(inputs.kernel, statement, schedule);
  for (const Nests::One& one : nests.list()) {
    if (!at || found.size() == most) break;
    Schedule with = schedule;
    with.nests[*at] = one.nest;
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
  for (const Candidate& one : candidates_of(nests, statement, compiled.scheduled->schedule, both, keep)) {
    const auto hash = inputs.put(one.schedule);
    if (!hash) return not_done(Exit::wrong_input, hash.diagnostics());
    list.push_back({{"schedule", *hash}, {"cycles", one.cycles}});
  }
  return {0, Json{{"candidates", list}, {"evaluations", compiled.scheduled->evaluations}}.dump(), ""};
}

namespace {

Candidate candidate_of(const Json& one) {
  return {one.at("cycles").get<double>(), one.at("schedule").get<std::string>()};
}

/// Candidates of all searches, each once, cheapest first; of equal costs by text.
Result<std::vector<Candidate>> ranked(const Json& job, JobInputs& inputs) {
  std::set<Candidate> all;
  for (const Json& need : job.at("needs")) {
    const auto result = inputs.result(need.get<std::string>());
    if (!result) return result.diagnostics();
    const Json found = Json::parse(*result);
    for (const Json& one : found.at("candidates")) all.insert(candidate_of(one));
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

/// The device of a time that was measured here.
const std::string& device_of(bool clock) {
  static const std::string here = device_here(), none = "simulator";
  return clock ? here : none;
}

/// Alone on this machine: compiled and compared before the lock, timed under it, behind the reference computation of
/// this process.
class Timing {
 public:
  explicit Timing(std::uint64_t seed) {
    options_.seed = seed;
    options_.alone = [reference = reference_] {
      auto lock = std::make_shared<jobs::DeviceLock>();
      *reference = reference_of_process();
      return lock;
    };
  }
  const MeasureOptions& options() const { return options_; }
  /// One row of a result.
  Json row(const Measured& found, const std::string& schedule, double predicted) const {
    const bool clock = found.seconds > 0;
    return {{"schedule", schedule},
            {"predicted", predicted},
            {"seconds", found.seconds},
            {"cycles", found.cycles},
            {"executed", std::string(name(found.executed))},
            {"device", device_of(clock)},
            {"reference", clock ? *reference_ : 0}};
  }

 private:
  MeasureOptions options_;
  std::shared_ptr<double> reference_ = std::make_shared<double>(0);  ///< the options are copied, and write it
};

jobs::Outcome not_measured(const Measured& found) {
  return {static_cast<int>(found.verdict == RunVerdict::wrong_result ? Exit::wrong_result : Exit::limit), "",
          found.problem};
}

/// Kernel and machine of a job whose programs are timed.
struct TimedInputs {
  Kernel kernel;
  std::shared_ptr<const HardwareModel> machine;
};
/// Nothing: `problem` says why.
std::optional<TimedInputs> timed_inputs(const Json& job, JobInputs& inputs, jobs::Outcome& problem) {
  auto kernel = inputs.kernel(job.at("kernel").get<std::string>());
  if (!kernel) return problem = not_done(Exit::wrong_input, kernel.diagnostics()), std::nullopt;
  const auto machine = inputs.machine(job.at("target").get<std::string>());
  if (!machine) return problem = not_done(Exit::wrong_input, machine.diagnostics()), std::nullopt;
  if (const Diagnostics large = too_large_to_run(*kernel); !large.empty())
    return problem = not_done(Exit::limit, large), std::nullopt;
  if (const std::string why = not_timed(**machine); !why.empty())
    return problem = not_done(Exit::missing, {error("nothing can be measured: " + why)}), std::nullopt;
  return TimedInputs{std::move(*kernel), *machine};
}

}  // namespace

jobs::Outcome do_measure(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  const auto list = ranked(job, inputs);
  if (!list) return not_done(Exit::wrong_input, list.diagnostics());
  const auto rank = job.at("rank").get<std::size_t>();
  if (rank >= list->size()) return {0, R"({"absent":true})", ""};
  jobs::Outcome problem;
  const auto with = timed_inputs(job, inputs, problem);
  if (!with) return problem;
  const Candidate& one = (*list)[rank];
  const auto schedule_text = inputs.text(one.schedule);
  if (!schedule_text) return not_done(Exit::wrong_input, schedule_text.diagnostics());
  const auto schedule = parse_schedule(*schedule_text, "candidate", with->kernel, *with->machine);
  if (!schedule) return not_done(Exit::wrong_input, schedule.diagnostics());
  const auto program = lower(*schedule, with->kernel, *with->machine);
  if (!program) return not_done(Exit::no_answer, program.diagnostics());
  const Timing timing(job.at("seed").get<std::uint64_t>());
  const auto runner = make_runner(made_by_default(*with->machine));
  const Measured found = measure({*program}, *runner, timing.options()).front();
  return found.correct() ? jobs::Outcome{0, timing.row(found, one.schedule, one.cycles).dump(), ""}
                         : not_measured(found);
}

namespace {

struct Timed {
  std::string schedule, executed;
  std::size_t statement = 0;
  double predicted = 0, value = 0, reference = 0;  ///< value: seconds, or cycles of a simulator
  bool clock = false, off = false;                 ///< off: its reference is not that of its device
  std::string variation = {};                      ///< timed with the variants of the fastest; empty: a candidate
};

/// By device; of each the times of all statements: variants before candidates, since their times are of one minute, the
/// fastest first, those that are off last.
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
      const bool a_last = a.variation.empty(), b_last = b.variation.empty();
      return std::tie(a.statement, a.off, a_last, a.value, a.schedule) <
             std::tie(b.statement, b.off, b_last, b.value, b.schedule);
    });
  }
}

/// Results of all records of a job; those that say that there was nothing to do are left out.
Result<std::vector<Json>> results_of(const std::string& key, JobInputs& inputs) {
  std::vector<Json> found;
  const jobs::Known* known = inputs.store().find(key);
  for (std::size_t r = 0; known && r < known->ok.size(); ++r) {
    const auto record = inputs.store().read(known->ok[r]);
    if (!record) return record.diagnostics();
    Json result = Json::parse(record->result);
    if (!result.contains("absent")) found.push_back(std::move(result));
  }
  return found;
}

void add_time(const Json& row, std::size_t statement, Times& times) {
  const double seconds = row.at("seconds").get<double>(), cycles = row.at("cycles").get<double>();
  times[row.at("device").get<std::string>()].push_back(
      {row.at("schedule").get<std::string>(), row.at("executed").get<std::string>(), statement,
       row.at("predicted").get<double>(), seconds > 0 ? seconds : cycles, row.at("reference").get<double>(),
       seconds > 0, false, row.value("variation", "")});
}

bool is_time(const Json& row) {
  Times times;
  add_time(row, 0, times);
  return true;
}

/// Of a plan, or a job of it, that lacks this key.
Diagnostic of_another_version(const std::string& key) {
  return error(fmt::format("the plan lacks '{}': another version of isamap wrote it", key),
               "plan again: `isamap plan tune ... -o PLAN`");
}

/// What is missing in the head of a plan.
std::optional<Diagnostic> missing_in(const Json& head) {
  for (const char* key : {"kernel", "target", "statements", "compilers"})
    if (!head.contains(key)) return of_another_version(key);
  for (const Json& of : head.at("statements"))
    for (const char* key : {"number", "measured", "varied"})
      if (!of.contains(key)) return of_another_version(key);
  return std::nullopt;
}

/// `statements` of a plan or of a job; a job that times variants has none of them yet.
Result<Times> times_of(const Json& statements, JobInputs& inputs) {
  Times times;
  for (const Json& of : statements) {
    const auto statement = of.at("number").get<std::size_t>();
    for (const Json& key : of.at("measured")) {
      const auto rows = results_of(key.get<std::string>(), inputs);
      if (!rows) return rows.diagnostics();
      for (const Json& row : *rows) add_time(row, statement, times);
    }
    if (!of.contains("varied")) continue;
    const auto lists = results_of(of.at("varied").get<std::string>(), inputs);
    if (!lists) return lists.diagnostics();
    for (const Json& list : *lists)
      for (const Json& row : list.at("rows")) add_time(row, statement, times);
  }
  mark_and_rank(times);
  return times;
}

/// The schedule with the fastest nest of each statement. Statements without one (scalar code, computed in parts) are as
/// in the first.
Result<Schedule> best_schedule(const std::vector<Timed>& list, const TimedInputs& with, JobInputs& inputs) {
  std::optional<Schedule> best;
  std::set<std::size_t> seen;
  for (const Timed& one : list) {
    if (!seen.insert(one.statement).second) continue;
    const auto text = inputs.text(one.schedule);
    if (!text) return text.diagnostics();
    auto schedule = parse_schedule(*text, "candidate", with.kernel, *with.machine);
    if (!schedule) return schedule.diagnostics();
    if (!best) {
      best = std::move(*schedule);
      continue;
    }
    const auto to = nest_of(with.kernel, one.statement, *best), from = nest_of(with.kernel, one.statement, *schedule);
    if (to && from) best->nests[*to] = schedule->nests[*from];
  }
  return std::move(*best);
}

/// What was measured here, else on the first other device: a schedule to start from. Null: nothing was.
const std::vector<Timed>* times_here(const Times& times) {
  for (const bool clock : {true, false})
    if (const auto here = times.find(device_of(clock)); here != times.end()) return &here->second;
  return times.empty() ? nullptr : &times.begin()->second;
}

/// A program that a job times with others.
struct Contender {
  Program program;
  std::string schedule, variation;  ///< the schedule by its hash
  double predicted = 0;
};

/// The schedule and its variants that lower.
Result<std::vector<Contender>> contenders_of(const Schedule& schedule, std::size_t statement, const TimedInputs& with,
                                             JobInputs& inputs) {
  std::vector<Contender> found;
  const auto at = nest_of(with.kernel, statement, schedule);
  if (!at) return found;
  std::vector<TuningVariant> all = tuning_variants(schedule, *at, with.kernel, *with.machine);
  if (all.empty()) return found;
  all.insert(all.begin(), {"the fastest again", schedule.nests[*at]});
  const auto costs = make_cost_model_closed_form();
  const Kernel kernel = one_step_of(with.kernel);
  for (const TuningVariant& one : all) {
    Schedule varied = schedule;
    varied.nests[*at] = one.nest;
    auto program = lower(varied, with.kernel, *with.machine);
    const auto cost = costs->estimate({&kernel, make_id<StatementId>(statement), with.machine.get(), one.nest});
    if (!program || !cost) continue;
    auto hash = inputs.put(print(varied));
    if (!hash) return hash.diagnostics();
    found.push_back({std::move(*program), std::move(*hash), one.what, cost->cycles});
  }
  return found;
}

/// Kernel and machine of a job that follows from earlier times, and the fastest schedule on this machine.
struct TimedBefore {
  TimedInputs with;
  std::optional<Schedule> best = {};  ///< none: nothing was measured
};
std::optional<TimedBefore> timed_before(const Json& job, JobInputs& inputs, jobs::Outcome& problem) {
  auto with = timed_inputs(job, inputs, problem);
  if (!with) return std::nullopt;
  if (!job.contains("after")) return problem = not_done(Exit::wrong_input, {of_another_version("after")}), std::nullopt;
  inputs.wait_for_ends(job.at("after").get<std::vector<std::string>>());
  const auto times = times_of(job.at("statements"), inputs);
  if (!times) return problem = not_done(Exit::wrong_input, times.diagnostics()), std::nullopt;
  std::optional<TimedBefore> before(TimedBefore{std::move(*with)});
  const std::vector<Timed>* here = times_here(*times);
  if (here == nullptr) return before;
  auto best = best_schedule(*here, before->with, inputs);
  if (!best) return problem = not_done(Exit::wrong_input, best.diagnostics()), std::nullopt;
  before->best = std::move(*best);
  return before;
}

}  // namespace

jobs::Outcome do_variants(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  jobs::Outcome problem;
  const auto before = timed_before(job, inputs, problem);
  if (!before) return problem;
  if (!before->best) return {0, R"({"absent":true})", ""};
  const auto statement = job.at("statements")[0].at("number").get<std::size_t>();
  const auto contenders = contenders_of(*before->best, statement, before->with, inputs);
  if (!contenders) return not_done(Exit::wrong_input, contenders.diagnostics());
  std::vector<Program> programs;
  for (const Contender& one : *contenders) programs.push_back(one.program);
  if (programs.empty()) return {0, R"({"absent":true})", ""};
  const Timing timing(job.at("seed").get<std::uint64_t>());
  const auto runner = make_runner(made_by_default(*before->with.machine));
  const std::vector<Measured> found = measure(programs, *runner, timing.options());
  Json rows = Json::array();
  for (std::size_t c = 0; c < found.size(); ++c) {
    if (found[c].verdict == RunVerdict::wrong_result) return not_measured(found[c]);
    if (!found[c].correct()) continue;
    rows.push_back(timing.row(found[c], (*contenders)[c].schedule, (*contenders)[c].predicted));
    rows.back()["variation"] = (*contenders)[c].variation;
  }
  return {0, Json{{"rows", rows}}.dump(), ""};
}

jobs::Outcome do_compilers(const std::string& text, JobInputs& inputs) {
  const Json job = Json::parse(text);
  jobs::Outcome problem;
  const auto before = timed_before(job, inputs, problem);
  if (!before) return problem;
  if (!before->best) return {0, R"({"absent":true})", ""};
  const auto program = lower(*before->best, before->with.kernel, *before->with.machine);
  if (!program) return not_done(Exit::no_answer, program.diagnostics());
  const Timing timing(job.at("seed").get<std::uint64_t>());
  Json rows = Json::array();
  for (const lab::CompilerRecord& one : by_every_compiler(timing.options())(*program, *before->with.machine))
    rows.push_back({{"command", one.command}, {"version", one.version}, {"seconds", one.seconds}});
  if (rows.empty()) return {0, R"({"absent":true})", ""};
  return {0, Json{{"compilers", rows}, {"device", device_of(true)}}.dump(), ""};
}

namespace {

lab::CompilerRecord compiler_of(const Json& one) {
  return {one.at("command").get<std::string>(), one.at("version").get<std::string>(), one.at("seconds").get<double>()};
}

}  // namespace

bool is_search(const Json& /*job*/, const Json& result) {
  for (const Json& one : result.at("candidates")) candidate_of(one);
  return true;
}

bool is_measured(const Json& /*job*/, const Json& result) { return result.contains("absent") || is_time(result); }

bool is_variants(const Json& /*job*/, const Json& result) {
  if (result.contains("absent")) return true;
  const Json& rows = result.at("rows");
  return std::all_of(rows.begin(), rows.end(), is_time);
}

bool is_compilers(const Json& /*job*/, const Json& result) {
  if (result.contains("absent")) return true;
  result.at("device").get<std::string>();
  for (const Json& one : result.at("compilers")) compiler_of(one);
  return true;
}

namespace {

/// By device.
Result<std::map<std::string, std::vector<lab::CompilerRecord>>> compilers_of(const Json& head, JobInputs& inputs) {
  std::map<std::string, std::vector<lab::CompilerRecord>> found;
  const auto results = results_of(head.at("compilers").get<std::string>(), inputs);
  if (!results) return results.diagnostics();
  for (const Json& result : *results)
    for (const Json& one : result.at("compilers"))
      found[result.at("device").get<std::string>()].push_back(compiler_of(one));
  return found;
}

std::string value_text(const Timed& one) {
  return one.clock ? fmt::format("{:.4g} us", one.value * 1e6) : fmt::format("{:.0f} cycles", one.value);
}

/// What was chosen on one device.
struct Chosen {
  const std::string& device;
  const std::vector<Timed>& list;
  std::vector<lab::CompilerRecord> compilers;
  std::string schedule;
};

std::string text_of(const Chosen& chosen) {
  std::string text = fmt::format("# device {}\n{}\n", chosen.device, chosen.schedule);
  for (const Timed& one : chosen.list)
    text += fmt::format("# statement {}{}: {:.4g} cycles predicted, {}{}\n", one.statement,
                        one.variation.empty() ? "" : " (" + one.variation + ")", one.predicted, value_text(one),
                        one.off ? ", marked: the reference computation was off by over 5 %" : "");
  for (const lab::CompilerRecord& one : chosen.compilers)
    text += fmt::format("# {} ({}): {:.4g} us{}\n", one.command, one.version, one.seconds * 1e6,
                        &one == fastest(chosen.compilers) ? ", the fastest" : "");
  return text;
}

Json json_of(const Chosen& chosen) {
  Json rows = Json::array();
  for (const Timed& one : chosen.list) {
    rows.push_back({{"statement", one.statement},
                    {"schedule", one.schedule},
                    {"predicted", one.predicted},
                    {one.clock ? "seconds" : "cycles", one.value},
                    {"executed", one.executed},
                    {"marked", one.off}});
    if (!one.variation.empty()) rows.back()["variation"] = one.variation;
  }
  Json json{{"device", chosen.device}, {"best", {{"schedule", chosen.schedule}}}, {"candidates", rows}};
  if (const auto* best = fastest(chosen.compilers)) {
    json["compiler"] = best->command;
    for (const lab::CompilerRecord& one : chosen.compilers)
      json["compilers"].push_back({{"command", one.command}, {"version", one.version}, {"seconds", one.seconds}});
  }
  return json;
}

}  // namespace

Exit results_of_tune(const RecordedPlan& recorded) {
  const Json head = Json::parse(recorded.plan.head);
  if (const auto missing = missing_in(head)) return fail(Exit::wrong_input, {*missing});
  JobInputs inputs(recorded.store);
  const auto times = times_of(head.at("statements"), inputs);
  if (!times) return fail(Exit::wrong_input, times.diagnostics());
  const auto compilers = compilers_of(head, inputs);
  if (!compilers) return fail(Exit::wrong_input, compilers.diagnostics());
  auto kernel = inputs.kernel(head.at("kernel").get<std::string>());
  if (!kernel) return fail(Exit::wrong_input, kernel.diagnostics());
  const auto machine = inputs.machine(head.at("target").get<std::string>());
  if (!machine) return fail(Exit::wrong_input, machine.diagnostics());
  const TimedInputs with{std::move(*kernel), *machine};
  std::string text;
  Json devices = Json::array();
  for (const auto& [device, list] : *times) {
    const auto schedule = best_schedule(list, with, inputs);
    if (!schedule) return fail(Exit::wrong_input, schedule.diagnostics());
    const auto made = compilers->find(device);
    const Chosen chosen{device, list, made == compilers->end() ? std::vector<lab::CompilerRecord>{} : made->second,
                        print(*schedule)};
    text += text_of(chosen);
    devices.push_back(json_of(chosen));
  }
  const Exit missing = tell_missing(recorded);
  if (times->empty() && missing == Exit::ok)
    return fail(Exit::no_answer,
                "nothing to tune: every statement is scalar code, or computed in parts by its schedule",
                "isamap explain KERNEL --target HW says why no instruction maps");
  const Json all{{"schema_version", 1}, {"devices", devices}};
  return deliver(recorded.options, recorded.options.json ? all.dump(2) + "\n" : text, missing);
}

}  // namespace isamap::cli
