// SPDX-License-Identifier: Apache-2.0
#include "scheduler/measure.h"

#include <algorithm>

#include "ir/evaluation/error_bounds.h"
#include "isamap/interpret.h"
#include "isamap/scheduler.h"
#include "scheduler/screening.h"
#include "support/affinity.h"
#include "support/stop.h"
#include "support/threads.h"

namespace isamap {

namespace {

std::string why_not(const RunOutcome& outcome) {
  if (!outcome.missing.empty()) return outcome.missing;
  return outcome.limit.empty() ? outcome.environment : outcome.limit;
}

using Cases = ReferenceResults::Cases;
using CasesOfEach = std::vector<std::shared_ptr<const Cases>>;  ///< by program

Cases cases_of(const Kernel& kernel, std::uint64_t seed) {
  Cases cases;
  const bool floats =
      std::any_of(kernel.tensors.begin(), kernel.tensors.end(), [](const Tensor& t) { return is_float(t.dtype); });
  for (const Fill fill : floats ? std::vector<Fill>{Fill::integers, Fill::real} : std::vector<Fill>{Fill::integers}) {
    ReferenceResults::Case& one = cases.emplace_back();
    one.inputs = one.expected = random_data(kernel, fill, seed);
    interpret(kernel, one.expected);
    one.bounds = error_bounds(kernel, one.expected);
  }
  return cases;
}

/// Runs the program on all data, without timing it.
Measured checked(const Program& program, Runner& runner, const Cases& cases, const RunLimits& limits) {
  Measured measured;
  const auto ended = [&](RunVerdict verdict, const std::string& problem) {
    measured.verdict = verdict;
    measured.problem = problem;
    return measured;
  };
  for (const ReferenceResults::Case& one : cases) {
    std::vector<TensorData> data = one.inputs;
    const auto outcome = runner.run(program, data, limits, 0);
    if (!outcome) return ended(RunVerdict::not_run, outcome.diagnostics().front().message);
    if (const std::string why = why_not(*outcome); !why.empty()) return ended(RunVerdict::not_run, why);
    const Comparison comparison = compare(program.kernel, one.expected, data, one.bounds);
    if (!comparison.equal) return ended(RunVerdict::wrong_result, "wrong result: " + comparison.first_difference);
    measured.executed = outcome->executed;
    measured.compiler = outcome->compiler;
    measured.cycles = static_cast<double>(outcome->cycles) + outcome->scalar_cycles;
  }
  return ended(RunVerdict::correct, "");
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// A kernel of this statement, whose operands are arguments whoever computes them in the whole kernel.
Kernel alone(const Kernel& kernel, StatementId statement) {
  if (kernel.statements.size() == 1) return kernel;
  Kernel one = kernel;
  one.statements = {kernel.statements[statement.index()]};
  one.repeats.clear();
  Tensor& written = one.tensors[one.statements[0].write.tensor.index()];
  written.inout = written.inout || holds_a_value(kernel, statement);
  return one;
}

class MeasuredCost final : public CostModel {
 public:
  MeasuredCost(Runner& runner, const MeasureOptions& options) : runner_(runner), options_(options) {}

  Result<Cost> estimate(const Candidate& candidate) override {
    auto cost = closed_form_->estimate(candidate);  // bytes and energy are not measured
    if (!cost) return cost;
    Schedule schedule;
    schedule.name = schedule.kernel = candidate.kernel->name;
    schedule.target = candidate.model->name;
    schedule.sizes = candidate.model->sizes();
    schedule.nests = {candidate.nest};
    auto program = lower(schedule, alone(*candidate.kernel, candidate.statement), *candidate.model);
    if (!program) return program.diagnostics();
    const Measured measured = measure({*program}, runner_, options_).front();
    if (!measured.correct()) return error("the program was not measured: " + measured.problem);
    cost->cycles = measured.seconds > 0 ? measured.seconds * candidate.model->clock_hz : measured.cycles;
    return cost;
  }

 private:
  Runner& runner_;
  MeasureOptions options_;
  std::unique_ptr<CostModel> closed_form_ = make_cost_model_closed_form();
};

/// Is some loop distributed over units, such as threads?
bool runs_in_parallel(const std::vector<Node>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    if (const auto* loop = std::get_if<Loop>(&node.is)) return !loop->unit.empty() || runs_in_parallel(loop->body);
    const auto* guard = std::get_if<Guard>(&node.is);
    return guard != nullptr && (runs_in_parallel(guard->then) || runs_in_parallel(guard->otherwise));
  });
}

/// The data to compare with.
CasesOfEach interpreted(const std::vector<Program>& programs, const MeasureOptions& options) {
  std::vector<const Kernel*> kernels;
  for (const Program& program : programs) kernels.push_back(&program.kernel);
  return options.references->of(kernels, options.seed);
}

/// The same. Compilers run meanwhile, `options.jobs` at a time; with one job before.
CasesOfEach prepared(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options) {
  std::vector<const Program*> all;
  for (const Program& program : programs) all.push_back(&program);
  CasesOfEach cases;
  const auto interpret_all = [&] { cases = interpreted(programs, options); };
  for_each_in_parallel(2, options.jobs > 1 ? 2 : 1, [&](std::size_t i) {
    const StopWhen scope(options.stopped);
    i == 0 ? runner.prepare(all, std::max(1, options.jobs), options.stopped) : interpret_all();
  });
  return cases;
}

bool is_stopped(const MeasureOptions& options) { return options.stopped && options.stopped(); }

/// Side by side, each by a runner of its own, if there are several.
void check_all(const std::vector<Program>& programs, Runner& runner, const CasesOfEach& cases,
               const MeasureOptions& options, std::vector<Measured>& results) {
  const int threads = options.make_another ? options.jobs : 1;
  for_each_in_parallel(programs.size(), threads, [&](std::size_t p) {
    if (is_stopped(options)) return;
    const StopWhen scope(options.stopped);
    const auto own = threads > 1 ? options.make_another() : nullptr;
    results[p] = checked(programs[p], own ? *own : runner, *cases[p], options.limits);
  });
}

/// May a program with these times be faster than the fastest one? Two times each, and the differences between those of
/// the fastest one, say what the noise is.
bool may_be_fastest(const std::vector<double>& own, const std::vector<double>& fastest) {
  if (own.size() < 2 || fastest.size() < 2) return true;
  const auto [least, most] = std::minmax_element(fastest.begin(), fastest.end());
  return *std::min_element(own.begin(), own.end()) <= *most * (*most / *least);
}

/// 0: it has no time.
double time_once(const Program& program, const Cases& cases, Runner& runner, const MeasureOptions& options) {
  std::vector<TensorData> data = cases.back().inputs;
  const auto outcome = runner.run(program, data, options.limits, options.min_seconds);
  return outcome ? outcome->seconds : 0;
}

bool is_timed(const Measured& one) { return one.correct() && one.executed != ExecutionMode::simulator; }

/// Of the program that is expected to be chosen.
class Followers {
 public:
  explicit Followers(const MakeFollowers& make) : make_(make) {}
  bool wanted() const { return static_cast<bool>(make_); }

