// SPDX-License-Identifier: Apache-2.0
#include "tests/mapping_oracle/convert.h"

#include <algorithm>

namespace isamap::oracle {
namespace {

std::optional<Row> row_of(const AffineExpr& e, const std::vector<std::string>& names) {
  if (!e.is_linear()) return std::nullopt;
  Row row;
  for (const std::string& name : names) row.coefficients.push_back(e.coefficient(name));
  row.constant = e.constant();
  return row;
}

const ScalarExpr& without_casts(const ScalarExpr& e) {
  return std::holds_alternative<Cast>(e.op) ? without_casts(e.args[0]) : e;
}

/// "(* 0 1)"; casts and types are left out.
std::string spelled(const ScalarExpr& expression) {
  const ScalarExpr& e = without_casts(expression);
  if (const auto* read = std::get_if<Read>(&e.op)) return std::to_string(read->access);
  std::string text = "?";
  if (const auto* op = std::get_if<Unary>(&e.op)) text = op->op == UnaryOp::abs ? "abs" : "?";
  if (const auto* op = std::get_if<Binary>(&e.op)) {
    if (op->op == BinaryOp::mul) text = "*";
    if (op->op == BinaryOp::add) text = "+";
    if (op->op == BinaryOp::sub) text = "-";
  }
  text = "(" + text;
  for (const ScalarExpr& argument : e.args) text += " " + spelled(argument);
  return text + ")";
}

std::optional<Body> body_of(const ScalarExpr& e) {
  const std::string text = spelled(e);
  if (text == "0" || text == "(* 0 1)") return Body::product;
  if (text == "(+ 0 1)") return Body::sum;
  if (text == "(abs (- 0 1))") return Body::abs_diff;
  if (text == "(* (- 0 1) (- 0 1))") return Body::squared_diff;
  return std::nullopt;
}

}  // namespace

std::optional<Nest> nest_of(const Computation& computation) {
  Nest nest;
  for (const Dim& dim : computation.domain.dims) {
    nest.names.push_back(dim.name);
    nest.extents.push_back(dim.extent);
  }
  for (const AffineExpr& face : computation.domain.faces) {
    const auto row = row_of(face, nest.names);
    if (!row) return std::nullopt;
    nest.faces.push_back(*row);
    nest.face_names.push_back(isamap::print(face) + ">=0");
  }
  for (int a = 0; a < access_count(computation); ++a) {
    nest.operands.emplace_back();
    for (const AffineExpr& index : access_of(computation, a).index) {
      const auto row = row_of(index, nest.names);
      if (!row) return std::nullopt;
      nest.operands.back().push_back(*row);
    }
  }
  const auto body = body_of(computation.body);
  if (!body) return std::nullopt;
  nest.body = *body;
  if (computation.reduction != isamap::Reduction::add && computation.reduction != isamap::Reduction::max)
    return std::nullopt;
  nest.reduction = computation.reduction == isamap::Reduction::add ? Reduction::add : Reduction::max;
  return nest;
}

void add_constant_operand(Nest& nest) {
  nest.constant_operand = static_cast<int>(nest.operands.size());
  nest.operands.emplace_back();
  nest.body = nest.reduction == Reduction::add ? Body::product : Body::sum;
  nest.constant = nest.reduction == Reduction::add ? 1 : 0;
}

namespace {

/// Digits in one list that keeps the order on every dim.
std::vector<Digit> digits_of(const isamap::Mapping& mapping, const Nest& kernel) {
  std::vector<Digit> digits;
  std::vector<std::size_t> next(mapping.dims.size(), 0);
  const auto heads = [&](const isamap::Digit& digit) {
    std::vector<int> places;
    for (std::size_t m = 0; m < mapping.dims.size(); ++m)
      if (next[m] < mapping.dims[m].size() && mapping.dims[m][next[m]] == digit) places.push_back(static_cast<int>(m));
    return places;
  };
  const auto copies = [&](const isamap::Digit& digit) {
    std::size_t count = 0;
    for (const auto& list : mapping.dims) count += std::count(list.begin(), list.end(), digit) > 0 ? 1 : 0;
    return count;
  };
  bool taken = true;
  while (taken) {
    taken = false;
    for (std::size_t m = 0; m < mapping.dims.size() && !taken; ++m) {
      if (next[m] == mapping.dims[m].size()) continue;
      const isamap::Digit& digit = mapping.dims[m][next[m]];
      std::vector<int> places = heads(digit);
      if (places.size() < copies(digit)) continue;  // on another dim something else comes first
      digits.push_back({row_of(digit.column, kernel.names)->coefficients, digit.extent, places});
      for (const int place : places) ++next[static_cast<std::size_t>(place)];
      taken = true;
    }
  }
  return digits;
}

std::vector<Turn> turns_of(const isamap::Mapping& mapping, const Nest& kernel) {
  std::vector<Turn> turns;
  for (const ResidualLoop& loop : mapping.loops)
    turns.push_back({row_of(loop.step, kernel.names)->coefficients, loop.extent, loop.floating});
  return turns;
}

}  // namespace

Mapping mapping_of(const isamap::Mapping& mapping, const Nest& kernel) {
  Mapping plain;
  plain.operands = mapping.operands;
  plain.partial = mapping.kinds.count(Kind::partial) > 0;
  plain.digits = digits_of(mapping, kernel);
  plain.turns = turns_of(mapping, kernel);
  plain.printed = true;
  for (const isamap::Carrier& carrier : mapping.carriers) {
    const auto found = std::find(mapping.operands.begin(), mapping.operands.end(), carrier.access);
    plain.carriers.push_back({carrier.reason, static_cast<int>(found - mapping.operands.begin())});
  }
  return plain;
}

}  // namespace isamap::oracle
