// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/plan_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "driver/plan/evicted_inputs.h"
#include "driver/plan/joined_parts.h"
#include "driver/plan/plan_bands.h"
#include "frontends/layers.h"
#include "ir/begun_sums.h"
#include "planner/part_search.h"
#include "planner/tensor_layouts.h"

namespace isamap {
namespace {

using Set = std::vector<std::size_t>;

/// Sums onto what an earlier statement copied.
bool is_begun_by(const Kernel& kernel, std::size_t s, std::size_t earlier) {
  return begun_by(kernel, s) == std::optional(earlier);
}

/// Written by one statement, or by two that are one sum.
bool is_complete_after(const Kernel& kernel, TensorId tensor, std::size_t last) {
  const std::size_t writers = writer_count(kernel, tensor);
  return writers == 1 || (writers == 2 && begun_by(kernel, last).has_value());
}

/// Element-wise on what an earlier statement wrote: every point of its own element, as many as were written.
bool continues(const Kernel& kernel, std::size_t s, std::size_t earlier) {
  const Computation& statement = kernel.statements[s];
  const TensorId before = kernel.statements[earlier].write.tensor;
  const bool reads = std::any_of(statement.reads.begin(), statement.reads.end(),
                                 [&](const Access& read) { return read.tensor == before; });
  const bool reduces = statement.reduction != Reduction::assign ||
                       std::any_of(statement.domain.dims.begin(), statement.domain.dims.end(),
                                   [](const Dim& d) { return d.kind == DimKind::reduction; });
  const auto elements = [&](TensorId id) { return element_count(kernel.tensors[id.index()]); };
  return reads && !reduces && statement.write.tensor != before &&
         elements(before) == elements(statement.write.tensor) && is_complete_after(kernel, before, earlier) &&
         writer_count(kernel, statement.write.tensor) == 1;
}

/// Pairs that save nothing would have fewer parts, too, with the same tensors between them.
void drop_dearer_joins(PartCoverProblem& problem) {
  PartCoverProblem kept{std::move(problem.before), {}, {}};
  for (std::size_t c = 0; c < problem.candidates.size(); ++c) {
    const Set& set = problem.candidates[c];
    double apart = 0;
    for (const std::size_t chain : set) apart += problem.price[chain];
    if (set.size() > 1 && problem.price[c] >= apart) continue;
    kept.candidates.push_back(set);
    kept.price.push_back(problem.price[c]);
  }
  problem = std::move(kept);
}

/// Every free tensor of this rank with `axis` innermost; others as in `from`.
Orders innermost(const Kernel& kernel, Orders from, std::size_t rank, int axis) {
  from.resize(kernel.tensors.size());
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const Tensor& tensor = kernel.tensors[t];
    if (tensor.shape.size() != rank || tensor.constant || !is_free(kernel, make_id<TensorId>(t))) continue;
    from[t].resize(rank);
    std::iota(from[t].begin(), from[t].end(), 0);
    std::rotate(from[t].begin() + axis, from[t].begin() + axis + 1, from[t].end());
  }
  return from;
}

/// Axes of this rank along which some free tensor has more than one element; the innermost is where it is.
std::set<int> axes_of(const Kernel& kernel, std::size_t rank) {
  std::set<int> axes;
  for (std::size_t t = 0; t < kernel.tensors.size(); ++t) {
    const Tensor& tensor = kernel.tensors[t];
    if (tensor.shape.size() != rank || tensor.constant || !is_free(kernel, make_id<TensorId>(t))) continue;
    for (std::size_t a = 0; a + 1 < rank; ++a)
      if (tensor.shape[a] > 1) axes.insert(static_cast<int>(a));
  }
  return axes;
}

/// Tensors of this rank as in the file.
Orders without_rank(const Kernel& kernel, Orders orders, std::size_t rank) {
  for (std::size_t t = 0; t < orders.size(); ++t)
    if (kernel.tensors[t].shape.size() == rank) orders[t].clear();
  return orders;
}

/// Free tensors of this rank, in groups that no statement has together.
std::vector<Set> apart(const Kernel& kernel, std::size_t rank) {
  std::vector<std::size_t> group(kernel.tensors.size());
  std::iota(group.begin(), group.end(), 0);
  const auto free = [&](std::size_t t) {
    const Tensor& tensor = kernel.tensors[t];
    return tensor.shape.size() == rank && !tensor.constant && is_free(kernel, make_id<TensorId>(t));
  };
  for (const Computation& statement : kernel.statements)
    for (const Access& read : statement.reads) {
      const std::size_t a = statement.write.tensor.index(), b = read.tensor.index(), from = group[b], to = group[a];
      if (free(a) && free(b)) std::replace(group.begin(), group.end(), from, to);
    }
  std::map<std::size_t, Set> groups;
  for (std::size_t t = 0; t < group.size(); ++t)
    if (free(t)) groups[group[t]].push_back(t);
  std::vector<Set> found;
  for (auto& [first, tensors] : groups) found.push_back(std::move(tensors));
  return found;
}

class ModelPlanner {
 public:
  ModelPlanner(const Model& model, PartStore& store, const PlanOptions& options)
      : kernel_(model.kernel), store_(store), options_(options) {}

