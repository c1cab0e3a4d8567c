// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ask, build, estimate, tell: the loop that every search goes through, whoever asks and whatever the cost means.

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "scheduler/cost_model.h"
#include "scheduler/search_strategy.h"

namespace isamap {

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
