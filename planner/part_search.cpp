// SPDX-License-Identifier: Apache-2.0
#include "planner/part_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "isamap/interpret.h"

namespace isamap {
namespace {

using Set = std::vector<std::size_t>;
constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::size_t most_ideals = 200000, beam_width = 3;
constexpr int restarts = 8, moves_each = 4;  ///< of local search; moves for each statement

/// Prices by set, and what every strategy asks.
class Prices {
 public:
  explicit Prices(const PartCoverProblem& problem) : problem_(problem) {
    for (std::size_t c = 0; c < problem.candidates.size(); ++c) price_[problem.candidates[c]] = problem.price[c];
  }
  double of(const Set& set) const {
    const auto known = price_.find(set);
    return known == price_.end() ? never : known->second;
  }
  std::size_t statements() const { return problem_.before.size(); }
  const std::vector<Set>& before() const { return problem_.before; }
  const PartCoverProblem& problem() const { return problem_; }

 private:
  const PartCoverProblem& problem_;
  std::map<Set, double> price_;
};

/// Each statement pays its share of the cheapest part that can hold it.
double bound_of_shares(const PartCoverProblem& problem) {
  std::vector<double> share(problem.before.size(), never);
  for (std::size_t c = 0; c < problem.candidates.size(); ++c)
    for (const std::size_t s : problem.candidates[c])
      share[s] = std::min(share[s], problem.price[c] / static_cast<double>(problem.candidates[c].size()));
  double sum = 0;
  for (const double one : share) sum += one;
  return sum;
}

/// Parts in an order in which each runs after those it needs; nothing: they need each other.
std::optional<std::vector<Set>> in_running_order(const std::vector<Set>& parts, const std::vector<Set>& before) {
  std::vector<std::size_t> part_of(before.size(), 0);
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const std::size_t s : parts[p]) part_of[s] = p;
  std::vector<std::set<std::size_t>> needs(parts.size());
  for (std::size_t s = 0; s < before.size(); ++s)
    for (const std::size_t b : before[s])
      if (part_of[b] != part_of[s]) needs[part_of[s]].insert(part_of[b]);
  std::vector<std::size_t> order(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) order[p] = p;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return parts[a] < parts[b]; });
  std::vector<Set> running;
  std::vector<bool> done(parts.size(), false);
  while (running.size() < parts.size()) {
    const auto next = std::find_if(order.begin(), order.end(), [&](std::size_t p) {
      return !done[p] && std::all_of(needs[p].begin(), needs[p].end(), [&](std::size_t n) { return done[n]; });
    });
    if (next == order.end()) return std::nullopt;
    done[*next] = true;
    running.push_back(parts[*next]);
  }
  return running;
}

double cost_of(const std::vector<Set>& parts, const Prices& prices) {
  double cost = 0;
  for (const Set& part : parts) cost += prices.of(part);
  return cost;
}

PartCover cover_of(const std::vector<Set>& parts, const Prices& prices, double bound) {
  PartCover cover;
  const auto running = in_running_order(parts, prices.before());
  for (const Set& part : *running) cover.parts.push_back({part});
  cover.cost = cost_of(parts, prices);
  cover.bound = std::min(bound, cover.cost);
  cover.proved = cover.bound >= cover.cost;
  return cover;
}

std::vector<Set> single_statements(std::size_t count) {
  std::vector<Set> parts;
  for (std::size_t s = 0; s < count; ++s) parts.push_back({s});
  return parts;
}

// Ideals: sets closed under "before".

class Ideals {
 public:
  explicit Ideals(const Prices& prices) : prices_(prices), starting_(prices.statements()) {
    const PartCoverProblem& problem = prices.problem();
    for (std::size_t c = 0; c < problem.candidates.size(); ++c) {
      if (problem.price[c] == never) continue;
      Set outside;
      for (const std::size_t s : problem.candidates[c])
        for (const std::size_t b : problem.before[s])
          if (!std::binary_search(problem.candidates[c].begin(), problem.candidates[c].end(), b)) outside.push_back(b);
      needs_.push_back(std::move(outside));
      usable_.push_back(c);
      starting_[problem.candidates[c].front()].push_back(usable_.size() - 1);
    }
  }