  /// Orders that are about as cheap as the best before joins and bands may be cheaper with them.
  ModelPlan plan() {
    ModelPlan first = chain_plan(kernel_);
    OrdersPriced orders = best_orders(first);
    first.orders_priced = std::move(orders.said);
    Covered best = in_parts(first, orders.best);
    for (const OrdersPriced::Other& other : orders.others) {
      Covered next = in_parts(first, other.orders);
      auto said = std::move(best.plan.orders_priced);
      said.push_back(fmt::format("{}, in the parts of its plan: {:.0f} cycles, of the plan above {:.0f}", other.said,
                                 next.least, best.least));
      if (next.least < best.least) best = std::move(next);
      best.plan.orders_priced = std::move(said);
    }
    return std::move(best.plan);
  }

 private:
  Kernel stored(const Orders& orders) const { return in_order(kernel_, orders); }

  std::vector<Kernel> parts_of(const ModelPlan& plan) const {
    const Kernel kernel = stored(plan.order);
    std::vector<Kernel> parts;
    for (const Part& part : plan.parts)
      parts.push_back(part.statements.size() == kernel.statements.size() ? kernel
                                                                         : cut(kernel, part.statements, "part"));
    return parts;
  }

  double cost(const ModelPlan& plan) {
    const std::vector<Kernel> parts = parts_of(plan);
    store_.add(parts);
    double sum = 0;
    for (const Kernel& part : parts) sum += store_.price(part);
    return sum;
  }

  // Orders.

  struct OrdersPriced {
    struct Other {
      Orders orders;
      std::string said;
      double more = 0;  ///< share of the price of the best
    };
    Orders best;
    std::vector<Other> others;  ///< that may be as cheap, cheapest first
    std::vector<std::string> said;
  };

  /// Tensors in the order that suits others of their rank, which they never meet, may be better as in the file. The
  /// price of the plan in these orders, at first `least`.
  double keep_apart(ModelPlan plan, std::size_t rank, double least, OrdersPriced& priced) {
    const std::vector<Set> groups = apart(kernel_, rank);
    for (const Set& group : groups) {
      if (groups.size() < 2) break;
      plan.order = priced.best;
      for (const std::size_t t : group) plan.order[t].clear();
      if (plan.order == priced.best) continue;
      const double price = cost(plan);
      if (price >= least) continue;
      least = price;
      priced.best = plan.order;
      priced.said.push_back(
          fmt::format("{} as in the file: {:.0f} cycles", kernel_.tensors[group.front()].name, price));
    }
    return least;
  }

