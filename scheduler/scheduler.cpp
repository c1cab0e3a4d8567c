// SPDX-License-Identifier: Apache-2.0
#include "isamap/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "hwdesc/model/program_language.h"
#include "ir/verify/recurrence.h"
#include "isamap/search.h"
#include "mapper/foreign_mapping.h"
#include "mapper/match/instruction_tree.h"
#include "scheduler/cost/hierarchy/levels_text.h"
#include "scheduler/fusion_trials.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/scalar_alternative.h"
#include "scheduler/scalar_nest.h"
#include "scheduler/side_by_side.h"
#include "scheduler/space/digit_assignments.h"
#include "scheduler/statement_costs.h"
#include "support/threads.h"

namespace isamap {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_reasons = 12;
constexpr std::size_t most_rejections = 3;  ///< of instructions, in the reason why there is no schedule

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

using Lowers = std::function<Diagnostics(const Nest&)>;  // why a nest does not lower; empty: it does

/// Mappings of a statement that lower, with each assignment of whole digits that does.
std::vector<Mapping> mappings_of(const MapResult& all, const Kernel& kernel, StatementId statement,
                                 const HardwareModel& model) {
  std::vector<Mapping> mine;
  for (const Mapping& mapping : all.mappings) {
    if (mapping.statement != statement) continue;
    const Instruction& instruction = instruction_of(mapping, model);
    for (Mapping& assigned : digit_assignments(mapping, kernel.statements[statement.index()], instruction))
      if (not_lowered(assigned, model).empty() && std::find(mine.begin(), mine.end(), assigned) == mine.end())
        mine.push_back(std::move(assigned));
  }
  return mine;
}

std::unique_ptr<SearchStrategy> exhaustive(const SearchSpace& space) {
  auto made = strategy_named("exhaustive", space, {}, 0);
  return made ? std::move(*made) : nullptr;
}

/// Arguments reside in the home memory throughout a program.
std::optional<Diagnostic> exceeds_home(const Kernel& kernel, const HardwareModel& model) {
  const Memory& home = model.memory(model.home());
  double all = 0, most = 0;
  std::string largest;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const Tensor& tensor = kernel.tensors[t];
    if (role_of(kernel, make_id<TensorId>(t)) == Role::intermediate) continue;
    double size = static_cast<double>(std::max<std::int64_t>(1, bytes(tensor.dtype)));
    for (const std::int64_t extent : tensor.shape) size *= static_cast<double>(extent);
    all += size;
    if (size > most) most = size, largest = tensor.name;
  }
  if (home.capacity <= 0 || all <= static_cast<double>(home.capacity)) return std::nullopt;
  return error(fmt::format("memory {} holds {} bytes; the tensors of {} take {:.0f}, {} alone {:.0f}", home.name,
                           home.capacity, kernel.name, all, largest, most),
               "smaller sizes, or a larger capacity");
}

/// Does a later statement read what this one writes?
bool has_consumer(const Kernel& kernel, std::size_t s) {
  const TensorId written = kernel.statements[s].write.tensor;
  return std::any_of(kernel.statements.begin() + static_cast<std::ptrdiff_t>(s) + 1, kernel.statements.end(),
                     [&](const Computation& later) {
                       return std::any_of(later.reads.begin(), later.reads.end(),
                                          [&](const Access& read) { return read.tensor == written; });
                     });
}

/// Evaluation budget: all for statements with at least a quarter of the work of the kernel, fewer for the others,
/// whose schedules change its time little.
std::int64_t evaluations_for(const Kernel& kernel, StatementId id, const ScheduleOptions& options) {
  constexpr double full_share = 0.25, least = 0.1;
  double all = 0, own = 0;
  for (std::size_t s = 0; s < kernel.statements.size(); ++s) {
    double work = static_cast<double>(access_count(kernel.statements[s]));
    for (const Dim& dim : kernel.statements[s].domain.dims) work *= static_cast<double>(dim.extent);
    all += work;
    if (s == id.index()) own = work;
  }
  const double share = all > 0 ? std::clamp(own / all / full_share, least, 1.0) : 1.0;
  if (share == 1.0 || options.max_seconds > 0) return options.max_evaluations;
  return static_cast<std::int64_t>(std::ceil(share * static_cast<double>(options.max_evaluations)));
}

