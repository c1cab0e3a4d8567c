// SPDX-License-Identifier: Apache-2.0
// Operators of files that ONNX Runtime has optimised, as the standard's operators that it composed them of. What is
// composed is a function, as files define their own.

#include "frontends/onnx/composed.h"

#include <fmt/format.h>

#include <numeric>

namespace isamap::importing {
namespace {

using Attributes = std::map<std::string, Attribute>;

Attribute real_attribute(double value) {
  Attribute made;
  made.reals = {value};
  return made;
}

Attribute text_attribute(const std::string& value) {
  Attribute made;
  made.texts = {value};
  return made;
}

class Composition {
 public:
  Composition(const Node& node, const RankOf& rank_of) : node_(node), rank_of_(rank_of) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) function.inputs.push_back(input(i));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) function.outputs.push_back("");
  }

  Function function;

  const Node& node() const { return node_; }
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  bool wants(std::size_t k) const { return k < node_.outputs.size() && !node_.outputs[k].empty(); }
  std::string input(std::size_t i) const { return fmt::format("x{}", i); }
  std::size_t rank(std::size_t i) const {
    if (!has(i)) throw contradiction(fmt::format("input {} is missing", i), "the node needs it");
    return rank_of_(node_.inputs[i]);
  }
  double real(const std::string& name, double otherwise) const {
    const auto found = node_.attributes.find(name);
    return found == node_.attributes.end() || found->second.reals.empty() ? otherwise : found->second.reals[0];
  }
  bool flag(const std::string& name) const {
    const auto found = node_.attributes.find(name);
    return found != node_.attributes.end() && !found->second.ints.empty() && found->second.ints[0] != 0;
  }

  /// The first of `count` results of a node of the standard.
  std::string say(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {},
                  std::size_t count = 1) {
    Node made{"", node_.name, op, "", std::move(inputs), {}, std::move(attributes)};
    for (std::size_t k = 0; k < count; ++k) made.outputs.push_back(fmt::format("{}.{}", function.nodes.size(), k));
    const std::string first = made.outputs[0];
    function.nodes.push_back(std::move(made));
    return first;
  }
  /// In the type of `like`.
  std::string number(double value, const std::string& like) {
    const std::string f32 = say("Constant", {}, {{"value_float", real_attribute(value)}});
    return say("CastLike", {f32, like});
  }
  void result(std::size_t k, const std::string& value) {
    if (k < function.outputs.size()) function.outputs[k] = value;
  }
  /// The second operand is added if it is there.
  std::string plus(const std::string& value, std::size_t i) { return has(i) ? say("Add", {value, input(i)}) : value; }

 private:
  const Node& node_;
  const RankOf& rank_of_;
};

void gelu(Composition& c) { c.result(0, c.say("Gelu", {c.plus("x0", 1)})); }

void fast_gelu(Composition& c) {
  c.result(0, c.say("Gelu", {c.plus("x0", 1)}, {{"approximate", text_attribute("tanh")}}));
}

void quick_gelu(Composition& c) {
  c.result(0, c.say("Swish", {"x0"}, {{"alpha", real_attribute(c.real("alpha", 1.702))}}));
}

/// The norm of input + skip + bias, which is the output 3.
void skip_norm(Composition& c) {
  const bool simplified = c.node().op == "SkipSimplifiedLayerNormalization";
  if (simplified && (c.wants(1) || c.wants(2)))
    throw Refused{"statistics as outputs", "export the model for inference"};
  const std::string sum = c.plus(c.plus("x0", 1), simplified ? 3 : 4);
  const Attributes epsilon{{"epsilon", real_attribute(c.real("epsilon", 1e-12))}};
  std::vector<std::string> inputs{sum, "x2"};
  if (!simplified && c.has(3)) inputs.emplace_back("x3");
  if (simplified) {
    c.result(0, c.say("RMSNormalization", inputs, epsilon));
  } else {
    const std::string y = c.say("LayerNormalization", inputs, epsilon, 3);
    const Names outputs = c.function.nodes.back().outputs;
    for (std::size_t k = 0; k < 3; ++k) c.result(k, outputs[k]);
  }
  c.result(3, sum);
}

