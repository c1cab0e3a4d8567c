// SPDX-License-Identifier: Apache-2.0
#include "frontends/linear_bodies.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/compose.h"
#include "ir/verify/verify_internal.h"

namespace isamap::linear {
namespace {

/// a*x + b
struct Linear {
  ScalarExpr a, b;
};

ScalarExpr real(double value) { return number(value, DType::f64); }

ScalarExpr widened(const ScalarExpr& e) {
  if (const auto* c = std::get_if<Constant>(&e.op)) return real(c->value);
  return e.type == DType::f64 ? e : cast(DType::f64, e);
}

ScalarExpr narrowed(const ScalarExpr& e, DType type) {
  if (const auto* c = std::get_if<Constant>(&e.op)) return number(c->value, type);
  if (e.type == type) return e;
  if (std::holds_alternative<Cast>(e.op) && e.args[0].type == type) return e.args[0];
  return cast(type, e);
}

ScalarExpr computed(BinaryOp op, const ScalarExpr& x, const ScalarExpr& y) {
  const bool both = std::holds_alternative<Constant>(x.op) && std::holds_alternative<Constant>(y.op);
  if (both) return real(evaluate(binary(op, x, y), nullptr).real);
  if (op == BinaryOp::mul && is_number(x, 1)) return y;
  if ((op == BinaryOp::mul || op == BinaryOp::div) && is_number(y, 1)) return x;
  if (op == BinaryOp::mul && (is_number(x, 0) || is_number(y, 0))) return real(0);
  if (op == BinaryOp::div && is_number(x, 0)) return x;
  if (op == BinaryOp::add && is_number(x, 0)) return y;
  if ((op == BinaryOp::add || op == BinaryOp::sub) && is_number(y, 0)) return x;
  return binary(op, x, y);
}

/// Only of sums, differences, products with constants and quotients by them.
std::optional<Linear> linear_in(const ScalarExpr& e, int read, DType type) {
  const auto reads = reads_of(e);
  if (std::find(reads.begin(), reads.end(), read) == reads.end()) return Linear{real(0), widened(e)};
  if (e.type != type) return std::nullopt;
  if (std::holds_alternative<Read>(e.op)) return Linear{real(1), real(0)};
  if (const auto* op = std::get_if<Unary>(&e.op); op != nullptr && op->op == UnaryOp::negate) {
    const auto x = linear_in(e.args[0], read, type);
    if (!x) return std::nullopt;
    return Linear{computed(BinaryOp::mul, x->a, real(-1)), computed(BinaryOp::mul, x->b, real(-1))};
  }
  const auto* op = std::get_if<Binary>(&e.op);
  if (op == nullptr) return std::nullopt;
  auto x = linear_in(e.args[0], read, type), y = linear_in(e.args[1], read, type);
  if (!x || !y) return std::nullopt;
  if (op->op == BinaryOp::add || op->op == BinaryOp::sub)
    return Linear{computed(op->op, x->a, y->a), computed(op->op, x->b, y->b)};
  if (op->op == BinaryOp::mul && is_number(x->a, 0)) std::swap(x, y);
  if ((op->op != BinaryOp::mul && op->op != BinaryOp::div) || !is_number(y->a, 0)) return std::nullopt;
  return Linear{computed(op->op, x->a, y->b), computed(op->op, x->b, y->b)};
}

bool is_plain(const Computation& statement) { return statement.domain.faces.empty() && !is_irregular(statement); }

void renumber(ScalarExpr& e, const std::function<int(int)>& by) {
  if (auto* read = std::get_if<Read>(&e.op)) read->access = by(read->access);
  for (ScalarExpr& arg : e.args) renumber(arg, by);
}

/// Reads that the body has, each once, in order of first occurrence.
Computation tidied(Computation statement) {
  std::vector<Access> kept;
  std::map<int, int> numbers;
  for (const int r : reads_of(statement.body)) {
    const Access& read = statement.reads[static_cast<std::size_t>(r)];
    const auto same = std::find(kept.begin(), kept.end(), read);
    numbers[r] = static_cast<int>(same - kept.begin());
    if (same == kept.end()) kept.push_back(read);
  }
  renumber(statement.body, [&](int r) { return numbers.at(r); });
  statement.reads = std::move(kept);
  return statement;
}

ScalarExpr product_and_sum(int x, const ScalarExpr& factor, const ScalarExpr& offset, DType type) {
  ScalarExpr body = read(x, type);
  if (!is_number(factor, 1)) body = binary(BinaryOp::mul, body, narrowed(factor, type));
  if (!is_number(offset, 0)) body = binary(BinaryOp::add, body, narrowed(offset, type));
  return body;
}

/// By dim of the writer: the subscript of the reader. Nothing: it does not write every element once.
std::optional<std::map<std::string, AffineExpr>> subscripts(const Computation& writer, const Access& read,
                                                            const Tensor& tensor) {
  std::map<std::string, AffineExpr> by;
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const AffineExpr& e = writer.write.index[d];
    if (tensor.shape[d] == 1 && e == AffineExpr(0)) continue;
    const auto dim = e.as_dim();
    if (!dim || by.contains(*dim)) return std::nullopt;
    if (writer.domain.dims[static_cast<std::size_t>(writer.domain.find(*dim))].extent != tensor.shape[d])
      return std::nullopt;
    by.emplace(*dim, read.index[d]);
  }
  if (by.size() != writer.domain.dims.size()) return std::nullopt;
  return by;
}

void substitute_in(Access& access, const std::map<std::string, AffineExpr>& by, const Ranges& ranges) {
  for (AffineExpr& e : access.index) e = simplify(substitute(e, by), ranges);
}

/// Is the read a factor of the product, once?
bool is_factor(const ScalarExpr& e, int r, DType type) {
  if (const auto* leaf = std::get_if<Read>(&e.op)) return leaf->access == r && e.type == type;
  const auto* op = std::get_if<Binary>(&e.op);
  if (op == nullptr || op->op != BinaryOp::mul || e.type != type) return false;
  const auto has = [&](const ScalarExpr& arg) {
    const auto reads = reads_of(arg);
    return std::find(reads.begin(), reads.end(), r) != reads.end();
  };
  if (has(e.args[0]) && has(e.args[1])) return false;
  return is_factor(e.args[0], r, type) || is_factor(e.args[1], r, type);
}

std::int64_t extent_of(const Computation& statement, const std::string& dim) {
  return statement.domain.dims[static_cast<std::size_t>(statement.domain.find(dim))].extent;
}

/// Dims in order of the subscripts, of one subscript in order of their coefficients: an access over plain dims has them
/// in order of the axes.
std::vector<Dim> dims_in_order(const Access& access, const Computation& statement) {
  std::vector<Dim> dims;
  for (const AffineExpr& e : access.index) {
    std::vector<std::pair<std::int64_t, std::string>> names;
    for (const std::string& name : e.names()) names.emplace_back(-std::abs(e.coefficient(name)), name);
    std::sort(names.begin(), names.end());
    for (const auto& [coefficient, name] : names)
      if (std::none_of(dims.begin(), dims.end(), [&n = name](const Dim& dim) { return dim.name == n; }))
        dims.push_back({name, extent_of(statement, name), DimKind::parallel});
  }
  return dims;
}

bool is_sound(const Computation& statement, const std::vector<Tensor>& tensors) {
  Diagnostics problems;
  check_statement(statement, tensors, "", {}, problems);
  return problems.empty();
}

}  // namespace

