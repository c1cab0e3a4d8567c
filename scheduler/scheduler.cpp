// SPDX-License-Identifier: Apache-2.0
#include "isamap/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

#include "ir/recurrence.h"
#include "isamap/search.h"
#include "scheduler/cost/hierarchy/levels_text.h"
#include "scheduler/fuse_statements.h"
#include "scheduler/nest/lowering_support.h"
#include "scheduler/scalar_alternative.h"
#include "scheduler/space/digit_assignments.h"

namespace isamap {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_reasons = 12;
constexpr std::int64_t first_look = 1'000;        // points that greedy search takes where another found no legal one
constexpr std::int64_t last_look = 20'000;        // and at most are seen in order where it found none either
constexpr std::int64_t least_evaluations = 2000;  // for a statement that has no schedule yet, whatever the clock says

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

using Lowers = std::function<Diagnostics(const Nest&)>;  // why it does not; empty: it does

/// One point at a time, in the order of the domain.
Nest scalar_nest(const Computation& statement) {
  Nest nest;
  for (const Dim& dim : statement.domain.dims)
    if (dim.extent != 1) nest.lines.push_back(Line{For{{{dim.name, 1}}, "", Tail::none, false, ""}});
  Do line;
  line.statement = statement.name;
  nest.lines.push_back(Line{line});
  return nest;
}

/// A statement's mappings that lower, each in every spread that does.
std::vector<Mapping> mappings_of(const MapResult& all, const Kernel& kernel, StatementId statement,
                                 const HardwareModel& model) {
  std::vector<Mapping> mine;
  for (const Mapping& mapping : all.mappings) {
    if (mapping.statement != statement) continue;
    const Instruction& instruction = model.instruction(mapping.instruction);
    for (Mapping& spread : whole_spreads(mapping, kernel.statements[statement.index()], instruction))
      if (not_lowered(spread, model).empty() && std::find(mine.begin(), mine.end(), spread) == mine.end())
        mine.push_back(std::move(spread));
  }
  return mine;
}

std::unique_ptr<SearchStrategy> exhaustive(const SearchSpace& space) {
  auto made = strategy_named("exhaustive", space, {}, 0);
  return made ? std::move(*made) : nullptr;
}

struct Statement {
  Nest nest;
  std::string view;
  Mapping mapping;
  Cost cost;
};

bool fuses_dims(const Mapping& mapping) {
  return std::any_of(mapping.dims.begin(), mapping.dims.end(), [](const std::vector<Digit>& digits) {
    return !digits.empty() && (digits.size() > 1 || !digits.front().column.as_dim());
  });
}

/// Do blocks share a processor's memory and wait their turn?
bool blocks_wait(const HardwareModel& model) {
  return std::any_of(model.units().begin(), model.units().end(),
                     [](const Unit& unit) { return unit.queued && !unit.index.empty(); });
}

/// What decides how much room a block's tiles take: its own tile, and how many stand in each memory at once.
std::string memory_use_key(const Nest& nest) {
  std::string room;
  bool own = true;
  for (const Line& line : nest.lines) {
    const auto* stage = std::get_if<Stage>(&line.is);
    if (const auto* loop = std::get_if<For>(&line.is); loop != nullptr && own)
      for (const TiledLoop& w : loop->loops) room += fmt::format("{} {} ", w.dim, w.tile);
    if (stage != nullptr) room += fmt::format("x{} ", stage->buffers), own = false;
  }
  return room;
}

/// Nests of any statement, each by a model made for the space of its statement, when it is first needed.
class StatementCosts final : public CostModel {
 public:
  using SpaceOf = std::function<const SearchSpace&(StatementId)>;
  StatementCosts(const CostModelFactory& make, SpaceOf space_of) : make_(make), space_of_(std::move(space_of)) {}

  Result<Cost> estimate(const Candidate& candidate) override {
    auto& model = models_[candidate.statement.index()];
    if (!model) {
      auto made = make_(space_of_(candidate.statement));
      if (!made) return wrong_ = made.diagnostics();
      model = std::move(*made);
    }
    auto cost = model->estimate(candidate);
    if (!cost) return cost;
    wrong_ = not_a_cost(*cost);
    if (!wrong_.empty()) return wrong_;
    return cost;
  }
  /// Of the last estimate: why it is no cost.
  const Diagnostics& wrong() const { return wrong_; }

