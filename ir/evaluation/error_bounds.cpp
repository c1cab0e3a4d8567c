// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluation/error_bounds.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/evaluation/point_errors.h"
#include "ir/evaluation/row_statement.h"
#include "ir/scalar/scalar_functions.h"
#include "ir/verify/recurrence.h"
#include "support/arithmetic.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

// Is |body| at most the body of absolute values, and so for its derivative?
bool is_monotone(const ScalarExpr& e) {
  const bool here = std::visit(
      overloaded{[](const Constant&) { return true; }, [](const Read&) { return true; },
                 [](const Unary& u) { return function_of(u.op).keeps_magnitude; },
                 [](const Binary& b) { return function_of(b.op).of_magnitudes.has_value(); },
                 [](const Select&) { return false; }, [&](const Cast& c) { return is_float(e.type) && !c.saturate; }},
      e.op);
  return here && std::all_of(e.args.begin(), e.args.end(), is_monotone);
}

// Sums, differences and products of integers, which round nothing: errors carry as those of magnitudes.
bool is_exact_sum_of_products(const ScalarExpr& e) {
  const auto* b = std::get_if<Binary>(&e.op);
  const bool here = std::holds_alternative<Constant>(e.op) || std::holds_alternative<Read>(e.op) ||
                    (std::holds_alternative<Cast>(e.op) && widens(e.args[0].type, e.type)) ||
                    (b != nullptr && (b->op == BinaryOp::add || b->op == BinaryOp::sub || b->op == BinaryOp::mul));
  return here && is_integer(e.type) && std::all_of(e.args.begin(), e.args.end(), is_exact_sum_of_products);
}

bool chooses(BinaryOp op) { return op == BinaryOp::max || op == BinaryOp::min; }

bool is_chosen(const Computation& s) { return s.reduction == Reduction::max || s.reduction == Reduction::min; }

bool has_choice(const ScalarExpr& e) {
  const Binary* b = std::get_if<Binary>(&e.op);
  return (b != nullptr && chooses(b->op)) || std::any_of(e.args.begin(), e.args.end(), has_choice);
}

// What a body on absolute values bounds: the value, or how far errors of the reads carry.
enum class Bounded { value, errors };

// The body on absolute values, in f64: subtraction becomes addition. The larger of two magnitudes bounds a maximum, but
// hides the error of the other operand, which may be the one that was chosen: errors carry as if the two were added.
ScalarExpr absolute(const ScalarExpr& e, Bounded what) {
  return std::visit(overloaded{[](const Constant& c) { return constant(std::fabs(c.value), DType::f64); },
                               [](const Read& r) { return read(r.access, DType::f64); },
                               [&](const Binary& b) {
                                 const BinaryOp op = what == Bounded::errors && chooses(b.op)
                                                         ? BinaryOp::add
                                                         : function_of(b.op).of_magnitudes.value_or(b.op);
                                 return binary(op, absolute(e.args[0], what), absolute(e.args[1], what));
                               },
                               [&](const auto&) { return absolute(e.args[0], what); }},
                    e.op);
}

// Roundings of one value: the sum of both factors', the maximum of two summands'.
double roundings(const ScalarExpr& e) {
  if (e.args.empty()) return 0;
  const double first = roundings(e.args[0]);
  if (e.args.size() == 1) return first + 1;
  const double second = roundings(e.args[1]);
  const Binary* b = std::get_if<Binary>(&e.op);
  return (b && b->op == BinaryOp::mul ? first + second : std::max(first, second)) + 1;
}

class Bounds {
 public:
  Bounds(const Kernel& kernel, const std::vector<TensorData>& data)
      : kernel_(kernel),
        tensors_(kernel.tensors),
        magnitudes_(data.size()),
        errors_(data.size()),
        writes_(data.size()),
        data_(data) {
    for (Tensor& tensor : tensors_) tensor.dtype = DType::f64;
  }