bool is_number(const ScalarExpr& e, double value) {
  const auto* c = std::get_if<Constant>(&e.op);
  return c != nullptr && c->value == value;
}

ScalarExpr number(double value, DType type) { return constant(round_to(type, value), type); }

std::optional<Body> body_of(const Computation& statement, const std::vector<Tensor>& tensors,
                            const IsConstant& is_constant) {
  const DType type = statement.body.type;
  if (statement.reduction != Reduction::assign || !is_plain(statement)) return std::nullopt;
  if (type != DType::f32 && type != DType::f64) return std::nullopt;
  int found = -1;
  for (std::size_t r = 0; r < statement.reads.size(); ++r) {
    if (is_constant(statement.reads[r].tensor)) continue;
    if (found >= 0 || tensors[statement.reads[r].tensor.index()].dtype != type) return std::nullopt;
    found = static_cast<int>(r);
  }
  if (found < 0) return std::nullopt;
  const auto linear = linear_in(statement.body, found, type);
  if (!linear || is_number(linear->a, 0) || (is_number(linear->a, 1) && is_number(linear->b, 0))) return std::nullopt;
  for (const ScalarExpr* e : {&linear->a, &linear->b})
    if (const auto* c = std::get_if<Constant>(&e->op); c != nullptr && !std::isfinite(c->value)) return std::nullopt;
  return Body{found, linear->a, linear->b};
}

