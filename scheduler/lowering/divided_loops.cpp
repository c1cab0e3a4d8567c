// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lowering/divided_loops.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

namespace isamap {
namespace {

using Nodes = std::vector<Node>;
using Visit = std::function<void(AffineExpr&)>;

constexpr int most_nests = 8;  ///< that one nest becomes: text and branches

/// Every subscript and condition. Other nodes than element statements and their guards: false.
bool visit_elements(Nodes& nodes, const Visit& visit) {
  return std::all_of(nodes.begin(), nodes.end(), [&](Node& node) {
    if (auto* element = std::get_if<Element>(&node.is)) {
      std::for_each(element->write.index.begin(), element->write.index.end(), visit);
      for (Ref& read : element->reads) std::for_each(read.index.begin(), read.index.end(), visit);
      return true;
    }
    auto* const guard = std::get_if<Guard>(&node.is);
    if (guard == nullptr || !guard->role.empty()) return false;
    std::for_each(guard->conditions.begin(), guard->conditions.end(), visit);
    return visit_elements(guard->then, visit) && visit_elements(guard->otherwise, visit);
  });
}

/// What is computed at each iteration: offsets of elements, numbers, conditions.
void computed_numbers(const Lowering& lowering, const Nodes& nodes, std::vector<AffineExpr>& found) {
  const auto add = [&](const Ref& ref) {
    const bool in_memory = ref.buffer.valid() && lowering.buffer(ref.buffer).strides.size() == ref.index.size();
    if (in_memory)
      found.push_back(simplify(flat_offset(lowering.buffer(ref.buffer), ref.index), lowering.ranges));
    else
      found.insert(found.end(), ref.index.begin(), ref.index.end());
  };
  for (const Node& node : nodes) {
    if (const auto* element = std::get_if<Element>(&node.is)) {
      add(element->write);
      std::for_each(element->reads.begin(), element->reads.end(), add);
    } else if (const auto* guard = std::get_if<Guard>(&node.is)) {
      for (const AffineExpr& condition : guard->conditions) found.push_back(simplify(condition, lowering.ranges));
      computed_numbers(lowering, guard->then, found);
      computed_numbers(lowering, guard->otherwise, found);
    }
  }
}

/// (variable + phase) / divisor.
struct Division {
  std::int64_t divisor = 1, phase = 0;
};

/// Of the variable. Nothing: another form is divided.
std::optional<std::vector<Division>> divisions_of(const AffineExpr& e, const std::string& variable) {
  std::vector<Division> found;
  for (const AffineTerm& term : e.terms()) {
    const FloorDiv* const by = division(term);
    if (by == nullptr || !by->numerator->names().contains(variable)) continue;
    const AffineExpr phase = *by->numerator - AffineExpr::dim(variable);
    if (!phase.is_constant()) return std::nullopt;
    found.push_back({by->divisor, phase.constant()});
  }
  return found;
}

/// Splits one loop around a body.
class LoopSplit {
 public:
  LoopSplit(Lowering& lowering, const std::string& hint) : lowering_(lowering), hint_(hint) {}

  /// Nothing: a division is left, or there are too many nests.
  std::optional<Nodes> split(const Nodes& body, const std::string& variable, std::int64_t trip) {
    std::vector<AffineExpr> numbers;
    computed_numbers(lowering_, body, numbers);
    std::optional<Division> largest;
    for (const AffineExpr& e : numbers) {
      const auto divisions = divisions_of(e, variable);
      if (!divisions) return std::nullopt;
      for (const Division& each : *divisions)
        if (!largest || each.divisor > largest->divisor) largest = each;
    }
    if (!largest) return ++nests_ > most_nests ? std::nullopt : std::optional(loop_around(variable, trip, false, body));
    const auto [divisor, phase] = *largest;
    const std::int64_t first = std::min(trip, (divisor - phase) % divisor), whole = (trip - first) / divisor,
                       behind = first + whole * divisor;
    Nodes made;
    const bool good = add(made, body, variable, 0, first) && add_whole(made, body, variable, {first, whole, divisor}) &&
                      add(made, body, variable, behind, trip - behind);
    return good ? std::optional(std::move(made)) : std::nullopt;
  }

 private:
  struct Quotients {
    std::int64_t first, count, divisor;
  };

  /// Iterations of a loop from `begin`.
  bool add(Nodes& made, Nodes body, const std::string& variable, const AffineExpr& begin, std::int64_t trip) {
    if (trip == 0) return true;
    const std::string step = trip == 1 ? "" : lowering_.variable(hint_, trip);
    const AffineExpr value = step.empty() ? begin : begin + AffineExpr::dim(step);
    visit_elements(body, [&](AffineExpr& e) { e = simplify(substitute(e, {{variable, value}}), lowering_.ranges); });
    auto inner = step.empty() ? std::optional(std::move(body)) : split(body, step, trip);
    if (!inner) return false;
    std::move(inner->begin(), inner->end(), std::back_inserter(made));
    return true;
  }

  bool add_whole(Nodes& made, const Nodes& body, const std::string& variable, const Quotients& quotients) {
    const auto& [first, count, divisor] = quotients;
    if (count < 2) return count == 0 || add(made, body, variable, first, divisor);
    const std::string outer = lowering_.variable(hint_, count);
    Nodes inner;
    if (!add(inner, body, variable, first + divisor * AffineExpr::dim(outer), divisor)) return false;
    const Nodes loop = loop_around(outer, count, false, std::move(inner));
    made.insert(made.end(), loop.begin(), loop.end());
    return true;
  }

