// SPDX-License-Identifier: Apache-2.0
#include "driver/tune_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "driver/execute.h"
#include "isamap/backend.h"
#include "isamap/mapper.h"
#include "isamap/scheduler.h"
#include "scheduler/measure.h"
#include "scheduler/tuning_variants.h"
#include "support/threads.h"

namespace isamap {
namespace {

/// Points of the statement with the most work, the cheapest first, each nest once.
class PromisingPoints {
 public:
  PromisingPoints(StatementId statement, std::size_t most) : statement_(statement), most_(most) {}
  void add(const Trial& trial) {
    if (trial.statement != statement_ || !trial.objective || !trial.nest || !trial.point) return;
    if (all_.size() == most_ && *trial.objective >= all_.back().objective) return;
    if (std::any_of(all_.begin(), all_.end(), [&](const One& one) { return one.nest == *trial.nest; })) return;
    const auto place = std::upper_bound(all_.begin(), all_.end(), *trial.objective,
                                        [](double value, const One& one) { return value < one.objective; });
    all_.insert(place, {*trial.objective, *trial.point, *trial.nest});
    if (all_.size() > most_) all_.pop_back();
  }
  std::vector<Point> points() const {
    std::vector<Point> points;
    for (const One& one : all_) points.push_back(one.point);
    return points;
  }

 private:
  struct One {
    double objective;
    Point point;
    Nest nest;
  };
  StatementId statement_;
  std::size_t most_;
  std::vector<One> all_;
};

StatementId largest_statement(const Kernel& kernel) {
  std::size_t largest = 0;
  double most = -1;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    double work = 1;
    for (const Dim& dim : kernel.statements[s].domain.dims) work *= static_cast<double>(dim.extent);
    if (work > most) most = work, largest = s;
  }
  return make_id<StatementId>(largest);
}

/// Candidates of one part, timed alone.
class PartTuning {
 public:
  PartTuning(const Kernel& kernel, const HardwareModel& machine, const TuneModelOptions& options)
      : kernel_(kernel),
        machine_(machine),
        timed_on_(made_by_default(machine)),
        options_(options),
        compile_(options.compile),
        workers_(std::make_shared<Workers>(options.jobs)) {
    compile_.schedule.workers = workers_;
    compile_.schedule.progress = [this](std::int64_t, double) { return !options_.stopped(); };
    measure_.seed = options.seed;
    measure_.jobs = options.jobs;
    measure_.stopped = options.stopped;
    measure_.make_another = runners_side_by_side(timed_on_);
    measure_.alone = options.alone;
  }

  /// The fastest, if it is faster than `now`.
  std::shared_ptr<const Compilation> faster_than(std::shared_ptr<const Compilation> now, TunedPart& report) {
    add(std::move(now));
    // Without splits of the kernel, which have points of their own; what there is may have one.
    if (const auto mappings = enumerate_mappings(kernel_, machine_, options_.compile.map)) {
      const StatementId statement = largest_statement(kernel_);
      const std::vector<Point> points = promising(statement, *mappings);
      add_each(points.size(), [&](std::size_t p) -> Compiled {
        ScheduleOptions with = compile_.schedule;
        with.known.resize(kernel_.statements.size());
        with.known[statement.index()] = {points[p]};
        with.stop_after.assign(kernel_.statements.size(), with.max_evaluations);
        with.stop_after[statement.index()] = 1;
        const auto scheduled = schedule(kernel_, *mappings, machine_, with);
        return scheduled ? compiled(scheduled->schedule) : nullptr;
      });
    }
    if (candidates_.size() == 1) search_again();
    time(report);
    if (!options_.stopped() && best_) {
      variants(*candidates_[*best_]);
      time(report);
    }
    return best_.value_or(0) == 0 ? nullptr : candidates_[*best_];
  }

 private:
  using Compiled = std::shared_ptr<const Compilation>;

  std::vector<Point> promising(StatementId statement, const MapResult& mappings) {
    PromisingPoints points(statement, options_.measured);
    ScheduleOptions with = compile_.schedule;
    with.watch = [&](const Trial& trial) { points.add(trial); };
    const auto searched = schedule(kernel_, mappings, machine_, with);
    return searched ? points.points() : std::vector<Point>{};
  }

  /// Where the statement maps only after a split of the kernel: searches from other seeds.
  void search_again() {
    constexpr std::size_t most = 4;
    add_each(std::min(most, options_.measured), [&](std::size_t seed) -> Compiled {
      CompileOptions with = compile_;
      with.schedule.seed += seed + 1;
      return std::make_shared<const Compilation>(compile(kernel_, machine_, with));
    });
  }

  /// Side by side, added in order. A program goes to its compiler as soon as it is found, while others are searched.
  void add_each(std::size_t count, const std::function<Compiled(std::size_t)>& make) {
    auto all = for_each_in_parallel(*workers_, count, [&](std::size_t i) {
      if (options_.stopped()) return Compiled();
      Compiled made = make(i);
      if (made && made->program && workers_->jobs() > 1)
        make_runner(timed_on_)->prepare({&*made->program}, 1, options_.stopped);
      return made;
    });
    for (Compiled& one : all) add(std::move(one));
  }

  Compiled compiled(const Schedule& schedule) const {
    CompileOptions by_hand = compile_;
    by_hand.hand_written = schedule;
    return std::make_shared<const Compilation>(compile(kernel_, machine_, by_hand));
  }
  void add(Compiled one) {
    if (!one || !one->program) return;
    const auto same = [&](const auto& other) { return other->scheduled->schedule == one->scheduled->schedule; };
    if (std::none_of(candidates_.begin(), candidates_.end(), same)) candidates_.push_back(std::move(one));
  }