Computation with_body(const Computation& statement, const Body& body, const ScalarExpr& factor,
                      const ScalarExpr& offset) {
  Computation result = statement;
  result.body = product_and_sum(body.read, factor, offset, statement.body.type);
  return tidied(std::move(result));
}

std::optional<Merged> merged(const Computation& outer, const Body& outer_body, const Computation& inner,
                             const Body& inner_body, const std::vector<Tensor>& tensors, TensorId between) {
  if (outer.body.type != inner.body.type) return std::nullopt;
  const Access& through = outer.reads[static_cast<std::size_t>(outer_body.read)];
  const auto by = subscripts(inner, through, tensors[between.index()]);
  if (!by) return std::nullopt;
  Merged result{outer, outer, inner_body.factor, inner_body.offset, outer_body.offset};
  const int count = static_cast<int>(outer.reads.size());
  for (Access read : inner.reads) {
    substitute_in(read, *by, ranges_of(outer.domain));
    result.over.reads.push_back(std::move(read));
  }
  for (ScalarExpr* e : {&result.factor, &result.inner_offset}) {
    renumber(*e, [&](int r) { return r + count; });
    *e = computed(BinaryOp::mul, outer_body.factor, *e);
  }
  result.statement.reads = result.over.reads;
  result.statement.body = product_and_sum(inner_body.read + count, result.factor,
                                          computed(BinaryOp::add, result.inner_offset, result.offset), outer.body.type);
  result.statement = tidied(std::move(result.statement));
  if (!is_sound(result.statement, tensors)) return std::nullopt;
  return result;
}

std::optional<Computation> inlined(const Computation& outer, int through, const Computation& inner,
                                   const std::vector<Tensor>& tensors) {
  const Access& read_of_inner = outer.reads[static_cast<std::size_t>(through)];
  const Tensor& between = tensors[read_of_inner.tensor.index()];
  if (!is_plain(outer) || !is_plain(inner) || inner.body.type != between.dtype) return std::nullopt;
  const auto by = subscripts(inner, read_of_inner, between);
  if (!by || !lies_inside(read_of_inner, outer, between)) return std::nullopt;
  std::set<std::string> walked;
  for (const auto& [dim, subscript] : *by) {
    const auto own = subscript.as_dim();
    if (extent_of(inner, dim) > 1 && (!own || !walked.insert(*own).second)) return std::nullopt;
  }
  for (const Dim& dim : outer.domain.dims)
    if (dim.extent > 1 && !walked.contains(dim.name)) return std::nullopt;  // computed again along it
  Computation result = outer;
  const int count = static_cast<int>(outer.reads.size());
  for (Access read : inner.reads) {
    substitute_in(read, *by, ranges_of(outer.domain));
    result.reads.push_back(std::move(read));
  }
  ScalarExpr body = inner.body;
  renumber(body, [&](int r) { return r + count; });
  const auto replace = [&](ScalarExpr& e, const auto& again) -> void {
    if (const auto* leaf = std::get_if<Read>(&e.op); leaf != nullptr && leaf->access == through)
      e = body;
    else
      for (ScalarExpr& arg : e.args) again(arg, again);
  };
  replace(result.body, replace);
  result = tidied(std::move(result));
  if (!is_sound(result, tensors)) return std::nullopt;
  return result;
}

