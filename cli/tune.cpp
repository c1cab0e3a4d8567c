// SPDX-License-Identifier: Apache-2.0
// Search by predicted cost, then measurement: the most promising candidates of each statement are emitted, compiled,
// compared with the interpreter and timed in interleaved rounds; then the best of them against variants that the cost
// model cannot rank (scheduler/tuning_variants.h). Earlier measurements on this machine correct the prediction
// that selects candidates (scheduler/cost/learned_cost.h). A program with wrong results is never chosen.

#include <fmt/format.h>

#include <algorithm>

#include "cli/compile_verb.h"
#include "cli/interrupt.h"
#include "cli/search_answer.h"
#include "driver/compilers.h"
#include "driver/execute.h"
#include "ir/verify/recurrence.h"
#include "isamap/backend.h"
#include "isamap/scheduler.h"
#include "jobs/device.h"
#include "scheduler/nest/scheduled_kernel.h"
#include "scheduler/tuning_variants.h"

namespace isamap::cli {
namespace {

constexpr std::size_t kept_for_each_measured = 8;  ///< candidates ranked by the corrected prediction

struct Tried {
  double objective = 0, predicted = 0;
  std::int64_t number = 0;
  std::vector<int> choice;
  Nest nest;
  std::string variation = {};  ///< of the best trial; empty: it is one
};

/// The cheapest candidates of each statement, each nest once.
class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}
  void add(const Trial& trial, std::int64_t number) {
    if (!trial.objective || !trial.nest) return;
    const std::size_t s = trial.statement.index();
    if (of_.size() <= s) of_.resize(s + 1);
    std::vector<Tried>& list = of_[s];
    if (list.size() == most_ && !(*trial.objective < list.back().objective)) return;
    if (std::any_of(list.begin(), list.end(), [&](const Tried& t) { return t.nest == *trial.nest; })) return;
    const auto place = std::upper_bound(list.begin(), list.end(), *trial.objective,
                                        [](double value, const Tried& t) { return value < t.objective; });
    list.insert(place, {*trial.objective, trial.cost->cycles, number, trial.point->choice, *trial.nest});
    if (list.size() > most_) list.pop_back();
  }
  std::vector<Tried> of(std::size_t statement) const {
    return statement < of_.size() ? of_[statement] : std::vector<Tried>{};
  }

 private:
  std::size_t most_;
  std::vector<std::vector<Tried>> of_;
};

/// Sorted by the corrected prediction, once this machine has measurements.
void rank(std::vector<Tried>& list, const std::vector<Lesson>& lessons, const Inputs& inputs, StatementId id) {
  const auto learned = make_cost_model_learned(lessons);
  const Kernel kernel = one_step_of(inputs.kernel);
  for (Tried& tried : list)
    if (const auto cost = learned->estimate({&kernel, id, &inputs.model, tried.nest})) tried.predicted = cost->cycles;
  if (lessons.empty()) return;
  std::stable_sort(list.begin(), list.end(), [](const Tried& a, const Tried& b) { return a.predicted < b.predicted; });
}

struct Timed {
  Tried tried;
  Measured measured;
};

class Tuning {
 public:
  Tuning(const Options& options, Recorder& recorder, const Measurer& measurer, const Inputs& inputs, Schedule schedule)
      : options_(options), recorder_(recorder), measurer_(measurer), inputs_(inputs), schedule_(std::move(schedule)) {}

  const Schedule& schedule() const { return schedule_; }
  const std::vector<TunedCandidate>& rows() const { return rows_; }
  const Measured& best() const { return best_; }
  /// The first that could not be measured.
  const std::optional<Measured>& failed() const { return failed_; }

  /// Names of the statements that the schedule computes in parts, of which there are no trials.
  std::vector<std::string> in_parts() const {
    std::vector<std::string> names;
    for (std::size_t s = 0; s < inputs_.kernel.statements.size(); ++s)
      if (!nest_of(s)) names.push_back(inputs_.kernel.statements[s].name);
    return names;
  }