  /// Their number.
  std::size_t make(std::size_t p) {
    all_ = make_(p);
    times_.resize(all_.size());
    found_.of = p;
    for (const Follower& one : all_) found_.programs.push_back(one.program);
    found_.measured.resize(all_.size());
    return all_.size();
  }

  /// Compiles and compares one; several threads may, each another.
  void check(std::size_t f, const std::vector<Program>& programs, const CasesOfEach& cases,
             const MeasureOptions& options) {
    const Follower& one = all_[f];
    if (!(one.program.kernel == programs[*found_.of].kernel)) return;
    one.runner->prepare({&one.program}, 1, options.stopped);
    found_.measured[f] = checked(one.program, *one.runner, *cases[*found_.of], options.limits);
  }

  /// One time of each that may be faster than the program they follow, if that one is in the rounds. `times`: of the
  /// programs.
  void time(const std::vector<std::vector<double>>& times, const CasesOfEach& cases, const MeasureOptions& options) {
    if (!found_.of || times[*found_.of].empty()) return;
    for (std::size_t f = 0; f < all_.size() && !is_stopped(options); ++f) {
      if (!is_timed(found_.measured[f]) || !may_be_fastest(times_[f], times[*found_.of])) continue;
      const double seconds = time_once(all_[f].program, *cases[*found_.of], *all_[f].runner, options);
      if (seconds > 0) times_[f].push_back(seconds);
    }
  }

