// SPDX-License-Identifier: Apache-2.0
#include "frontends/prefix_reductions.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "frontends/unused_name.h"
#include "isamap/affine.h"
#include "support/arithmetic.h"

namespace isamap {
namespace {

constexpr std::int64_t terms = 4;      ///< that a step reads for an element
constexpr std::int64_t least_row = 8;  ///< elements of a step of a recurrence, which vectors compute

/// The read is at `rest + step * t` along an axis, for t < n.
struct Prefix {
  std::size_t axis = 0;
  int dim = -1;  ///< t, in the domain
  AffineExpr rest;
  std::int64_t step = 0, n = 0;
};

bool reassociates(const Computation& statement) {
  return is_float(statement.body.type) &&
         (statement.reduction == Reduction::add || statement.reduction == Reduction::mul);
}

bool has_identity_beyond(const Computation& statement, const std::vector<Tensor>& tensors) {
  const auto outside = outside_of(statement.reads[0], tensors);
  return outside && *outside == as_double(statement.body.type, identity(statement.reduction, statement.body.type));
}

/// A reduction of one read, as it is.
bool is_plain(const Computation& statement, const std::vector<Tensor>& tensors) {
  const std::set<Reduction> known{Reduction::add, Reduction::mul, Reduction::max, Reduction::min};
  return known.contains(statement.reduction) && std::holds_alternative<Read>(statement.body.op) &&
         !is_irregular(statement) && statement.domain.faces.empty() && !is_truth(statement.body.type) &&
         tensors[statement.write.tensor.index()].dtype == statement.body.type &&
         has_identity_beyond(statement, tensors);
}

/// Do the terms along the dim reach the end of the axis, and begin inside of it?
std::optional<Prefix> prefix_along(const Computation& statement, int dim, const Tensor& tensor) {
  const std::string& t = statement.domain.dims[static_cast<std::size_t>(dim)].name;
  std::optional<Prefix> found;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    const AffineExpr& e = statement.reads[0].index[axis];
    if (!e.names().contains(t)) continue;
    if (found) return std::nullopt;
    const std::int64_t step = e.coefficient(t);
    found = Prefix{axis, dim, e - step * AffineExpr::dim(t), step,
                   statement.domain.dims[static_cast<std::size_t>(dim)].extent};
  }
  if (!found || found->step == 0 || found->rest.names().contains(t)) return std::nullopt;
  const auto range = bounds(found->rest, ranges_of(statement.domain));
  if (!range) return std::nullopt;
  const std::int64_t size = tensor.shape[found->axis], reach = found->step * found->n;
  const bool whole =
      found->step < 0 ? range->high < size && range->high + reach < 0 : range->low >= 0 && range->low + reach >= size;
  return whole ? found : std::nullopt;
}

std::optional<Prefix> prefix_of(const Computation& statement, const std::vector<Tensor>& tensors) {
  if (!is_plain(statement, tensors)) return std::nullopt;
  for (std::size_t d = 0; d < statement.domain.dims.size(); ++d)
    if (statement.domain.dims[d].kind == DimKind::reduction)
      if (auto found = prefix_along(statement, static_cast<int>(d), tensors[statement.reads[0].tensor.index()]))
        return found;
  return std::nullopt;
}

class Steps {
 public:
  explicit Steps(Model model) : model_(std::move(model)) {
    for (const Tensor& tensor : kernel().tensors) names_.insert(tensor.name);
    for (const Computation& statement : kernel().statements) names_.insert(statement.name);
  }

  Model run(const PrefixOptions& options) {
    for (std::size_t s = 0; s < kernel().statements.size(); ++s) {
      const Computation& statement = kernel().statements[s];
      if (repeat_of(kernel(), s) != nullptr || (options.strict_float && reassociates(statement))) continue;
      const auto prefix = prefix_of(statement, kernel().tensors);
      if (!prefix) continue;
      const auto running = options.steps_are_cheap ? running_dim(statement, *prefix) : std::nullopt;
      if (running)
        s += repeat(s, *prefix, *running);
      else if (pays(statement, *prefix))
        s += split(s, *prefix);
    }
    return std::move(model_);
  }