  /// False: no candidate of this statement could be measured.
  bool statement(std::size_t s, std::vector<Tried> list) {
    if (!nest_of(s)) return true;  // it keeps the schedule that was found
    rank(list, recorder_.lessons(), inputs_, make_id<StatementId>(s));
    std::vector<Tried> chosen;
    std::vector<Program> programs;
    for (Tried& tried : list) {
      if (static_cast<std::int64_t>(chosen.size()) == options_.lab.measured) break;
      auto program = lower(with_nest(s, tried.nest), inputs_.kernel, inputs_.model);
      if (!program) continue;
      programs.push_back(std::move(*program));
      chosen.push_back(std::move(tried));
    }
    if (chosen.empty()) return true;  // scalar code: one schedule, nothing to choose
    const auto best = measured(s, chosen, programs, [&](std::size_t c) {
      std::vector<Program> variants;
      for (Variant& one : variants_of(s, chosen[c].nest))
        if (!one.what.empty()) variants.push_back(std::move(one.program));
      return variants;
    });
    return best && (interrupted() || varied(s, chosen[*best]));
  }

 private:
  std::optional<std::size_t> nest_of(std::size_t s) const { return isamap::nest_of(inputs_.kernel, s, schedule_); }
  Schedule with_nest(std::size_t s, const Nest& nest) const {
    Schedule with = schedule_;
    with.nests[*nest_of(s)] = nest;
    return with;
  }

  struct Variant {
    std::string what;  ///< empty: the trial itself
    Nest nest;
    Program program;
    Cost cost;
  };

  /// A trial and its variants, as far as they can be lowered and priced; empty: it has none.
  std::vector<Variant> variants_of(std::size_t s, const Nest& nest) const {
    Schedule schedule = with_nest(s, nest);
    std::vector<TuningVariant> all = tuning_variants(schedule, *nest_of(s), inputs_.kernel, inputs_.model);
    if (all.empty()) return {};
    all.insert(all.begin(), {"", nest});
    const Kernel kernel = one_step_of(inputs_.kernel);
    const auto costs = make_cost_model_closed_form();
    std::vector<Variant> found;
    for (TuningVariant& one : all) {
      auto program = lower(with_nest(s, one.nest), inputs_.kernel, inputs_.model);
      const auto cost = costs->estimate({&kernel, make_id<StatementId>(s), &inputs_.model, one.nest});
      if (program && cost) found.push_back({std::move(one.what), std::move(one.nest), std::move(*program), *cost});
    }
    return found;
  }

  /// Measures the best trial again, interleaved with its variants, since times of different minutes are not comparable;
  /// where all were timed in its rounds, these times count.
  bool varied(std::size_t s, const Tried& best) {
    std::vector<Variant> all = variants_of(s, best.nest);
    if (all.empty()) return true;
    std::vector<Tried> chosen;
    std::vector<Program> programs;
    for (Variant& one : all) {
      const std::int64_t number = recorder_.add_nest(static_cast<std::int64_t>(s), one.nest, one.cost);
      if (number == 0) return false;
      programs.push_back(std::move(one.program));
      const std::string what = one.what.empty() ? fmt::format("trial {} again", best.number) : one.what;
      chosen.push_back({one.cost.cycles, one.cost.cycles, number, {}, std::move(one.nest), what});
    }
    return measured(s, chosen, programs, {}).has_value();
  }

  /// Installs the nest of the one to choose; nothing: none could be measured.
  std::optional<std::size_t> measured(std::size_t s, const std::vector<Tried>& chosen,
                                      const std::vector<Program>& programs,
                                      const std::function<std::vector<Program>(std::size_t)>& variants) {
    std::vector<std::int64_t> numbers;
    for (const Tried& tried : chosen) numbers.push_back(tried.number);
    const bool last = s + 1 == inputs_.kernel.statements.size();
    const std::vector<Measured> times =
        measurer_({static_cast<std::int64_t>(s), last, numbers, programs, inputs_.model, variants});
    return take(s, chosen, times);
  }

