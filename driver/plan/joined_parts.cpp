// SPDX-License-Identifier: Apache-2.0
#include "driver/plan/joined_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "driver/plan/evicted_inputs.h"
#include "driver/plan/resident_intermediates.h"
#include "frontends/layers.h"
#include "hwdesc/model/program_language.h"
#include "planner/part_search.h"

namespace isamap {
namespace {

using Set = std::vector<std::size_t>;

class PartJoins {
 public:
  PartJoins(const ChainsToJoin& input, PartStore& store, const PlanOptions& options)
      : in_(input), store_(store), options_(options), keeps_tensors_(is_command_stream(store.machine())) {
    for (std::size_t c = 0; c < in_.chains.size(); ++c) priced_[{c}] = in_.prices[c];
  }

  PricedJoins run() {
    if (keeps_tensors_) refuse_those_that_keep_nothing();
    const std::vector<Set> pairs = pairs_worth_a_price();
    std::vector<Kernel> kernels;
    for (const Set& pair : pairs) kernels.push_back(kernel_of(pair));
    store_.add(kernels);
    for (std::size_t p = 0; p < pairs.size(); ++p)
      add(pairs[p], pairs[p], apart(pairs[p]), store_.price(kernels[p]) + fetched_by_pair(pairs[p]));
    for (std::size_t j = 0; keeps_tensors_ && j < made_.chains.size(); ++j) grow(j);  // adds further ones
    return std::move(made_);
  }

 private:
  Kernel kernel_of(const Set& set) const { return cut(in_.kernel, statements_of(in_.chains, set), "part"); }

  double apart(const Set& set) const {
    double sum = 0;
    for (const std::size_t c : set) sum += priced_.at({c});
    return sum;
  }

  /// Cycles for evicted inputs of a pair; what is between the two is not evicted.
  double fetched_by_pair(const Set& pair) const {
    const std::size_t one = pair[0], other = pair[1];
    return in_.fetched[one] + fetched_inputs({in_.kernel, in_.chains, other}, in_.prices[other] - in_.fetched[other],
                                             store_.machine(), tensors_between(one, other));
  }

  /// `ends`: the two chains that are named if it gains nothing over `before`. True: it gains.
  bool add(const Set& set, const Set& ends, double before, double together) {
    priced_[set] = together;
    made_.chains.push_back(set);
    made_.prices.push_back(together);
    if (together < before) return true;
    const bool none = together == std::numeric_limits<double>::infinity();
    refuse(
        ends[0], ends[1],
        none ? "together they have no program" : fmt::format("together {:.0f} cycles, apart {:.0f}", together, before),
        together - before);
    return false;
  }

  void refuse(std::size_t one, std::size_t other, const std::string& reason, double lost) {
    const auto named = [&](std::size_t s) { return in_.kernel.statements[s].name; };
    made_.refused.push_back(
        {named(in_.chains[one].statements.back()), named(in_.chains[other].statements.front()), reason, lost});
  }

  /// A join that is cheaper with the first neighbour that makes it cheaper still.
  void grow(std::size_t join) {
    const Set set = made_.chains[join];
    const double price = made_.prices[join];
    if (price >= apart(set)) return;
    for (const std::size_t n : neighbours(set)) {
      Set larger = set;
      larger.insert(std::upper_bound(larger.begin(), larger.end(), n), n);
      if (priced_.contains(larger) || !is_convex(in_.before, larger)) continue;
      const Kernel part = kernel_of(larger);
      store_.add({part});
      const Set ends = n > set.front() ? Set{set.back(), n} : Set{n, set.front()};
      if (add(larger, ends, price + priced_.at({n}), store_.price(part))) return;
    }
  }