/// Of the fallback in order. Points of the statement bound it: small statements have little to gain.
std::int64_t evaluations_in_order(const SearchSpace& space, const FallbackOptions& fallback) {
  double points = 1;
  for (const Dim& dim : space.kernel().statements[space.statement().index()].domain.dims)
    points *= static_cast<double>(dim.extent);
  const double most = static_cast<double>(fallback.in_order), least = static_cast<double>(fallback.greedy);
  return static_cast<std::int64_t>(std::max(least, std::min(points, most)));
}

/// Why a search ended without a schedule.
Diagnostics nothing_legal(const Computation& statement, const HardwareModel& model, const Found& found) {
  const std::string where = fmt::format("statement {} on {}", statement.name, model.name);
  Diagnostic d = error("no legal schedule was found for " + where);
  if (found.refused > 0)
    d = error(
        fmt::format("none of the {} schedules that have a cost lowers to a program for {}", found.refused, where));
  Diagnostics problems = found.refusals;
  problems.insert(problems.end(), found.problems.begin(), found.problems.end());
  for (const Diagnostic& p : problems) {
    d.notes.push_back(p.hint.empty() ? p.message : p.message + ": " + p.hint);
    d.notes.insert(d.notes.end(), p.notes.begin(), p.notes.end());
  }
  std::set<std::string> known;
  std::erase_if(d.notes, [&](const std::string& note) { return !known.insert(note).second; });
  if (d.notes.size() > most_reasons) d.notes.resize(most_reasons);
  return {d};
}

/// A heuristic found nothing: tries the constructive one, then points in order, within the budget of a small space, and
/// the heuristic from the best of these, since points in order are those of one corner of the space.
void fallback_search(const SearchSpace& space, Found& found, const LoopOptions& loop, const ScheduleOptions& options,
                     const CostModelFactory& costs) {
  LoopOptions in_order = loop;
  in_order.known.clear();
  in_order.max_refused = options.fallback.most_refused;
  const auto look = [&](SearchStrategy& strategy, std::int64_t evaluations) {
    if (found.stopped) return;
    in_order.max_evaluations = std::max(options.max_evaluations, evaluations);
    Found again = search(space, strategy, costs, in_order);
    again.evaluations += found.evaluations;
    again.refused += found.refused;
    remember(again.problems, found.problems);
    remember(again.refusals, found.refusals);
    found = std::move(again);
  };
  if (auto constructive = strategy_named("greedy", space, {}, options.seed))
    look(**constructive, options.fallback.greedy);
  if (found.best || found.exhausted) return;
  if (const auto strategy = exhaustive(space)) look(*strategy, evaluations_in_order(space, options.fallback));
  if (!found.best || found.exhausted || found.stopped) return;
  LoopOptions from_best = loop;
  from_best.known = {found.best->point};
  const auto strategy = strategy_named(options.strategy, space, options.strategy_options, options.seed);
  if (!strategy) return;
  Found better = search(space, **strategy, costs, from_best);
  found.evaluations += better.evaluations;
  found.stopped = found.stopped || better.stopped;
  if (!better.best || value(better.best->cost, options.objective) >= value(found.best->cost, options.objective)) return;
  better.evaluations = found.evaluations;
  better.stopped = found.stopped;
  found = std::move(better);
}

/// Were mappings left without a schedule?
bool skipped_mappings(const MapResult& all, StatementId id, const HardwareModel& model) {
  return all.limit_reached || std::any_of(all.mappings.begin(), all.mappings.end(), [&](const Mapping& m) {
           return m.statement == id && !not_lowered(m, model).empty();
         });
}