  std::optional<std::size_t> take(std::size_t s, const std::vector<Tried>& chosen,
                                  const std::vector<Measured>& measured) {
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      const Measured& m = measured[c];
      if (m.interrupted) continue;
      rows_.push_back({static_cast<std::int64_t>(s), chosen[c].number, chosen[c].predicted, m.value(), m.correct(),
                       m.problem, chosen[c].variation});
      lab::TrialRecord record;
      record.statement = static_cast<std::int64_t>(s);
      record.number = chosen[c].number;
      if (m.correct()) record.measured = m.value();
      record.verdict = m.verdict;
      record.problem = m.problem;
      if (!recorder_.measured(record)) return std::nullopt;
      if (!m.correct() && !failed_) failed_ = m;
    }
    const auto best = fastest(measured);
    if (!best) return std::nullopt;
    best_ = measured[*best];
    schedule_ = with_nest(s, chosen[*best].nest);
    return best;
  }

  const Options& options_;
  Recorder& recorder_;
  const Measurer& measurer_;
  const Inputs& inputs_;
  Schedule schedule_;
  std::vector<TunedCandidate> rows_;
  Measured best_;
  std::optional<Measured> failed_;
};

Exit nothing_measured(const std::optional<Measured>& failed) {
  const bool wrong = failed && failed->verdict == RunVerdict::wrong_result;
  return fail(wrong ? Exit::wrong_result : Exit::limit, "nothing was measured: " + (failed ? failed->problem : ""));
}

Exit nothing_to_tune(const std::vector<std::string>& in_parts) {
  if (in_parts.empty())
    return fail(Exit::no_answer, "nothing to tune: every statement is scalar code",
                "isamap explain KERNEL --target HW says why no instruction maps");
  return fail(Exit::no_answer,
              fmt::format("nothing to tune: every statement is computed in parts ({}) or scalar code",
                          fmt::join(in_parts, ", ")),
              "parts are not measured; isamap schedule KERNEL --target HW prints the schedule that was found");
}

std::string text_of(const TuneAnswer& answer) {
  const bool clock = answer.best.seconds > 0;
  std::string text = print(answer.scheduled.schedule) + "\n";
  for (const TunedCandidate& row : answer.rows)
    text += fmt::format("# statement {}, trial {}{}: {} cycles predicted, {}\n", row.statement, row.number,
                        row.variation.empty() ? "" : " (" + row.variation + ")", short_number(row.predicted),
                        !row.correct ? row.problem
                        : clock      ? fmt::format("{:.4g} us", row.measured * 1e6)
                                     : fmt::format("{:.0f} cycles", row.measured));
  for (const lab::CompilerRecord& one : answer.compilers)
    text += fmt::format("# {} ({}): {:.4g} us{}\n", one.command, one.version, one.seconds * 1e6,
                        &one == fastest(answer.compilers) ? ", which later runs of this program take" : "");
  if (answer.rows.empty())
    return text + fmt::format("# nothing is measured: the best predicted, {} cycles; {} evaluations\n",
                              short_number(answer.scheduled.cost.cycles), answer.scheduled.evaluations);
  const lab::CompilerRecord* made = fastest(answer.compilers);
  return text +
         fmt::format("# best: {}{}, executed {}; {} evaluations\n",
                     clock ? fmt::format("{:.4g} us", answer.best.seconds * 1e6)
                           : fmt::format("{:.0f} cycles", answer.best.cycles),
                     made != nullptr && made->seconds < answer.best.seconds
                         ? fmt::format(" by the default compiler, {:.4g} us by {}", made->seconds * 1e6, made->command)
                         : "",
                     name(answer.best.executed), answer.scheduled.evaluations);
}

}  // namespace