 private:
  Kernel& kernel() { return model_.kernel; }

  /// Each step is a pass through memory, on some machines a launch too: elements read and written are to halve.
  bool pays(const Computation& statement, const Prefix& prefix) {
    const auto size = static_cast<double>(element_count(kernel().tensors[statement.reads[0].tensor.index()]));
    const double results = point_count(statement) / static_cast<double>(std::max<std::int64_t>(prefix.n, 1));
    double with = 0;
    std::int64_t left = prefix.n;
    for (; left > terms; left = ceil_div(left, terms)) with += (terms + 1) * size;
    with += results * static_cast<double>(left + 1);
    return 2 * with <= results * static_cast<double>(prefix.n + 1);
  }

  /// The dim along which results are running totals of rows of at least `least_row` elements: the write has it and the
  /// others each alone on an axis, and the axes behind it are the row.
  std::optional<std::size_t> running_dim(const Computation& statement, const Prefix& prefix) {
    const auto& dims = statement.domain.dims;
    const Tensor& tensor = kernel().tensors[statement.write.tensor.index()];
    std::optional<std::size_t> axis;
    for (std::size_t a = 0; a < tensor.shape.size(); ++a) {
      const auto dim = statement.write.index[a].as_dim();
      if (!dim || statement.domain.find(*dim) < 0 || is_written_twice(statement)) return std::nullopt;
      const Dim& d = dims[static_cast<std::size_t>(statement.domain.find(*dim))];
      if (d.extent != tensor.shape[a]) return std::nullopt;
      if ((prefix.rest - AffineExpr::dim(*dim)).is_constant()) axis = a;
    }
    if (!axis || dims.size() != tensor.shape.size() + 1 || std::abs(prefix.step) != 1 || tensor.shape[*axis] < 2)
      return std::nullopt;
    const std::string name = *statement.write.index[*axis].as_dim();
    // The first result has one term: those after it add one each.
    const std::int64_t offset = (prefix.rest - AffineExpr::dim(name)).constant();
    const std::int64_t size = kernel().tensors[statement.reads[0].tensor.index()].shape[prefix.axis];
    const bool one_term = prefix.step < 0 ? offset <= 0 : tensor.shape[*axis] - 1 + offset >= size - 1;
    if (!one_term) return std::nullopt;
    for (std::size_t a = 0; a < statement.reads[0].index.size(); ++a)
      if (a != prefix.axis && statement.reads[0].index[a].names().contains(name)) return std::nullopt;
    std::int64_t row = 1;
    for (std::size_t a = *axis + 1; a < tensor.shape.size(); ++a) row *= tensor.shape[a];
    return row >= least_row ? axis : std::nullopt;
  }

  bool is_written_twice(const Computation& statement) {
    return std::count_if(kernel().statements.begin(), kernel().statements.end(),
                         [&](const Computation& other) { return other.write.tensor == statement.write.tensor; }) > 1;
  }

  /// `Y[0,j] = X[c,j]`, then in steps `Y[i + 1,j] = Y[i,j] + X[i + 1 + c,j]`; from the other end where t counts
  /// upwards.
  std::size_t repeat(std::size_t s, const Prefix& prefix, std::size_t axis) {
    Computation& total = kernel().statements[s];
    const std::string name = *total.write.index[axis].as_dim();
    const std::int64_t steps = kernel().tensors[total.write.tensor.index()].shape[axis] - 1;
    const bool upwards = prefix.step > 0;
    total.domain.dims.erase(total.domain.dims.begin() + prefix.dim);
    total.reads[0].index[prefix.axis] = prefix.rest;
    total.reads[0].outside = *outside_of(total.reads[0], kernel().tensors);
    const BinaryOp op = operator_of(total.reduction);
    total.reduction = Reduction::assign;
    Computation first = total;
    first.name = unused_name(names_, total.name + "_first");
    const auto erased = first.domain.find(name);
    first.domain.dims.erase(first.domain.dims.begin() + erased);
    first.write.index[axis] = AffineExpr(upwards ? steps : 0);
    first.reads[0].index[prefix.axis] = substitute(prefix.rest, {{name, AffineExpr(upwards ? steps : 0)}});
    const AffineExpr next = AffineExpr::dim(name) + AffineExpr(1);
    Access before = total.write;
    (upwards ? before : total.write).index[axis] = next;
    if (!upwards) total.reads[0].index[prefix.axis] = substitute(prefix.rest, {{name, next}});
    total.domain.dims[static_cast<std::size_t>(total.domain.find(name))].extent = steps;
    total.body = binary(op, read(0, total.body.type), read(1, total.body.type));
    total.reads.insert(total.reads.begin(), before);
    insert(s, std::move(first));
    const auto behind = std::find_if(kernel().repeats.begin(), kernel().repeats.end(),
                                     [&](const Repeat& other) { return other.first > s; });
    kernel().repeats.insert(behind, Repeat{name, steps, s + 1, 1, upwards});
    return 1;
  }

