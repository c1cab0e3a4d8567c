// SPDX-License-Identifier: Apache-2.0
// Operators of models that generate one token after another: each call reads what the one before it left, and leaves
// its own: the last elements of a sequence, the state of a linear attention, a cache of keys or values.

#include <fmt/format.h>

#include <cmath>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// Y[n,c,l] = sum over r of (past, x)[n,c,l + r] * w[c,0,r], where past has the k - 1 elements before the first one.
void make_causal_conv(Maker& m) {
  const Sizes &x = m.shape(0), &w = m.shape(1);
  if (x.size() != 3 || w.size() != 3 || w[0] != x[1] || w[1] != 1 || w[2] < 1)
    throw contradiction("a filter of " + sizes_text(w) + " does not fit " + sizes_text(x));
  const std::string mode = m.text("activation", "none");
  if (mode != "none" && mode != "silu" && mode != "swish")
    throw contradiction("its activation is '" + mode.substr(0, 32) + "'", "none, silu or swish");
  const std::int64_t past = w[2] - 1;
  const DType type = m.dtype(0);
  std::string in = "P", read = fmt::format("P[n,c,{{}} - {}]", past);
  if (m.has(3)) {
    if (m.shape(3) != Sizes{x[0], x[1], past}) throw contradiction("its past does not fit the filter");
    m.temporary("P", type, {x[0], x[1], x[2] + past});
    m.say(fmt::format("P[n,c,l + {}] = X0[n,c,l]", past), {{"n", x[0]}, {"c", x[1]}, {"l", x[2]}});
    if (past > 0) m.say("P[n,c,l] = X3[n,c,l]", {{"n", x[0]}, {"c", x[1]}, {"l", past}});
    read = "P[n,c,{}]";
  } else {
    m.padded("P", "X0", 0);
  }
  const auto place = [&](const std::string& l) { return fmt::format(fmt::runtime(read), l); };
  const DType sum = bits(type) < 32 ? DType::f32 : type;
  const std::string wide = std::string(name(sum)), narrow = std::string(name(type));
  const Extents all{{"n", x[0]}, {"c", x[1]}, {"l", x[2]}};
  Extents products = all;
  products["r"] = w[2];
  m.result("Y", 0, type, x);
  m.temporary("T", sum, x);
  m.temporary("V", type, x);
  m.say(fmt::format("T[n,c,l] += {0}({1}) * {0}(X1[c,0,r])", wide, place("l + r")), products);
  if (m.has(2) && m.shape(2) != Sizes{x[1]}) throw contradiction("the bias does not fit the channels");
  m.say(fmt::format("V[n,c,l] = {}(T[n,c,l]{})", narrow, m.has(2) ? " + " + wide + "(X2[c])" : ""), all);
  const std::string value = wide + "(V[n,c,l])";
  m.say("Y[n,c,l] = " + (mode == "none" ? "V[n,c,l]" : fmt::format("{}({} * sigmoid({}))", narrow, value, value)), all);
  if (!m.wants(1)) return;
  m.result("S", 1, type, {x[0], x[1], past});
  m.say("S[n,c,l] = " + place(fmt::format("l + {}", x[2])), {{"n", x[0]}, {"c", x[1]}, {"l", past}});
}

/// Sizes of a linear attention: each head g of keys and values serves `count` heads of the queries.
struct LinearState {
  std::int64_t batch = 0, steps = 0, groups = 0, count = 1, keys = 0, values = 0;
  bool gated = false, corrected = false;
  std::string decay, rate;  ///< texts of a step's factors

  Extents state() const { return {{"t", steps}, {"b", batch}, {"g", groups}, {"d", keys}, {"e", values}}; }
};

LinearState read_linear_attention(const Maker& m) {
  LinearState s;
  const Sizes &q = m.shape(0), &k = m.shape(1), &v = m.shape(2);
  const std::int64_t heads = m.integer("q_num_heads", 0);
  s.groups = m.integer("kv_num_heads", 0);
  if (q.size() != 3 || k.size() != 3 || v.size() != 3 || heads < 1 || s.groups < 1 || heads % s.groups != 0 ||
      q[2] % heads != 0 || v[2] % s.groups != 0 || k[2] != q[2] / heads * s.groups || k[0] != q[0] || k[1] != q[1] ||
      v[0] != q[0] || v[1] != q[1])
    throw contradiction("queries, keys, values and heads do not fit together");
  s.batch = q[0], s.steps = q[1], s.count = heads / s.groups, s.keys = q[2] / heads, s.values = v[2] / s.groups;
  if (s.steps < 1 || s.keys < 1) throw Refused{"a sequence of no steps, or heads of no elements", ""};
  const std::string rule = m.text("update_rule", "gated_delta");
  s.gated = rule == "gated" || rule == "gated_delta";
  s.corrected = rule == "delta" || rule == "gated_delta";
  if (!s.gated && !s.corrected && rule != "linear")
    throw contradiction("its update_rule is '" + rule.substr(0, 32) + "'", "linear, gated, delta or gated_delta");
  if (s.gated != m.has(4) || s.corrected != m.has(5)) throw contradiction("the rule '" + rule + "' has other inputs");
  const auto per_head = [&](std::size_t i, const std::string& otherwise, std::int64_t size) {
    const Sizes& shape = m.shape(i);
    if (shape.size() == 3 && shape[2] == s.groups) return fmt::format("f32(X{}[b,t,g])", i);
    if (shape.size() != 3 || shape[2] != size) throw contradiction("its factors do not fit the heads");
    return fmt::format("f32(X{}[b,t,{}])", i, otherwise);
  };
  if (s.gated) s.decay = "exp(" + per_head(4, fmt::format("{}*g + d", s.keys), s.groups * s.keys) + ") * ";
  if (s.corrected) s.rate = per_head(5, "0", 1) + " * ";
  if (m.has(3) && m.shape(3) != Sizes{s.batch, s.groups, s.keys, s.values})
    throw contradiction("its state does not fit the heads");
  return s;
}

