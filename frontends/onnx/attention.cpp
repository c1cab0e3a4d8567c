// SPDX-License-Identifier: Apache-2.0
// Attention of transformers, and the rotation of its operands by position. Heads of the queries are `count*g + r`: each
// head g of keys and values serves `count` of them.

#include <fmt/format.h>

#include <cmath>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// An operand of three dimensions holds the heads in its last one.
std::string heads_index(bool flat, const std::string& head, const std::string& token, std::int64_t size) {
  return flat ? fmt::format("b,{},{}*({}) + d", token, size, head) : fmt::format("b,{},{},d", head, token);
}

struct Attention {
  std::int64_t batch = 0, groups = 0, count = 0, queries = 0, keys = 0, size = 0, value_size = 0, past = 0;
  bool flat = false;
  std::string head;  ///< of a query
  Extents scores;    ///< b, g, r, i, j
  Extents rows() const {
    Extents result = scores;
    result.erase("j");
    return result;
  }
};

/// Do the operands hold whole heads, of one batch and one size?
void check_heads(const Attention& a, std::int64_t heads, const Sizes& q, const Sizes& k, const Sizes& v) {
  const std::string all = fmt::format("queries {}, keys {} and values {}", sizes_text(q), sizes_text(k), sizes_text(v));
  if (a.flat && (q[2] % heads != 0 || k[2] % a.groups != 0 || v[2] % a.groups != 0))
    throw contradiction(fmt::format("{} are no whole elements of {} heads, {} of keys", all, heads, a.groups));
  const std::size_t token = a.flat ? 1 : 2;
  const bool heads_fit = (a.flat ? k[2] / a.groups : k[3]) == a.size && (a.flat || v[1] == k[1]);
  if (!heads_fit || k[0] != q[0] || v[0] != q[0] || k[token] != v[token])
    throw contradiction(all + " do not fit together");
}

Attention read_attention(const Maker& m) {
  Attention a;
  const Sizes &q = m.shape(0), &k = m.shape(1), &v = m.shape(2);
  if ((q.size() != 3 && q.size() != 4) || k.size() != q.size() || v.size() != q.size())
    throw contradiction("queries, keys and values do not fit together");
  if (m.has(4) != m.has(5) || (m.has(4) && (m.rank(4) != 4 || m.rank(5) != 4)))
    throw contradiction("keys and values of the past are not both there, of four dimensions");
  a.flat = q.size() == 3;
  a.batch = q[0];
  const std::int64_t heads = a.flat ? m.integer("q_num_heads", 0) : q[1];
  a.groups = a.flat ? m.integer("kv_num_heads", 0) : k[1];
  if (heads < 1 || a.groups < 1 || heads % a.groups != 0) throw contradiction("the heads do not fit");
  a.count = heads / a.groups;
  a.queries = a.flat ? q[1] : q[2];
  a.past = m.has(4) ? m.shape(4).at(2) : 0;
  a.keys = (a.flat ? k[1] : k[2]) + a.past;
  a.size = a.flat ? q[2] / heads : q[3];
  a.value_size = a.flat ? v[2] / a.groups : v[3];
  if (a.size < 1) throw contradiction("heads of no elements do not fit");
  check_heads(a, heads, q, k, v);
  a.head = a.count == 1 ? "g" : fmt::format("{}*g + r", a.count);
  a.scores = {{"b", a.batch}, {"g", a.groups}, {"i", a.queries}, {"j", a.keys}};
  if (a.count > 1) a.scores["r"] = a.count;
  return a;
}

/// Keys or values with those of the past before them, under `name`; they are an output if the node wants them.
void say_present(Maker& m, const Attention& a, const std::string& name, std::size_t input, std::int64_t size) {
  const std::size_t past = input + 3, output = input;
  const Sizes shape{a.batch, a.groups, a.keys, size};
  if (m.wants(output))
    m.result(name, output, m.dtype(input), shape);
  else
    m.temporary(name, m.dtype(input), shape);
  Extents extents{{"b", a.batch}, {"g", a.groups}, {"d", size}, {"j", a.keys - a.past}};
  m.say(fmt::format("{}[b,g,j + {},d] = X{}[{}]", name, a.past, input, heads_index(a.flat, "g", "j", size)), extents);
  if (a.past == 0) return;
  extents["j"] = a.past;
  m.say(fmt::format("{}[b,g,j,d] = X{}[b,g,j,d]", name, past), extents);
}

