// SPDX-License-Identifier: Apache-2.0
#include "frontends/exact_scales.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "frontends/dropped_statements.h"
#include "frontends/linear_bodies.h"

namespace isamap {
namespace {

constexpr int neighbours = 8;  ///< of a rounded factor that are tried, on each side

bool is_number(const ScalarExpr& e) { return std::holds_alternative<Constant>(e.op); }

/// Only operations that keep the order of values, or turn it around, each of one operand that is no number.
bool is_monotone(const ScalarExpr& e) {
  if (std::holds_alternative<Read>(e.op)) return true;
  if (const auto* cast = std::get_if<Cast>(&e.op))
    return (cast->saturate || is_float(e.type)) && is_monotone(e.args[0]);
  if (const auto* op = std::get_if<Unary>(&e.op))
    return (op->op == UnaryOp::round || op->op == UnaryOp::floor || op->op == UnaryOp::ceil) && is_float(e.type) &&
           is_monotone(e.args[0]);
  const auto* op = std::get_if<Binary>(&e.op);
  if (op == nullptr || !is_float(e.type)) return false;
  switch (op->op) {
    case BinaryOp::add:
    case BinaryOp::mul:
    case BinaryOp::min:
    case BinaryOp::max:
      return (is_number(e.args[1]) && is_monotone(e.args[0])) || (is_number(e.args[0]) && is_monotone(e.args[1]));
    case BinaryOp::sub:
    case BinaryOp::div:
      return is_number(e.args[1]) && is_monotone(e.args[0]);
    default:
      return false;
  }
}

std::int64_t at(const ScalarExpr& body, std::int64_t sum) {
  Scalar value;
  value.integer = sum;
  return evaluate(body, &value).integer;
}

/// Between two places with the same values on both sides nothing changes.
std::optional<std::int64_t> difference_between(const ScalarExpr& one, const ScalarExpr& other, std::int64_t low,
                                               std::int64_t high) {
  const std::int64_t first = at(one, low), last = at(one, high);
  if (first != at(other, low)) return low;
  if (last != at(other, high)) return high;
  if (first == last || high - low <= 1) return std::nullopt;
  const std::int64_t middle = low + (high - low) / 2;
  if (const auto found = difference_between(one, other, low, middle)) return found;
  return difference_between(one, other, middle, high);
}

/// The body in f32, its only factor `factor`.
ScalarExpr in_f32(const ScalarExpr& e, double factor) {
  ScalarExpr made = e;
  if (made.type == DType::f64) made.type = DType::f32;
  for (ScalarExpr& arg : made.args) arg = is_number(arg) ? constant(factor, DType::f32) : in_f32(arg, factor);
  return made;
}

/// The numbers of a body.
void collect(const ScalarExpr& e, std::vector<double>& numbers) {
  if (const auto* number = std::get_if<Constant>(&e.op)) numbers.push_back(number->value);
  for (const ScalarExpr& arg : e.args) collect(arg, numbers);
}

class Scaling {
 public:
  Scaling(Model model, const ComputedByOne& computed) : model_(std::move(model)), computed_(computed) {}

  Model run() {
    for (std::size_t s = 0; s < model_.kernel.statements.size(); ++s)
      if (auto fitted = with_literals(s)) fit(s, std::move(*fitted));
    drop_statements(model_, std::vector<bool>(model_.kernel.statements.size(), false));  // weights that became numbers
    return std::move(model_);
  }

 private:
  const std::vector<Tensor>& tensors() const { return model_.kernel.tensors; }

  /// Numbers in place of all reads but one of a sum; nothing: it has others, or computes otherwise.
  std::optional<Computation> with_literals(std::size_t s) const {
    const Computation& statement = model_.kernel.statements[s];
    if (statement.reduction != Reduction::assign || is_irregular(statement) || statement.reads.size() < 2 ||
        is_float(statement.body.type))
      return std::nullopt;
    std::vector<std::pair<ScalarExpr, double>> numbers;
    for (std::size_t r = 0; r < statement.reads.size(); ++r) {
      const TensorId id = statement.reads[r].tensor;
      const DType type = tensors()[id.index()].dtype;
      if (const auto value = scalar_weight(model_, id))
        numbers.emplace_back(read(static_cast<int>(r), type), *value);
      else if (type != DType::s32)
        return std::nullopt;
    }
    if (numbers.size() + 1 != statement.reads.size()) return std::nullopt;
    Computation made = linear::with_numbers(statement, numbers);
    if (made.reads.size() != 1 || !is_monotone(made.body)) return std::nullopt;
    return made;
  }

  void fit(std::size_t s, Computation made) {
    if (computed_(made, tensors())) {
      model_.kernel.statements[s] = std::move(made);
      return;
    }
    std::vector<double> numbers;
    collect(made.body, numbers);
    if (numbers.size() != 1) return;
    const auto rounded = static_cast<float>(numbers[0]);
    Computation narrow = made;
    narrow.body = in_f32(made.body, rounded);
    if (!computed_(narrow, tensors())) return;
    const auto differs = differing_sum(made.body, narrow.body);
    for (const float to : {HUGE_VALF, -HUGE_VALF}) {
      float factor = rounded;
      for (int n = 0; n <= neighbours; ++n, factor = std::nextafter(factor, to)) {
        narrow.body = in_f32(made.body, factor);
        if (differing_sum(made.body, narrow.body)) continue;
        model_.kernel.statements[s] = std::move(narrow);
        return;
      }
    }
    model_.notes.push_back(fmt::format(
        "{}: an instruction scales in f32, the operator in f64: they differ at the sum {}", made.name, *differs));
  }

  Model model_;
  const ComputedByOne& computed_;
};

}  // namespace

std::optional<std::int64_t> differing_sum(const ScalarExpr& one, const ScalarExpr& other) {
  return difference_between(one, other, std::numeric_limits<std::int32_t>::min(),
                            std::numeric_limits<std::int32_t>::max());
}

Model exact_scales(Model model, const ComputedByOne& computed) { return Scaling(std::move(model), computed).run(); }

}  // namespace isamap