  /// Nothing: another program is chosen. `results`: of the programs.
  Followed result(const std::vector<Measured>& results) && {
    if (!found_.of || found_.of != fastest(results) || !(results[*found_.of].seconds > 0)) return {};
    for (std::size_t f = 0; f < times_.size(); ++f)
      if (!times_[f].empty()) found_.measured[f].seconds = median(times_[f]);
    return std::move(found_);
  }

 private:
  const MakeFollowers& make_;
  std::vector<Follower> all_;
  std::vector<std::vector<double>> times_;
  Followed found_;
};

/// By program; programs with `timed` only.
std::vector<std::vector<double>> time_all(const std::vector<Program>& programs, const std::vector<bool>& timed,
                                          const CasesOfEach& cases, Runner& runner, const MeasureOptions& options,
                                          Followers& followers) {
  std::vector<std::vector<double>> times(programs.size());
  for (int round = 0; round < options.rounds; ++round) {
    std::vector<double> fastest;
    for (const std::vector<double>& one : times)
      if (!one.empty() && (fastest.empty() || median(one) < median(fastest))) fastest = one;
    for (std::size_t p = 0; p < programs.size() && !is_stopped(options); ++p) {
      if (!timed[p] || !may_be_fastest(times[p], fastest)) continue;
      if (const double seconds = time_once(programs[p], *cases[p], runner, options); seconds > 0)
        times[p].push_back(seconds);
    }
    followers.time(times, cases, options);
  }
  return times;
}

/// Times beside compilers: the least one of a few, for those that may be worth timing alone.
class TimesBesideCompilers {
 public:
  TimesBesideCompilers(std::size_t count, const MeasureOptions& options)
      : seconds_(count), times_(count), options_(options) {}
  /// False: another time changes nothing.
  bool time(std::size_t p, const Program& program, const Cases& cases, Runner& runner) {
    const auto alone = options_.alone ? options_.alone() : nullptr;
    const double now = time_once(program, cases, runner, options_);
    const std::lock_guard lock(mutex_);
    if (now > 0 && (seconds_[p] == 0 || now < seconds_[p])) seconds_[p] = now;
    if (now > 0 && (least_ == 0 || now < least_)) least_ = now;
    const ScreeningOptions& limits = options_.screening;
    return ++times_[p] < limits.times && now > 0 && now <= least_ * limits.worth_another_time;
  }
  std::vector<double> seconds() && { return std::move(seconds_); }
  /// This one will be timed alone without a time before.
  void leave_out(std::size_t p) {
    const std::lock_guard lock(mutex_);
    first_ = std::min(p, first_.value_or(p));
  }
  /// So far: of those that will be timed alone and are as fast as the fastest, the first. Also while another thread
  /// times.
  std::optional<std::size_t> expected() {
    const std::lock_guard lock(mutex_);
    if (least_ == 0) return first_;
    std::vector<std::size_t> near;
    for (std::size_t p = 0; p < seconds_.size(); ++p)
      if (seconds_[p] > 0 && seconds_[p] <= least_ * as_fast) near.push_back(p);
    std::stable_sort(near.begin(), near.end(), [&](std::size_t a, std::size_t b) { return seconds_[a] < seconds_[b]; });
    near.resize(std::min(near.size(), options_.screening.most_finalists));
    return *std::min_element(near.begin(), near.end());
  }