/// What is added to the scores: 0 or -inf, and the values of a mask. Empty: nothing.
std::string bias_text(Maker& m, const Attention& a) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " + ") + part; };
  if (m.has(3)) {
    Sizes mask = m.shape(3), whole{a.batch, a.groups * a.count, a.queries, a.keys};
    if (mask.empty() || mask.back() > a.keys) throw contradiction("the mask does not fit the keys");
    const bool truth = m.dtype(3) == DType::boolean, is_short = mask.back() < a.keys;
    mask.back() = a.keys;
    if (is_short) m.padded("MASK", "X3", truth ? 0 : -INFINITY);
    const std::string read = access(is_short ? "MASK" : "X3", broadcast_index(mask, whole, {"b", a.head, "i", "j"}));
    add(truth ? "select(" + read + ", 0, -inf)" : "f32(" + read + ")");
  }
  const bool by_lengths = m.has(6) && !m.has(4);
  const std::string distance =  // of a query from a key, positive for keys before it
      by_lengths ? fmt::format("(s64(value(i - j - {})) + X6[b])", a.queries)
                 : fmt::format("s64(value(i - j + {}))", a.past);
  if (m.integer("is_causal", 0) != 0) add("select(" + distance + " >= 0, 0, -inf)");
  if (const std::int64_t left = m.integer("left_window_size", -1); left >= 0)
    add(fmt::format("select({} <= {}, 0, -inf)", distance, left));
  if (const std::int64_t right = m.integer("right_window_size", -1); right >= 0)
    add(fmt::format("select({} >= {}, 0, -inf)", distance, -right));
  if (m.has(6)) add("select(s64(value(j)) < X6[b], 0, -inf)");
  return text;
}

void say_probabilities(Maker& m, const Attention& a, const std::string& scores, const std::string& bias) {
  const Sizes whole{a.batch, a.groups * a.count, a.queries, a.keys}, rows{a.batch, a.groups * a.count, a.queries};
  const std::string all = fmt::format("[b,{},i,j]", a.head), row = fmt::format("[b,{},i]", a.head);
  m.temporary("L", DType::f32, rows);
  m.temporary("E", DType::f32, whole);
  m.temporary("D", DType::f32, rows);
  m.temporary("P", DType::f32, whole);
  m.say("L" + row + " max= " + scores + all, a.scores);
  std::string masked = "L" + row + " == -inf";
  if (!bias.empty()) {  // rows without a key, whatever their scores are
    m.temporary("A", DType::f32, rows);
    m.say("A" + row + " max= " + bias + all, a.scores);
    masked += " or A" + row + " == -inf";
  }
  m.say(fmt::format("E{0} = select({1}, 0, exp({2}{0} - L{3}))", all, masked, scores, row), a.scores);
  m.say("D" + row + " += E" + all, a.scores);
  m.say(fmt::format("P{0} = select(D{1} == 0, 0, E{0} / D{1})", all, row), a.scores);
}

void say_scores(Maker& m, const Attention& a, const std::string& all) {
  const DType type = m.dtype(0);
  const double scale = std::sqrt(m.real("scale", 1 / std::sqrt(static_cast<double>(a.size))));
  const std::string factor = number(round_to(type, scale));
  Extents product = a.scores;
  product["d"] = a.size;
  m.say(fmt::format("T{} += (f32(X0[{}]) * {}) * (f32(KEYS[b,g,j,d]) * {})", all,
                    heads_index(a.flat, a.head, "i", a.size), factor, factor),
        product);
}