  OrdersPriced best_orders(ModelPlan plan) {
    struct Tried {
      std::size_t rank;
      int axis;  ///< innermost; -1: as in the file
      double price;
    };
    std::vector<Tried> tried;
    std::map<std::size_t, Tried> chosen;  // by rank
    OrdersPriced priced;
    const auto name = [](const Tried& one) {
      return one.axis < 0 ? fmt::format("rank {} as in the file", one.rank)
                          : fmt::format("rank {}, axis {} innermost", one.rank, one.axis);
    };
    std::set<std::size_t> ranks;
    for (const Tensor& tensor : kernel_.tensors) ranks.insert(tensor.shape.size());
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t rank : ranks) {
      const std::set<int> axes = axes_of(kernel_, rank);
      if (axes.empty()) continue;
      if (least == std::numeric_limits<double>::infinity()) {
        least = cost(plan);
        priced.said.push_back(fmt::format("as in the file: {:.0f} cycles", least));
      }
      const Orders before = priced.best;
      Tried best{rank, -1, least};
      tried.push_back(best);
      for (const int axis : axes) {
        plan.order = innermost(kernel_, before, rank, axis);
        const Tried one{rank, axis, cost(plan)};
        tried.push_back(one);
        priced.said.push_back(fmt::format("{}: {:.0f} cycles", name(one), one.price));
        if (one.price >= least) continue;
        least = one.price;
        best = one;
        priced.best = plan.order;
      }
      if (best.axis >= 0) least = keep_apart(plan, rank, least, priced);
      chosen.emplace(rank, best);
    }
    for (const Tried& one : tried) {
      const Tried& best = chosen.at(one.rank);
      const double more = one.price / best.price - 1;
      if (one.axis == best.axis || !(more <= options_.order_ties)) continue;
      priced.others.push_back({one.axis < 0 ? without_rank(kernel_, priced.best, one.rank)
                                            : innermost(kernel_, priced.best, one.rank, one.axis),
                               name(one), more});
    }
    std::stable_sort(priced.others.begin(), priced.others.end(),
                     [](const auto& a, const auto& b) { return a.more < b.more; });
    if (priced.others.size() > options_.tied_orders) priced.others.resize(options_.tied_orders);
    return priced;
  }

  // Parts.

  /// A plan, and what the cheapest one costs, of which this one is or has fewer parts.
  struct Covered {
    ModelPlan plan;
    double least = 0;
  };

  Covered in_parts(ModelPlan plan, const Orders& orders) {
    plan.order = orders;
    plan.cost = plan.bound = cost(plan);
    double least = plan.cost;
    if (plan.parts.size() > 1) least = join(plan);
    return {std::move(plan), least};
  }

  /// Chains and pairs of them as the statements of a cover. What the cheapest one costs.
  double join(ModelPlan& plan) {
    const std::vector<Part> chains = plan.parts;
    const std::vector<Kernel> kernels = parts_of(plan);
    const Kernel kernel = stored(plan.order);
    PartCoverProblem problem;
    std::vector<double> fetched;  // cycles, by chain
    const auto count = static_cast<std::ptrdiff_t>(chains.size());
    problem.before = chains_before(chains);
    for (std::size_t c = 0; c < chains.size(); ++c) {
      problem.candidates.push_back({c});
      const double price = store_.price(kernels[c]);
      fetched.push_back(fetched_inputs({kernel, chains, c}, price, store_.machine()));
      problem.price.push_back(price + fetched.back());
    }
    PricedJoins joins = price_joins({kernel, chains, problem.before, problem.price, fetched}, store_, options_);
    plan.refused = std::move(joins.refused);
    problem.candidates.insert(problem.candidates.end(), joins.chains.begin(), joins.chains.end());
    problem.price.insert(problem.price.end(), joins.prices.begin(), joins.prices.end());
    PricedBands priced =
        price_bands(kernel, chains, {problem.price.begin(), problem.price.begin() + count}, store_, options_);
    plan.bands_refused = std::move(priced.refused);
    std::map<Set, PricedBand> bands = add_bands(priced.cheaper, problem);
    auto cover = search_cover(problem, options_.search, options_.seed);
    if (!cover) return plan.cost;
    const double least = cover->cost;
    if (!priced.ties.empty()) {
      drop_dearer_joins(problem);
      bands.merge(add_bands(priced.ties, problem));
      *cover = fewer_parts(problem, *cover, options_.plan_ties, options_.search, options_.seed);
    }
    plan.parts.clear();
    for (const Part& part : cover->parts) {
      const auto by = bands.find(part.statements);
      if (by == bands.end()) {
        plan.parts.push_back({statements_of(chains, part.statements)});
        continue;
      }
      plan.bands.push_back({plan.parts.size(), part.statements.size(), by->second.by, by->second.along});
      for (const std::size_t chain : part.statements) plan.parts.push_back(chains[chain]);
    }
    plan.cost = cover->cost;
    plan.bound = cover->bound;
    plan.proved = cover->proved;
    return least;
  }