  /// Nothing: there are too many.
  std::optional<std::vector<Set>> cheapest() {
    const std::size_t count = prices_.statements();
    std::map<std::size_t, std::unordered_map<std::string, State>> by_size;  // finished statements -> ideal -> state
    by_size[0][std::string(count, '0')] = {};
    std::size_t seen = 1;
    for (std::size_t size = 0; size < count; ++size)
      for (const auto& [ideal, state] : by_size[size])
        if ((seen += extend(ideal, state, size, by_size)) > most_ideals) return std::nullopt;
    std::vector<Set> parts;
    std::string at(count, '1');
    if (!by_size[count].contains(at)) return single_statements(count);  // none has a price
    for (std::size_t size = count; size > 0;) {
      const State& state = by_size[size].at(at);
      const Set& part = prices_.problem().candidates[usable_[state.last]];
      parts.push_back(part);
      for (const std::size_t s : part) at[s] = '0';
      size -= part.size();
    }
    return parts;
  }

 private:
  struct State {
    double cost = 0;
    std::size_t last = 0;  ///< the part that was added
  };

  /// Adds every part that can run now and holds the first unfinished statement or any other that is ready. New ideals.
  std::size_t extend(const std::string& ideal, const State& state, std::size_t size,
                     std::map<std::size_t, std::unordered_map<std::string, State>>& by_size) const {
    std::size_t made = 0;
    for (std::size_t s = 0; s < ideal.size(); ++s) {
      if (ideal[s] == '1') continue;
      for (const std::size_t u : starting_[s]) {
        const Set& part = prices_.problem().candidates[usable_[u]];
        const bool ready =
            std::all_of(needs_[u].begin(), needs_[u].end(), [&](std::size_t b) { return ideal[b] == '1'; }) &&
            std::none_of(part.begin(), part.end(), [&](std::size_t p) { return ideal[p] == '1'; });
        if (!ready) continue;
        std::string next = ideal;
        for (const std::size_t p : part) next[p] = '1';
        const State reached{state.cost + prices_.problem().price[usable_[u]], u};
        const auto [known, is_new] = by_size[size + part.size()].try_emplace(std::move(next), reached);
        made += is_new ? 1 : 0;
        if (!is_new && (reached.cost < known->second.cost ||
                        (reached.cost == known->second.cost && reached.last < known->second.last)))
          known->second = reached;
      }
    }
    return made;
  }

  const Prices& prices_;
  std::vector<std::size_t> usable_;                 ///< candidates that have a price
  std::vector<Set> needs_;                          ///< by usable candidate: what must be finished
  std::vector<std::vector<std::size_t>> starting_;  ///< usable candidates by their first statement
};

// Joining and moving.

Set joined(const Set& a, const Set& b) {
  Set both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

/// Joins the two parts that gain most until none gains.
void contract(std::vector<Set>& parts, const Prices& prices) {
  for (;;) {
    double best = -1e-9;
    std::pair<std::size_t, std::size_t> pair;
    for (std::size_t a = 0; a < parts.size(); ++a)
      for (std::size_t b = a + 1; b < parts.size(); ++b) {
        const double change = prices.of(joined(parts[a], parts[b])) - prices.of(parts[a]) - prices.of(parts[b]);
        if (!(change < best)) continue;  // parts without a price differ by no number
        std::vector<Set> tried = parts;
        tried[a] = joined(parts[a], parts[b]);
        tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(b));
        if (!in_running_order(tried, prices.before())) continue;
        best = change;
        pair = {a, b};
      }
    if (best >= -1e-9) return;
    parts[pair.first] = joined(parts[pair.first], parts[pair.second]);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(pair.second));
  }
}