  void variants(const Compilation& of) {
    const Schedule schedule = of.scheduled->schedule;
    std::vector<Schedule> all;
    for (std::size_t s = 0; s < schedule.nests.size(); ++s)
      for (const TuningVariant& variant : tuning_variants(schedule, s, kernel_, machine_)) {
        all.push_back(schedule);
        all.back().nests[s] = variant.nest;
      }
    add_each(all.size(), [&](std::size_t v) { return compiled(all[v]); });
  }

  /// All of them again: times of different minutes are not comparable.
  void time(TunedPart& report) {
    std::vector<Program> programs;
    for (const auto& one : candidates_) programs.push_back(*one->program);
    const auto runner = make_runner(timed_on_);
    const std::vector<Measured> times = measure(programs, *runner, measure_);
    best_ = fastest(times);
    report.candidates = candidates_.size();
    if (!best_) return;
    report.alone_before = times.front().value();
    report.alone_after = times[*best_].value();
  }

  const Kernel& kernel_;
  const HardwareModel& machine_;
  const HardwareModel timed_on_;  ///< by one compiler, whatever choices are remembered
  const TuneModelOptions& options_;
  CompileOptions compile_;  ///< of the candidates
  MeasureOptions measure_;
  const std::shared_ptr<Workers> workers_;
  std::vector<std::shared_ptr<const Compilation>> candidates_;  ///< the first is what there was
  std::optional<std::size_t> best_;
};

/// Seconds of each program, all its calls together; parts in bands have programs of their own, which are not tuned.
std::vector<double> seconds_of_programs(const CompiledModel& compiled, const ModelRun& run) {
  std::vector<double> seconds(compiled.programs.size());
  for (std::size_t p = 0; p < compiled.parts.size() && p < run.parts.size(); ++p)
    if (bands_of(compiled, p) == nullptr) seconds[compiled.parts[p].program] += run.parts[p].seconds;
  return seconds;
}

std::vector<TunedPart> longest_parts(const CompiledModel& compiled, const std::vector<double>& seconds,
                                     const TuneModelOptions& options) {
  std::vector<TunedPart> parts;
  double all = 0;
  for (std::size_t p = 0; p < seconds.size(); ++p) {
    parts.emplace_back();
    parts.back().program = p;
    parts.back().before = parts.back().after = seconds[p];
    all += seconds[p];
  }
  for (const CompiledPart& part : compiled.parts) {
    TunedPart& of = parts[part.program];
    if (of.calls++ == 0) of.name = part.name, of.kernel = part.kernel;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const TunedPart& a, const TunedPart& b) { return a.before > b.before; });
  double sum = 0;
  std::size_t count = 0;
  while (count < parts.size() && count < options.most_parts && sum < options.share * all) sum += parts[count++].before;
  parts.resize(count);
  return parts;
}

bool failed(TunedModel& tuned, const ModelRun& run) {
  if (run.code == Exit::ok && run.seconds > 0) return false;
  tuned.code = run.code == Exit::ok ? Exit::missing : run.code;
  tuned.problems = run.problems;
  if (run.problems.empty())
    tuned.problems = {error("nothing can be measured: the parts of this machine have no clock")};
  return true;
}

}  // namespace

TunedModel tune_model(const Model& model, const CompiledModel& compiled, const HardwareModel& machine,
                      const std::vector<TensorData>& data, const TuneModelOptions& options) {
  TunedModel tuned;
  tuned.compiled = compiled;
  const ModelRunOptions runs{options.min_seconds, options.progress, options.jobs, options.alone};
  const ModelRun first = run_model(model, compiled, machine, data, runs);
  if (failed(tuned, first)) return tuned;
  tuned.before = tuned.after = first.seconds;
  tuned.parts = longest_parts(compiled, seconds_of_programs(compiled, first), options);
  CompiledModel other = compiled;
  std::size_t done = 0;
  for (TunedPart& part : tuned.parts) {
    if (options.stopped()) break;
    options.progress(fmt::format("part {} of {} is tuned: {}", ++done, tuned.parts.size(), part.name));
    if (auto faster = PartTuning(part.kernel, machine, options).faster_than(other.programs[part.program], part)) {
      other.programs[part.program] = std::move(faster);
      part.kept = true;  // until the whole says otherwise
    }
  }
  if (std::none_of(tuned.parts.begin(), tuned.parts.end(), [](const TunedPart& part) { return part.kept; }))
    return tuned;
  // Both again, one after the other: the machine may have become slower since.
  const ModelRun again = run_model(model, compiled, machine, data, runs);
  const ModelRun second = run_model(model, other, machine, data, runs);
  if (failed(tuned, again) || failed(tuned, second)) return tuned;
  const std::vector<double> before = seconds_of_programs(compiled, again), after = seconds_of_programs(other, second);
  tuned.before = tuned.after = again.seconds;
  for (TunedPart& part : tuned.parts) {
    part.before = before[part.program];
    part.after = after[part.program];
    part.kept = part.kept && part.after < part.before * (1 - options.less);
    if (!part.kept) continue;
    tuned.compiled.programs[part.program] = other.programs[part.program];
    tuned.after += part.after - part.before;
  }
  return tuned;
}

}  // namespace isamap
