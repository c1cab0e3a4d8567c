// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a search decides, who proposes points, and the loop between them.

#include <array>
#include <cstdint>
#include <functional>
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

// What a search decides, as numbered choices with finite domains.
//
// The schedule language is open; a search enumerates one of two forms. On a machine whose memories stand in a row and
// whose moves take no issue slots: tiles, order, kept tensors and buffers at every memory, steps on every unit
// (docs/search.md); the exact search proves optima of this form. Anywhere else the normal form of docs/schedule.md:
// mapping, route of each operand, register tile, tile of each dim at each memory level, what stands outermost,
// placement on units. `build` turns a point into a nest and is the only thing that knows how.

/// One choice. Values print as `labels`; a point holds the position.
struct Decision {
  std::string name;  ///< "mapping", "tile j register", "order level 1", "stage A spad"
  std::vector<std::string> labels;
  bool ordered = false;  ///< labels are growing numbers: neighbouring positions are alike
};

struct Point {
  std::vector<int> choice;  ///< one position for each decision of the space
  bool operator==(const Point&) const = default;
};

struct SpaceOptions {
  bool dividing = false;         ///< only tiles that divide
  bool keep_all = false;         ///< every tensor kept in every memory
  bool single_buffered = false;  ///< one buffer for every kept tile
  bool double_buffered = false;  ///< two buffers for every kept tile; levelled form only
  bool nothing_skipped = false;  ///< products with what lies outside a tensor are computed: it may meet an infinity
  bool sums_in_order = false;    ///< real sums are not split over instances, whose parts come in any order
  bool sums_whole = false;       ///< no sum is split over instances: other statements can go on with its tiles
};

/// As --space and suites say it.
inline constexpr std::array<std::pair<const char*, bool SpaceOptions::*>, 4> space_words{
    {{"dividing", &SpaceOptions::dividing},
     {"keep-all", &SpaceOptions::keep_all},
     {"single-buffered", &SpaceOptions::single_buffered},
     {"double-buffered", &SpaceOptions::double_buffered}}};
/// What is wrong with such a word; empty: nothing.
std::string set_space_word(SpaceOptions& options, const std::string& word);

class SpaceTemplate;

/// All schedules of one statement on one machine.
class SearchSpace {
 public:
  /// `mappings`: those of this statement. Points are of the levelled form where it covers all of them.
  SearchSpace(const Kernel& kernel, StatementId statement, std::vector<Mapping> mappings, const HardwareModel& model,
              const SpaceOptions& options);
  ~SearchSpace();
  SearchSpace(SearchSpace&&) noexcept;

  const std::vector<Decision>& decisions() const;
  const std::vector<Mapping>& mappings() const;  ///< that points choose from: those that differ in this form
  double size() const;                           ///< number of points (as a double: it is large)

  /// Clamps every choice into its domain and repairs what cannot be: tiles that exceed their parents, in the levelled
  /// form also tiles that do not fit their memories and steps that units do not have.
  Point repair(Point point) const;
  std::vector<Point> neighbours(const Point& point) const;
  Point random(std::uint64_t seed) const;
  /// One decision of the point, drawn by the seed, at another value: of numbers mostly the next one. The mapping too.
  Point mutate(const Point& point, std::uint64_t seed) const;
  /// Every choice from one of the parents, drawn by the seed; decisions on one dim mostly stay together. Repaired.
  Point crossover(const Point& a, const Point& b, std::uint64_t seed) const;
  /// What models learn from: log2 of sizes, 0 or 1 for each value of other decisions, and what the mapping is worth.
  std::vector<double> features(const Point& point) const;
  std::vector<std::string> feature_names() const;  ///< "log2 level 0 i", "outermost = j", "mapping utilisation"
  Point first() const;                             ///< every choice at its first value
  /// Promising points, about `count` or more. Normal form: the mappings with the least work, each with a register tile
  /// that suits the machine's ports and with the largest tiles that fit its memories, as it is and with its inputs in
  /// panels. Levelled form: units in full use, tiles that fit and save most traffic while an operand stays.
  std::vector<Point> starts(std::size_t count) const;

  /// The point with the smallest choices among those that differ only in what does not matter to its nest.
  Point canonical(const Point& point) const;
  /// Equal for points that build the same schedule; of an illegal point, of its choices.
  std::uint64_t hash(const Point& point) const;

  Result<Nest> build(const Point& point) const;                     ///< diagnostics: why this point is not legal
  std::optional<LevelledPoint> levelled(const Point& point) const;  ///< nothing: points are of the normal form
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

// Ask and tell: a strategy proposes points and is told what they cost. It sees the space, never the hardware.
//
//   class Lottery final : public SearchStrategy { ... };
//   ScheduleOptions options;
//   options.user_strategy = [](const SearchSpace& space, const StrategyOptions&, std::uint64_t seed) {
//     return std::make_unique<Lottery>(space, seed);
//   };
//
// Points need not be right: the loop repairs those that are too short, too long or out of range.

class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;
  virtual std::optional<Point> next() = 0;  ///< ask; nothing: done
  /// tell. `objective`: to be made small; nothing: the point is illegal. The point is the one that was evaluated, i.e.
  /// repaired. Points that it did not ask for may be told too, before the first question: what is known from earlier
  /// searches.
  virtual void report(const Point& point, std::optional<double> objective) = 0;
  /// Has every point of the space been asked for? Then the best is the optimum of the space under its cost model.
  virtual bool exhausted() const { return false; }
  /// How many points may be asked for before the first of them is told: these are evaluated side by side. A property
  /// of the strategy, so that what it does never depends on the number of threads.
  virtual std::size_t batch() const { return 1; }
  /// Is every point that it proposes a result of `SearchSpace::repair`, or equal to one? Others are repaired first.
  virtual bool proposes_repaired() const { return false; }
  /// Why `next` gave nothing, where that is a failure: a strategy in a process of its own has died.
  virtual Diagnostics problems() const { return {}; }
};

