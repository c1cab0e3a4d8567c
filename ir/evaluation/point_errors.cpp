// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluation/point_errors.h"

#include <algorithm>
#include <cmath>

#include "ir/scalar/scalar_functions.h"
#include "ir/scatter.h"
#include "support/overloaded.h"
#include "support/stop.h"

namespace isamap {
namespace {

// From the spacing of the format above 1 and above 0.
Rounding rounding_of(DType type) {
  if (!is_float(type)) return {};
  const DTypeFormat& f = format_of(type);
  return {std::ldexp(1.0, -f.precision), std::ldexp(1.0, f.emin - f.precision + 1)};
}

void collect(const ScalarExpr& e, Rounding& worst) {
  const bool exact = e.args.empty() || (std::holds_alternative<Cast>(e.op) && widens(e.args[0].type, e.type));
  if (!exact) {
    const Rounding mine = rounding_of(e.type);
    worst = {std::max(worst.unit, mine.unit), std::max(worst.smallest, mine.smallest)};
  }
  for (const ScalarExpr& arg : e.args) collect(arg, worst);
}

// Units of the roundings in which two results differ.
double slack(Accuracy accuracy) { return accuracy == Accuracy::exact ? 0 : accuracy == Accuracy::rounded ? 1 : 4; }

class PointErrors {
 public:
  PointErrors(const Computation& s, const std::vector<Tensor>& tensors, const std::vector<TensorData>& data,
              const std::vector<std::vector<double>>& errors)
      : s_(s), tensors_(tensors), data_(data), errors_(errors), point_(s.domain.dims.size(), 0) {
    for (const Dim& dim : s.domain.dims) names_.push_back(dim.name);
    for (const AffineExpr& face : s.domain.faces) faces_.emplace_back(face, names_);
    write_ = compiled(s.write);
    for (const Access& read : s.reads) reads_.push_back(compiled(read));
    for (const AffineExpr& value : s.values) values_.emplace_back(value, names_);
    scatter_ = large_scatter(s);
    if (scatter_ && has_exact_places()) digits_.emplace(*scatter_, s);
  }

  std::vector<double> run() {
    const auto count = static_cast<std::size_t>(data_[s_.write.tensor.index()].count());
    sums_.resize(count);
    const bool is_empty =
        std::any_of(s_.domain.dims.begin(), s_.domain.dims.end(), [](const Dim& d) { return d.extent == 0; });
    if (!is_empty) {
      std::int64_t visited = 0;
      do {
        digits_ ? hit() : visit();
        if (++visited % 4096 == 0) leave_if_asked();
      } while (next());
    }
    std::vector<double> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = total(i);
    return result;
  }

 private:
  struct Place {
    std::size_t tensor = 0;
    std::vector<CompiledAffine> index;
    double outside = 0;
    std::optional<ComputedIndex> computed = {};
  };
  struct Sum {
    double magnitude = 0, error = 0, relative = 0, terms = 0;
  };

  Place compiled(const Access& access) const {
    Place place{access.tensor.index(), {}, outside_of(access, tensors_).value_or(0), access.computed};
    for (const AffineExpr& e : access.index) place.index.emplace_back(e, names_);
    return place;
  }

  bool next() {
    for (std::size_t d = point_.size(); d-- > 0;) {
      if (digits_ && digits_->has(d)) continue;
      if (++point_[d] < s_.domain.dims[d].extent) return true;
      point_[d] = 0;
    }
    return false;
  }

  // -1: outside of the tensor.
  std::int64_t position(const Place& place) const {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < place.index.size(); ++d) {
      const std::int64_t extent = tensors_[place.tensor].shape[d];
      std::int64_t i = place.index[d](point_.data());
      if (place.computed && place.computed->axis == static_cast<int>(d)) i = computed(*place.computed, extent);
      if (i < 0 || i >= extent) return -1;
      position = position * extent + i;
    }
    return position;
  }

  std::int64_t computed(const ComputedIndex& index, std::int64_t extent) const {
    const Place& from = reads_[static_cast<std::size_t>(index.read)];
    const std::int64_t at = position(from);
    const std::int64_t value = at < 0 ? static_cast<std::int64_t>(from.outside) : data_[from.tensor].get(at).integer;
    return std::clamp<std::int64_t>(value, 0, extent - 1);
  }

  bool has_exact_places() const {
    return std::all_of(scatter_->operands.begin(), scatter_->operands.end(), [&](int operand) {
      const auto o = static_cast<std::size_t>(operand);
      return o >= reads_.size() || errors_[reads_[o].tensor].empty();
    });
  }

  // Terms elsewhere are combined without an error.
  void hit() {
    if (digits_->go_to(integer_of(estimate(scatter_->place), scatter_->place.type), point_)) visit();
    digits_->leave(point_);
  }

  void visit() {
    for (const CompiledAffine& face : faces_) {
      if (face(point_.data()) < 0) return;
    }
    const Estimate term = estimate(s_.body);
    Sum& sum = sums_[static_cast<std::size_t>(position(write_))];
    sum.magnitude += std::fabs(term.value) + term.error;
    const bool adds = s_.reduction == Reduction::add;
    sum.error = adds ? sum.error + term.error : std::max(sum.error, term.error);
    sum.relative += term.error == 0 ? 0 : term.error / std::fabs(term.value);
    sum.terms += 1;
  }

