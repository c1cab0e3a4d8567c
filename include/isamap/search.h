// SPDX-License-Identifier: Apache-2.0
#pragma once
// Search spaces, search strategies, and the loop between them.

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "isamap/cost_model.h"
#include "isamap/hardware.h"
#include "isamap/kernel.h"
#include "isamap/mapping.h"
#include "isamap/schedule.h"

namespace isamap {

// A search space: numbered decisions with finite domains.
//
// The schedule language is open; a search enumerates one of several forms. Per-memory form, on machines with a linear
// memory hierarchy whose moves take no issue slots: tiles, order, kept tensors and buffers at every memory, steps on
// every unit (docs/search.md); the exact search proves optima of this form. Normal form, anywhere else
// (docs/schedule.md): mapping, route of each operand, register tile, tile of each dim at each memory level, outermost
// loop, placement on units. Only `build` turns a point into a nest.

/// What a decision is about, for strategies that treat some decisions apart.
enum class DecisionKind {
  choice,         ///< of unordered alternatives: mapping, route, loop order, unit
  size,           ///< a number: labels increase, and neighbours are similar
  register_tile,  ///< a size that the tile in registers has
};

/// One choice. Values print as `labels`; a point holds the position.
struct Decision {
  std::string name;  ///< "mapping", "registers j", "order level 1", "stage A spad"
  std::vector<std::string> labels;
  DecisionKind kind = DecisionKind::choice;
  /// The dim, tensor or unit that it is about; decisions on the same one are inherited together.
  std::string subject = {};
  bool ordered() const { return kind != DecisionKind::choice; }
};

struct Point {
  std::vector<int> choice;  ///< one position for each decision of the space
  bool operator==(const Point&) const = default;
};

struct SpaceOptions {
  bool dividing = false;             ///< only tiles that divide
  bool keep_all = false;             ///< every tensor kept in every memory
  bool single_buffered = false;      ///< one buffer for every kept tile
  bool double_buffered = false;      ///< two buffers for every kept tile; per-memory form only
  bool no_skipping = false;          ///< out-of-bounds products are computed: they may meet an infinity
  bool sums_in_order = false;        ///< floating-point sums are not split over instances, which combine in any order
  bool no_split_reductions = false;  ///< no sum is split over instances, so that consumers can be fused
};

/// Names of --space and of suites.
inline constexpr std::array<std::pair<const char*, bool SpaceOptions::*>, 4> space_words{
    {{"dividing", &SpaceOptions::dividing},
     {"keep-all", &SpaceOptions::keep_all},
     {"single-buffered", &SpaceOptions::single_buffered},
     {"double-buffered", &SpaceOptions::double_buffered}}};
/// Why it is no such name; empty: it is.
std::string set_space_word(SpaceOptions& options, const std::string& word);

class SpaceTemplate;

/// All schedules of one statement on one machine.
class SearchSpace {
 public:
  /// `mappings`: those of this statement. Points are of the per-memory form where it covers all of them.
  SearchSpace(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings, const HardwareModel& model,
              const SpaceOptions& options);
  ~SearchSpace();
  SearchSpace(SearchSpace&&) noexcept;

  const std::vector<Decision>& decisions() const;
  const std::vector<Mapping>& mappings() const;  ///< that points choose from: those that differ in this form
  double size() const;                           ///< number of points (as a double: it is large)

  /// Clamps every choice into its domain and repairs the point: tiles that exceed their parents; in the per-memory form
  /// also tiles that exceed their memories and steps that exceed their units.
  Point repair(Point point) const;
  std::vector<Point> neighbours(const Point& point) const;
  Point random(std::uint64_t seed) const;
  /// One decision, drawn by the seed, at another value: of numbers mostly an adjacent one. Also the mapping.
  Point mutate(const Point& point, std::uint64_t seed) const;
  /// Every choice from one of the parents, drawn by the seed; decisions on one dim mostly stay together. Repaired.
  Point crossover(const Point& a, const Point& b, std::uint64_t seed) const;
  /// Features for learned models: log2 of sizes, one-hot values of other decisions, utilisation of the mapping.
  std::vector<double> features(const Point& point) const;
  std::vector<std::string> feature_names() const;  ///< "log2 level 0 i", "outermost = j", "mapping utilisation"
  Point first() const;                             ///< every choice at its first value
  /// Starting points, about `count` or more. Normal form: the mappings with the least work, each with a register tile
  /// that saturates the ports and the largest tiles that fit, with and without packed inputs. Per-memory form: fully
  /// used units, tiles that fit and save most traffic while one operand is stationary.
  std::vector<Point> starts(std::size_t count) const;

  /// The point with the smallest choices among those that build the same nest.
  Point canonical(const Point& point) const;
  /// Equal for points that build the same schedule; of an illegal point, of its choices.
  std::uint64_t hash(const Point& point) const;