Diagnostic no_scalar_unit(const Computation& statement, StatementId id, const MapResult& mappings,
                          const HardwareModel& model) {
  Diagnostic d =
      error(fmt::format("nothing maps statement {} in a way that lowers, and {} has no scalar unit that reaches {}",
                        statement.name, model.name, model.memory(model.home()).name),
            fmt::format("describe an instruction that computes {}, or a unit with 'scalar: true' that reaches {}",
                        statement.name, model.memory(model.home()).name));
  for (const Rejection& rejection : mappings.rejected)
    if (rejection.statement == id && !rejection.reasons.empty() && d.notes.size() < most_rejections)
      d.notes.push_back(model.instruction(rejection.instruction).name + ": " + rejection.reasons.front().text);
  std::set<std::string> reasons;
  for (const Mapping& mapping : mappings.mappings)
    if (mapping.statement == id) reasons.insert(not_lowered(mapping, model));
  for (const std::string& reason : reasons)
    if (d.notes.size() < most_reasons + most_rejections) d.notes.push_back("not lowered yet: " + reason);
  return d;
}

/// Of scalar code that a compiler vectorises.
std::string innermost_of(StatementId id, const Kernel& kernel, const HardwareModel& model) {
  if (!is_host_code(model)) return {};
  return vectorized_dim(kernel.statements[id.index()], kernel.tensors, model.timing.vector_trips);
}

/// What is searched, and where it must lower: a step of a recurrence and the kernel, otherwise the kernel twice.
struct SearchedKernel {
  const Kernel& step;
  const Kernel& whole;
};

class ScheduleRun {
 public:
  ScheduleRun(const SearchedKernel& scope, const MapResult& mappings, const HardwareModel& model,
              const ScheduleOptions& options)
      : kernel_(scope.step),
        whole_(scope.whole),
        mappings_(mappings),
        model_(model),
        options_(options),
        costs_(options.costs),
        workers_(options.workers ? options.workers : std::make_shared<Workers>(options.jobs)) {
    spaces_.resize(kernel_.statements.size());
  }

  bool proved() const { return proved_; }