void make_attention(Maker& m) {
  const Attention a = read_attention(m);
  const DType type = m.dtype(0);
  const Sizes whole{a.batch, a.groups * a.count, a.queries, a.keys};
  const std::string all = fmt::format("[b,{},i,j]", a.head);
  say_present(m, a, "KEYS", 1, a.size);
  say_present(m, a, "VALUES", 2, a.value_size);
  m.temporary("T", DType::f32, whole);
  say_scores(m, a, all);
  std::string scores = "T";
  Names stages{"T", "T", "T", "P"};  // by qk_matmul_output_mode
  if (const double cap = m.real("softcap", 0); cap > 0) {
    m.temporary("C", DType::f32, whole);
    m.say(fmt::format("C{0} = tanh(T{0} / {1}) * {1}", all, number(cap)), a.scores);
    scores = stages[1] = stages[2] = "C";
  }
  std::string bias;
  if (const std::string text = bias_text(m, a); !text.empty()) {
    bias = "Z";
    m.temporary("Z", DType::f32, whole);
    m.temporary("B", DType::f32, whole);
    m.say("Z" + all + " = " + text, a.scores);
    m.say(fmt::format("B{0} = {1}{0} + Z{0}", all, scores), a.scores);
    scores = stages[2] = "B";
  }
  say_probabilities(m, a, scores, bias);
  Extents product = a.scores;
  product["d"] = a.value_size;
  const bool wide = type != DType::f32;
  const Sizes shape =
      a.flat ? Sizes{a.batch, a.queries, whole[1] * a.value_size} : Sizes{a.batch, whole[1], a.queries, a.value_size};
  const std::string out = "[" + heads_index(a.flat, a.head, "i", a.value_size) + "]";
  m.result("Y", 0, type, shape);
  if (wide) m.temporary("O", DType::f32, shape);
  m.say(fmt::format("{}{} += P{} * f32(VALUES[b,g,j,d])", wide ? "O" : "Y", out, all), product);
  Extents result = a.rows();
  result["d"] = a.value_size;
  if (wide) m.say(fmt::format("Y{0} = {1}(O{0})", out, name(type)), result);
  if (!m.wants(3)) return;
  const std::int64_t mode = m.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) throw contradiction("its qk_matmul_output_mode has no meaning");
  m.result("QK", 3, type, whole);
  m.say(fmt::format("QK{0} = {1}({2}{0})", all, name(type), stages[static_cast<std::size_t>(mode)]), a.scores);
}

/// Pairs of elements turn by the angles of their position.
void make_rotary(Maker& m) {
  const Sizes& x = m.shape(0);
  if (x.size() != 3 && x.size() != 4) throw contradiction("heads do not fit " + sizes_text(x));
  const bool flat = x.size() == 3;
  const std::int64_t heads = flat ? m.integer("num_heads", 0) : x[1];
  if (heads < 1) throw contradiction("heads do not fit " + sizes_text(x));
  const std::int64_t tokens = flat ? x[1] : x[2], size = flat ? x[2] / heads : x[3];
  const std::int64_t stated = m.integer("rotary_embedding_dim", 0), rotated = stated == 0 ? size : stated,
                     half = rotated / 2;
  const bool interleaved = m.integer("interleaved", 0) != 0;
  if (rotated > size || m.rank(1) == 0 || m.shape(1).back() != half)
    throw contradiction("the angles do not fit " + sizes_text(x));
  const auto place = [&](const std::string& d) {
    return flat ? fmt::format("[b,s,{}*h + {}]", size, d) : fmt::format("[b,h,s,{}]", d);
  };
  const std::string one = place(interleaved ? "2*d" : "d"),
                    two = place(interleaved ? "2*d + 1" : fmt::format("d + {}", half));
  const std::string angle = m.has(3) ? "[at(X3[b,s]),d]" : "[b,s,d]";
  Extents extents{{"b", x[0]}, {"s", tokens}, {"h", heads}, {"d", half}};
  m.result("Y", 0, m.dtype(0), x);
  m.say(fmt::format("Y{0} = X1{2} * X0{0} - X2{2} * X0{1}", one, two, angle), extents);
  m.say(fmt::format("Y{1} = X2{2} * X0{0} + X1{2} * X0{1}", one, two, angle), extents);
  if (rotated == size) return;
  extents["d"] = size - rotated;
  const std::string rest = place(fmt::format("d + {}", rotated));
  m.say(fmt::format("Y{0} = X0{0}", rest), extents);
}

}  // namespace

const Makers& attention_makers() {
  static const Makers all = {{"Attention", &make_attention}, {"RotaryEmbedding", &make_rotary}};
  return all;
}

}  // namespace isamap::importing