 private:
  const CostModelFactory& make_;
  Diagnostics wrong_;
  SpaceOf space_of_;
  std::map<std::size_t, std::unique_ptr<CostModel>> models_;
};

class Run {
 public:
  Run(const Kernel& kernel, const MapResult& mappings, const HardwareModel& model, const ScheduleOptions& options)
      : kernel_(kernel), mappings_(mappings), model_(model), options_(options), costs_(options.costs) {
    spaces_.resize(kernel.statements.size());
  }

  bool proved() const { return proved_; }

  Result<Scheduled> run() {
    result_.schedule.name = kernel_.name;
    result_.schedule.kernel = kernel_.name;
    result_.schedule.target = model_.name;
    result_.schedule.sizes = model_.sizes();
    for (const Computation& statement : kernel_.statements) result_.schedule.nests.push_back(scalar_nest(statement));
    result_.refusals.resize(kernel_.statements.size());
    whole_dims_.resize(kernel_.statements.size());
    kinds_.resize(kernel_.statements.size());
    if (const auto none = beyond_home(); none && options_.must_lower) {
      proved_ = true;
      return *none;
    }
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      auto chosen = statement(make_id<StatementId>(s));
      if (!chosen) return chosen.diagnostics();
      result_.schedule.nests[s] = std::move(chosen->nest);
      if (kernel_.statements.size() == 1) result_.view = std::move(chosen->view);
      result_.statement_costs.push_back(std::move(chosen->cost));
      result_.mappings.push_back(std::move(chosen->mapping));
    }
    if (options_.join && options_.must_lower && !result_.stopped) join();
    if (Diagnostics failed = costs_.problems(); has_errors(failed)) return failed;
    result_.cost = sum_of(result_.statement_costs);
    result_.seconds = seconds_since(start_);
    return std::move(result_);
  }

 private:
  /// Arguments stand in the home memory as long as a program runs.
  std::optional<Diagnostic> beyond_home() const {
    const Memory& home = model_.memory(model_.home());
    double all = 0, most = 0;
    std::string largest;
    for (std::size_t t = 0; t < kernel_.tensors.size(); ++t) {
      const Tensor& tensor = kernel_.tensors[t];
      if (role_of(kernel_, make_id<TensorId>(t)) == Role::intermediate) continue;
      double size = static_cast<double>(std::max<std::int64_t>(1, bytes(tensor.dtype)));
      for (const std::int64_t extent : tensor.shape) size *= static_cast<double>(extent);
      all += size;
      if (size > most) most = size, largest = tensor.name;
    }
    if (home.capacity <= 0 || all <= static_cast<double>(home.capacity)) return std::nullopt;
    return error(fmt::format("memory {} holds {} bytes; the tensors of {} take {:.0f}, {} alone {:.0f}", home.name,
                             home.capacity, kernel_.name, all, largest, most),
                 "smaller sizes, or a larger capacity");
  }

  /// Tiles are handed on along plain dims: where the best nest of a statement fuses some, the best that fuses none is
  /// tried as well.
  void join() {
    const FusionInput input{kernel_, model_, options_.objective, statement_costs_,
                            [&](StatementId id) { return mappings_of(mappings_, kernel_, id, model_); }};
    Scheduled other = result_;
    const Scheduled apart = result_;
    fuse_statements(input, result_.schedule, result_.statement_costs, result_.mappings);
    retry_fusion_with_other_tiles(input, apart);
    if (std::none_of(whole_dims_.begin(), whole_dims_.end(), [](const auto& one) { return one.has_value(); })) return;
    for (std::size_t s = 0; s < whole_dims_.size(); ++s) {
      if (!whole_dims_[s]) continue;
      other.schedule.nests[s] = std::move(whole_dims_[s]->nest);
      other.statement_costs[s] = std::move(whole_dims_[s]->cost);
      other.mappings[s] = std::move(whole_dims_[s]->mapping);
    }
    fuse_statements(input, other.schedule, other.statement_costs, other.mappings);
    if (objective_of(other) < objective_of(result_)) result_ = std::move(other);
  }

  double objective_of(const Scheduled& one) const { return value(sum_of(one.statement_costs), options_.objective); }