using StrategyOptions = std::map<std::string, std::string>;  ///< key=value of --strategy NAME:key=value,...

/// Makes a strategy for a space; called once for each space that is searched, i.e. for each statement. Made of any
/// function of (space, options, seed), or of the space alone, that gives a pointer to a strategy or a Result of one.
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
  /// Diagnostics where the factory gives none, or a null pointer.
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

/// Built from the file names in scheduler/strategies: `greedy.cpp` defines make_strategy_greedy.
const std::vector<std::pair<std::string, StrategyFactory>>& strategies();
/// The strategy of that name, or an error that lists them.
Result<std::unique_ptr<SearchStrategy>> strategy_named(const std::string& name, const SearchSpace& space,
                                                       const StrategyOptions& options, std::uint64_t seed);

// Ask, build, estimate, tell: the loop that every search goes through, whoever asks and whatever the cost means.

/// One evaluation, as the one who watches a search sees it.
struct Trial {
  StatementId statement;
  std::int64_t number = 0;  ///< from 1, within the statement
  const SearchSpace* space = nullptr;
  const Point* point = nullptr;
  const Nest* nest = nullptr;       ///< nothing: the point is illegal, or priced without one
  const Cost* cost = nullptr;       ///< nothing: illegal; priced without a nest: cycles and energy only
  std::optional<double> objective;  ///< what the strategy is told
  bool best = false;                ///< better than everything before it
  std::string problem;              ///< why it is illegal
};

struct LoopOptions {
  Objective objective = Objective::edp;
  std::int64_t max_evaluations = 2000;
  std::int64_t sure_evaluations = 0;  ///< these many are made whatever `out_of_time` says, until a legal one is found
  std::function<bool()> out_of_time = [] { return false; };
  /// After each evaluation: how many there were, and the best so far (infinity: none). False ends the search.
  std::function<bool(std::int64_t evaluations, double best)> progress;
  int threads = 1;           ///< never changes what is found
  std::vector<Point> known;  ///< evaluated and told before the first question
  /// Why a nest that would be the best is none (it does not lower); empty: it is one.
  std::function<Diagnostics(const Nest&)> refuse;
  /// The best of the points with such a mapping is kept beside the best of all; empty: none is.
  std::function<bool(const Mapping&)> kept_beside;
  /// The best of every kind is kept too, a few of them, told apart by this word; empty: none is.
  std::function<std::string(const Nest&)> kind;
  /// What the strategy is told instead of the objective: measurements are noisy.
  std::function<double(std::int64_t number, double objective)> disturb;
  std::function<void(const Trial&)> watch;
  bool watch_nests =
      false;  ///< `watch` is shown the nest and the whole cost of every legal point, not only of the best
};

struct Scored {
  double objective = 0;
  Point point;
  Nest nest;
  Cost cost;
};

struct Found {
  std::optional<Scored> best, beside;
  std::vector<Scored> kinds;  ///< the best of each kind, best first, at most `most_kinds`; nobody asked `refuse`
  Diagnostics problems;       ///< of illegal points, each text once
  Diagnostics refusals;       ///< of points that have a cost, would be the best, and are refused
  Diagnostics failure;        ///< the strategy or the cost model itself failed
  std::int64_t refused = 0;   ///< how many those are
  std::int64_t evaluations = 0, legal = 0;
  bool exhausted = false;
  bool stopped = false;                                ///< `progress` ended it
  std::vector<std::pair<std::int64_t, double>> curve;  ///< (evaluations, best so far), at each improvement
};

constexpr std::size_t most_kinds = 128;

/// Makes cost models for a space, one for each thread:
///   options.costs = [](const SearchSpace& space) { return std::make_unique<Mine>(space); };
/// A function without arguments does where the model needs no space. The space lives as long as the model.
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
  /// `problems`: why the models cannot go on, e.g. because their process has died. It ends a search with an error.
  template <class Make>
  CostModelFactory(Make make, std::function<Diagnostics()> problems) : CostModelFactory(std::move(make)) {
    problems_ = std::move(problems);
  }
  /// Diagnostics: the function gives a null pointer.
  Result<std::unique_ptr<CostModel>> operator()(const SearchSpace& space) const;
  Diagnostics problems() const { return problems_ ? problems_() : Diagnostics{}; }

 private:
  std::function<std::unique_ptr<CostModel>(const SearchSpace&)> make_;
  std::function<Diagnostics()> problems_;
};

/// What is wrong with a cost; empty: every number is finite and at least 0. What is wrong is refused and never
/// compared: a search that followed a NaN would keep whatever came first.
Diagnostics not_a_cost(const Cost& cost);
/// The estimate, if it is a cost.
Result<Cost> checked_estimate(CostModel& model, const Candidate& candidate);

/// What would be the best is shown to `refuse` first: a refused point is an illegal one, so the best that is found
/// holds whatever the strategy.
Found search(const SearchSpace& space, SearchStrategy& strategy, const CostModelFactory& costs,
             const LoopOptions& options);

/// Adds diagnostics whose text is new, up to a dozen.
void remember(Diagnostics& list, const Diagnostics& problems);

}  // namespace isamap
