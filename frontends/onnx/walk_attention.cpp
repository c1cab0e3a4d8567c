// SPDX-License-Identifier: Apache-2.0
// FlexAttention: attention whose scores and probabilities pass through graphs that the node holds.

#include <fmt/format.h>

#include <cmath>

#include "frontends/onnx/walk.h"

namespace isamap::importing {
namespace {

/// The type of scores and probabilities.
DType precision_of(const Maker& m) {
  const DType otherwise = m.dtype(0) == DType::f64 ? DType::f64 : DType::f32;
  if (!m.states("softmax_precision")) return otherwise;
  const auto type = dtype_of_onnx(static_cast<int>(m.integer("softmax_precision", 0)));
  if (!type || !is_float(*type)) throw Refused{"its softmax_precision is no float that kernels have", ""};
  return *type;
}

/// Heads of the queries are count*g + r.
std::string head_of(std::int64_t count) { return count == 1 ? "g" : fmt::format("{}*g + r", count); }

std::int64_t heads_for_each(const Sizes& queries, const Sizes& keys) {
  if (queries.size() != 4 || keys.size() != 4 || keys[0] != queries[0] || keys[1] < 1 || queries[1] % keys[1] != 0)
    throw contradiction("queries " + sizes_text(queries) + " and keys " + sizes_text(keys) + " do not fit");
  return queries[1] / keys[1];
}

/// Inputs Q, K: S[b,h,i,j] = scale * the sum of Q[b,h,i,d] * K[b,g,j,d].
void make_scores(Maker& m) {
  const Sizes &q = m.shape(0), &k = m.shape(1);
  const std::int64_t count = heads_for_each(q, k);
  if (q[3] != k[3] || q[3] < 1) throw contradiction("queries and keys differ in their elements");
  const DType type = precision_of(m);
  const std::string t(name(type)), h = head_of(count);
  const double scale = m.real("scale", 1 / std::sqrt(static_cast<double>(q[3])));
  const Sizes shape{q[0], q[1], q[2], k[2]};
  m.temporary("T", type, shape);
  m.result("Y", 0, type, shape);
  m.say(fmt::format("T[b,{0},i,j] += {1}(X0[b,{0},i,d]) * {1}(X1[b,g,j,d])", h, t),
        {{"b", q[0]}, {"g", k[1]}, {"r", count}, {"i", q[2]}, {"j", k[2]}, {"d", q[3]}});
  m.say(fmt::format("Y[b,h,i,j] = T[b,h,i,j] * {}", number(scale)),
        {{"b", q[0]}, {"h", q[1]}, {"i", q[2]}, {"j", k[2]}});
}

void make_probabilities(Maker& m) {
  const Sizes& s = m.shape(0);
  if (s.size() != 4) throw contradiction("scores of " + sizes_text(s));
  const DType type = m.dtype(0);
  const Extents all{{"b", s[0]}, {"h", s[1]}, {"i", s[2]}, {"j", s[3]}};
  m.temporary("L", type, {s[0], s[1], s[2]});
  m.temporary("E", type, s);
  m.temporary("D", type, {s[0], s[1], s[2]});
  m.result("Y", 0, type, s);
  m.say("L[b,h,i] max= X0[b,h,i,j]", all);
  m.say("E[b,h,i,j] = exp(X0[b,h,i,j] - L[b,h,i])", all);
  m.say("D[b,h,i] += E[b,h,i,j]", all);
  m.say("Y[b,h,i,j] = E[b,h,i,j] / D[b,h,i]", all);
}

/// Inputs: the probabilities P, V and Q. Y[b,h,i,e] = the sum of P[b,h,i,j] * V[b,g,j,e], in the type of Q.
void make_weighted(Maker& m) {
  const Sizes &p = m.shape(0), &v = m.shape(1);
  const std::int64_t count = heads_for_each(p, v);
  if (p[3] != v[2]) throw contradiction("probabilities and values do not fit");
  const DType type = m.dtype(0), out = m.dtype(2);
  const Sizes shape{p[0], p[1], p[2], v[3]};
  m.temporary("T", type, shape);
  m.result("Y", 0, out, shape);
  m.say(fmt::format("T[b,{0},i,e] += X0[b,{0},i,j] * {1}(X1[b,g,j,e])", head_of(count), name(type)),
        {{"b", p[0]}, {"g", v[1]}, {"r", count}, {"i", p[2]}, {"j", p[3]}, {"e", v[3]}});
  m.say(fmt::format("Y[b,h,i,e] = {}(T[b,h,i,e])", name(out)), {{"b", p[0]}, {"h", p[1]}, {"i", p[2]}, {"e", v[3]}});
}

}  // namespace

/// The value behind the graph of attribute `by`, if the node has one; nothing: a node of it is refused, as reported.
std::optional<std::string> Walk::modified(const Node& node, const char* by, const std::string& value, int depth) {
  const auto found = node.attributes.find(by);
  if (found == node.attributes.end() || !found->second.graph) return value;
  const Graph& body = *found->second.graph;
  if (body.inputs.size() != 1 || body.outputs.size() != 1)
    throw contradiction(std::string("its ") + by + " has other inputs and outputs than one each");
  set_value(body.inputs[0].name, values_.at(value));
  if (!run_body(body, depth)) return std::nullopt;
  const Value& made = values_.at(body.outputs[0].name);
  if (made.shape != values_.at(value).shape || made.dtype != values_.at(value).dtype)
    throw contradiction(std::string("its ") + by + " changes the shape or the type");
  return body.outputs[0].name;
}

void Walk::attend(const Node& node, int depth) {
  for (std::size_t i = 0; i < 3; ++i)
    if (i >= node.inputs.size() || node.inputs[i].empty()) throw contradiction(fmt::format("input {} is missing", i));
  if (node.outputs.empty() || node.outputs[0].empty()) throw contradiction("it has no output");
  const std::string stem = node.outputs[0];
  const auto step = [&](const char* op, Names inputs, const std::string& output, Make maker) {
    Node made{node.title, node.name, op, "", std::move(inputs), {output}, node.attributes};
    make_by(made, maker);
  };
  step("Scores", {node.inputs[0], node.inputs[1]}, stem + ".scores", &make_scores);
  const auto scores = modified(node, "score_mod", stem + ".scores", depth);
  if (!scores) return lose_outputs(node);
  step("Softmax", {*scores}, stem + ".softmax", &make_probabilities);
  const auto weights = modified(node, "prob_mod", stem + ".softmax", depth);
  if (!weights) return lose_outputs(node);
  step("Weighted", {*weights, node.inputs[2], node.inputs[0]}, stem, &make_weighted);
}

}  // namespace isamap::importing