  /// A tile that is handed on needs room, which the best nest by itself may have filled. Where its tile went nowhere,
  /// the best nests with other tiles are tried, as long as they alone cost less than what is there.
  void retry_fusion_with_other_tiles(const FusionInput& input, const Scheduled& apart) {
    for (std::size_t s = 0; s < kinds_.size(); ++s) {
      const auto& lines = result_.schedule.nests[s].lines;
      if (std::any_of(lines.begin(), lines.end(), [](const Line& line) {
            const auto* stage = std::get_if<Stage>(&line.is);
            return stage != nullptr && !stage->then.empty();
          }))
        continue;
      for (const Statement& kind : kinds_[s]) {
        if (value(kind.cost, options_.objective) >= objective_of(result_)) break;
        Scheduled other = apart;
        other.schedule.nests[s] = kind.nest;
        other.statement_costs[s] = kind.cost;
        other.mappings[s] = kind.mapping;
        fuse_statements(input, other.schedule, other.statement_costs, other.mappings);
        if (objective_of(other) < objective_of(result_)) result_ = std::move(other);
      }
    }
  }

  bool read_later(StatementId id) const {
    const TensorId written = kernel_.statements[id.index()].write.tensor;
    return std::any_of(kernel_.statements.begin() + static_cast<std::ptrdiff_t>(id.index()) + 1,
                       kernel_.statements.end(), [&](const Computation& later) {
                         return std::any_of(later.reads.begin(), later.reads.end(),
                                            [&](const Access& read) { return read.tensor == written; });
                       });
  }

  Result<Statement> statement(StatementId id) {
    std::vector<Mapping> mine = mappings_of(mappings_, kernel_, id, model_);
    if (mine.empty()) return scalar(id, {});  // one schedule: nothing is left to search
    const SearchSpace& space = space_of(id, std::move(mine));
    if (options_.space.double_buffered && !space.levelled(space.first()))
      return error("the space double-buffered is one of machines whose memories stand in a row", "see docs/search.md");
    const bool own = static_cast<bool>(options_.user_strategy);
    auto strategy = own ? options_.user_strategy(space, options_.strategy_options, options_.seed)
                        : strategy_named(options_.strategy, space, options_.strategy_options, options_.seed);
    if (!strategy) return strategy.diagnostics();
    const auto lowers = [&](const Nest& nest) {
      Schedule trial = result_.schedule;
      trial.nests[id.index()] = nest;
      return lower(trial, kernel_, model_, DoLines::trusted).diagnostics();  // the mapper has proved them
    };
    const double until = share_of_time(id);
    const auto out_of_time = [&] {
      return result_.stopped || (options_.max_seconds > 0 && seconds_since(start_) > until);
    };
    const LoopOptions loop = loop_options(id, lowers, out_of_time);
    Found found = search(space, **strategy, costs_, loop);
    result_.stopped = result_.stopped || found.stopped;
    if (!found.best && !found.exhausted && !own && !out_of_time() && !has_errors(found.failure))
      fallback_search(space, found, loop);
    if (has_errors(found.failure)) return found.failure;
    result_.stopped = result_.stopped || found.stopped;
    result_.evaluations += found.evaluations;
    result_.exhausted = result_.exhausted && found.exhausted;
    result_.curve.insert(result_.curve.end(), found.curve.begin(), found.curve.end());
    if (!found.best) {
      // Element by element is better than no answer, where that lowers; `exhausted` tells whether it is the only one.
      if (model_.scalar_unit_for(model_.home()) &&
          !has_errors(lowers(scalar_nest(space.kernel().statements[id.index()])))) {
        result_.refusals[id.index()] = nothing_legal(id, found).front().notes;
        return scalar(id, {});
      }
      proved_ = found.exhausted && found.refused == 0 && !left_out_any(id);
      return nothing_legal(id, found);
    }
    std::string view;
    if (const auto levelled = space.levelled(found.best->point))
      view = levels_text(*levelled->problem, *levelled->tiles, result_.schedule);
    if (found.beside && fuses_dims(space.mapping_of(found.best->point)))
      whole_dims_[id.index()] = Statement{std::move(found.beside->nest), "", space.mapping_of(found.beside->point),
                                          std::move(found.beside->cost)};
    for (Scored& kind : found.kinds)
      kinds_[id.index()].push_back({std::move(kind.nest), "", space.mapping_of(kind.point), std::move(kind.cost)});
    return Statement{std::move(found.best->nest), std::move(view), space.mapping_of(found.best->point),
                     std::move(found.best->cost)};
  }