  Result<Scheduled> run() {
    result_.schedule.name = kernel_.name;
    result_.schedule.kernel = kernel_.name;
    result_.schedule.target = model_.name;
    result_.schedule.sizes = model_.sizes();
    for (const Computation& statement : kernel_.statements) result_.schedule.nests.push_back(scalar_nest(statement));
    result_.scalar_causes.resize(kernel_.statements.size());
    alternatives_.resize(kernel_.statements.size());
    if (const auto none = exceeds_home(kernel_, model_); none && options_.must_lower) {
      proved_ = true;
      return *none;
    }
    lowerable_ = for_each_in_parallel(*workers_, kernel_.statements.size(), [&](std::size_t s) {
      return mappings_of(mappings_, kernel_, make_id<StatementId>(s), model_);
    });
    search_ahead();
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      auto chosen = statement(make_id<StatementId>(s));
      if (!chosen) return chosen.diagnostics();
      result_.schedule.nests[s] = std::move(chosen->nest);
      if (kernel_.statements.size() == 1) result_.view = std::move(chosen->view);
      result_.statement_costs.push_back(std::move(chosen->cost));
      result_.mappings.push_back(std::move(chosen->mapping));
    }
    if (options_.fuse && options_.must_lower && !result_.stopped)
      try_fusions(
          {kernel_, whole_, model_, options_, *workers_, lowerable_, [this](StatementId id) { return model_of(id); }},
          alternatives_, result_);
    if (Diagnostics failed = costs_.problems(); has_errors(failed)) return failed;
    result_.cost = sum_of(result_.statement_costs);
    result_.seconds = seconds_since(start_);
    return std::move(result_);
  }

 private:
  Result<std::unique_ptr<SearchStrategy>> new_strategy(const SearchSpace& space) const {
    return options_.user_strategy ? options_.user_strategy(space, options_.strategy_options, options_.seed)
                                  : strategy_named(options_.strategy, space, options_.strategy_options, options_.seed);
  }

  /// In host code and streams of commands the nests are statements one after another, which share nothing until they
  /// are fused: beside scalar ones a candidate lowers as beside those chosen for the others, whose lowering takes most
  /// of the time.
  bool lower_alone() const {
    return options_.must_lower && (is_host_code(model_) || is_command_stream(model_)) && whole_.repeats.empty();
  }

  /// Statements that lower alone are searched side by side, each as if it were the only one.
  void search_ahead() {
    ahead_.resize(kernel_.statements.size());
    if (!lower_alone() || workers_->jobs() == 1 || kernel_.statements.size() == 1 || !may_run_side_by_side(options_))
      return;
    std::mutex one;  // at a time: factories and observers of users
    const CostModelFactory costs = one_at_a_time(costs_, one);
    std::atomic<bool> stopped{false};
    const SearchProgress progress = one_at_a_time(options_.progress, one, stopped);
    const Schedule scalar_nests = result_.schedule;
    for_each_in_parallel(*workers_, kernel_.statements.size(), [&](std::size_t s) {
      const auto id = make_id<StatementId>(s);
      if (lowerable_[s].empty() || stopped) return;
      const SearchSpace& space = space_of(id);
      auto strategy = new_strategy(space);
      if (!strategy) return;  // told by the search in order
      const auto lowers = [&](const Nest& nest) { return refusal_beside(scalar_nests, id, nest); };
      LoopOptions loop = loop_options(id, lowers, [] { return false; });
      loop.progress = progress;
      Found found = search(space, **strategy, costs, loop);
      if (found.best || !found.stopped) ahead_[s] = std::move(found);
    });
    result_.stopped = stopped;  // those that are left need one legal schedule each
  }

  /// Why the nest does not lower beside those of the other statements; empty: it does. Mappings are proved.
  Diagnostics refusal_beside(Schedule others, StatementId id, const Nest& nest) const {
    others.nests[id.index()] = nest;
    return lower(others, whole_, model_, DoLines::trusted).diagnostics();
  }

  Result<ScheduledStatement> statement(StatementId id) {
    if (lowerable_[id.index()].empty()) return scalar(id, {});  // one schedule, no search
    const SearchSpace& space = space_of(id);
    if (options_.space.double_buffered && !space.hierarchy_point(space.first()))
      return error("--space double-buffered requires a linear memory hierarchy", "see docs/search.md");
    auto strategy = new_strategy(space);
    if (!strategy) return strategy.diagnostics();
    Schedule beside = result_.schedule;
    const bool alone = id.index() > 0 && lower_alone();
    if (alone)
      for (std::size_t s = 0; s < beside.nests.size(); ++s) beside.nests[s] = scalar_nest(kernel_.statements[s]);
    const auto lowers = [&](const Nest& nest) { return refusal_beside(beside, id, nest); };
    const double until = share_of_time(id);
    const auto out_of_time = [&] {
      return result_.stopped || (options_.max_seconds > 0 && seconds_since(start_) > until);
    };
    const LoopOptions loop = loop_options(id, lowers, out_of_time);
    Found found = ahead_[id.index()] ? std::move(*ahead_[id.index()]) : search(space, **strategy, costs_, loop);
    if (alone && found.best && has_errors(refusal_beside(result_.schedule, id, found.best->nest))) {
      beside = result_.schedule;
      strategy = new_strategy(space);
      if (!strategy) return strategy.diagnostics();
      found = search(space, **strategy, costs_, loop);
    }
    if (!found.best && !found.exhausted && !options_.user_strategy && !out_of_time() && !has_errors(found.failure))
      fallback_search(space, found, loop, options_, costs_);
    if (has_errors(found.failure)) return found.failure;
    result_.stopped = result_.stopped || found.stopped;
    result_.evaluations += found.evaluations;
    result_.exhausted = result_.exhausted && found.exhausted;
    result_.curve.insert(result_.curve.end(), found.curve.begin(), found.curve.end());
    if (!found.best) {
      // Fall back to scalar code if that lowers; `exhausted` tells whether it is the only schedule.
      if (model_.scalar_unit_for(model_.home()) &&
          !has_errors(lowers(scalar_nest(space.kernel().statements[id.index()])))) {
        result_.scalar_causes[id.index()] = {
            ScalarCause::Kind::nothing_lowers,
            nothing_legal(kernel_.statements[id.index()], model_, found).front().notes};
        return scalar(id, {});
      }
      proved_ = found.exhausted && found.refused == 0 && !skipped_mappings(mappings_, id, model_);
      return nothing_legal(kernel_.statements[id.index()], model_, found);
    }
    std::string view;
    if (const auto point = space.hierarchy_point(found.best->point))
      view = levels_text(*point->problem, *point->tiles, result_.schedule);
    keep_for_fusion(id, space, found);
    return ScheduledStatement{std::move(found.best->nest), std::move(view), space.mapping_of(found.best->point),
                              std::move(found.best->cost)};
  }

  void keep_for_fusion(StatementId id, const SearchSpace& space, Found& found) {
    const auto of = [&](Scored& one) {
      return ScheduledStatement{std::move(one.nest), "", space.mapping_of(one.point), std::move(one.cost)};
    };
    FusionAlternatives& kept = alternatives_[id.index()];
    if (found.runner_up && fuses_dims(space.mapping_of(found.best->point))) kept.unfused_dims = of(*found.runner_up);
    for (Scored& one : found.best_per_key) kept.other_tiles.push_back(of(one));
  }

  LoopOptions loop_options(StatementId id, const Lowers& lowers, const std::function<bool()>& out_of_time) const {
    LoopOptions loop;
    loop.objective = options_.objective;
    loop.finalists = options_.finalists;
    loop.max_evaluations = evaluations_for(kernel_, id, options_);
    if (id.index() < options_.stop_after.size())
      loop.max_evaluations = std::min(loop.max_evaluations, options_.stop_after[id.index()]);
    loop.min_evaluations = options_.fallback.beyond_time;
    loop.out_of_time = out_of_time;
    loop.workers = workers_;
    loop.executor = options_.executor;
    if (options_.must_lower) loop.refuse = lowers;
    if (options_.fuse && options_.must_lower && has_consumer(kernel_, id.index()))
      loop.runner_up_if = [](const Mapping& mapping) { return !fuses_dims(mapping); };
    if (loop.runner_up_if) loop.key = [this](const Nest& nest) { return fusion_key(nest, model_); };
    if (id.index() < options_.known.size()) loop.known = options_.known[id.index()];
    loop.watch_nests = static_cast<bool>(options_.watch);
    loop.watch = options_.watch;
    if (!result_.stopped) loop.progress = options_.progress;
    loop.one_by_one = result_.stopped;  // after a stop only a legal schedule is needed
    return loop;
  }

  // Deadline: the remaining time, shared evenly among the remaining statements.
  double share_of_time(StatementId id) const {
    const double gone = seconds_since(start_), left = static_cast<double>(kernel_.statements.size() - id.index());
    return gone + (options_.max_seconds - gone) / left;
  }

  // Scalar code, if a scalar unit reaches the tensors.
  Result<ScheduledStatement> scalar(StatementId id, Diagnostics problems) {
    if (!model_.scalar_unit_for(model_.home())) {
      proved_ = proved_ || !skipped_mappings(mappings_, id, model_);
      problems.push_back(no_scalar_unit(kernel_.statements[id.index()], id, mappings_, model_));
      return problems;
    }
    ScheduledStatement result;
    result.nest = scalar_nest(kernel_.statements[id.index()], {}, innermost_of(id, kernel_, model_));
    result.mapping.statement = id;
    auto cost = statement_costs_.estimate({&kernel_, id, &model_, result.nest});
    if (!cost) return cost.diagnostics();
    result.cost = std::move(*cost);
    share_among_threads(id, result);
    return result;
  }

  /// The cheapest of the loops that divide scalar code among threads, if one is cheaper than none.
  void share_among_threads(StatementId id, ScheduledStatement& code) {
    const Computation& statement = kernel_.statements[id.index()];
    for (const For& share : shares_of(statement, model_)) {
      Nest nest = scalar_nest(statement, share, innermost_of(id, kernel_, model_));
      auto cost = statement_costs_.estimate({&kernel_, id, &model_, nest});
      if (!cost || value(*cost, options_.objective) >= value(code.cost, options_.objective) ||
          (options_.must_lower && has_errors(refusal_beside(result_.schedule, id, nest))))
        continue;
      code.nest = std::move(nest);
      code.cost = std::move(*cost);
    }
  }

  /// The space of a statement, kept for the whole run: strategies and cost models refer to it. Empty if nothing maps.
  const SearchSpace& space_of(StatementId id) {
    auto& space = spaces_[id.index()];
    if (!space) space = std::make_unique<SearchSpace>(kernel_, id, lowerable_[id.index()], model_, options_.space);
    return *space;
  }

  /// Factories of users, and the spaces, are of one thread at a time.
  Result<std::unique_ptr<CostModel>> model_of(StatementId id) {
    const std::lock_guard lock(making_);
    return costs_(space_of(id));
  }

  const Kernel& kernel_;
  const Kernel& whole_;
  const MapResult& mappings_;
  const HardwareModel& model_;
  const ScheduleOptions& options_;
  const CostModelFactory& costs_;
  std::mutex making_;
  const std::shared_ptr<Workers> workers_;
  std::vector<std::vector<Mapping>> lowerable_;       ///< by statement: its mappings that lower
  std::vector<std::optional<Found>> ahead_;           ///< by statement: what search_ahead found
  std::vector<std::unique_ptr<SearchSpace>> spaces_;  ///< by statement, on demand
  StatementCosts statement_costs_{[this](StatementId id) { return model_of(id); }};
  Scheduled result_;
  std::vector<FusionAlternatives> alternatives_;  ///< by statement
  bool proved_ = false;
  Clock::time_point start_ = Clock::now();
};