  /// Paths in bands become candidates, in place of joins of the same chains that are dearer. By set of chains.
  std::map<Set, PricedBand> add_bands(const std::vector<PricedBand>& list, PartCoverProblem& problem) const {
    std::map<Set, PricedBand> bands;
    for (const PricedBand& band : list) {
      const auto known = std::find(problem.candidates.begin(), problem.candidates.end(), band.chains);
      if (known == problem.candidates.end()) {
        problem.candidates.push_back(band.chains);
        problem.price.push_back(band.price);
      } else if (double& price = problem.price[static_cast<std::size_t>(known - problem.candidates.begin())];
                 band.price < price) {
        price = band.price;
      } else {
        continue;
      }
      bands.emplace(band.chains, band);
    }
    return bands;
  }

  std::vector<Set> chains_before(const std::vector<Part>& chains) const {
    std::vector<std::size_t> chain_of(kernel_.statements.size());
    for (std::size_t c = 0; c < chains.size(); ++c)
      for (const std::size_t s : chains[c].statements) chain_of[s] = c;
    const auto before = predecessors(kernel_);
    std::vector<Set> result(chains.size());
    for (std::size_t c = 0; c < chains.size(); ++c) {
      std::set<std::size_t> found;
      for (const std::size_t s : chains[c].statements)
        for (const std::size_t b : before[s])
          if (chain_of[b] != c) found.insert(chain_of[b]);
      result[c].assign(found.begin(), found.end());
    }
    return result;
  }

  const Kernel& kernel_;
  PartStore& store_;
  const PlanOptions& options_;
};

}  // namespace

ModelPlan chain_plan(const Kernel& kernel) {
  constexpr std::size_t most_statements = 12;
  ModelPlan plan;
  const std::size_t count = kernel.statements.size();
  const auto before = predecessors(kernel);
  std::vector<bool> taken(count, false);
  // Statements of other branches may be written in between: those that do not need each other change places.
  const auto next = [&](std::size_t last) {
    for (std::size_t t = last + 1; t < count; ++t)
      if (!taken[t] && !repeat_of(kernel, t) &&
          std::all_of(before[t].begin(), before[t].end(), [&](std::size_t b) { return taken[b]; }) &&
          (continues(kernel, t, last) || is_begun_by(kernel, t, last)))
        return t;
    return count;
  };
  for (std::size_t s = 0; s < count; ++s) {
    if (taken[s]) continue;
    std::vector<std::size_t>& chain = plan.parts.emplace_back().statements;
    if (const Repeat* repeat = repeat_of(kernel, s)) {
      for (std::size_t t = s; repeat->contains(t); ++t) taken[t] = true, chain.push_back(t);
      continue;
    }
    for (std::size_t t = s; t < count; t = chain.size() < most_statements ? next(t) : count) {
      taken[t] = true;
      chain.push_back(t);
    }
  }
  return plan;
}

ModelPlan plan_model(const Model& model, PartStore& store, const PlanOptions& options) {
  return ModelPlanner(model, store, options).plan();
}

}  // namespace isamap
