// SPDX-License-Identifier: Apache-2.0
#include "ir/scatter.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>

#include "ir/scalar/scalar_functions.h"
#include "isamap/interpret.h"

namespace isamap {
namespace {

constexpr double most_visited = 1 << 22;  ///< points of a scatter

/// The common form of element statements and statements.
struct ReducedTerm {
  Reduction reduction = Reduction::assign;
  const ScalarExpr* body = nullptr;
  std::vector<AffineExpr> write;               ///< subscripts
  std::vector<std::vector<AffineExpr>> reads;  ///< by operand: subscripts, in which `at$n` is operand n
  std::vector<const AffineExpr*> values;       ///< by operand; null: it is no value of loops
  std::vector<NamedExtent> loops;
  bool from_zero = false;  ///< no element is -0.0
};

bool is_neutral(const ScalarExpr& e, const ReducedTerm& of) {
  const auto* number = std::get_if<Constant>(&e.op);
  if (number == nullptr || number->value != as_double(e.type, identity(of.reduction, e.type))) return false;
  return of.reduction != Reduction::add || !is_float(e.type) || of.from_zero || std::signbit(number->value);
}

bool is_counter(DType type) { return type == DType::s32 || type == DType::s64; }

/// The operand below casts that keep all values of 32 bits.
const Read* read_below(const ScalarExpr& e) {
  if (const auto* read = std::get_if<Read>(&e.op)) return read;
  return std::holds_alternative<Cast>(e.op) && is_counter(e.type) ? read_below(e.args[0]) : nullptr;
}

/// Operands that the value needs, in order.
std::vector<int> operands_of(const ScalarExpr& e, const ReducedTerm& of) {
  std::set<int> found;
  const std::function<void(int)> add = [&](int number) {
    if (!found.insert(number).second) return;
    for (const AffineExpr& index : of.reads[static_cast<std::size_t>(number)])
      for (const std::string& name : index.names())
        if (const auto by = computed_read(name)) add(*by);
  };
  for (const int number : reads_of(e)) add(number);
  return {found.begin(), found.end()};
}

/// Does the subscript have another value at each point of the loops that it uses? Each step of one is farther than all
/// steps of those with shorter ones.
bool is_injective(const AffineExpr& subscript, const std::vector<NamedExtent>& loops) {
  std::vector<std::pair<std::int64_t, std::int64_t>> steps;
  for (const auto& [name, extent] : loops)
    if (const std::int64_t step = std::abs(subscript.coefficient(name)); step > 0) steps.emplace_back(step, extent);
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;
  for (std::size_t n = 0; n < steps.size(); ++n) {
    const auto& [step, extent] = steps[n];
    if (step <= reach || (extent < 0 && n + 1 < steps.size())) return false;
    reach += step * (extent - 1);
  }
  return subscript.is_linear();
}

/// Is it a term of one subscript of the write, so that each of its values has elements of its own?
bool tells_elements_apart(const ReducedTerm& of, const std::string& name) {
  return std::any_of(of.write.begin(), of.write.end(),
                     [&](const AffineExpr& e) { return e.coefficient(name) != 0 && is_injective(e, of.loops); });
}

/// Digits of `value` from the weight 1 on: each weight is the product of the extents behind it.
std::vector<NamedExtent> digits_of(const AffineExpr& value, const ReducedTerm& of, const std::set<std::string>& fixed) {
  std::vector<NamedExtent> digits;
  std::int64_t weight = 1;
  while (weight > 0) {
    const auto next = std::find_if(of.loops.begin(), of.loops.end(), [&](const NamedExtent& loop) {
      return value.coefficient(loop.first) == weight && !fixed.contains(loop.first) &&
             tells_elements_apart(of, loop.first) && std::find(digits.begin(), digits.end(), loop) == digits.end();
    });
    if (next == of.loops.end()) break;
    digits.insert(digits.begin(), *next);
    weight = next->second < 0 ? 0 : weight * next->second;
  }
  return digits;
}

/// `test` is `place == value`.
std::optional<Scatter> solved(const ReducedTerm& of, const ScalarExpr& place, const ScalarExpr& value) {
  const Read* number = read_below(value);
  if (number == nullptr || !is_counter(place.type)) return std::nullopt;
  const AffineExpr* e = of.values[static_cast<std::size_t>(number->access)];
  if (e == nullptr) return std::nullopt;
  Scatter found{place, operands_of(place, of), *e, {}, of.body->args[1], {}};
  for (const int operand : found.operands)
    for (const AffineExpr& index : of.reads[static_cast<std::size_t>(operand)]) found.fixed.merge(index.names());
  found.digits = digits_of(*e, of, found.fixed);
  for (std::size_t d = 0; d < found.digits.size(); ++d)
    found.offset += AffineExpr::dim(found.digits[d].first) * -found.weight(d);
  auto left = found.offset.names();  // below a division
  if (found.digits.empty() || std::any_of(found.digits.begin(), found.digits.end(),
                                          [&](const NamedExtent& digit) { return left.contains(digit.first); }))
    return std::nullopt;
  found.fixed.merge(left);
  return found;
}

std::optional<Scatter> scatter_of(const ReducedTerm& of) {
  if (of.reduction == Reduction::assign || of.reduction == Reduction::saturating_add ||
      !std::holds_alternative<Select>(of.body->op) || !is_neutral(of.body->args[2], of))
    return std::nullopt;
  const ScalarExpr& test = of.body->args[0];
  const auto* compared = std::get_if<Binary>(&test.op);
  if (compared == nullptr || compared->op != BinaryOp::equal) return std::nullopt;
  auto found = solved(of, test.args[0], test.args[1]);
  return found ? found : solved(of, test.args[1], test.args[0]);
}

/// `index`, `values`: of the computation, or over symbolic sizes.
std::optional<Scatter> scatter_of(const Computation& statement, const std::vector<std::vector<AffineExpr>>& index,
                                  const std::vector<AffineExpr>& values, std::vector<NamedExtent> dims,
                                  bool from_zero) {
  if (!statement.domain.faces.empty()) return std::nullopt;
  ReducedTerm of{statement.reduction, &statement.body, index[0], {}, {}, std::move(dims), from_zero};
  for (std::size_t r = 0; r < statement.reads.size(); ++r) {
    of.reads.push_back(index[r + 1]);
    if (const auto& computed = statement.reads[r].computed)
      of.reads.back()[static_cast<std::size_t>(computed->axis)] = AffineExpr::dim(computed_name(computed->read));
  }
  of.values.resize(statement.reads.size(), nullptr);
  for (const AffineExpr& value : values) {
    of.reads.push_back({value});
    of.values.push_back(&value);
  }
  return scatter_of(of);
}

}  // namespace

bool Scatter::has(const std::string& name) const {
  return std::any_of(digits.begin(), digits.end(), [&](const NamedExtent& digit) { return digit.first == name; });
}

std::int64_t Scatter::weight(std::size_t digit) const {
  std::int64_t product = 1;
  for (std::size_t d = digit + 1; d < digits.size(); ++d) product *= digits[d].second;
  return product;
}

bool begins_with_zero(const Kernel& kernel, TensorId tensor) {
  return !kernel.tensors[tensor.index()].inout &&
         std::count_if(kernel.statements.begin(), kernel.statements.end(),
                       [&](const Computation& s) { return s.write.tensor == tensor; }) == 1;
}

std::optional<Scatter> scatter_of(const Element& element, const std::vector<NamedExtent>& loops,
                                  const Program& program) {
  ReducedTerm of{element.reduction, &element.body, element.write.index, {}, {}, loops};
  const TensorId written = program.buffers[element.write.buffer.index()].tensor;
  of.from_zero = written.valid() && begins_with_zero(program.kernel, written);
  for (const Ref& read : element.reads) {
    of.reads.push_back(read.index);
    of.values.push_back(read.buffer.valid() || read.index.empty() ? nullptr : &read.index[0]);
  }
  return scatter_of(of);
}

std::optional<Scatter> scatter_of(const Computation& statement, bool from_zero) {
  if (statement.values.empty()) return std::nullopt;
  std::vector<std::vector<AffineExpr>> index;
  for (int a = 0; a < access_count(statement); ++a) index.push_back(access_of(statement, a).index);
  std::vector<NamedExtent> dims;
  for (const Dim& dim : statement.domain.dims) dims.emplace_back(dim.name, dim.extent);
  return scatter_of(statement, index, statement.values, std::move(dims), from_zero);
}

std::optional<Scatter> scatter_of(const SymbolicKernel& kernel, std::size_t s) {
  const Computation& sample = kernel.sample.statements[s];
  const SymbolicStatement& symbolic = kernel.statements[s];
  std::vector<NamedExtent> dims;
  for (std::size_t d = 0; d < sample.domain.dims.size(); ++d)
    dims.emplace_back(symbolic_dim(sample.domain.dims[d].name),
                      symbolic.extents[d].is_constant() ? symbolic.extents[d].constant() : -1);
  return scatter_of(sample, symbolic.index, symbolic.values, std::move(dims),
                    begins_with_zero(kernel.sample, sample.write.tensor));
}

ScatterPlace::ScatterPlace(const Scatter& scatter, const Computation& statement)
    : offset_(scatter.offset, dim_names(statement)) {
  for (std::size_t d = 0; d < scatter.digits.size(); ++d) {
    const auto& [name, extent] = scatter.digits[d];
    digits_.push_back({static_cast<std::size_t>(statement.domain.find(name)), scatter.weight(d), extent});
    count_ *= extent;
  }
}

bool ScatterPlace::has(std::size_t dim) const {
  return std::any_of(digits_.begin(), digits_.end(), [&](const Digit& digit) { return digit.dim == dim; });
}

bool ScatterPlace::go_to(std::int64_t place, std::vector<std::int64_t>& point) const {
  const std::int64_t at = wrapping::sub(place, offset_(point.data()));
  if (at < 0 || at >= count_) return false;
  for (const auto& [dim, weight, extent] : digits_) point[dim] = at / weight % extent;
  return true;
}

void ScatterPlace::leave(std::vector<std::int64_t>& point) const {
  for (const Digit& digit : digits_) point[digit.dim] = 0;
}

std::optional<Scatter> large_scatter(const Computation& statement, bool from_zero) {
  return point_count(statement) > most_visited ? scatter_of(statement, from_zero) : std::nullopt;
}

double visited_points(const Kernel& kernel) {
  double sum = 0;
  for (const Computation& statement : kernel.statements) {
    double points = point_count(statement);
    if (const auto scatter = large_scatter(statement, begins_with_zero(kernel, statement.write.tensor)))
      for (const NamedExtent& digit : scatter->digits) points /= static_cast<double>(digit.second);
    sum += points;
  }
  return sum;
}

}  // namespace isamap