std::optional<Diagnostic> foreign_mapping(const MapResult& mappings, const Kernel& kernel, const HardwareModel& model) {
  for (const Mapping& mapping : mappings.mappings)
    if (const std::string why = why_foreign(mapping, kernel, model); !why.empty())
      return error(fmt::format("mapping {} is not one of {} on {}: {}", mapping.id, kernel.name, model.name, why),
                   "pass what enumerate_mappings found for this kernel and this machine");
  return std::nullopt;
}

/// Does a split reduction prevent fusion with a consumer?
bool blocks_fusion(const Scheduled& scheduled, const Kernel& kernel, const ScheduleOptions& options) {
  if (!options.fuse || !options.must_lower || options.space.no_split_reductions) return false;
  for (std::size_t s = 0; s < scheduled.schedule.nests.size(); ++s) {
    const auto& lines = scheduled.schedule.nests[s].lines;
    const bool split = std::any_of(lines.begin(), lines.end(), [](const Line& line) {
      const auto* loop = std::get_if<For>(&line.is);
      return loop != nullptr && !loop->combine.empty();
    });
    if (split && has_consumer(kernel, s)) return true;
  }
  return false;
}

/// Fusion benefit is known only after search, so both variants are searched.
void retry_without_split_reductions(Scheduled& scheduled, const SearchedKernel& kernel, const MapResult& mappings,
                                    const HardwareModel& model, ScheduleOptions options) {
  options.space.no_split_reductions = true;
  options.known.clear();  // points of another space
  auto other = ScheduleRun(kernel, mappings, model, options).run();
  if (!other) return;
  other->evaluations += scheduled.evaluations;
  other->exhausted = other->exhausted && scheduled.exhausted;
  other->seconds += scheduled.seconds;
  scheduled.evaluations = other->evaluations;
  scheduled.seconds = other->seconds;
  scheduled.stopped = other->stopped;
  if (value(other->cost, options.objective) < value(scheduled.cost, options.objective)) scheduled = std::move(*other);
}

}  // namespace

Result<Scheduled> schedule(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model,
                           const ScheduleOptions& options, bool* proved) {
  const Kernel step = one_step_of(kernel);
  if (auto foreign = foreign_mapping(mappings, step, model)) return *foreign;
  const SearchedKernel searched{step, kernel};
  ScheduleRun run(searched, mappings, model, options);
  auto scheduled = run.run();
  if (proved) *proved = run.proved();
  if (scheduled && !scheduled->stopped && blocks_fusion(*scheduled, step, options))
    retry_without_split_reductions(*scheduled, searched, mappings, model, options);
  if (!scheduled) return scheduled;
  if (!kernel.repeats.empty()) {
    for (std::size_t s = 0; s < scheduled->statement_costs.size(); ++s)
      scheduled->statement_costs[s] = repeated(std::move(scheduled->statement_costs[s]), repetitions(kernel, s));
    scheduled->cost = sum_of(scheduled->statement_costs);
  }
  if (options.compare_scalar && options.must_lower) replace_by_scalar_code(*scheduled, kernel, model, options);
  return scheduled;
}

}  // namespace isamap
