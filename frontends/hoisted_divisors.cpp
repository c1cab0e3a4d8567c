// SPDX-License-Identifier: Apache-2.0
#include "frontends/hoisted_divisors.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "frontends/dropped_statements.h"
#include "frontends/linear_bodies.h"
#include "frontends/unused_name.h"

namespace isamap {
namespace {

double points_of(const std::vector<Dim>& dims) {
  double points = 1;
  for (const Dim& dim : dims) points *= static_cast<double>(dim.extent);
  return points;
}

bool is_division(const ScalarExpr& e) {
  const auto* op = std::get_if<Binary>(&e.op);
  return op != nullptr && op->op == BinaryOp::div && (e.type == DType::f32 || e.type == DType::f64);
}

/// `e` with a product by `factor` in place of each division by `divisor`.
ScalarExpr multiplied(ScalarExpr e, const ScalarExpr& divisor, const ScalarExpr& factor) {
  for (ScalarExpr& arg : e.args) arg = multiplied(std::move(arg), divisor, factor);
  if (!is_division(e) || !(e.args[1] == divisor)) return e;
  e.op = Binary{BinaryOp::mul};
  e.args[1] = factor;
  return e;
}

/// Does the body round to whole numbers, or choose by a comparison? One unit in the last place would show.
bool is_a_step(const ScalarExpr& e) {
  if (const auto* op = std::get_if<Unary>(&e.op); op != nullptr && op->op >= UnaryOp::round && op->op <= UnaryOp::sign)
    return true;
  if (const auto* op = std::get_if<Binary>(&e.op); op != nullptr && op->op >= BinaryOp::mod) return true;
  if (std::holds_alternative<Cast>(e.op) && !is_float(e.type)) return true;
  return std::any_of(e.args.begin(), e.args.end(), is_a_step);
}

class Hoisting {
 public:
  Hoisting(Model model, const CyclesOfCall& cycles_of, double least_points)
      : model_(std::move(model)), cycles_of_(cycles_of), least_points_(least_points) {
    for (const Tensor& tensor : kernel().tensors) names_.insert(tensor.name);
    for (const Computation& statement : kernel().statements) names_.insert(statement.name);
  }

  Model run() {
    for (std::size_t s = 0; s < kernel().statements.size(); ++s) {
      const Computation& statement = kernel().statements[s];
      if (repeat_of(kernel(), s) != nullptr || statement.reduction != Reduction::assign || is_irregular(statement) ||
          !statement.domain.faces.empty() || leads_to_a_step(statement))
        continue;
      s += multiply_all(s);
    }
    drop_statements(model_, std::vector<bool>(kernel().statements.size(), false));  // weights that are numbers now
    return std::move(model_);
  }

 private:
  Kernel& kernel() { return model_.kernel; }

  /// In its own body, or in one that reads what it writes: quantised values are the same to the last bit.
  bool leads_to_a_step(const Computation& statement) {
    if (is_a_step(statement.body)) return true;
    return std::any_of(kernel().statements.begin(), kernel().statements.end(), [&](const Computation& other) {
      return is_a_step(other.body) && std::any_of(other.reads.begin(), other.reads.end(), [&](const Access& read) {
               return read.tensor == statement.write.tensor;
             });
    });
  }

  static std::vector<ScalarExpr> divisors_of(const Computation& statement) {
    std::vector<ScalarExpr> found;
    const auto visit = [&](const ScalarExpr& e, const auto& again) -> void {
      if (is_division(e) && std::find(found.begin(), found.end(), e.args[1]) == found.end()) found.push_back(e.args[1]);
      for (const ScalarExpr& arg : e.args) again(arg, again);
    };
    visit(statement.body, visit);
    return found;
  }

  bool is_faster(const Computation& product, const Computation& quotient) {
    const auto with = cycles_of_(product, kernel().tensors), without = cycles_of_(quotient, kernel().tensors);
    return with && without && *with < *without;
  }

  /// Are all its reads weights? What is computed from them is not computed in every run.
  bool is_constant(const Computation& of, const ScalarExpr& e) {
    const std::vector<int> reads = reads_of(e);
    return std::all_of(reads.begin(), reads.end(), [&](int r) {
      return kernel().tensors[of.reads[static_cast<std::size_t>(r)].tensor.index()].constant;
    });
  }