  Lowering& lowering_;
  std::string hint_;
  int nests_ = 0;
};

bool is_sequential(const Loop& loop) { return loop.unit.empty() && !loop.unroll && loop.instances == 0; }

/// "kl" of "kl12".
std::string without_number(std::string variable) {
  while (!variable.empty() && std::isdigit(static_cast<unsigned char>(variable.back()))) variable.pop_back();
  return variable;
}

/// The loops of a perfect nest, outermost first, and what is in them.
struct PerfectNest {
  std::vector<Loop> loops;  ///< without bodies
  Nodes body;
};
std::optional<PerfectNest> perfect_nest(const Node& node) {
  PerfectNest nest;
  const Node* at = &node;
  for (const Loop* loop = std::get_if<Loop>(&at->is); loop != nullptr && is_sequential(*loop) && loop->trip > 1;
       loop = std::get_if<Loop>(&at->is)) {
    Loop alone = *loop;
    alone.body.clear();
    nest.loops.push_back(std::move(alone));
    if (loop->body.size() != 1 || !std::holds_alternative<Loop>(loop->body.front().is)) {
      nest.body = loop->body;
      break;
    }
    at = &loop->body.front();
  }
  if (nest.body.empty() || !visit_elements(nest.body, [](AffineExpr&) {})) return std::nullopt;
  return nest;
}

/// The two innermost loops as one, around the same iterations.
void fuse_innermost(Lowering& lowering, PerfectNest& nest) {
  const Loop inner = nest.loops.back();
  nest.loops.pop_back();
  Loop& fused = nest.loops.back();
  const std::string outer = fused.variable;
  fused.variable = lowering.variable(without_number(inner.variable), fused.trip * inner.trip);
  fused.trip *= inner.trip;
  const AffineExpr all = AffineExpr::dim(fused.variable);
  const std::map<std::string, AffineExpr> by{{outer, floordiv(all, inner.trip)},
                                             {inner.variable, mod(all, inner.trip)}};
  visit_elements(nest.body, [&](AffineExpr& e) { e = simplify(substitute(e, by), lowering.ranges); });
}

bool divides_innermost(const std::vector<AffineExpr>& numbers, const PerfectNest& nest) {
  return std::any_of(numbers.begin(), numbers.end(), [&](const AffineExpr& e) {
    return std::any_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& term) {
      const FloorDiv* const by = division(term);
      return by != nullptr && by->numerator->names().contains(nest.loops.back().variable);
    });
  });
}

/// Can fusing loops leave divisions of the fused variable plus a constant alone? A numerator with the innermost
/// variable must run along the loops as far out as it has variables: of t = 80*a + b, (12*a + b)/17 is t/17 - 4*(t/80),
/// as 12 = 80 modulo 17, and (3*a + b)/17 is no quotient of t. Variables of loops around the nest stay.
bool may_fuse(const std::vector<AffineExpr>& numbers, const PerfectNest& nest) {
  const auto runs_along = [&](const FloorDiv& by) {
    AffineExpr left = *by.numerator;
    std::int64_t step = 1;
    for (auto loop = nest.loops.rbegin(); loop != nest.loops.rend() && !left.is_constant(); ++loop) {
      const AffineExpr along = AffineExpr::dim(loop->variable);
      const std::int64_t coefficient = left.coefficient(loop->variable);
      if ((coefficient - step) % by.divisor != 0) return false;
      left = left - coefficient * along;
      step *= loop->trip;
    }
    return left.is_constant();
  };
  return std::all_of(numbers.begin(), numbers.end(), [&](const AffineExpr& e) {
    return std::all_of(e.terms().begin(), e.terms().end(), [&](const AffineTerm& term) {
      const FloorDiv* const by = division(term);
      return by == nullptr || !by->numerator->is_linear() ||
             by->numerator->coefficient(nest.loops.back().variable) == 0 || runs_along(*by);
    });
  });
}

/// Nothing: it stays as it is, and so do the nests in it, whose loops would be fused in the same way.
std::optional<Nodes> split_nest(Lowering& lowering, PerfectNest& nest) {
  std::vector<AffineExpr> numbers;
  computed_numbers(lowering, nest.body, numbers);
  if (!divides_innermost(numbers, nest)) return std::nullopt;
  while (may_fuse(numbers, nest)) {
    const Loop& innermost = nest.loops.back();
    LoopSplit whole(lowering, without_number(innermost.variable));
    if (auto made = whole.split(nest.body, innermost.variable, innermost.trip)) {
      for (std::size_t l = nest.loops.size() - 1; l-- > 0;)
        made = loop_around(nest.loops[l].variable, nest.loops[l].trip, false, std::move(*made));
      return made;
    }
    if (nest.loops.size() == 1) return std::nullopt;
    fuse_innermost(lowering, nest);
    numbers.clear();
    computed_numbers(lowering, nest.body, numbers);
  }
  return std::nullopt;
}

}  // namespace

std::vector<Node> without_divisions(Lowering& lowering, std::vector<Node> nodes) {
  Nodes made;
  for (Node& node : nodes) {
    const int variables = lowering.variables;
    if (auto nest = perfect_nest(node)) {
      if (auto split = split_nest(lowering, *nest)) {
        std::move(split->begin(), split->end(), std::back_inserter(made));
        continue;
      }
      lowering.variables = variables;
      made.push_back(std::move(node));
      continue;
    }
    if (auto* loop = std::get_if<Loop>(&node.is)) loop->body = without_divisions(lowering, std::move(loop->body));
    if (auto* guard = std::get_if<Guard>(&node.is)) {
      guard->then = without_divisions(lowering, std::move(guard->then));
      guard->otherwise = without_divisions(lowering, std::move(guard->otherwise));
    }
    made.push_back(std::move(node));
  }
  return made;
}

}  // namespace isamap
