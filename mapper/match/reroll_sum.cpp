// SPDX-License-Identifier: Apache-2.0
#include "mapper/match/reroll_sum.h"

#include <algorithm>
#include <numeric>

#include "support/arithmetic.h"

namespace isamap {
namespace {

using Term = std::vector<int>;  // reads, sorted by tensor

/// Terms of one degree, one coefficient and the same tensors, each tensor once.
std::optional<std::vector<Term>> congruent_terms(const Computation& semantics, const Polynomial& body) {
  std::vector<Term> terms;
  const auto tensor = [&](int r) { return semantics.reads[static_cast<std::size_t>(r)].tensor; };
  for (const auto& [reads, coefficient] : body) {
    Term term = reads;
    std::sort(term.begin(), term.end(), [&](int a, int b) { return tensor(a).value < tensor(b).value; });
    for (std::size_t f = 0; f + 1 < term.size(); ++f)
      if (tensor(term[f]) == tensor(term[f + 1])) return std::nullopt;
    const bool alike = terms.empty() || (term.size() == terms[0].size() && coefficient == body.begin()->second);
    if (!alike) return std::nullopt;
    for (std::size_t f = 0; f < term.size() && !terms.empty(); ++f)
      if (tensor(term[f]) != tensor(terms[0][f])) return std::nullopt;
    terms.push_back(std::move(term));
  }
  if (terms.size() < 2 || terms[0].empty()) return std::nullopt;
  return terms;
}

using Steps = std::vector<std::vector<std::int64_t>>;  // by factor and subscript

std::optional<Steps> steps_between(const Computation& semantics, const Term& from, const Term& to) {
  Steps steps;
  for (std::size_t f = 0; f < from.size(); ++f) {
    const Access& a = semantics.reads[static_cast<std::size_t>(from[f])];
    const Access& b = semantics.reads[static_cast<std::size_t>(to[f])];
    steps.emplace_back();
    for (std::size_t i = 0; i < a.index.size(); ++i) {
      const AffineExpr step = b.index[i] - a.index[i];
      if (!step.is_constant()) return std::nullopt;
      steps.back().push_back(step.constant());
    }
  }
  return steps;
}

/// The terms in an order of constant index steps, and these steps.
std::optional<Steps> common_steps(const Computation& semantics, std::vector<Term>& terms) {
  std::vector<std::pair<Steps, std::size_t>> order;
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const auto steps = steps_between(semantics, terms[0], terms[t]);
    if (!steps) return std::nullopt;
    order.emplace_back(*steps, t);
  }
  std::sort(order.begin(), order.end());
  std::vector<Term> sorted;
  for (const auto& [steps, t] : order) sorted.push_back(terms[t]);
  terms = std::move(sorted);
  const Steps step = *steps_between(semantics, terms[0], terms[1]);
  for (std::size_t t = 1; t + 1 < terms.size(); ++t)
    if (*steps_between(semantics, terms[t], terms[t + 1]) != step) return std::nullopt;
  return step;
}

std::string free_name(const IterationDomain& domain) {
  for (const std::string name : {"k", "r", "s", "t", "u", "v", "w"})
    if (domain.find(name) < 0) return name;
  std::string name = "k1";
  while (domain.find(name) >= 0) name += "1";
  return name;
}

/// Are base and step * k, k below `count`, digits of one number?
bool separate(const AffineExpr& base, std::int64_t step, std::int64_t count) {
  if (!base.is_linear()) return false;
  std::int64_t unit = 0;
  for (const AffineTerm& term : base.terms()) unit = std::gcd(unit, term.coefficient);
  return unit == 0 || std::abs(step) * (count - 1) < unit;
}

Access rolled_access(const Access& first, const std::vector<std::int64_t>& steps, const std::string& dim,
                     std::int64_t count, Axes axes) {
  Access access{first.tensor, {}};
  for (std::size_t i = 0; i < first.index.size(); ++i) {
    const AffineExpr& base = first.index[i];
    if (steps[i] == 0) {
      access.index.push_back(base);
    } else if (axes == Axes::separated && separate(base, steps[i], count)) {
      if (!base.is_constant()) access.index.push_back(base - AffineExpr(base.constant()));
      access.index.push_back(AffineExpr::dim(dim));
    } else {
      access.index.push_back(base + AffineExpr::dim(dim) * steps[i]);
    }
  }
  return access;
}

/// The first read of the tensor that read r reads.
std::size_t first_read(const Computation& semantics, int r) {
  std::size_t first = 0;
  while (semantics.reads[first].tensor != semantics.reads[static_cast<std::size_t>(r)].tensor) ++first;
  return first;
}

ScalarExpr product_of_reads(const std::vector<DType>& types, std::int64_t coefficient, DType result) {
  std::optional<ScalarExpr> body;
  if (coefficient != 1) body = constant(static_cast<double>(coefficient), result);
  for (std::size_t r = 0; r < types.size(); ++r) {
    ScalarExpr factor = read(static_cast<int>(r), types[r]);
    if (types[r] != result) factor = cast(result, std::move(factor));
    body = body ? binary(BinaryOp::mul, std::move(*body), std::move(factor)) : std::move(factor);
  }
  return *body;
}

}  // namespace

std::optional<RerolledSum> reroll_sum(const Instruction& instruction, const Polynomial& body, Axes axes) {
  const Computation& semantics = instruction.statement();
  const bool adds = semantics.reduction == Reduction::add || semantics.reduction == Reduction::saturating_add;
  if (semantics.reduction != Reduction::assign && !adds) return std::nullopt;
  auto terms = congruent_terms(semantics, body);
  const auto steps = terms ? common_steps(semantics, *terms) : std::nullopt;
  if (!steps) return std::nullopt;
  const auto count = static_cast<std::int64_t>(terms->size());
  auto rolled = std::make_shared<Instruction>(instruction);
  Computation& statement = rolled->semantics.back();
  const std::string dim = free_name(semantics.domain);
  statement.domain.dims.push_back({dim, count, DimKind::reduction});
  rolled->ranges.push_back({count, count, count, false, {}});
  if (!adds) {  // it assigns a sum, which each call overwrites
    statement.reduction = Reduction::add;
    rolled->start = {{instruction.tensors[semantics.write.tensor.index()].name, {Start::zero}}};
  }
  statement.reads.clear();
  std::vector<DType> types;
  std::vector<std::size_t> factors(steps->size());  // in the order of the tensors' first reads
  std::iota(factors.begin(), factors.end(), std::size_t{0});
  std::sort(factors.begin(), factors.end(), [&](std::size_t a, std::size_t b) {
    return first_read(semantics, (*terms)[0][a]) < first_read(semantics, (*terms)[0][b]);
  });
  for (const std::size_t f : factors) {
    const Access& first = semantics.reads[static_cast<std::size_t>((*terms)[0][f])];
    statement.reads.push_back(rolled_access(first, (*steps)[f], dim, count, axes));
    types.push_back(instruction.tensors[first.tensor.index()].dtype);
  }
  statement.body = product_of_reads(types, body.begin()->second, semantics.body.type);
  return RerolledSum{std::move(rolled), semantics.reduction == Reduction::assign};
}

}  // namespace isamap