 private:
  std::mutex mutex_;             ///< of what is written
  std::vector<double> seconds_;  ///< 0: it has no time
  std::vector<int> times_;
  double least_ = 0;
  std::optional<std::size_t> first_;
  const MeasureOptions& options_;
};

/// Are they so few that all of them are timed alone? Then the first is taken for the fastest one.
bool are_few(const std::vector<Program>& programs, const MeasureOptions& options) {
  return programs.size() <= options.screening.most_finalists;
}

/// Compiled, compared, and timed while others are compiled (scheduler/screening.h); 0: it has no time. Few programs
/// have none.
std::vector<double> screened(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options,
                             CasesOfEach& cases, std::vector<Measured>& results, Followers& followers) {
  TimesBesideCompilers times(programs.size(), options);
  const auto step = [&](const std::function<void()>& work) {
    const StopWhen scope(options.stopped);
    if (!is_stopped(options)) work();
  };
  screen(programs.size(), options.jobs,
         {[&] { step([&] { cases = interpreted(programs, options); }); }, options.ahead,
          [&](std::size_t p) { step([&] { options.make_another()->prepare({&programs[p]}, 1, options.stopped); }); },
          [&](std::size_t p) {
            step([&] { results[p] = checked(programs[p], *options.make_another(), *cases[p], options.limits); });
            const bool timed = is_timed(results[p]), few = are_few(programs, options);
            if (timed && few) times.leave_out(p);
            return timed && !few;
          },
          [&](std::size_t p) {
            bool again = false;
            step([&] { again = times.time(p, programs[p], *cases[p], runner); });
            return again;
          },
          followers.wanted() ? std::function<std::size_t()>([&] {
            std::size_t count = 0;
            if (const auto p = times.expected()) step([&] { count = followers.make(*p); });
            return count;
          })
                             : nullptr,
          [&](std::size_t f) { step([&] { followers.check(f, programs, cases, options); }); }});
  return std::move(times).seconds();
}

/// Are programs worth a time beside compilers? Those with threads need all processors.
bool can_be_screened(const std::vector<Program>& programs, const MeasureOptions& options) {
  return options.jobs > 1 && options.make_another && programs.size() > 1 && own_processors().size() > 1 &&
         std::none_of(programs.begin(), programs.end(), [](const Program& p) { return runs_in_parallel(p.body); });
}

/// The few whose times beside compilers are near the least one.
void leave_slow_out(const std::vector<double>& screened, const ScreeningOptions& limits, std::vector<bool>& timed) {
  std::vector<double> ascending;
  for (std::size_t p = 0; p < timed.size(); ++p)
    if (timed[p] && screened[p] > 0) ascending.push_back(screened[p]);
  std::sort(ascending.begin(), ascending.end());
  const double most = ascending.empty() ? 0
                                        : std::min(ascending.front() * limits.worth_timing_alone,
                                                   ascending[std::min(limits.most_finalists, ascending.size()) - 1]);
  for (std::size_t p = 0; p < timed.size(); ++p) timed[p] = timed[p] && screened[p] > 0 && screened[p] <= most;
}

/// Times beside compilers of programs that were not timed alone, in the measure of those that were: a program that was
/// `times` slower than the fastest then is so now. If a stop left none time alone, the times as they are.
void rescale(const std::vector<double>& screened, const std::vector<bool>& timed, bool stopped,
             std::vector<Measured>& results) {
  std::optional<std::size_t> fastest;
  for (std::size_t p = 0; p < results.size(); ++p)
    if (results[p].seconds > 0 && (!fastest || screened[p] < screened[*fastest])) fastest = p;
  if (!fastest && !stopped) return;
  const double scale = fastest ? results[*fastest].seconds / screened[*fastest] : 1;
  for (std::size_t p = 0; p < results.size(); ++p)
    if (is_timed(results[p]) && (!timed[p] || !fastest)) results[p].seconds = screened[p] * scale;
}

/// Into `results`, one for each program, as far as it comes.
void measure_all(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options,
                 std::vector<Measured>& results, Followers& followers) {
  if (programs.empty()) return;
  const bool screens = can_be_screened(programs, options);
  CasesOfEach cases;
  std::vector<double> beside_compilers;
  if (screens) {
    beside_compilers = screened(programs, runner, options, cases, results, followers);
  } else {
    cases = prepared(programs, runner, options);
    check_all(programs, runner, cases, options, results);
  }
  std::optional<Affinity> pinned;  // not for threads, which need a processor each
  if (std::none_of(programs.begin(), programs.end(), [](const Program& p) { return runs_in_parallel(p.body); }))
    pinned.emplace(std::vector<int>{current_processor()});
  std::vector<bool> timed;
  for (const Measured& one : results) timed.push_back(is_timed(one));
  const bool all_alone = !screens || are_few(programs, options);
  if (!all_alone) leave_slow_out(beside_compilers, options.screening, timed);
  if (std::find(timed.begin(), timed.end(), true) == timed.end()) return;
  const auto alone = options.alone ? options.alone() : nullptr;
  MeasureOptions rounds = options;
  if (!all_alone) rounds.rounds = std::max(1, options.rounds - options.screening.times);
  const auto times = time_all(programs, timed, cases, runner, rounds, followers);
  for (std::size_t p = 0; p < programs.size(); ++p)
    if (!times[p].empty()) results[p].seconds = median(times[p]);
  if (!all_alone) rescale(beside_compilers, timed, is_stopped(options), results);
}

}  // namespace