  /// `errors` of the reads (empty: 0).
  std::vector<std::vector<double>> run(std::vector<std::vector<double>> errors) {
    errors_ = std::move(errors);
    for (const Computation& s : kernel_.statements) {
      const std::size_t out = s.write.tensor.index();
      const bool rounds = is_float(kernel_.tensors[out].dtype);
      const bool sums = s.reduction == Reduction::add && is_exact_sum_of_products(s.body) && !is_irregular(s);
      if (rounds ? !is_monotone(s.body) || is_irregular(s) : (has_errors(s) && !sums) || approximates(s.body))
        by_points(s);
      else if (rounds || has_errors(s))
        by_magnitudes(s);
      ++writes_[out];
    }
    return errors_;
  }

 private:
  /// Computed when a statement asks for them: others of its kernel may be large.
  const Numbers& magnitudes_of(std::size_t t) {
    std::vector<double>& real = magnitudes_[t].real;
    const std::int64_t count = data_[t].count();
    if (real.empty() && count > 0) {
      real.reserve(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) real.push_back(std::fabs(as_double(data_[t].dtype, data_[t].get(i))));
    }
    return magnitudes_[t];
  }

  static std::set<std::size_t> tensors_of(const Computation& s) {
    std::set<std::size_t> all{s.write.tensor.index()};
    for (const Access& read : s.reads) all.insert(read.tensor.index());
    return all;
  }

  // An infinite value around a tensor is never the finite result of a maximum or a minimum.
  static double magnitude_outside(const Computation& s, double value) {
    return is_chosen(s) && std::isinf(value) ? 0 : std::fabs(value);
  }

  std::size_t count_of(std::size_t t) const { return static_cast<std::size_t>(data_[t].count()); }

  bool has_errors(const Computation& s) const {
    return std::any_of(s.reads.begin(), s.reads.end(),
                       [&](const Access& a) { return !errors_[a.tensor.index()].empty(); });
  }

  // An upper bound of the output's initial value: with `inout`, at most its final value plus the added terms.
  std::vector<double> start(const Computation& s) {
    const std::size_t out = s.write.tensor.index();
    if (writes_[out] > 0 || kernel_.tensors[out].inout) return magnitudes_of(out).real;
    return std::vector<double>(count_of(out), s.reduction == Reduction::mul ? 1.0 : 0.0);
  }

  std::vector<double> run_absolute(const Computation& s, bool with_errors, Bounded what = Bounded::value) {
    Computation changed = s;
    changed.body = absolute(s.body, what);
    for (Access& read : changed.reads)
      if (const auto outside = outside_of(read, kernel_.tensors)) read.outside = magnitude_outside(s, *outside);
    if (s.reduction == Reduction::min) changed.reduction = Reduction::max;
    if (changed.reduction == Reduction::max && what == Bounded::errors) changed.reduction = Reduction::add;
    std::vector<Numbers> numbers(magnitudes_.size());
    const std::size_t out = s.write.tensor.index();
    for (const std::size_t t : tensors_of(s)) {
      numbers[t].real = t == out ? start(s) : magnitudes_of(t).real;
      const bool is_fresh = t == out && writes_[out] == 0;
      for (std::size_t i = 0; with_errors && !is_fresh && i < errors_[t].size(); ++i)
        numbers[t].real[i] += errors_[t][i];
    }
    run_statement(changed, tensors_, numbers);
    return numbers[out].real;
  }

  // How far errors of the reads carry: of the largest or smallest read, the largest error. `exact` and `wide` bound the
  // value without and with them; where nothing is chosen their difference is it, and two runs more would be the same.
  std::vector<double> carried_errors(const Computation& s, const std::vector<double>& exact,
                                     const std::vector<double>& wide) {
    const bool of_one = is_chosen(s) && std::holds_alternative<Read>(s.body.op) && writes_[s.write.tensor.index()] == 0;
    if (of_one) {
      Computation errors = s;
      errors.body = absolute(s.body, Bounded::value);
      errors.reduction = Reduction::max;
      if (errors.reads[0].outside || kernel_.tensors[s.reads[0].tensor.index()].outside) errors.reads[0].outside = 0;
      std::vector<Numbers> numbers(magnitudes_.size());
      for (const std::size_t t : tensors_of(s)) {
        numbers[t].real = errors_[t];
        numbers[t].real.resize(count_of(t));
      }
      numbers[s.write.tensor.index()].real.assign(count_of(s.write.tensor.index()), 0);
      run_statement(errors, tensors_, numbers);
      return numbers[s.write.tensor.index()].real;
    }
    const bool differs = is_chosen(s) || has_choice(s.body);
    std::vector<double> carried = differs ? run_absolute(s, true, Bounded::errors) : wide;
    const std::vector<double> without = differs ? run_absolute(s, false, Bounded::errors) : exact;
    for (std::size_t i = 0; i < carried.size(); ++i) carried[i] -= without[i];
    return carried;
  }

