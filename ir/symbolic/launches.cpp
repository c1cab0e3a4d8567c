// SPDX-License-Identifier: Apache-2.0
// Which statements of a symbolic kernel are one launch for all sizes, and which index type their facts allow.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/symbolic/facts.h"
#include "isamap/launch_program.h"
#include "isamap/symbolic_program.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;  // of one launch
constexpr std::int64_t kMostIndex = std::int64_t{1} << 62;
constexpr std::int64_t kMostIndex32 = (std::int64_t{1} << 31) - 1;

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
    if (const auto blocks = most(counted, kMostBlocks * made.threads); !blocks)
      return not_for_all_sizes(
          kernel_,
          fmt::format("statement {} may need more than {} blocks of {} threads", one.name, kMostBlocks, made.threads),
          biggest(counted));
    const auto index = index_type(s, counted, made.threads);
    if (!index) return index.diagnostics();
    made.index = *index;
    const bool sums = one.reduction != Reduction::assign;
    const Tensor& tensor = kernel_.sample.tensors[one.write.tensor.index()];
    const bool first = !begun_.contains(one.write.tensor) && !tensor.inout;
    made.starts = first && sums && writes_whole(s);
    made.fills = first && !made.starts && !(one.reduction == Reduction::assign && writes_whole(s));
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

  /// 32 bits where they hold all numbers of threads, all subscripts and all positions in the tensors.
  Result<IndexType> index_type(std::size_t s, const std::vector<AffineExpr>& counted, std::int64_t threads) const {
    bool small = most(counted, kMostIndex32 - threads).has_value();
    const Computation& one = statement(s);
    Ranges ranges = facts_.ranges();
    for (std::size_t d = 0; d < one.domain.dims.size(); ++d)
      if (const auto extent = facts_.interval(kernel_.statements[s].extents[d]))
        ranges[symbolic_dim(one.domain.dims[d].name)] = {0, std::max<std::int64_t>(extent->high, 1) - 1};
    for (int a = 0; a < access_count(one); ++a) {
      const std::vector<AffineExpr>& shape = kernel_.shapes[access_of(one, a).tensor.index()];
      if (!most(shape, kMostIndex))
        return not_for_all_sizes(kernel_,
                                 fmt::format("positions in '{}' do not fit 64 bits",
                                             kernel_.sample.tensors[access_of(one, a).tensor.index()].name),
                                 biggest(shape));
      small = small && most(shape, kMostIndex32);
      for (const AffineExpr& e : kernel_.statements[s].index[static_cast<std::size_t>(a)]) {
        const auto range = bounds(e, ranges);  // a computed subscript is clamped into its shape
        small = small && (!e.names().empty() ? range && range->low >= -kMostIndex32 && range->high <= kMostIndex32
                                             : std::abs(e.constant()) <= kMostIndex32);
      }
    }
    for (const AffineExpr& value : kernel_.statements[s].values) {
      const auto range = bounds(value, ranges);
      small = small && range && range->low >= -kMostIndex32 && range->high <= kMostIndex32;
    }
    return small ? IndexType::bits32 : IndexType::bits64;
  }

  /// Every element of its tensor, each axis by a dim of its own.
  bool writes_whole(std::size_t s) const {
    const std::vector<AffineExpr>& shape = kernel_.shapes[statement(s).write.tensor.index()];
    std::set<std::size_t> seen;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const AffineExpr& index = kernel_.statements[s].index[0][axis];
      bool whole = index == AffineExpr(0) && shape[axis] == AffineExpr(1);
      for (std::size_t d = 0; d < statement(s).domain.dims.size(); ++d)
        if (index == AffineExpr::dim(symbolic_dim(statement(s).domain.dims[d].name)))
          whole = kernel_.statements[s].extents[d] == shape[axis] && seen.insert(d).second;
      if (!whole) return false;
    }
    return true;
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