  Result<Nest> build(const Point& point) const;  ///< diagnostics: why this point is not legal
  std::optional<HierarchyPoint> hierarchy_point(const Point& point) const;  ///< nothing: points are of another form
  const Mapping& mapping_of(const Point& point) const;
  std::string describe(const Point& point) const;  ///< "mapping 3, j 32, i 14, ..."
  const Kernel& kernel() const;
  StatementId statement() const;
  const HardwareModel& model() const;

 private:
  const SpaceTemplate& form() const;
  struct State;
  std::unique_ptr<State> state_;
};

// Ask and tell: a strategy proposes points and is told their costs. It sees the space, never the hardware.
//
//   class Lottery final : public SearchStrategy { ... };
//   ScheduleOptions options;
//   options.user_strategy = [](const SearchSpace& space, const StrategyOptions&, std::uint64_t seed) {
//     return std::make_unique<Lottery>(space, seed);
//   };
//
// Points need not be valid: the loop repairs those that are too short, too long or out of range.

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  virtual std::optional<Point> next() = 0;  ///< ask; nothing: done
  /// tell. `objective`: to be minimised; nothing: the point is illegal. The point is the one that was evaluated, i.e.
  /// repaired. Points known from earlier searches may be told before the first `next`.
  virtual void report(const Point& point, std::optional<double> objective) = 0;
  /// Has every point of the space been evaluated? Then the best is the optimum of the space under its cost model.
  virtual bool exhausted() const { return false; }
  /// Points asked before the first of them is told: they are evaluated concurrently. A property of the strategy, so
  /// that its behaviour never depends on the number of workers.
  virtual std::size_t batch() const { return 1; }
  /// Points of the next batch that workers make themselves, by `make`, before they evaluate them; 0: it is asked by
  /// `next`. Called before each batch, after the one before was told.
  virtual std::size_t makes() { return 0; }
  /// The point of that number, below `makes()`; nothing: none that is new. Several threads call it at once, so it
  /// depends on its number, a seed and what was told, never on other calls. Equal points of a batch are told once.
  virtual std::optional<Point> make(std::size_t /*number*/) { return std::nullopt; }
  /// Points that are likely to be asked after those asked so far, at most `count`, the next ones first, each as `next`
  /// would return it: workers that have nothing else to do evaluate them ahead. Guesses: they change no result.
  virtual std::vector<Point> likely(std::size_t /*count*/) const { return {}; }
  /// Is every proposed point a result of `SearchSpace::repair`, or equal to one? Others are repaired first.
  virtual bool proposes_repaired() const { return false; }
  /// Why `next` failed: a strategy in a process of its own has died.
  virtual Diagnostics problems() const { return {}; }
};

using StrategyOptions = std::map<std::string, std::string>;  ///< key=value of --strategy NAME:key=value,...

/// Makes a strategy for a space; called once per searched space, i.e. per statement. Wraps any function of (space,
/// options, seed), or of the space alone, that returns a pointer to a strategy or a Result of one.
class StrategyFactory {
 public:
  using Made = Result<std::unique_ptr<SearchStrategy>>;

  StrategyFactory() = default;
  template <class Make>
  requires(!std::is_same_v<std::decay_t<Make>, StrategyFactory>)
      StrategyFactory(Make make)  // NOLINT: implicit on purpose
      : make_([make = std::move(make)](const SearchSpace& space, const StrategyOptions& options,
                                       std::uint64_t seed) mutable {
          if constexpr (std::is_invocable_v<Make&, const SearchSpace&, const StrategyOptions&, std::uint64_t>)
            return made(make(space, options, seed));
          else
            return made(make(space));
        }) {}

  explicit operator bool() const { return static_cast<bool>(make_); }
  /// Diagnostics: the factory failed or returned a null pointer.
  Made operator()(const SearchSpace& space, const StrategyOptions& options, std::uint64_t seed) const;

 private:
  template <class T>
  static Made made(T result) {
    if constexpr (std::is_convertible_v<T, Made>)
      return result;
    else
      return std::unique_ptr<SearchStrategy>(std::move(result));
  }
  std::function<Made(const SearchSpace&, const StrategyOptions&, std::uint64_t)> make_;
};

/// Generated from the file names in scheduler/search/strategies: `greedy.cpp` defines make_strategy_greedy.
const std::vector<std::pair<std::string, StrategyFactory>>& strategies();
/// Is it code of a user: a process, or a shared object?
bool is_user_strategy(const std::string& name);
/// The strategy of that name, or an error that lists them.
Result<std::unique_ptr<SearchStrategy>> strategy_named(const std::string& name, const SearchSpace& space,
                                                       const StrategyOptions& options, std::uint64_t seed);

// The search loop: ask, build, estimate, tell, for every strategy and cost model.

/// One evaluation, as observers see it.
struct Trial {
  StatementId statement;
  std::int64_t number = 0;  ///< from 1, within the statement
  const SearchSpace* space = nullptr;
  const Point* point = nullptr;
  const Nest* nest = nullptr;       ///< null: the point is illegal, or priced without one
  const Cost* cost = nullptr;       ///< null: illegal; priced without a nest: cycles and energy only
  std::optional<double> objective;  ///< what the strategy is told
  bool best = false;                ///< better than everything before it
  std::string problem;              ///< why it is illegal
};

