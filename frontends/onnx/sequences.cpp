// SPDX-License-Identifier: Apache-2.0
// Sums along a dimension, and recurrent layers: the products of all inputs ahead of the steps, then a recurrence for
// each direction. H has the states: step t of a forward direction reads H[t] and writes H[t+1], of a backward one the
// other way round.

#include <fmt/format.h>

#include "frontends/onnx/maker.h"

namespace isamap::importing {
namespace {

/// y[i] = the sum of x[i - k] over k >= 0; what lies before the first element is 0.
void make_cumulative(Maker& m) {
  const Sizes& shape = m.shape(0);
  const bool product = m.node.op == "CumProd";
  const auto given = m.integers(1, "the axis");
  const std::size_t axis = m.axis(given.empty() ? 0 : given[0], shape.size());
  const bool exclusive = m.integer("exclusive", 0) != 0, reverse = m.integer("reverse", 0) != 0;
  const Names i = iterators(shape.size());
  Names from = i;
  const char sign = reverse ? '+' : '-';
  from[axis] += fmt::format(" {} t {} {}", sign, sign, exclusive ? 1 : 0);
  Extents extents = extents_of(i, shape);
  extents["t"] = shape[axis];
  m.padded("P", "X0", product ? 1 : 0);
  m.result("Y", 0, m.dtype(0), shape);
  m.say(fmt::format("{} {} {}", access("Y", i), product ? "*=" : "+=", access("P", from)), extents);
}

struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

/// One direction of a layer.
struct Direction {
  std::int64_t number = 0;
  bool backward = false;
  std::vector<Activation> activations;  ///< f, g, h
};

/// The layer: sizes, and which inputs it has.
struct Recurrent {
  std::int64_t gates = 1, steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
  bool batch_first = false, biased = false, masked = false;
  bool bytes =
      false;  ///< weights are bytes [directions, inputs, gates * hidden], and inputs are quantised in each call
  DType type = DType::f32;
};

/// What an activation computes of {0} with its numbers {1} and {2}, as a factor of products, and what these are where
/// the node does not say.
struct ActivationFormula {
  const char* text;
  std::optional<double> alpha = std::nullopt, beta = std::nullopt;
};

const std::map<std::string, ActivationFormula>& activation_formulas() {
  static const std::map<std::string, ActivationFormula> all = {
      {"Affine", {"({1} * ({0}) + {2})", 1, 0}},
      {"Elu", {"select(({0}) >= 0, {0}, {1} * (exp({0}) - 1))", 1}},
      {"HardSigmoid", {"max(0, min(1, {1} * ({0}) + {2}))", 0.2, 0.5}},
      {"LeakyRelu", {"select(({0}) > 0, {0}, {1} * ({0}))", 0.01}},
      {"Relu", {"max({0}, 0)"}},
      {"ScaledTanh", {"{1} * tanh({2} * ({0}))", 1, 1}},
      {"Sigmoid", {"sigmoid({0})"}},
      {"Softplus",
       {"(max({0}, 0) + select(1 + exp(0 - abs({0})) == 1, exp(0 - abs({0})), log(1 + exp(0 - abs({0}))) * "
        "(exp(0 - abs({0})) / ((1 + exp(0 - abs({0}))) - 1))))"}},
      {"Softsign", {"(({0}) / (1 + abs({0})))"}},
      {"Tanh", {"tanh({0})"}},
      {"ThresholdedRelu", {"select(({0}) >= {1}, {0}, 0)", 1}},
  };
  return all;
}

Refused unknown_activation(const std::string& name) {
  std::string known;
  for (const auto& [one, formula] : activation_formulas()) known += (known.empty() ? "" : ", ") + one;
  return {"the activation '" + name.substr(0, 32) + "'", known + " are known"};
}

std::string activation(const Direction& d, std::size_t which, const std::string& x) {
  const Activation& one = d.activations[which];
  return fmt::format(fmt::runtime(activation_formulas().at(one.name).text), x, number(one.alpha), number(one.beta));
}

/// The input of gate g at step t, without the state's share if `of_state` is false.
std::string gate(const Recurrent& l, const Direction& d, std::int64_t g, bool of_state = true) {
  std::string text = fmt::format("GX{}[t,b,{},j]", d.number, g);
  if (of_state) text += fmt::format(" + GH{}[t,b,{},j]", d.number, g);
  if (l.biased) text += fmt::format(" + X3[{},{} + j]", d.number, g * l.hidden);
  if (l.biased && of_state) text += fmt::format(" + X3[{},{} + j]", d.number, (l.gates + g) * l.hidden);
  return text;
}

std::string clipped(const Maker& m, const std::string& x) {
  if (!m.states("clip")) return x;
  const std::string bound = number(m.real("clip", 0));
  return fmt::format("max(-{0}, min({0}, {1}))", bound, x);
}

/// Where a step finds the state before it and puts its own.
std::string before(const Direction& d, const char* state, const char* index = "b,j") {
  return fmt::format("{}{}[{},{}]", state, d.number, d.backward ? "t + 1" : "t", index);
}
std::string after(const Direction& d, const char* state) {
  return fmt::format("{}{}[{},b,j]", state, d.number, d.backward ? "t" : "t + 1");
}

/// Steps beyond a sequence's length keep the state.
void say_state(Maker& m, const Recurrent& l, const Direction& d, const char* state, const std::string& value) {
  const std::string kept = l.masked ? fmt::format("select(K[t,b], {}, {})", value, before(d, state)) : value;
  m.say(after(d, state) + " = " + kept, {{"t", l.steps}, {"b", l.batch}, {"j", l.hidden}});
}

void say_start(Maker& m, const Recurrent& l, const Direction& d, const char* state, std::size_t input) {
  const std::string name = fmt::format("{}{}", state, d.number);
  m.temporary(name, l.type, {l.steps + 1, l.batch, l.hidden});
  const std::string place = fmt::format("{}[{},b,j]", name, d.backward ? l.steps : 0);
  const std::string start =
      !m.has(input) ? "0" : fmt::format(fmt::runtime(l.batch_first ? "X{}[b,{},j]" : "X{}[{},b,j]"), input, d.number);
  m.say(place + " = " + start, {{"b", l.batch}, {"j", l.hidden}});
}

/// Bytes of an operand: the smallest and largest value (with 0), scale and zero point of each step (of all at once
/// where `step` is empty), and the values in u8, as of DynamicQuantizeLinear. Names get the suffix `s`.
struct Quantised {
  std::string s, value, step, row;  ///< text of a value; "t" or ""; index of a row in front of its element: "t,b"
  Extents points;                   ///< of all values
};

void say_bytes(Maker& m, const Recurrent& l, const Quantised& q, std::int64_t size) {
  const Sizes each = q.step.empty() ? Sizes{} : Sizes{l.steps};
  const Extents steps = q.step.empty() ? Extents{} : Extents{{"t", l.steps}};
  for (const char* of : {"HI", "LO", "SC"}) m.temporary(of + q.s, DType::f32, each);
  m.temporary("ZE" + q.s, DType::u8, each);
  m.temporary("BY" + q.s, DType::u8, {l.steps, l.batch, size});
  const auto at = [&](const char* of) { return fmt::format("{}{}[{}]", of, q.s, q.step); };
  const std::string range = fmt::format("({} - {})", at("HI"), at("LO"));
  m.say(fmt::format("{} max= max({}, 0)", at("HI"), q.value), q.points);
  m.say(fmt::format("{} min= min({}, 0)", at("LO"), q.value), q.points);
  m.say(fmt::format("{} = select({} == 0, 1, {} / 255)", at("SC"), range, range), steps);
  m.say(fmt::format("{} = sat_u8(round(-{} / {}))", at("ZE"), at("LO"), at("SC")), steps);
  m.say(fmt::format("BY{}[{},k] = sat_u8(round({} / {}) + f32({}))", q.s, q.row, q.value, at("SC"), at("ZE")),
        q.points);
}

/// G[t,b,g,j] = the product of the bytes with weights W (an input, with its scales and zero points after it at 8 or
/// 10), as f32.
void say_byte_product(Maker& m, const Recurrent& l, const Direction& d, const Quantised& q, const char* out,
                      std::size_t weights) {
  const std::size_t scale = weights == 1 ? 8 : 10, zero = scale + 1;
  const std::string column = fmt::format("{}*g + j", l.hidden), sum = fmt::format("I{}{}", out, d.number);
  const auto parameter = [&](std::size_t i) {
    const bool each = m.rank(i) == 2 && m.shape(i)[1] == l.gates * l.hidden;
    if (m.shape(i)[0] != l.directions || (m.rank(i) == 2 && !each) || m.rank(i) > 2)
      throw contradiction("its scales and zero points do not fit the weights");
    return fmt::format("X{}[{}{}]", i, d.number, each ? "," + column : "");
  };
  const std::int64_t size = weights == 1 ? l.inputs : l.hidden;
  m.temporary(sum, DType::s32, {l.steps, l.batch, l.gates, l.hidden});
  Extents points{{"t", l.steps}, {"b", l.batch}, {"g", l.gates}, {"j", l.hidden}}, products = points;
  products["k"] = size;
  const std::string offset = m.has(zero) ? fmt::format(" - s32({})", parameter(zero)) : "";
  m.say(fmt::format("{}[t,b,g,j] += (s32(BY{}[{},k]) - s32(ZE{}[{}])) * (s32(X{}[{},k,{}]){})", sum, q.s, q.row, q.s,
                    q.step, weights, d.number, column, offset),
        products);
  m.say(fmt::format("{}{}[t,b,g,j] = f32({}[t,b,g,j]) * (SC{}[{}] * {})", out, d.number, sum, q.s, q.step,
                    parameter(scale)),
        points);
}

void say_products_of_bytes(Maker& m, const Recurrent& l, const Direction& d, std::size_t steps_more) {
  Quantised x{fmt::format("X{}", d.number), l.batch_first ? "X0[b,t,k]" : "X0[t,b,k]", "", "t,b", {}};
  x.points = {{"t", l.steps}, {"b", l.batch}, {"k", l.inputs}};
  say_bytes(m, l, x, l.inputs);
  say_byte_product(m, l, d, x, "GX", 1);
  Quantised h{fmt::format("H{}", d.number), before(d, "H", "b,k"), "t", "t,b", {}};
  h.points = {{"t", l.steps}, {"b", l.batch}, {"k", l.hidden}};
  m.repeat_next("t", l.steps, 7 + steps_more, d.backward);
  say_bytes(m, l, h, l.hidden);
  say_byte_product(m, l, d, h, "GH", 2);
}

/// The products of all inputs, and the first statements of the steps: the products of the state.
void say_products(Maker& m, const Recurrent& l, const Direction& d, std::size_t steps_more, std::int64_t state_gates) {
  m.temporary(fmt::format("GX{}", d.number), l.type, {l.steps, l.batch, l.gates, l.hidden});
  m.temporary(fmt::format("GH{}", d.number), l.type, {l.steps, l.batch, state_gates, l.hidden});
  if (l.bytes) return say_products_of_bytes(m, l, d, steps_more);
  const std::string row = fmt::format("{},{}*g + j", d.number, l.hidden);
  m.say(fmt::format("GX{}[t,b,g,j] += X0[{}] * X1[{},k]", d.number, l.batch_first ? "b,t,k" : "t,b,k", row),
        {{"t", l.steps}, {"b", l.batch}, {"g", l.gates}, {"j", l.hidden}, {"k", l.inputs}});
  m.repeat_next("t", l.steps, 1 + steps_more, d.backward);
  m.say(fmt::format("GH{}[t,b,g,j] += {} * X2[{},l]", d.number, before(d, "H", "b,l"), row),
        {{"t", l.steps}, {"b", l.batch}, {"g", state_gates}, {"j", l.hidden}, {"l", l.hidden}});
}

void say_rnn(Maker& m, const Recurrent& l, const Direction& d) {
  say_products(m, l, d, 1, 1);
  say_state(m, l, d, "H", activation(d, 0, clipped(m, gate(l, d, 0))));
}

/// Gates: input, output, forget, cell.
void say_lstm(Maker& m, const Recurrent& l, const Direction& d) {
  say_start(m, l, d, "C", 6);
  const auto peephole = [&](std::int64_t g, const std::string& cell) {
    return m.has(7) ? fmt::format(" + X7[{},{} + j] * {}", d.number, g * l.hidden, cell) : std::string();
  };
  const std::string old = before(d, "C");
  const std::string in = activation(d, 0, clipped(m, gate(l, d, 0) + peephole(0, old)));
  const std::string forget = m.integer("input_forget", 0) != 0
                                 ? "(1 - " + in + ")"
                                 : activation(d, 0, clipped(m, gate(l, d, 2) + peephole(2, old)));
  say_products(m, l, d, 2, 4);
  say_state(m, l, d, "C",
            fmt::format("{} * {} + {} * {}", forget, old, in, activation(d, 1, clipped(m, gate(l, d, 3)))));
  const std::string out = activation(d, 0, clipped(m, gate(l, d, 1) + peephole(1, after(d, "C"))));
  say_state(m, l, d, "H", fmt::format("{} * {}", out, activation(d, 2, after(d, "C"))));
}

/// Gates: update, reset, hidden. The reset applies to the state, or to its product (linear_before_reset).
void say_gru(Maker& m, const Recurrent& l, const Direction& d) {
  const bool after_product = m.integer("linear_before_reset", 0) != 0;
  const std::string update = activation(d, 0, clipped(m, gate(l, d, 0))),
                    reset = activation(d, 0, clipped(m, gate(l, d, 1)));
  const std::string bias = l.biased ? fmt::format(" + X3[{},{} + j]", d.number, (l.gates + 2) * l.hidden) : "";
  std::string hidden = gate(l, d, 2, false);
  if (after_product) {
    say_products(m, l, d, 1, 3);
    hidden += fmt::format(" + {} * (GH{}[t,b,2,j]{})", reset, d.number, bias);
  } else {
    const std::string name = fmt::format("R{}", d.number), product = fmt::format("N{}", d.number);
    m.temporary(name, l.type, {l.steps, l.batch, l.hidden});
    m.temporary(product, l.type, {l.steps, l.batch, l.hidden});
    say_products(m, l, d, 3, 2);
    m.say(fmt::format("{}[t,b,j] = {} * {}", name, reset, before(d, "H")),
          {{"t", l.steps}, {"b", l.batch}, {"j", l.hidden}});
    m.say(fmt::format("{}[t,b,j] += {}[t,b,l] * X2[{},{} + j,l]", product, name, d.number, 2 * l.hidden),
          {{"t", l.steps}, {"b", l.batch}, {"j", l.hidden}, {"l", l.hidden}});
    hidden += fmt::format(" + {}[t,b,j]{}", product, bias);
  }
  const std::string candidate = activation(d, 1, clipped(m, hidden));
  say_state(m, l, d, "H", fmt::format("(1 - {0}) * {1} + {0} * {2}", update, candidate, before(d, "H")));
}

/// The last output of a sequence; one without steps has none, which is 0 as in `Y`.
std::string last_state(const Recurrent& l, const Direction& d, const char* state) {
  const std::string last = fmt::format("{}{}[{},b,j]", state, d.number, d.backward ? 0 : l.steps);
  return l.masked ? "select(s64(X4[b]) > 0, " + last + ", 0)" : last;
}

void say_outputs(Maker& m, const Recurrent& l, const std::vector<Direction>& directions) {
  const Extents all{{"t", l.steps}, {"b", l.batch}, {"j", l.hidden}}, last{{"b", l.batch}, {"j", l.hidden}};
  const Sizes whole =
      l.batch_first ? Sizes{l.batch, l.steps, l.directions, l.hidden} : Sizes{l.steps, l.directions, l.batch, l.hidden};
  const Sizes final = l.batch_first ? Sizes{l.batch, l.directions, l.hidden} : Sizes{l.directions, l.batch, l.hidden};
  if (m.wants(0)) m.result("Y", 0, l.type, whole);
  if (m.wants(1)) m.result("YH", 1, l.type, final);
  if (m.wants(2)) m.result("YC", 2, l.type, final);
  for (const Direction& d : directions) {
    const std::string state = after(d, "H");
    if (m.wants(0))
      m.say(fmt::format(fmt::runtime(l.batch_first ? "Y[b,t,{},j] = {}" : "Y[t,{},b,j] = {}"), d.number,
                        l.masked ? "select(K[t,b], " + state + ", 0)" : state),
            all);
    for (std::size_t k = 1; k < 3; ++k)
      if (m.wants(k))
        m.say(fmt::format(fmt::runtime(l.batch_first ? "{}[b,{},j] = {}" : "{}[{},b,j] = {}"), k == 1 ? "YH" : "YC",
                          d.number, last_state(l, d, k == 1 ? "H" : "C")),
              last);
  }
}

Recurrent read_layer(const Maker& m, std::int64_t gates) {
  Recurrent l;
  const Sizes &x = m.shape(0), &w = m.shape(1), &r = m.shape(2);
  l.bytes = m.node.op == "DynamicQuantizeLSTM";
  const std::size_t in = l.bytes ? 1 : 2, out = 3 - in;  // dimensions of the weights
  if (x.size() != 3 || w.size() != 3 || r.size() != 3 || w[in] != x[2] || w[out] != r[out] || r[out] != gates * r[in] ||
      w[0] != r[0])
    throw contradiction("weights " + sizes_text(w) + " and " + sizes_text(r) + " do not fit " + sizes_text(x));
  l.gates = gates;
  l.batch_first = m.integer("layout", 0) != 0;
  l.steps = x[l.batch_first ? 1 : 0];
  l.batch = x[l.batch_first ? 0 : 1];
  l.inputs = x[2];
  l.hidden = r[in];
  l.directions = w[0];
  l.type = m.dtype(0);
  l.biased = m.has(3);
  l.masked = m.has(4);
  if (l.biased && m.shape(3) != Sizes{l.directions, 2 * gates * l.hidden}) throw contradiction("its bias does not fit");
  return l;
}

/// The next number of an attribute that one activation after the other takes from.
double next_of(const Maker& m, const char* attribute, std::size_t& taken, double otherwise) {
  const auto found = m.node.attributes.find(attribute);
  if (found == m.node.attributes.end() || taken >= found->second.reals.size()) return otherwise;
  return found->second.reals[taken++];
}

/// The numbers stand in the order of the activations, for those that have such a number only.
std::vector<Direction> read_directions(const Maker& m, const Recurrent& l, const Names& defaults) {
  const std::string way = m.text("direction", "forward");
  if (l.directions != (way == "bidirectional" ? 2 : 1))
    throw contradiction("its direction '" + way + "' does not fit the weights");
  const auto given = m.node.attributes.find("activations");
  std::size_t count = 0, alphas = 0, betas = 0;
  std::vector<Direction> directions;
  for (std::int64_t d = 0; d < l.directions; ++d) {
    Direction one{d, way == "reverse" || d == 1, {}};
    for (std::string name : defaults) {
      if (given != m.node.attributes.end() && count < given->second.texts.size()) name = given->second.texts[count];
      ++count;
      const auto formula = activation_formulas().find(name);
      if (formula == activation_formulas().end()) throw unknown_activation(name);
      Activation made{name};
      const auto& [text, alpha, beta] = formula->second;
      if (alpha) made.alpha = next_of(m, "activation_alpha", alphas, *alpha);
      if (beta) made.beta = next_of(m, "activation_beta", betas, *beta);
      one.activations.push_back(std::move(made));
    }
    directions.push_back(std::move(one));
  }
  return directions;
}

void make_recurrent(Maker& m) {
  const bool lstm = m.node.op.ends_with("LSTM"), gru = m.node.op == "GRU";
  const Recurrent l = read_layer(m, lstm ? 4 : gru ? 3 : 1);
  const auto directions = read_directions(m, l,
                                          lstm  ? Names{"Sigmoid", "Tanh", "Tanh"}
                                          : gru ? Names{"Sigmoid", "Tanh"}
                                                : Names{"Tanh"});
  if (l.masked) {
    m.temporary("K", DType::boolean, {l.steps, l.batch});
    m.say("K[t,b] = s64(value(t)) < s64(X4[b])", {{"t", l.steps}, {"b", l.batch}});
  }
  for (const Direction& d : directions) {
    say_start(m, l, d, "H", 5);
    lstm ? say_lstm(m, l, d) : gru ? say_gru(m, l, d) : say_rnn(m, l, d);
  }
  say_outputs(m, l, directions);
}

}  // namespace

const Makers& sequence_makers() {
  static const Makers all = {{"CumSum", &make_cumulative}, {"CumProd", &make_cumulative},
                             {"RNN", &make_recurrent},     {"GRU", &make_recurrent},
                             {"LSTM", &make_recurrent},    {"com.microsoft.DynamicQuantizeLSTM", &make_recurrent}};
  return all;
}

}  // namespace isamap::importing