  /// Of the calls for evaluations: all for statements with a good part of the kernel's work, fewer for the others,
  /// whose schedules differ by little of what the kernel takes.
  std::int64_t evaluations_for(StatementId id) const {
    constexpr double good_part = 0.25, least = 0.1;
    double all = 0, own = 0;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      double work = static_cast<double>(access_count(kernel_.statements[s]));
      for (const Dim& dim : kernel_.statements[s].domain.dims) work *= static_cast<double>(dim.extent);
      all += work;
      if (s == id.index()) own = work;
    }
    const double share = all > 0 ? std::clamp(own / all / good_part, least, 1.0) : 1.0;
    if (share == 1.0 || options_.max_seconds > 0) return options_.max_evaluations;
    return static_cast<std::int64_t>(std::ceil(share * static_cast<double>(options_.max_evaluations)));
  }

  LoopOptions loop_options(StatementId id, const Lowers& lowers, const std::function<bool()>& out_of_time) const {
    LoopOptions loop;
    loop.objective = options_.objective;
    loop.max_evaluations = evaluations_for(id);
    if (id.index() < options_.stop_after.size())
      loop.max_evaluations = std::min(loop.max_evaluations, options_.stop_after[id.index()]);
    loop.sure_evaluations = least_evaluations;
    loop.out_of_time = out_of_time;
    loop.threads = options_.threads;
    if (options_.must_lower) loop.refuse = lowers;
    if (options_.join && options_.must_lower && read_later(id))
      loop.kept_beside = [](const Mapping& mapping) { return !fuses_dims(mapping); };
    if (loop.kept_beside && blocks_wait(model_)) loop.kind = memory_use_key;
    if (id.index() < options_.known.size()) loop.known = options_.known[id.index()];
    loop.watch_nests = static_cast<bool>(options_.watch);
    if (options_.watch) loop.watch = options_.watch;
    if (!result_.stopped) loop.progress = options_.progress;  // what follows needs a legal schedule, no more
    return loop;
  }

  // A heuristic found nothing: the constructive one, then every point in order, as long as it takes to see a small
  // space.
  void fallback_search(const SearchSpace& space, Found& found, LoopOptions in_order) const {
    in_order.known.clear();
    const auto look = [&](SearchStrategy& strategy, std::int64_t evaluations) {
      if (found.stopped) return;
      in_order.max_evaluations = std::max(options_.max_evaluations, evaluations);
      Found again = search(space, strategy, costs_, in_order);
      again.evaluations += found.evaluations;
      again.refused += found.refused;
      remember(again.problems, found.problems);
      remember(again.refusals, found.refusals);
      found = std::move(again);
    };
    if (auto constructive = strategy_named("greedy", space, {}, options_.seed)) look(**constructive, first_look);
    if (found.best || found.exhausted) return;
    if (const auto strategy = exhaustive(space)) look(*strategy, std::clamp(points_of(space), first_look, last_look));
  }

  // A statement with few points has little to gain: looking for a schedule takes no longer than in proportion.
  static std::int64_t points_of(const SearchSpace& space) {
    double points = 1;
    for (const Dim& dim : space.kernel().statements[space.statement().index()].domain.dims)
      points *= static_cast<double>(dim.extent);
    return static_cast<std::int64_t>(std::min(points, static_cast<double>(last_look)));
  }

  // Mappings that no schedule was tried for.
  bool left_out_any(StatementId id) const {
    return mappings_.limit_reached ||
           std::any_of(mappings_.mappings.begin(), mappings_.mappings.end(),
                       [&](const Mapping& m) { return m.statement == id && !not_lowered(m, model_).empty(); });
  }

  // The time that is left, shared evenly among the statements that are left.
  double share_of_time(StatementId id) const {
    const double gone = seconds_since(start_);
    return gone + (options_.max_seconds - gone) / static_cast<double>(kernel_.statements.size() - id.index());
  }

  Diagnostics nothing_legal(StatementId id, const Found& found) const {
    const std::string where = fmt::format("statement {} on {}", kernel_.statements[id.index()].name, model_.name);
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
    if (d.notes.size() > most_reasons) d.notes.resize(most_reasons);
    return {d};
  }

  // Nothing maps: element by element, where a scalar unit reaches the tensors.
  Result<Statement> scalar(StatementId id, Diagnostics problems) {
    if (!model_.scalar_unit_for(model_.home())) {
      Diagnostic d =
          error(fmt::format("nothing maps statement {} in a way that lowers, and {} has no scalar unit that reaches {}",
                            kernel_.statements[id.index()].name, model_.name, model_.memory(model_.home()).name));
      std::set<std::string> reasons;
      for (const Mapping& mapping : mappings_.mappings)
        if (mapping.statement == id) reasons.insert(not_lowered(mapping, model_));
      for (const std::string& reason : reasons)
        if (d.notes.size() < most_reasons) d.notes.push_back("not lowered yet: " + reason);
      proved_ = proved_ || !left_out_any(id);
      problems.push_back(std::move(d));
      return problems;
    }
    Statement result;
    result.nest = scalar_nest(kernel_.statements[id.index()]);
    result.mapping.statement = id;
    auto cost = statement_costs_.estimate({&kernel_, id, &model_, result.nest});
    if (!cost && !statement_costs_.wrong().empty()) return statement_costs_.wrong();
    if (cost) result.cost = std::move(*cost);
    return result;
  }

  /// The space of a statement, which lives as long as the run: strategies and cost models are made for it. Of one that
  /// nothing maps it is empty.
  const SearchSpace& space_of(StatementId id, std::vector<Mapping> mappings = {}) {
    auto& space = spaces_[id.index()];
    if (!space) space = std::make_unique<SearchSpace>(kernel_, id, std::move(mappings), model_, options_.space);
    return *space;
  }

  const Kernel& kernel_;
  const MapResult& mappings_;
  const HardwareModel& model_;
  const ScheduleOptions& options_;
  const CostModelFactory& costs_;
  std::vector<std::unique_ptr<SearchSpace>> spaces_;  ///< of the statements that were come to
  StatementCosts statement_costs_{costs_, [this](StatementId id) -> const SearchSpace& { return space_of(id); }};
  Scheduled result_;
  std::vector<std::vector<Statement>> kinds_;  ///< the best with other tiles, where tiles of blocks may be handed on
  std::vector<std::optional<Statement>> whole_dims_;  ///< the best that fuses no dims, where the best of all does
  bool proved_ = false;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