  void by_magnitudes(const Computation& s) {
    const std::size_t out = s.write.tensor.index();
    const bool again = writes_[out] > 0 || kernel_.tensors[out].inout;
    const bool perturbed = has_errors(s) || (writes_[out] > 0 && !errors_[out].empty());
    const std::vector<double> exact = run_absolute(s, false);
    const std::vector<double> wide = perturbed ? run_absolute(s, true) : exact;
    const std::vector<double> carried = perturbed ? carried_errors(s, exact, wide) : std::vector<double>(exact.size());
    const Rounding rounding = coarsest(s.body, kernel_.tensors[out].dtype);
    const double steps = 2 * (roundings(s.body) + terms(s) + 1) * (again ? 2 : 1);
    std::vector<double> errors(exact.size());
    for (std::size_t i = 0; i < errors.size(); ++i) {
      errors[i] = carried[i] + steps * (rounding.unit * wide[i] + rounding.smallest);
    }
    errors_[out] = std::move(errors);
    if (again) magnitudes_[out].real = exact;
  }

  void by_points(const Computation& s) {
    const std::size_t out = s.write.tensor.index();
    errors_[out] = point_errors(s, kernel_.tensors, data_, errors_);
  }

  // The most values that are reduced into one element.
  static double terms(const Computation& s) {
    if (s.reduction == Reduction::assign || is_chosen(s)) return 0;
    double count = 1;
    std::vector<std::string> alone;  // dims that are a subscript of the write on their own: one element for each value
    for (const AffineExpr& e : s.write.index) {
      if (const auto dim = e.as_dim()) alone.push_back(*dim);
    }
    for (const Dim& dim : s.domain.dims) {
      if (std::count(alone.begin(), alone.end(), dim.name) == 0) count *= static_cast<double>(dim.extent);
    }
    return count;
  }

  const Kernel& kernel_;
  std::vector<Tensor> tensors_;
  std::vector<Numbers> magnitudes_;
  std::vector<std::vector<double>> errors_;
  std::vector<int> writes_;
  const std::vector<TensorData>& data_;
};

}  // namespace

std::vector<std::vector<double>> error_bounds(const Kernel& kernel, const std::vector<TensorData>& data) {
  std::vector<std::vector<double>> errors(data.size());
  if (kernel.repeats.empty()) return Bounds(kernel, data).run(std::move(errors));
  for_each_group(kernel, [&](const Kernel& part, const std::vector<Slice>& slices, std::int64_t step) {
    std::vector<TensorData> own;
    std::vector<std::vector<double>> known(slices.size());
    std::vector<std::vector<std::int64_t>> places(slices.size());
    for (std::size_t t = 0; t < slices.size(); ++t) {
      const std::size_t whole = slices[t].whole.index();
      own.push_back(slices[t].axis < 0 ? data[whole] : make_data(part.tensors[t]));
      if (slices[t].axis < 0) known[t] = errors[whole];
      if (slices[t].axis >= 0) places[t] = positions(kernel.tensors[whole], slices[t], step);
      for (std::size_t i = 0; i < places[t].size(); ++i) {
        own[t].set(static_cast<std::int64_t>(i), data[whole].get(places[t][i]));
        if (!errors[whole].empty()) known[t].push_back(errors[whole][static_cast<std::size_t>(places[t][i])]);
      }
    }
    const auto found = Bounds(part, own).run(std::move(known));
    for (const Computation& statement : part.statements) {
      const std::size_t t = statement.write.tensor.index(), whole = slices[t].whole.index();
      if (found[t].empty()) continue;
      if (slices[t].axis < 0) errors[whole] = found[t];
      errors[whole].resize(static_cast<std::size_t>(data[whole].count()));
      for (std::size_t i = 0; i < places[t].size(); ++i)
        errors[whole][static_cast<std::size_t>(places[t][i])] = found[t][i];
    }
  });
  return errors;
}

}  // namespace isamap