class Executor;
class Workers;
class CostModelFactory;
using ExecutorFactory =
    std::function<Result<std::unique_ptr<Executor>>(const SearchSpace&, const CostModelFactory&, bool with_nests)>;

struct LoopOptions {
  Objective objective = Objective::edp;
  std::int64_t max_evaluations = 2000;
  std::int64_t min_evaluations = 0;  ///< made regardless of `out_of_time`, until one is legal
  /// The search ends without a best after so many refusals by `refuse`.
  std::int64_t max_refused = std::numeric_limits<std::int64_t>::max();
  std::function<bool()> out_of_time = [] { return false; };
  /// After each evaluation, and every few tens of milliseconds of a long one: their number, and the best so far
  /// (infinity: none). False ends the search with the best so far.
  std::function<bool(std::int64_t evaluations, double best)> progress;
  int jobs = 1;                      ///< points evaluated at a time; never changes what is found
  std::shared_ptr<Workers> workers;  ///< in place of `jobs`: shared with other searches (support/threads.h)
  ExecutorFactory executor;          ///< in place of both: who evaluates batches (scheduler/search/executor.h)
  std::vector<Point> known;          ///< evaluated and told before the first `next`
  /// Why a new best nest is rejected (it does not lower); empty: accepted.
  std::function<Diagnostics(const Nest&)> refuse;
  /// The best point with such a mapping is kept as the runner-up; empty: none is.
  std::function<bool(const Mapping&)> runner_up_if;
  /// The best nest for each key is kept too, `most_keys` of them; empty: none is.
  std::function<std::string(const Nest&)> key;
  /// The best so many points are estimated again where the cost model has a finer estimate (`refine`): the best of
  /// these is found. 0: the best by the estimate.
  std::size_t finalists = 0;
  /// Objective told to the strategy in place of the exact one: measurements are noisy.
  std::function<double(std::int64_t number, double objective)> noise;
  std::function<void(const Trial&)> watch;
  bool one_by_one = false;   ///< whatever the batches of the strategy: one legal point is wanted soon
  bool watch_nests = false;  ///< `watch` receives the nest and full cost of every legal point, not only of the best
};

struct Scored {
  double objective = 0;
  Point point;
  Nest nest;
  Cost cost;
};

struct Found {
  std::optional<Scored> best, runner_up;
  std::vector<Scored> best_per_key;  ///< best first, at most `most_keys`; `refuse` was not asked
  Diagnostics problems;              ///< of illegal points, each text once
  Diagnostics refusals;              ///< of rejected points with the best cost so far
  Diagnostics failure;               ///< the strategy or the cost model itself failed
  std::int64_t refused = 0;          ///< number of rejected points
  std::int64_t evaluations = 0, legal = 0;
  bool exhausted = false;
  bool stopped = false;                                ///< `progress` ended it
  std::vector<std::pair<std::int64_t, double>> curve;  ///< (evaluations, best so far), at each improvement
};

constexpr std::size_t most_keys = 128;

/// The estimate of the model, and its finer one where it has one (CostModel::refine): what `evaluate` says.
Result<Cost> checked_fine_estimate(CostModel& model, const Candidate& candidate);

/// Makes cost models for a space, one for each worker that has something to do; never asked by two threads at once by
/// one search.
class CostModelFactory {
 public:
  template <class Make>
  requires(!std::is_same_v<std::decay_t<Make>, CostModelFactory>)
      CostModelFactory(Make make)  // NOLINT: implicit on purpose
      : make_([make = std::move(make)](const SearchSpace& space) mutable -> std::unique_ptr<CostModel> {
          if constexpr (std::is_invocable_v<Make&, const SearchSpace&>)
            return make(space);
          else
            return make();
        }) {}
  /// `problems`: why the models failed, e.g. their process has died. It ends a search with an error.
  template <class Make>
  CostModelFactory(Make make, std::function<Diagnostics()> problems) : CostModelFactory(std::move(make)) {
    problems_ = std::move(problems);
  }
  /// Diagnostics: the function returns a null pointer.
  Result<std::unique_ptr<CostModel>> operator()(const SearchSpace& space) const;
  Diagnostics problems() const { return problems_ ? problems_() : Diagnostics{}; }

 private:
  std::function<std::unique_ptr<CostModel>(const SearchSpace&)> make_;
  std::function<Diagnostics()> problems_;
};

/// Why it is no cost; empty: every number is finite and at least 0. Other numbers are refused and never compared: a
/// search that followed a NaN would keep its first point.
Diagnostics not_a_cost(const Cost& cost);
/// The estimate, if it is a cost.
Result<Cost> checked_estimate(CostModel& model, const Candidate& candidate);

/// `refuse` sees each new best first: a rejected point counts as illegal, so the result is valid for every strategy.
Found search(const SearchSpace& space, SearchStrategy& strategy, const CostModelFactory& costs,
             const LoopOptions& options);

/// Adds diagnostics with new text, up to a dozen.
void remember(Diagnostics& list, const Diagnostics& problems);

}  // namespace isamap