namespace {

/// Is a sum split over instances that another statement reads? Nothing goes on with its tiles then.
bool could_be_joined(const Scheduled& scheduled, const Kernel& kernel, const ScheduleOptions& options) {
  if (!options.join || !options.must_lower || options.space.sums_whole) return false;
  for (std::size_t s = 0; s < scheduled.schedule.nests.size(); ++s) {
    const auto& lines = scheduled.schedule.nests[s].lines;
    const bool split = std::any_of(lines.begin(), lines.end(), [](const Line& line) {
      const auto* loop = std::get_if<For>(&line.is);
      return loop != nullptr && !loop->combine.empty();
    });
    const TensorId written = kernel.statements[s].write.tensor;
    const bool read = std::any_of(kernel.statements.begin() + static_cast<std::ptrdiff_t>(s) + 1,
                                  kernel.statements.end(), [&](const Computation& later) {
                                    return std::any_of(later.reads.begin(), later.reads.end(),
                                                       [&](const Access& a) { return a.tensor == written; });
                                  });
    if (split && read) return true;
  }
  return false;
}

/// Statements are searched one by one; what joining them saves is known at the end. So both ways are gone to it.
void retry_without_split_reductions(Scheduled& scheduled, const Kernel& kernel, const MapResult& mappings,
                                    const HardwareModel& model, ScheduleOptions options) {
  options.space.sums_whole = true;
  options.known.clear();  // points of the other space
  auto other = Run(kernel, mappings, model, options).run();
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
  Run run(step, mappings, model, options);
  auto scheduled = run.run();
  if (proved) *proved = run.proved();
  if (scheduled && !scheduled->stopped && could_be_joined(*scheduled, step, options))
    retry_without_split_reductions(*scheduled, step, mappings, model, options);
  if (!scheduled) return scheduled;
  if (kernel.repeat) {
    for (std::size_t s = 0; s < scheduled->statement_costs.size(); ++s)
      scheduled->statement_costs[s] = repeated(std::move(scheduled->statement_costs[s]), repetitions(kernel, s));
    scheduled->cost = sum_of(scheduled->statement_costs);
  }
  if (options.compare_scalar && options.must_lower) or_scalar_code(*scheduled, kernel, model, options);
  return scheduled;
}

}  // namespace isamap