/// Moves one statement to another part or to one of its own; true: it was cheaper, and was done.
bool move_one(std::vector<Set>& parts, const Prices& prices, Random& random) {
  const auto any = [&](std::size_t count) {
    return static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(count) - 1));
  };
  const std::size_t from = any(parts.size()), to = any(parts.size() + 1);
  if (from == to) return false;
  const std::size_t moved = parts[from][any(parts[from].size())];
  std::vector<Set> tried = parts;
  tried.resize(std::max(tried.size(), to + 1));
  std::erase(tried[from], moved);
  tried[to] = joined(tried[to], {moved});
  std::erase_if(tried, [](const Set& part) { return part.empty(); });
  if (cost_of(tried, prices) >= cost_of(parts, prices) || !in_running_order(tried, prices.before())) return false;
  parts = std::move(tried);
  return true;
}

std::vector<Set> local_search(const Prices& prices, std::uint64_t seed) {
  Random random(seed);
  const std::size_t count = prices.statements();
  std::vector<Set> best = single_statements(count);
  contract(best, prices);
  for (int start = 0; start < restarts; ++start) {
    std::vector<Set> parts = single_statements(count);
    const auto& candidates = prices.problem().candidates;
    for (std::size_t kick = 0; kick < count / 2; ++kick) {  // begins with some candidates joined
      const Set& set =
          candidates[static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(candidates.size()) - 1))];
      std::vector<Set> tried;
      bool whole = prices.of(set) < never;
      for (const Set& part : parts) {
        const bool inside = std::includes(set.begin(), set.end(), part.begin(), part.end());
        whole = whole && (inside || std::none_of(part.begin(), part.end(), [&](std::size_t s) {
                            return std::binary_search(set.begin(), set.end(), s);
                          }));
        if (!inside) tried.push_back(part);
      }
      tried.push_back(set);
      if (whole && in_running_order(tried, prices.before())) parts = std::move(tried);
    }
    contract(parts, prices);
    for (std::size_t m = 0; m < count * moves_each; ++m)
      if (move_one(parts, prices, random)) contract(parts, prices);
    if (cost_of(parts, prices) < cost_of(best, prices)) best = std::move(parts);
  }
  return best;
}

/// Partial plans that cover a prefix of the statements, the best few of each length.
std::optional<std::vector<Set>> beam_search(const Prices& prices) {
  struct Partial {
    double cost = 0;
    std::vector<Set> parts;
  };
  const std::size_t count = prices.statements();
  std::vector<std::vector<Partial>> by_length(count + 1);
  by_length[0].push_back({});
  for (std::size_t done = 0; done < count; ++done) {
    std::vector<Partial>& here = by_length[done];
    std::stable_sort(here.begin(), here.end(), [](const Partial& a, const Partial& b) { return a.cost < b.cost; });
    if (here.size() > beam_width) here.resize(beam_width);
    Set part;
    for (std::size_t end = done; end < count; ++end) {
      part.push_back(end);
      const double price = prices.of(part);
      if (price == never && end > done) continue;
      for (const Partial& partial : here) {
        Partial longer = partial;
        longer.cost += price;
        longer.parts.push_back(part);
        by_length[end + 1].push_back(std::move(longer));
      }
    }
  }
  const auto& whole = by_length[count];
  if (whole.empty()) return std::nullopt;
  return std::min_element(whole.begin(), whole.end(),
                          [](const Partial& a, const Partial& b) { return a.cost < b.cost; })
      ->parts;
}

Result<PartCover> exact_or_local(const Prices& prices, double bound, std::uint64_t seed) {
  if (const auto best = Ideals(prices).cheapest()) return cover_of(*best, prices, cost_of(*best, prices));
  return cover_of(local_search(prices, seed), prices, bound);
}

}  // namespace

bool is_convex(const std::vector<std::vector<std::size_t>>& before, const Set& set) {
  std::vector<bool> behind(before.size(), false);  // outside, behind some member
  for (std::size_t s = set.front(); s <= set.back(); ++s) {
    const bool inside = std::binary_search(set.begin(), set.end(), s);
    for (const std::size_t b : before[s]) {
      if (inside && behind[b]) return false;
      if (!inside && (behind[b] || std::binary_search(set.begin(), set.end(), b))) behind[s] = true;
    }
  }
  return true;
}