  /// Chains from or to which a tensor of the set can stay inside of the machine.
  Set neighbours(const Set& set) const {
    const auto follows = [&](std::size_t one, std::size_t other) {
      return std::binary_search(in_.before[other].begin(), in_.before[other].end(), one) &&
             why_apart(one, other).empty();
    };
    Set found;
    for (std::size_t c = 0; c < in_.chains.size(); ++c)
      if (!std::binary_search(set.begin(), set.end(), c) &&
          std::any_of(set.begin(), set.end(), [&](std::size_t m) { return follows(m, c) || follows(c, m); }))
        found.push_back(c);
    return found;
  }

  std::set<TensorId> tensors_between(std::size_t one, std::size_t other) const {
    std::set<TensorId> written, between;
    for (const std::size_t s : in_.chains[one].statements) written.insert(in_.kernel.statements[s].write.tensor);
    for (const std::size_t s : in_.chains[other].statements)
      for (const Access& read : in_.kernel.statements[s].reads)
        if (written.contains(read.tensor)) between.insert(read.tensor);
    return between;
  }

  std::int64_t bytes_between(std::size_t one, std::size_t other) const {
    std::int64_t sum = 0;
    for (const TensorId id : tensors_between(one, other)) {
      const Tensor& tensor = in_.kernel.tensors[id.index()];
      sum += byte_count(tensor);
    }
    return sum;
  }

  /// Why none of the tensors between the two can stay inside of the machine; empty: one can.
  std::string why_apart(std::size_t one, std::size_t other) const {
    if (steps_in_time(one) || steps_in_time(other)) return "steps in time fuse with nothing outside of them";
    std::string all;
    for (const TensorId id : tensors_between(one, other)) {
      const std::string why = why_not_kept(in_.kernel, id, in_.chains[other].statements, store_.machine());
      if (why.empty()) return "";
      all += (all.empty() ? "" : "; ") + why;
    }
    return all;
  }

  void refuse_those_that_keep_nothing() {
    for (std::size_t c = 0; c < in_.chains.size(); ++c)
      for (const std::size_t b : in_.before[c])
        if (const std::string why = why_apart(b, c); !why.empty()) refuse(b, c, why, 0);
  }

  bool steps_in_time(std::size_t chain) const {
    return repeat_of(in_.kernel, in_.chains[chain].statements.front()) != nullptr;
  }

  bool may_gain(std::size_t one, std::size_t other) const {
    if (steps_in_time(one) || steps_in_time(other)) return false;
    return keeps_tensors_
               ? why_apart(one, other).empty()
               : in_.chains[one].statements.size() + in_.chains[other].statements.size() <= options_.joined_statements;
  }

  /// As many distinct ones as may be priced.
  std::vector<Set> pairs_worth_a_price() const {
    std::vector<std::pair<std::int64_t, Set>> pairs;
    for (std::size_t c = 0; c < in_.chains.size(); ++c)
      for (const std::size_t b : in_.before[c])
        if (const std::int64_t between = bytes_between(b, c);
            between > 0 && is_convex(in_.before, {b, c}) && may_gain(b, c))
          pairs.emplace_back(-between, Set{b, c});
    std::sort(pairs.begin(), pairs.end());
    std::vector<Set> chosen;
    std::set<std::string> keys;
    for (const auto& [bytes, pair] : pairs) {
      const std::string key = key_of(kernel_of(pair));
      if (!keys.contains(key) && keys.size() >= options_.joins) continue;
      keys.insert(key);
      chosen.push_back(pair);
    }
    return chosen;
  }

  const ChainsToJoin in_;
  PartStore& store_;
  const PlanOptions& options_;
  const bool keeps_tensors_;
  std::map<Set, double> priced_;
  PricedJoins made_;
};

}  // namespace

PricedJoins price_joins(const ChainsToJoin& input, PartStore& store, const PlanOptions& options) {
  return PartJoins(input, store, options).run();
}

std::vector<std::size_t> statements_of(const std::vector<Part>& chains, const std::vector<std::size_t>& set) {
  std::vector<std::size_t> statements;
  for (const std::size_t c : set)
    statements.insert(statements.end(), chains[c].statements.begin(), chains[c].statements.end());
  std::sort(statements.begin(), statements.end());
  return statements;
}

}  // namespace isamap
