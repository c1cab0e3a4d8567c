// SPDX-License-Identifier: Apache-2.0
// Which statements of a symbolic kernel are one launch for all sizes, and which index type their facts allow.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/symbolic/facts.h"
#include "ir/symbolic/launch_limits.h"
#include "ir/symbolic/write_coverage.h"
#include "isamap/symbolic_program.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t most_index = std::int64_t{1} << 62;
constexpr std::int64_t most_index32 = (std::int64_t{1} << 31) - 1;

/// Launches of the statements of one kernel, in order.
class LaunchFinder {
 public:
  explicit LaunchFinder(const SymbolicKernel& kernel) : kernel_(kernel), facts_(kernel.facts) {}

  Result<std::vector<StatementLaunch>> run() {
    if (!kernel_.sample.repeats.empty())
      return not_for_all_sizes(kernel_, "the steps of a recurrence need the step before", {});
    std::vector<StatementLaunch> launches;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      if (auto problem = against(s)) return std::move(*problem);
      auto one = launch(s);
      if (!one) return one.diagnostics();
      launches.push_back(std::move(*one));
      begun_.insert(kernel_.sample.statements[s].write.tensor);
    }
    return launches;
  }

 private:
  const Computation& statement(std::size_t s) const { return kernel_.sample.statements[s]; }

  std::optional<Diagnostic> against(std::size_t s) const {
    const Computation& one = statement(s);
    if (!one.domain.faces.empty()) return not_for_all_sizes(kernel_, "a domain is cut", {});
    for (int a = 0; a < access_count(one); ++a)
      if (const TensorId t = access_of(one, a).tensor; !kernel_.strides[t.index()].empty())
        return not_for_all_sizes(kernel_, fmt::format("'{}' has strides", kernel_.sample.tensors[t.index()].name),
                                 biggest(kernel_.shapes[t.index()]));
    for (std::size_t r = 0; r < one.reads.size(); ++r) {
      if (one.reads[r].tensor != one.write.tensor) continue;
      const bool own = one.reduction == Reduction::assign && !one.reads[r].computed &&
                       kernel_.statements[s].index[r + 1] == kernel_.statements[s].index[0];
      if (!own)
        return not_for_all_sizes(kernel_, fmt::format("statement {} reads what it writes", one.name),
                                 biggest(kernel_.shapes[one.write.tensor.index()]));
    }
    return std::nullopt;
  }

  /// An expression whose sizes a message names.
  static AffineExpr biggest(const std::vector<AffineExpr>& shape) {
    for (const AffineExpr& e : shape)
      if (!e.is_constant()) return e;
    return {};
  }

  Result<StatementLaunch> launch(std::size_t s) const {
    const Computation& one = statement(s);
    const SymbolicStatement& symbolic = kernel_.statements[s];
    StatementLaunch made;
    for (std::size_t d = 0; d < one.domain.dims.size(); ++d)
      (one.domain.dims[d].kind == DimKind::parallel ? made.dims : made.terms).push_back(static_cast<int>(d));
    std::stable_sort(made.dims.begin(), made.dims.end(), [&](int a, int b) { return axis_of(s, a) < axis_of(s, b); });
    std::vector<AffineExpr> counted;
    for (const int d : made.dims) counted.push_back(symbolic.extents[static_cast<std::size_t>(d)]);
    if (const auto blocks = most(counted, most_launch_blocks * made.threads); !blocks)
      return not_for_all_sizes(kernel_,
                               fmt::format("statement {} may need more than {} blocks of {} threads", one.name,
                                           most_launch_blocks, made.threads),
                               biggest(counted));
    const auto index = index_type(s, counted, made.threads);
    if (!index) return index.diagnostics();
    made.index = *index;
    const bool sums = one.reduction != Reduction::assign;
    const Tensor& tensor = kernel_.sample.tensors[one.write.tensor.index()];
    const bool first = !begun_.contains(one.write.tensor) && !tensor.inout;
    made.starts = first && sums && writes_whole(kernel_, s);
    made.fills = first && !made.starts && !(one.reduction == Reduction::assign && writes_whole(kernel_, s));
    return made;
  }

  /// Of the output in which the dim occurs, so that threads next to one another store what lies together.
  int axis_of(std::size_t s, int dim) const {
    const std::string name = symbolic_dim(statement(s).domain.dims[static_cast<std::size_t>(dim)].name);
    const std::vector<AffineExpr>& index = kernel_.statements[s].index[0];
    int found = -1;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      if (index[axis].names().contains(name)) found = static_cast<int>(axis);
    return found;
  }

  /// The largest product; nothing: it may exceed `limit`.
  std::optional<std::int64_t> most(const std::vector<AffineExpr>& factors, std::int64_t limit) const {
    std::int64_t product = 1;
    for (const AffineExpr& factor : factors) {
      const auto range = facts_.interval(factor);
      const auto next = range ? checked_mul(product, std::max<std::int64_t>(range->high, 1)) : std::nullopt;
      if (!next || *next > limit) return std::nullopt;
      product = *next;
    }
    return product;
  }

  /// The largest |value| of any term, partial sum or numerator when the expression is computed; nothing: no bound.
  static std::optional<std::int64_t> magnitude(const AffineExpr& e, const Ranges& ranges) {
    std::optional<std::int64_t> sum = std::abs(e.constant()), most = 0;
    for (const AffineTerm& term : e.terms()) {
      const auto range = bounds(AffineExpr::of({1, term.atom}), ranges);
      if (!range) return std::nullopt;
      const auto part = checked_mul(std::abs(term.coefficient), std::max(std::abs(range->low), std::abs(range->high)));
      sum = part ? checked_add(*sum, *part) : std::nullopt;
      const FloorDiv* quotient = division(term);
      const auto inner = quotient ? magnitude(*quotient->numerator, ranges) : most;
      if (!sum || !inner) return std::nullopt;
      most = std::max(*most, *inner);
    }
    return std::max(*sum, *most);
  }

  static bool fits_32(const AffineExpr& e, const Ranges& ranges) {
    const auto value = magnitude(e, ranges);
    return value && *value <= most_index32;
  }

  /// Sizes, counters of loops, subscripts and values, whatever they are computed from, fit 32 bits.
  bool computes_in_32(std::size_t s, const Ranges& sizes) const {
    const SymbolicStatement& symbolic = kernel_.statements[s];
    const auto fit = [](const std::vector<AffineExpr>& all, const Ranges& ranges) {
      return std::all_of(all.begin(), all.end(), [&](const AffineExpr& e) { return fits_32(e, ranges); });
    };
    for (const SymbolicSize& size : kernel_.facts.sizes)
      if (!fits_32(AffineExpr::dim(size.name), sizes)) return false;
    if (!fit(symbolic.extents, sizes)) return false;
    Ranges ranges = sizes;
    for (std::size_t d = 0; d < symbolic.extents.size(); ++d)
      if (const auto extent = facts_.interval(symbolic.extents[d]))
        ranges[symbolic_dim(statement(s).domain.dims[d].name)] = {0, std::max<std::int64_t>(extent->high, 1) - 1};
    for (int a = 0; a < access_count(statement(s)); ++a)  // a computed subscript is clamped into its shape
      if (!fit(kernel_.shapes[access_of(statement(s), a).tensor.index()], sizes) ||
          !fit(symbolic.index[static_cast<std::size_t>(a)], ranges))
        return false;
    return fit(symbolic.values, ranges);
  }

  /// 32 bits where they hold all numbers of threads, all positions in the tensors and what both are computed from.
  Result<IndexType> index_type(std::size_t s, const std::vector<AffineExpr>& counted, std::int64_t threads) const {
    bool small = most(counted, most_index32 - threads).has_value();
    for (int a = 0; a < access_count(statement(s)); ++a) {
      const TensorId tensor = access_of(statement(s), a).tensor;
      const std::vector<AffineExpr>& shape = kernel_.shapes[tensor.index()];
      if (!most(shape, most_index))
        return not_for_all_sizes(
            kernel_, fmt::format("positions in '{}' do not fit 64 bits", kernel_.sample.tensors[tensor.index()].name),
            biggest(shape));
      small = small && most(shape, most_index32);
    }
    return small && computes_in_32(s, facts_.ranges()) ? IndexType::bits32 : IndexType::bits64;
  }

  const SymbolicKernel& kernel_;
  const Facts facts_;
  std::set<TensorId> begun_;  ///< tensors that earlier statements write
};

}  // namespace

Result<std::vector<StatementLaunch>> statement_launches(const SymbolicKernel& kernel) {
  return LaunchFinder(kernel).run();
}

}  // namespace isamap
