// SPDX-License-Identifier: Apache-2.0
#include "ir/evaluation/row_expr.h"

#include <algorithm>

#include "ir/scalar/scalar_functions.h"
#include "support/overloaded.h"

namespace isamap {
namespace {

template <class T>
const T* values_of(const Row& row) {
  if constexpr (std::is_same_v<T, double>)
    return row.real;
  else
    return row.integer;
}

// One loop for each shape of the operands, so that each can be vectorised.
template <class T, class F>
void for_each_pair(const Row& a, const Row& b, T* out, std::int64_t length, F f) {
  const T* x = values_of<T>(a);
  const T* y = values_of<T>(b);
  if (a.uniform) {
    const T constant = *x;
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(constant, y[i]);
  } else if (b.uniform) {
    const T constant = *y;
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(x[i], constant);
  } else {
    for (std::int64_t i = 0; i < length; ++i) out[i] = f(x[i], y[i]);
  }
}

// The most frequent ones are written out, so that compilers vectorise their loops.
void binary_row(BinaryOp op, const Row& a, const Row& b, double* out, std::int64_t length) {
  switch (op) {
    case BinaryOp::add:
      return for_each_pair(a, b, out, length, [](double x, double y) { return x + y; });
    case BinaryOp::sub:
      return for_each_pair(a, b, out, length, [](double x, double y) { return x - y; });
    case BinaryOp::mul:
      return for_each_pair(a, b, out, length, [](double x, double y) { return x * y; });
    case BinaryOp::div:
      return for_each_pair(a, b, out, length, [](double x, double y) { return x / y; });
    case BinaryOp::min:
      return for_each_pair(a, b, out, length, minimum);
    case BinaryOp::max:
      return for_each_pair(a, b, out, length, maximum);
    default:
      return for_each_pair(a, b, out, length, function_of(op).real);
  }
}

void binary_row(BinaryOp op, DType operands, const Row& a, const Row& b, std::int64_t* out, std::int64_t length) {
  switch (op) {
    case BinaryOp::add:
      return for_each_pair(a, b, out, length, wrapping::add);
    case BinaryOp::sub:
      return for_each_pair(a, b, out, length, wrapping::sub);
    case BinaryOp::mul:
      return for_each_pair(a, b, out, length, wrapping::mul);
    default:
      return for_each_pair(a, b, out, length, integer_function(function_of(op), operands));
  }
}

// A comparison of floats.
void truth_row(BinaryOp op, const Row& a, const Row& b, std::int64_t* out, std::int64_t length) {
  const auto holds = function_of(op).real;
  for (std::int64_t i = 0; i < length; ++i) out[i] = holds(a.real[a.uniform ? 0 : i], b.real[b.uniform ? 0 : i]) != 0;
}

Scalar scalar_at(const Row& row, std::int64_t i) {
  const std::int64_t at = row.uniform ? 0 : i;
  return {row.real ? row.real[at] : 0, row.integer ? row.integer[at] : 0};
}

}  // namespace

void round_row(DType type, double* values, std::int64_t length) {
  if (type == DType::f64) return;
  if (type == DType::f32) {
    for (std::int64_t i = 0; i < length; ++i) values[i] = static_cast<double>(static_cast<float>(values[i]));
    return;
  }
  for (std::int64_t i = 0; i < length; ++i) values[i] = round_to(type, values[i]);
}

void wrap_row(DType type, std::int64_t* values, std::int64_t length) {
  if (bits(type) == 64) return;
  if (type == DType::s32) {
    for (std::int64_t i = 0; i < length; ++i) values[i] = static_cast<std::int32_t>(values[i]);
    return;
  }
  for (std::int64_t i = 0; i < length; ++i) values[i] = wrap_to(type, values[i]);
}

RowExpr::RowExpr(const ScalarExpr& body) { add(body); }

std::size_t RowExpr::add(const ScalarExpr& e) {
  Node node;
  node.op = ScalarExpr{e.op, e.type, {}};
  for (const ScalarExpr& arg : e.args) {
    node.args.push_back(add(arg));
    node.arg_types.push_back(arg.type);
  }
  const auto length = static_cast<std::size_t>(max_length);
  if (is_float(e.type))
    node.real.resize(length);
  else
    node.integer.resize(length);
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

Row RowExpr::evaluate(const std::vector<Row>& reads, std::int64_t length) {
  for (Node& node : nodes_) run(node, reads, length);
  return nodes_.back().value;
}

// If all operands are uniform, so is the result: a row of one point.
void RowExpr::run(Node& node, const std::vector<Row>& reads, std::int64_t length) {
  bool uniform = true;
  for (std::size_t i = 0; i < node.args.size(); ++i) uniform = uniform && argument(node, i).uniform;
  const std::int64_t n = uniform ? 1 : length;
  node.value = {uniform, node.real.data(), node.integer.data()};
  const bool is_real = is_float(node.op.type);
  const auto finish = [&] {
    if (is_real)
      round_row(node.op.type, node.real.data(), n);
    else
      wrap_row(node.op.type, node.integer.data(), n);
  };
  std::visit(
      overloaded{[&](const Constant&) {
                   const Scalar value = isamap::evaluate(node.op, nullptr);
                   if (is_real)
                     node.real[0] = value.real;
                   else
                     node.integer[0] = value.integer;
                 },
                 [&](const Read& r) { node.value = reads[static_cast<std::size_t>(r.access)]; },
                 [&](const Unary& u) {
                   const Row& a = argument(node, 0);
                   const UnaryFunction& f = function_of(u.op);
                   if (!is_float(node.arg_types[0]))
                     std::transform(a.integer, a.integer + n, node.integer.begin(),
                                    integer_function(f, node.arg_types[0]));
                   else if (is_real)
                     std::transform(a.real, a.real + n, node.real.begin(), f.real);
                   else
                     std::transform(a.real, a.real + n, node.integer.begin(), [&](double x) { return f.real(x) != 0; });
                   finish();
                 },
                 [&](const Binary& b) {
                   if (is_real)
                     binary_row(b.op, argument(node, 0), argument(node, 1), node.real.data(), n);
                   else if (is_float(node.arg_types[0]))
                     truth_row(b.op, argument(node, 0), argument(node, 1), node.integer.data(), n);
                   else
                     binary_row(b.op, node.arg_types[0], argument(node, 0), argument(node, 1), node.integer.data(), n);
                   finish();
                 },
                 [&](const Select&) { run_select(node, n); }, [&](const Cast& c) { run_cast(node, c.saturate, n); }},
      node.op.op);
}

void RowExpr::run_cast(Node& node, bool saturate, std::int64_t length) {
  const Row& a = argument(node, 0);
  const DType from = node.arg_types[0];
  const DType to = node.op.type;
  // A widening cast between floats, or between integers, leaves the number as it is.
  if (widens(from, to) && is_float(from) == is_float(to) && !is_truth(from)) {
    node.value = a;
    return;
  }
  for (std::int64_t i = 0; i < length; ++i) {
    const Scalar value = convert(scalar_at(a, i), from, to, saturate);
    if (is_float(to))
      node.real[static_cast<std::size_t>(i)] = value.real;
    else
      node.integer[static_cast<std::size_t>(i)] = value.integer;
  }
}

void RowExpr::run_select(Node& node, std::int64_t length) {
  const bool real_condition = is_float(node.arg_types[0]);
  for (std::int64_t i = 0; i < length; ++i) {
    const Scalar condition = scalar_at(argument(node, 0), i);
    const bool holds = real_condition ? condition.real != 0 : condition.integer != 0;
    const Scalar value = scalar_at(argument(node, holds ? 1 : 2), i);
    if (is_float(node.op.type))
      node.real[static_cast<std::size_t>(i)] = value.real;
    else
      node.integer[static_cast<std::size_t>(i)] = value.integer;
  }
}

}  // namespace isamap