std::string transposed(Composition& c, std::size_t i, const char* flag) {
  if (!c.flag(flag) || c.rank(i) < 2) return c.input(i);
  Attribute order;
  order.ints.resize(c.rank(i));
  std::iota(order.ints.begin(), order.ints.end(), 0);
  std::swap(order.ints[order.ints.size() - 1], order.ints[order.ints.size() - 2]);
  return c.say("Transpose", {c.input(i)}, {{"perm", order}});
}

void fused_matmul(Composition& c) {
  if (c.flag("transBatchA") || c.flag("transBatchB"))
    throw Refused{"batches that are transposed", "an optimisation level that does not fuse them"};
  const std::string a = transposed(c, 0, "transA"), b = transposed(c, 1, "transB");
  const std::string product = c.say("MatMul", {a, b});
  const double alpha = c.real("alpha", 1);
  c.result(0, alpha == 1 ? product : c.say("Mul", {product, c.number(alpha, product)}));
}

/// activation(Conv(X, W, B) + Z)
void fused_conv(Composition& c) {
  Attributes own = c.node().attributes;
  const auto activation = own.find("activation"), given = own.find("activation_params");
  const std::string op = activation == own.end() || activation->second.texts.empty() ? "" : activation->second.texts[0];
  const std::vector<double> parameters = given == own.end() ? std::vector<double>{} : given->second.reals;
  own.erase("activation");
  own.erase("activation_params");
  std::vector<std::string> inputs{"x0", "x1"};
  if (c.has(2)) inputs.emplace_back("x2");
  const std::string sum = c.plus(c.say("Conv", inputs, own), 3);
  const auto parameter = [&](std::size_t n, double otherwise) {
    return n < parameters.size() ? parameters[n] : otherwise;
  };
  if (op.empty())
    c.result(0, sum);
  else if (op == "Clip")
    c.result(
        0, c.say("Clip", {sum, c.number(parameter(0, -3.4028235e38), sum), c.number(parameter(1, 3.4028235e38), sum)}));
  else if (op == "LeakyRelu")
    c.result(0, c.say(op, {sum}, {{"alpha", real_attribute(parameter(0, 0.01))}}));
  else if (op == "HardSigmoid")
    c.result(0, c.say(op, {sum},
                      {{"alpha", real_attribute(parameter(0, 0.2))}, {"beta", real_attribute(parameter(1, 0.5))}}));
  else if (op == "Relu" || op == "Sigmoid" || op == "Tanh")
    c.result(0, c.say(op, {sum}));
  else
    throw Refused{"the activation '" + op + "'", "an optimisation level that does not fuse it"};
}

using Compose = void (*)(Composition&);

const std::map<std::string, Compose>& compositions() {
  static const std::map<std::string, Compose> all = {{"Gelu", &gelu},
                                                     {"BiasGelu", &gelu},
                                                     {"FastGelu", &fast_gelu},
                                                     {"QuickGelu", &quick_gelu},
                                                     {"SkipLayerNormalization", &skip_norm},
                                                     {"SkipSimplifiedLayerNormalization", &skip_norm},
                                                     {"FusedMatMul", &fused_matmul},
                                                     {"FusedConv", &fused_conv}};
  return all;
}

}  // namespace

std::optional<Function> composed_operator(const Node& node, const RankOf& rank_of) {
  const auto found = node.domain == "com.microsoft" ? compositions().find(node.op) : compositions().end();
  if (found == compositions().end()) return std::nullopt;
  Composition made(node, rank_of);
  found->second(made);
  return std::move(made.function);
}

}  // namespace isamap::importing