  /// The number of statements that were inserted in front.
  std::size_t split(std::size_t s, const Prefix& prefix) {
    const std::size_t first = s;
    std::int64_t span = 1;
    for (; ceil_div(prefix.n, span) > terms; span *= terms) {
      Computation step = step_of(kernel().statements[s], prefix, span);
      const TensorId to = step.write.tensor;
      insert(s++, std::move(step));
      kernel().statements[s].reads[0].tensor = to;
    }
    Computation& last = kernel().statements[s];
    last.domain.dims[static_cast<std::size_t>(prefix.dim)].extent = ceil_div(prefix.n, span);
    last.reads[0].index[prefix.axis] = prefix.rest + prefix.step * span * AffineExpr::dim(dim_name(last, prefix));
    return s - first;
  }

  static std::string dim_name(const Computation& statement, const Prefix& prefix) {
    return statement.domain.dims[static_cast<std::size_t>(prefix.dim)].name;
  }

  /// `A[i0,i1] += X[i0,i1 - span*t]`, t < 4, into a new tensor of the shape of X.
  Computation step_of(const Computation& of, const Prefix& prefix, std::int64_t span) {
    const Access& before = of.reads[0];
    Tensor made = kernel().tensors[before.tensor.index()];
    made.name = unused_name(names_, kernel().tensors[of.write.tensor.index()].name + "_up_to");
    made.constant = made.inout = made.output = false;
    made.strides = {};
    made.range = {};
    made.outside = *outside_of(before, kernel().tensors);
    Computation step;
    step.name = unused_name(names_, of.name + "_up_to");
    step.reduction = of.reduction;
    step.body = of.body;
    step.reads = {before};
    step.reads[0].outside = made.outside;
    for (std::size_t d = 0; d < made.shape.size(); ++d) {
      step.domain.dims.push_back({"i" + std::to_string(d), made.shape[d], DimKind::parallel});
      step.write.index.push_back(AffineExpr::dim(step.domain.dims.back().name));
      step.reads[0].index[d] = step.write.index.back();
    }
    step.domain.dims.push_back({"t", terms, DimKind::reduction});
    step.reads[0].index[prefix.axis] = step.reads[0].index[prefix.axis] + prefix.step * span * AffineExpr::dim("t");
    step.write.tensor = make_id<TensorId>(kernel().tensors.size());
    kernel().tensors.push_back(std::move(made));
    return step;
  }

  void insert(std::size_t s, Computation statement) {
    const auto at = static_cast<std::ptrdiff_t>(s);
    kernel().statements.insert(kernel().statements.begin() + at, std::move(statement));
    model_.origins.insert(model_.origins.begin() + at, Origin(model_.origins[s]));
    for (Repeat& repeat : kernel().repeats)
      if (repeat.first >= s) ++repeat.first;
  }

  Model model_;
  std::set<std::string> names_;  ///< of tensors and statements
};

}  // namespace

Model prefix_reductions(Model model, const PrefixOptions& options) { return Steps(std::move(model)).run(options); }

}  // namespace isamap