std::shared_ptr<const Cases> ReferenceResults::known(const Kernel& kernel) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Interpreted& one) { return one.kernel == kernel; });
  return found == all_.end() ? nullptr : found->cases;
}

CasesOfEach ReferenceResults::of(const std::vector<const Kernel*>& kernels, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  const auto is_left = [&](const Interpreted& one) {
    return seed_ != seed ||
           std::none_of(kernels.begin(), kernels.end(), [&](const Kernel* kernel) { return *kernel == one.kernel; });
  };
  all_.erase(std::remove_if(all_.begin(), all_.end(), is_left), all_.end());
  seed_ = seed;
  CasesOfEach cases;
  for (const Kernel* kernel : kernels) {
    auto one = known(*kernel);
    if (!one) {
      one = std::make_shared<const Cases>(cases_of(*kernel, seed));
      all_.push_back({*kernel, one});
    }
    cases.push_back(std::move(one));
  }
  return cases;
}

std::optional<std::size_t> fastest(const std::vector<Measured>& measured) {
  const auto counts = [](const Measured& one) {
    return one.correct() && !one.interrupted && (one.seconds > 0 || one.executed == ExecutionMode::simulator);
  };
  const Measured* least = nullptr;
  for (const Measured& one : measured)
    if (counts(one) && (least == nullptr || one.value() < least->value())) least = &one;
  if (least == nullptr) return std::nullopt;
  const double most = least->value() * (least->seconds > 0 ? as_fast : 1);
  const auto first = std::find_if(measured.begin(), measured.end(),
                                  [&](const Measured& one) { return counts(one) && one.value() <= most; });
  return static_cast<std::size_t>(first - measured.begin());
}

std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options) {
  Followed none;
  return measure(programs, runner, options, {}, none);
}

std::vector<Measured> measure(const std::vector<Program>& programs, Runner& runner, const MeasureOptions& options,
                              const MakeFollowers& followers, Followed& followed) {
  std::vector<Measured> results(programs.size());
  Followers of_fastest(followers);
  try {
    const StopWhen scope(options.stopped);
    measure_all(programs, runner, options, results, of_fastest);
  } catch (const EndedEarly&) {
  }
  followed = std::move(of_fastest).result(results);
  for (Measured& one : results)  // a killed run, or one without a time
    if (options.stopped && options.stopped() &&
        !(one.correct() && (one.seconds > 0 || one.executed == ExecutionMode::simulator))) {
      one = {};
      one.problem = "interrupted before it was measured";
      one.interrupted = true;
    }
  return results;
}

std::unique_ptr<CostModel> make_cost_model_measured(Runner& runner, const MeasureOptions& options) {
  return std::make_unique<MeasuredCost>(runner, options);
}

}  // namespace isamap