std::vector<Set> convex_sets(const std::vector<Set>& before, std::size_t most, std::size_t limit,
                             const std::function<bool(std::size_t, std::size_t)>& joins) {
  std::vector<Set> neighbours(before.size());
  for (std::size_t s = 0; s < before.size(); ++s)
    for (const std::size_t b : before[s])
      if (joins(b, s)) {
        neighbours[s].push_back(b);
        neighbours[b].push_back(s);
      }
  std::vector<Set> found;
  std::set<Set> grown;  // of one size, connected
  for (std::size_t s = 0; s < before.size(); ++s) {
    found.push_back({s});
    grown.insert({s});
  }
  for (std::size_t size = 2; size <= most && found.size() < limit; ++size) {
    std::set<Set> larger;
    for (const Set& set : grown)
      for (const std::size_t s : set)
        for (const std::size_t n : neighbours[s])
          if (!std::binary_search(set.begin(), set.end(), n) && larger.size() < 4 * limit)
            larger.insert(joined(set, {n}));
    for (const Set& set : larger)
      if (found.size() < limit && is_convex(before, set)) found.push_back(set);
    grown = std::move(larger);
  }
  return found;
}

namespace {

Result<PartCover> exact_cover(const Prices& prices, double, std::uint64_t) {
  if (const auto best = Ideals(prices).cheapest()) return cover_of(*best, prices, cost_of(*best, prices));
  return error(fmt::format("more than {} sets of finished statements", most_ideals), "search with 'ours'");
}

Result<PartCover> greedy_cover(const Prices& prices, double bound, std::uint64_t) {
  std::vector<Set> parts = single_statements(prices.statements());
  contract(parts, prices);
  return cover_of(parts, prices, bound);
}

Result<PartCover> beam_cover(const Prices& prices, double bound, std::uint64_t) {
  if (const auto parts = beam_search(prices)) return cover_of(*parts, prices, bound);
  return error("no parts in the order of the statements have a price");
}

struct CoverStrategy {
  const char* name;
  Result<PartCover> (*search)(const Prices& prices, double bound, std::uint64_t seed);
};
constexpr CoverStrategy strategies_of_covers[] = {
    {"ours", exact_or_local}, {"exact", exact_cover}, {"greedy", greedy_cover}, {"beam", beam_cover}};

}  // namespace

std::vector<std::string> cover_strategies() {
  std::vector<std::string> names;
  for (const CoverStrategy& strategy : strategies_of_covers) names.emplace_back(strategy.name);
  return names;
}

Result<PartCover> search_cover(const PartCoverProblem& problem, const std::string& strategy, std::uint64_t seed) {
  for (const CoverStrategy& known : strategies_of_covers)
    if (strategy == known.name) return known.search(Prices(problem), bound_of_shares(problem), seed);
  return error(fmt::format("no search of plans is called '{}'", strategy),
               fmt::format("there are {}", fmt::join(cover_strategies(), ", ")));
}

PartCover fewer_parts(const PartCoverProblem& problem, const PartCover& cheapest, double share,
                      const std::string& strategy, std::uint64_t seed) {
  constexpr int halvings = 6;
  const double most = cheapest.cost * (1 + share);
  if (!(most > cheapest.cost) || most == never) return cheapest;
  PartCover best = cheapest;
  double low = 0, high = 2 * (most - cheapest.cost);  // of the constant: with the first one all that fits is joined
  for (int step = 0; step < halvings; ++step) {
    const double constant = step == 0 ? high : (low + high) / 2;
    PartCoverProblem dearer = problem;
    for (double& price : dearer.price) price += constant;
    const auto found = search_cover(dearer, strategy, seed);
    if (!found) return best;
    const double cost = found->cost - constant * static_cast<double>(found->parts.size());
    if (cost > most) {
      high = constant;
      continue;
    }
    if (found->parts.size() < best.parts.size()) {
      best = *found;
      best.cost = cost;
    }
    if (step == 0) break;
    low = constant;
  }
  best.bound = std::min(cheapest.bound, best.cost);
  best.proved = best.parts == cheapest.parts && cheapest.proved;
  return best;
}

}  // namespace isamap