/// S[t+1] = decay * S[t] + k v; with a correction v is rate * (v - k decay S[t]). The output is q S[t+1].
void make_linear_attention(Maker& m) {
  const LinearState s = read_linear_attention(m);
  const DType type = m.dtype(0), kept = m.has(3) ? m.dtype(3) : type;
  const Extents all = s.state();
  Extents state = all, rows = all, outputs = all;
  state.erase("t");
  rows.erase("d");
  outputs["r"] = s.count;
  const std::string key = fmt::format("f32(X1[b,t,{}*g + d])", s.keys);
  std::string value = fmt::format("f32(X2[b,t,{}*g + e])", s.values);
  m.temporary("S", DType::f32, {s.steps + 1, s.batch, s.groups, s.keys, s.values});
  m.say(std::string("S[0,b,g,d,e] = ") + (m.has(3) ? "f32(X3[b,g,d,e])" : "0"), state);
  if (s.corrected) m.temporary("R", DType::f32, {s.steps, s.batch, s.groups, s.values});
  m.repeat_next("t", s.steps, s.corrected ? 2 : 1, false);
  if (s.corrected) {
    m.say(fmt::format("R[t,b,g,e] += {}S[t,b,g,d,e] * {}", s.decay, key), all);
    value = fmt::format("({}({} - R[t,b,g,e]))", s.rate, value);
  }
  m.say(fmt::format("S[t + 1,b,g,d,e] = {}S[t,b,g,d,e] + {} * {}", s.decay, key, value), all);
  const double stated = m.real("scale", 0);
  const std::string scale = number(stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(s.keys)));
  const std::string head = s.count == 1 ? "g" : fmt::format("({}*g + r)", s.count);
  const Sizes shape{s.batch, s.steps, s.groups * s.count * s.values};
  m.temporary("O", DType::f32, shape);
  m.result("Y", 0, type, shape);
  m.say(fmt::format("O[b,t,{}*{} + e] += f32(X0[b,t,{}*{} + d]) * S[t + 1,b,g,d,e]", s.values, head, s.keys, head),
        outputs);
  m.say(fmt::format("Y[b,t,i] = {}({} * O[b,t,i])", name(type), scale),
        {{"b", s.batch}, {"t", s.steps}, {"i", shape[2]}});
  if (!m.wants(1)) return;
  m.result("N", 1, kept, {s.batch, s.groups, s.keys, s.values});
  m.say(fmt::format("N[b,g,d,e] = {}(S[{},b,g,d,e])", name(kept), s.steps), state);
}

/// A cache of which some places along `axis` are new: element p is update p - first[b], where there is one.
void make_tensor_scatter(Maker& m) {
  const Sizes &x = m.shape(0), &u = m.shape(1);
  const std::size_t axis = m.axis(m.integer("axis", -2), x.size());
  const std::string mode = m.text("mode", "linear");
  if (mode != "linear" && mode != "circular")
    throw contradiction("its mode is '" + mode.substr(0, 32) + "'", "linear or circular");
  Sizes fits = u;
  if (axis == 0 || u.size() != x.size() || u[axis] > x[axis]) throw contradiction("its update does not fit the cache");
  fits[axis] = x[axis];
  if (fits != x || (m.has(2) && m.shape(2) != Sizes{x[0]})) throw contradiction("its update does not fit the cache");
  if (product_of(u) == 0) return m.pass(0, m.in(0));
  const std::string first = m.has(2) ? "s64(X2[b])" : "0", from = "s64(value(p)) - " + first;
  m.temporary("J", DType::s64, {x[0], x[axis]});
  m.say("J[b,p] = " + (mode == "linear" ? from : fmt::format("mod({}, {})", from, x[axis])),
        {{"b", x[0]}, {"p", x[axis]}});
  const Names i = iterators(x.size());
  const std::string place = fmt::format("J[{},{}]", i[0], i[axis]);
  Names updated = i;
  updated[axis] = "at(" + place + ")";
  m.temporary("U", m.dtype(0), x);
  m.result("Y", 0, m.dtype(0), x);
  m.say(access("U", i) + " = " + access("X1", updated), extents_of(i, x));
  m.say(fmt::format("{} = select({} >= 0 and {} < {}, {}, {})", access("Y", i), place, place, u[axis], access("U", i),
                    access("X0", i)),
        extents_of(i, x));
}

}  // namespace

const Makers& state_makers() {
  static const Makers all = {{"CausalConvWithState", &make_causal_conv},
                             {"LinearAttention", &make_linear_attention},
                             {"TensorScatter", &make_tensor_scatter}};
  return all;
}

}  // namespace isamap::importing