Measurer by_running(const MeasureOptions& options, const std::shared_ptr<TimesOfFastest>& times) {
  return [options, times](const MeasuredPrograms& of) {
    const HardwareModel model = made_by_default(of.model);
    const auto runner = make_runner(model);
    MeasureOptions with = options;
    with.make_another = runners_side_by_side(model);
    with.ahead = [&of] {  // the best program is timed by each
      for (const CompilerCommand& one : compilers_for(of.model)) isamap::version_of(one);
    };
    return times->measure(of.programs, *runner, with, of.model, {of.last, of.variants});
  };
}

SearchAnswer tune_answer(const Options& given, Recorder& recorder, const Measurer& measurer,
                         const CompilerTimer& compilers, std::optional<double> seconds) {
  Options options = given;
  if (!options.objective_given) {  // energy is not measured
    options.objective_given = true;
    options.schedule.objective = Objective::cycles;
  }
  options.schedule.fuse = false;  // statements are measured one by one
  Pool pool(kept_for_each_measured * static_cast<std::size_t>(options.lab.measured));
  recorder.keep_trials();
  const CompileHook record = recorder.hook();
  Exit code = Exit::ok;
  std::optional<HeadersAhead> headers;
  const auto compiled = compile_inputs(options, code, false, [&](CompileOptions& compile, const Inputs& inputs) {
    code = Exit::ok;
    if (const Diagnostics large = too_large_to_run(inputs.kernel); !large.empty()) code = fail(Exit::limit, large);
    const Availability here = availability(inputs.model);
    const std::string why = seconds ? (here.how == ExecutionMode::unavailable ? here.why : "")
                                    : not_timed(inputs.model);  // a replay does not measure
    if (!why.empty()) code = fail(Exit::missing, "nothing can be measured: " + why);
    if (code != Exit::ok) return false;
    code = Exit::wrong_input;
    if (!record(compile, inputs)) return false;
    if (!seconds && options.schedule.jobs > 1) headers.emplace(inputs.model);
    compile.schedule.watch = [&, inner = compile.schedule.watch](const Trial& trial) {
      inner(trial);
      pool.add(trial, recorder.number_of(static_cast<std::int64_t>(trial.statement.index()), trial.point->choice));
    };
    return true;
  });
  if (!compiled) return {"", code};
  const Inputs& inputs = compiled->inputs;
  TuneAnswer answer;
  answer.scheduled = *compiled->compiled.scheduled;
  answer.seed = options.seed;
  if (seconds) answer.scheduled.seconds = *seconds;
  Tuning tuning(options, recorder, measurer, inputs, answer.scheduled.schedule);
  for (std::size_t s = 0; s < inputs.kernel.statements.size(); ++s)
    if (!interrupted() && !tuning.statement(s, pool.of(s)) && !interrupted())
      return {"", nothing_measured(tuning.failed())};
  if (interrupted()) tell(fmt::format("interrupted: {} candidates are measured", tuning.rows().size()));
  if (tuning.rows().empty() && !interrupted()) return {"", nothing_to_tune(tuning.in_parts())};
  answer.scheduled.schedule = tuning.schedule();
  if (const auto cost = evaluate(tuning.schedule(), inputs.kernel, inputs.model)) answer.scheduled.cost = cost->total;
  if (const auto program = lower(tuning.schedule(), inputs.kernel, inputs.model); program && !interrupted())
    answer.compilers = compilers(*program, inputs.model);
  if (!recorder.compilers(answer.compilers)) return {"", Exit::wrong_input};
  answer.rows = tuning.rows();
  answer.best = tuning.best();
  answer.scheduled.stopped = interrupted();
  const bool measured = !answer.rows.empty();  // else interrupted before
  return {options.json ? json_of_tune(answer) : text_of(answer), measured ? Exit::ok : Exit::limit};
}

}  // namespace isamap::cli
