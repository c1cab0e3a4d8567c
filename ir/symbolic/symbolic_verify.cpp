// SPDX-License-Identifier: Apache-2.0
// Checks of a kernel for all sizes that satisfy its facts. A subscript e of an access stays inside its axis iff
//
//   facts and 0 <= $d < extent of every dim d   |-   0 <= e < shape
//
// which is linear: subscripts, extents and shapes are affine over dims and sizes. Products (element counts) are bounded
// by intervals.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/symbolic/facts.h"
#include "ir/symbolic/write_coverage.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t most_size_points = std::int64_t{1} << 62;

class AllSizes {
 public:
  AllSizes(const SymbolicKernel& kernel, Diagnostics& problems)
      : kernel_(kernel), facts_(kernel.facts), problems_(problems) {}

  void run() {
    for (std::size_t t = 0; t < kernel_.shapes.size(); ++t) check_tensor(t);
    if (!problems_.empty()) return;
    check_writers();
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) check_statement(s);
  }

 private:
  const Tensor& tensor(std::size_t t) const { return kernel_.sample.tensors[t]; }

  SourceLocation tensor_place(std::size_t t) const {
    return t < kernel_.places.tensors.size() ? kernel_.places.tensors[t] : kernel_.sample.where;
  }

  SourceLocation place(std::size_t s, std::size_t access, std::size_t axis) const {
    if (s >= kernel_.places.statements.size()) return kernel_.sample.where;
    const StatementPlaces& places = kernel_.places.statements[s];
    const bool known = access < places.index.size() && axis < places.index[access].size();
    return known ? places.index[access][axis] : places.statement;
  }

  void fail(const SourceLocation& where, std::string message, std::string hint) {
    problems_.push_back(error_at(where, std::move(message), std::move(hint)));
  }

  /// "M = 4, N = 0": the sizes of a counterexample, without its dims.
  std::string sizes_text(const Bindings& values) const {
    std::string text;
    for (const SymbolicSize& size : kernel_.facts.sizes)
      if (const auto found = values.find(size.name); found != values.end())
        text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", size.name, found->second);
    return text.empty() ? "every size" : text;
  }

  /// A counterexample names only what its question does: the other sizes are anything.
  static std::int64_t value_at(const AffineExpr& e, Bindings values) {
    for (const std::string& name : e.names()) values.try_emplace(name, 0);
    return evaluate(e, values);
  }

  std::optional<std::int64_t> most(const std::vector<AffineExpr>& factors) const {
    std::int64_t product = 1;
    for (const AffineExpr& factor : factors) {
      const auto range = facts_.interval(factor);
      const auto next = range ? checked_mul(product, std::max<std::int64_t>(range->high, 1)) : std::nullopt;
      if (!next) return std::nullopt;
      product = *next;
    }
    return product;
  }

  void check_tensor(std::size_t t) {
    for (std::size_t d = 0; d < kernel_.shapes[t].size(); ++d) {
      const AffineExpr& size = kernel_.shapes[t][d];
      const Answer answer = facts_.nonnegative(size);
      if (answer.truth == Truth3::no)
        fail(tensor_place(t),
             fmt::format("dimension {} of tensor '{}', {}, is negative, for example at {}: {}", d, tensor(t).name,
                         print(size), sizes_text(answer.counterexample), value_at(size, answer.counterexample)),
             "state a larger `min`, or a fact between the sizes");
      if (answer.truth == Truth3::unknown) undecided(tensor_place(t), fmt::format("0 <= {}", print(size)));
    }
    const auto elements = most(kernel_.shapes[t]);
    if (!elements || *elements > most_size_points / bytes(tensor(t).dtype))
      fail(tensor_place(t),
           fmt::format("tensor '{}' may have more elements than 64 bits count, with {}", tensor(t).name,
                       print(kernel_.facts)),
           "state a smaller `max`");
  }

  void undecided(const SourceLocation& where, const std::string& condition) {
    fail(where, fmt::format("cannot decide {} for all sizes: the solver reached its limit", condition),
         "bind a size with --sizes, or state a fact that says so");
  }

  /// Do two statements write the same elements: one subscript over dims of the same names and extents, C[i,i] twice?
  bool write_the_same(std::size_t a, std::size_t b) const {
    if (kernel_.statements[a].index[0] != kernel_.statements[b].index[0]) return false;
    const std::vector<AffineExpr>& index = kernel_.statements[a].index[0];
    const auto extents = [&](std::size_t s) {
      std::map<std::string, AffineExpr> found;
      for (std::size_t d = 0; d < kernel_.statements[s].extents.size(); ++d) {
        const std::string name = symbolic_dim(kernel_.sample.statements[s].domain.dims[d].name);
        const auto uses = [&](const AffineExpr& e) { return e.names().contains(name); };
        if (std::any_of(index.begin(), index.end(), uses)) found.emplace(name, kernel_.statements[s].extents[d]);
      }
      return found;
    };
    return extents(a) == extents(b);
  }

  /// Which parts of a tensor several statements write is decided for numbers only.
  void check_writers() {
    std::map<std::size_t, std::size_t> writers;
    for (std::size_t s = 0; s < kernel_.statements.size(); ++s) {
      const std::size_t t = kernel_.sample.statements[s].write.tensor.index();
      const auto [first, is_new] = writers.emplace(t, s);
      const bool symbolic = std::any_of(kernel_.shapes[t].begin(), kernel_.shapes[t].end(),
                                        [](const AffineExpr& size) { return !size.is_constant(); });
      const bool all = writes_whole(kernel_, s) && writes_whole(kernel_, first->second);
      if (!is_new && symbolic && !all && !write_the_same(s, first->second))
        fail(place(s, 0, 0),
             fmt::format("tensor '{}' of symbolic size is written by statements {} and {}", tensor(t).name,
                         kernel_.sample.statements[first->second].name, kernel_.sample.statements[s].name),
             "write a tensor of its own, or bind its size with --sizes");
    }
  }

  void check_statement(std::size_t s) {
    const SymbolicStatement& symbolic = kernel_.statements[s];
    const Computation& statement = kernel_.sample.statements[s];
    inside_.clear();
    for (std::size_t d = 0; d < symbolic.extents.size(); ++d) {
      const AffineExpr dim = AffineExpr::dim(symbolic_dim(statement.domain.dims[d].name));
      inside_.push_back(dim);
      inside_.push_back(symbolic.extents[d] - dim - 1);
    }
    if (!most(symbolic.extents) || *most(symbolic.extents) > most_size_points)
      fail(place(s, 0, 0),
           fmt::format("statement {} may have more points than 64 bits count, with {}", statement.name,
                       print(kernel_.facts)),
           "state a smaller `max`");
    check_single_writes(s);
    for (std::size_t a = 0; a < symbolic.index.size(); ++a) {
      const Access& access = access_of(statement, static_cast<int>(a));
      if (a > 0 && outside_of(access, kernel_.sample.tensors)) continue;
      for (std::size_t d = 0; d < symbolic.index[a].size(); ++d)
        if (!access.computed || access.computed->axis != static_cast<int>(d)) check_axis(s, a, d);
    }
    for (const AffineExpr& value : symbolic.values) check_value(s, value);
  }

  /// `=` computes each element once.
  void check_single_writes(std::size_t s) {
    const Computation& statement = kernel_.sample.statements[s];
    if (statement.reduction != Reduction::assign) return;
    for (std::size_t d = 0; d < statement.domain.dims.size(); ++d) {
      if (statement.domain.dims[d].kind != DimKind::reduction) continue;
      const AffineExpr& extent = kernel_.statements[s].extents[d];
      const Answer answer = facts_.nonnegative(AffineExpr(1) - extent);
      if (answer) continue;
      if (answer.truth == Truth3::unknown) {
        undecided(place(s, 0, 0), fmt::format("{} <= 1, as `=` writes each element once", print(extent)));
        continue;
      }
      fail(place(s, 0, 0),
           fmt::format("`=` writes each element once for each {}, for example at {}: {} times",
                       statement.domain.dims[d].name, sizes_text(answer.counterexample),
                       value_at(extent, answer.counterexample)),
           "use `+=`, `*=`, `max=` or `min=`");
    }
  }

  /// A lower bound over the dims of the statement: each is at one of its ends where it occurs in one linear term.
  AffineExpr least(std::size_t s, const AffineExpr& e) const {
    const Computation& statement = kernel_.sample.statements[s];
    AffineExpr bound = e;
    for (std::size_t d = 0; d < statement.domain.dims.size(); ++d) {
      const std::string name = symbolic_dim(statement.domain.dims[d].name);
      const std::int64_t factor = e.coefficient(name);
      const AffineExpr rest = bound - factor * AffineExpr::dim(name);
      if (factor == 0 || rest.names().contains(name)) continue;
      bound = factor > 0 ? rest : rest + factor * (kernel_.statements[s].extents[d] - 1);
    }
    return bound;
  }

  void check_axis(std::size_t s, std::size_t a, std::size_t d) {
    const AffineExpr& index = kernel_.statements[s].index[a][d];
    const std::size_t t = access_of(kernel_.sample.statements[s], static_cast<int>(a)).tensor.index();
    const AffineExpr& size = kernel_.shapes[t][d];
    for (const AffineExpr& condition : {index, size - index - 1}) {
      if (facts_.interval(least(s, condition)).value_or(Interval{-1, -1}).low >= 0) continue;
      const Answer answer = facts_.nonnegative(condition, inside_);
      if (answer) continue;
      if (answer.truth == Truth3::unknown)
        return undecided(place(s, a, d), fmt::format("0 <= {} < {}", shown(index), print(size)));
      const Bindings& at = answer.counterexample;
      return fail(place(s, a, d),
                  fmt::format("'{}' is {} outside its shape, for example at {}: index {} of {}", tensor(t).name,
                              a == 0 ? "written" : "read", sizes_text(at), value_at(index, at), value_at(size, at)),
                  a == 0 ? "change the shape"
                         : "change the shape, say `outside: 0` at the tensor, or state a fact that excludes the size");
    }
  }

  void check_value(std::size_t s, const AffineExpr& value) {
    for (const AffineExpr& condition : {value + (std::int64_t{1} << 31), (std::int64_t{1} << 31) - 1 - value}) {
      const Answer answer = facts_.nonnegative(condition, inside_);
      if (answer) continue;
      if (answer.truth == Truth3::unknown)
        return undecided(place(s, 0, 0), fmt::format("|value({})| < 2^31", shown(value)));
      return fail(place(s, 0, 0),
                  fmt::format("value({}) does not fit 32 bits, for example at {}: {}", shown(value),
                              sizes_text(answer.counterexample), value_at(value, answer.counterexample)),
                  "state a smaller `max`");
    }
  }

  static std::string shown(const AffineExpr& e) {
    std::string text = print(e);
    text.erase(std::remove(text.begin(), text.end(), '$'), text.end());
    return text;
  }

  const SymbolicKernel& kernel_;
  const Facts facts_;
  Diagnostics& problems_;
  std::vector<AffineExpr> inside_;  ///< of the statement at hand: its dims are in range
};

}  // namespace

Diagnostics verify(const SymbolicKernel& kernel) {
  Diagnostics problems;
  if (kernel.has_symbols()) AllSizes(kernel, problems).run();
  return problems;
}

}  // namespace isamap