  /// Of a number, or a weight of one element whose value is known.
  std::optional<double> value_of(const Computation& of, const ScalarExpr& divisor) {
    if (const auto* number = std::get_if<Constant>(&divisor.op)) return number->value;
    const auto* read = std::get_if<Read>(&divisor.op);
    if (read == nullptr) return std::nullopt;
    const TensorId id = of.reads[static_cast<std::size_t>(read->access)].tensor;
    for (const Weight& weight : model_.weights)
      if (weight.tensor == id && weight.values && !weight.drawn && element_count(kernel().tensors[id.index()]) == 1)
        return weight.values->get(0).real;
    return std::nullopt;
  }

  /// The number of statements that were inserted in front.
  std::size_t multiply_all(std::size_t s) {
    const std::size_t before = kernel().statements.size();
    for (bool changed = true; changed;) {  // a change numbers the reads anew, those of divisors too
      changed = false;
      for (const ScalarExpr& divisor : divisors_of(kernel().statements[s + kernel().statements.size() - before]))
        if (changed = multiply(s + kernel().statements.size() - before, divisor); changed) break;
    }
    return kernel().statements.size() - before;
  }

  /// False: the statement stays.
  bool multiply(std::size_t s, const ScalarExpr& divisor) {
    const Computation& of = kernel().statements[s];
    if (const auto value = value_of(of, divisor)) {
      const double inverse = 1 / *value;
      Computation product = of;
      product.body = multiplied(of.body, divisor, linear::number(inverse, divisor.type));
      const double least = divisor.type == DType::f32 ? 0x1p-126 : 0x1p-1022;
      if (std::abs(inverse) < least || !std::isfinite(inverse) || !is_faster(product, of)) return false;
      kernel().statements[s] = linear::with_numbers(product, {});
      return true;
    }
    const std::vector<Dim> dims = linear::dims_of(of, divisor);
    if (is_constant(of, divisor) || points_of(of.domain.dims) < least_points_ * points_of(dims)) return false;
    return insert_reciprocal(s, divisor, dims);
  }

  bool insert_reciprocal(std::size_t s, const ScalarExpr& divisor, const std::vector<Dim>& dims) {
    const Computation& of = kernel().statements[s];
    ScalarExpr body = divisor;
    body.op = Binary{BinaryOp::div};
    body.args = {linear::number(1, divisor.type), divisor};
    Computation reciprocal = linear::statement_over(of, body, dims);
    Tensor tensor{unused_name(names_, kernel().tensors[of.write.tensor.index()].name + "_R"), {}, divisor.type};
    for (const Dim& dim : dims) tensor.shape.push_back(dim.extent);
    reciprocal.name = unused_name(names_, of.name + "_reciprocal");
    reciprocal.write.tensor = make_id<TensorId>(kernel().tensors.size());
    const ScalarExpr marker = body;  // a part that no other is equal to
    Computation product = of;
    product.body = multiplied(of.body, divisor, marker);
    product = linear::with_part(product, marker, reciprocal.write);
    kernel().tensors.push_back(std::move(tensor));
    if (!is_faster(product, of)) {
      kernel().tensors.pop_back();
      return false;
    }
    kernel().statements[s] = std::move(product);
    const auto at = static_cast<std::ptrdiff_t>(s);
    kernel().statements.insert(kernel().statements.begin() + at, std::move(reciprocal));
    model_.origins.insert(model_.origins.begin() + at, Origin(model_.origins[s]));
    for (Repeat& repeat : kernel().repeats)
      if (repeat.first > s) ++repeat.first;
    return true;
  }

  Model model_;
  const CyclesOfCall& cycles_of_;
  const double least_points_;
  std::set<std::string> names_;  ///< of tensors and statements
};

}  // namespace

Model hoisted_divisors(Model model, const CyclesOfCall& cycles_of, double least_points) {
  return Hoisting(std::move(model), cycles_of, least_points).run();
}

}  // namespace isamap