  double total(std::size_t i) const {
    const Sum& sum = sums_[i];
    const Rounding rounding = rounding_of(tensors_[s_.write.tensor.index()].dtype);
    const std::size_t out = s_.write.tensor.index();
    const double before = errors_[out].empty() ? 0 : errors_[out][i];
    const Scalar final_value = data_[out].get(static_cast<std::int64_t>(i));
    switch (s_.reduction) {
      case Reduction::assign:
      case Reduction::saturating_add:  // of integers
        return sum.error;
      case Reduction::max:
      case Reduction::min:
        return std::max(sum.error, before);
      case Reduction::add:
        return sum.error + before +
               2 * (sum.terms + 1) *
                   (rounding.unit * (sum.magnitude + std::fabs(final_value.real)) + rounding.smallest);
      case Reduction::mul:
        return before + (std::fabs(final_value.real) + rounding.smallest) *
                            std::expm1(sum.relative + 2 * (sum.terms + 1) * rounding.unit);
    }
    return INFINITY;
  }

  Estimate operand(std::size_t number) const {
    if (number < reads_.size()) return read(reads_[number]);
    return {static_cast<double>(values_[number - reads_.size()](point_.data())), 0};
  }

  Estimate read(const Place& place) const {
    const Tensor& tensor = tensors_[place.tensor];
    const std::int64_t at = position(place);
    if (at < 0) return {place.outside, 0};
    const Scalar value = data_[place.tensor].get(at);
    const std::vector<double>& error = errors_[place.tensor];
    return {as_double(tensor.dtype, value), error.empty() ? 0 : error[static_cast<std::size_t>(at)]};
  }

  // Both results round: twice the unit.
  static Estimate rounded(DType type, double value, double error, double units) {
    const Rounding rounding = rounding_of(type);
    if (std::isnan(error)) error = INFINITY;
    if (units == 0) return {value, error};  // of an infinite value too
    return {value, error + 2 * units * (rounding.unit * (std::fabs(value) + error) + rounding.smallest)};
  }

  static std::int64_t integer_of(const Estimate& a, DType type) {
    const DType held = is_wide_unsigned(type) ? type : DType::s64;
    return convert({a.value, 0}, DType::f64, held, true).integer;
  }
  static double wrapped(DType type, std::int64_t value) { return as_double(type, {0, wrap_to(type, value)}); }

  Estimate cast(const ScalarExpr& e, const Estimate& a) const {
    const DType from = e.args[0].type;
    if (widens(from, e.type)) return a;
    Scalar in;
    in.real = a.value;
    in.integer = is_float(from) ? 0 : integer_of(a, from);
    const Scalar out = convert(in, from, e.type, std::get<Cast>(e.op).saturate);
    if (is_float(e.type)) return rounded(e.type, out.real, a.error, 1);
    if (is_truth(e.type))
      return {static_cast<double>(out.integer), a.error == 0 || std::fabs(a.value) > a.error ? 0.0 : 1.0};
    return {as_double(e.type, out), a.error == 0 ? 0 : std::floor(a.error) + 1};
  }

  Estimate select(const ScalarExpr& e) const {
    const Estimate condition = estimate(e.args[0]);
    const Estimate yes = estimate(e.args[1]);
    const Estimate no = estimate(e.args[2]);
    const Estimate chosen = condition.value != 0 ? yes : no;
    const bool certain = condition.error == 0 || std::fabs(condition.value) > condition.error;
    return certain ? chosen : Estimate{chosen.value, std::fabs(yes.value - no.value) + yes.error + no.error};
  }

  Estimate estimate(const ScalarExpr& e) const {
    return std::visit(
        overloaded{[&](const Constant& c) {
                     return Estimate{c.value, 0};
                   },
                   [&](const Read& r) { return operand(static_cast<std::size_t>(r.access)); },
                   [&](const Unary& u) {
                     const Estimate a = estimate(e.args[0]);
                     const UnaryFunction& f = function_of(u.op);
                     const DType type = e.args[0].type;
                     const double value = is_float(type)
                                              ? f.real(a.value)
                                              : wrapped(e.type, apply_integer(u.op, type, integer_of(a, type)));
                     return rounded(e.type, value, propagated(f, a), slack(f.common.accuracy));
                   },
                   [&](const Binary& b) {
                     const Estimate x = estimate(e.args[0]);
                     const Estimate y = estimate(e.args[1]);
                     const BinaryFunction& f = function_of(b.op);
                     const DType type = e.args[0].type;
                     const double value =
                         is_float(type)
                             ? f.real(x.value, y.value)
                             : wrapped(e.type, apply_integer(b.op, type, integer_of(x, type), integer_of(y, type)));
                     return rounded(e.type, value, propagated(f, x, y, value), slack(f.common.accuracy));
                   },
                   [&](const Select&) { return select(e); }, [&](const Cast&) { return cast(e, estimate(e.args[0])); }},
        e.op);
  }

  const Computation& s_;
  const std::vector<Tensor>& tensors_;
  const std::vector<TensorData>& data_;
  const std::vector<std::vector<double>>& errors_;
  std::vector<std::int64_t> point_;
  std::vector<std::string> names_;
  std::vector<CompiledAffine> faces_;
  Place write_;
  std::vector<CompiledAffine> values_;
  std::vector<Place> reads_;
  std::vector<Sum> sums_;
  std::optional<Scatter> scatter_;
  std::optional<ScatterPlace> digits_;  ///< of a large one
};

}  // namespace

Rounding coarsest(const ScalarExpr& body, DType output) {
  Rounding worst = rounding_of(output);
  collect(body, worst);
  return worst;
}

std::vector<double> point_errors(const Computation& statement, const std::vector<Tensor>& tensors,
                                 const std::vector<TensorData>& data, const std::vector<std::vector<double>>& errors) {
  return PointErrors(statement, tensors, data, errors).run();
}

}  // namespace isamap