std::optional<Computation> scaled_operand(const Computation& sum, int operand, const Computation& consumer,
                                          const Body& body, const std::vector<Tensor>& tensors) {
  constexpr std::int64_t most_copies = 2;
  const DType type = sum.body.type;
  const Access& weights = sum.reads[static_cast<std::size_t>(operand)];
  const Tensor& tensor = tensors[weights.tensor.index()];
  if (sum.reduction != Reduction::add || !is_plain(sum) || type != consumer.body.type || tensor.dtype != type ||
      !is_factor(sum.body, operand, type))
    return std::nullopt;
  std::map<std::string, AffineExpr> by;  // dims of the consumer, over those of the sum
  const Access& through = consumer.reads[static_cast<std::size_t>(body.read)];
  for (std::size_t d = 0; d < through.index.size(); ++d)
    if (const auto dim = through.index[d].as_dim()) by.emplace(*dim, sum.write.index[d]);
  Computation result;
  result.name = "scaled";
  result.domain.dims = dims_in_order(weights, sum);
  std::int64_t size = 1;
  std::set<std::string> dims;
  for (const Dim& dim : result.domain.dims) {
    size *= dim.extent;
    dims.insert(dim.name);
    result.write.index.push_back(AffineExpr::dim(dim.name));
  }
  if (size > most_copies * element_count(tensor)) return std::nullopt;
  result.reads = consumer.reads;
  for (const int r : reads_of(body.factor)) {
    Access& read = result.reads[static_cast<std::size_t>(r)];
    for (const AffineExpr& e : read.index)
      for (const std::string& name : e.names())
        if (!by.contains(name)) return std::nullopt;
    substitute_in(read, by, ranges_of(sum.domain));
    for (const AffineExpr& e : read.index)
      for (const std::string& name : e.names())
        if (!dims.contains(name)) return std::nullopt;
  }
  const int of_weights = static_cast<int>(result.reads.size());
  result.reads.push_back(weights);
  result.body = narrowed(binary(BinaryOp::mul, widened(read(of_weights, type)), body.factor), type);
  return tidied(std::move(result));
}

std::vector<ScalarExpr> constant_parts(const Computation& statement, const IsConstant& is_constant) {
  std::vector<ScalarExpr> parts;
  const auto computes = [](const ScalarExpr& e, const auto& again) -> bool {
    const bool leaf = std::holds_alternative<Read>(e.op) || std::holds_alternative<Constant>(e.op);
    if (!leaf && !std::holds_alternative<Cast>(e.op)) return true;
    return std::any_of(e.args.begin(), e.args.end(), [&](const ScalarExpr& arg) { return again(arg, again); });
  };
  const auto visit = [&](const ScalarExpr& e, bool root, const auto& again) -> void {
    const std::vector<int> reads = reads_of(e);
    const bool constant = !reads.empty() && std::all_of(reads.begin(), reads.end(), [&](int r) {
      return is_constant(statement.reads[static_cast<std::size_t>(r)].tensor);
    });
    const bool element_wise = statement.reduction == Reduction::assign;  // factors of integer products stay bytes
    if (constant && !root && (is_float(e.type) || element_wise) && computes(e, computes)) {
      if (std::find(parts.begin(), parts.end(), e) == parts.end()) parts.push_back(e);
      return;
    }
    for (const ScalarExpr& arg : e.args) again(arg, false, again);
  };
  visit(statement.body, true, visit);
  return parts;
}

std::vector<Dim> dims_of(const Computation& statement, const ScalarExpr& part) {
  std::set<std::string> used;
  for (const int r : reads_of(part))
    for (const AffineExpr& e : statement.reads[static_cast<std::size_t>(r)].index)
      for (const std::string& name : e.names()) used.insert(name);
  std::vector<Dim> dims;
  for (const Dim& dim : statement.domain.dims)
    if (used.contains(dim.name)) dims.push_back({dim.name, dim.extent, DimKind::parallel});
  return dims;
}

Computation statement_over(const Computation& statement, const ScalarExpr& body, const std::vector<Dim>& dims) {
  Computation result;
  result.name = "ahead";
  result.domain.dims = dims;
  result.reads = statement.reads;
  result.body = body;
  for (const Dim& dim : dims) result.write.index.push_back(AffineExpr::dim(dim.name));
  return tidied(std::move(result));
}

Computation with_part(const Computation& statement, const ScalarExpr& part, const Access& by) {
  Computation result = statement;
  const int number = static_cast<int>(result.reads.size());
  result.reads.push_back(by);
  const auto replace = [&](ScalarExpr& e, const auto& again) -> void {
    if (e == part)
      e = read(number, part.type);
    else
      for (ScalarExpr& arg : e.args) again(arg, again);
  };
  replace(result.body, replace);
  return tidied(std::move(result));
}

Computation with_numbers(const Computation& statement, const std::vector<std::pair<ScalarExpr, double>>& parts) {
  Computation result = statement;
  const auto replace = [&](ScalarExpr& e, const auto& again) -> void {
    for (const auto& [part, value] : parts)
      if (e == part) {
        e = number(value, part.type);
        return;
      }
    for (ScalarExpr& arg : e.args) again(arg, again);
  };
  replace(result.body, replace);
  return tidied(std::move(result));
}

}  // namespace isamap::linear
