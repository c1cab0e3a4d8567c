// SPDX-License-Identifier: Apache-2.0
// Operators of files that ONNX Runtime has optimised, as the standard's operators that it composed them of. What is
// composed is a function, as files define their own.

#include "frontends/onnx/composed.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontends/onnx/composition.h"
#include "support/arithmetic.h"

namespace isamap::importing {
namespace {

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
  if (!c.flag(flag) || c.shape(i).size() < 2) return c.input(i);
  Attribute order;
  order.ints.resize(c.shape(i).size());
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

/// Activations of nodes with their parameters, which FusedConv lists and FusedGemm names.
void activated(Composition& c, const std::string& sum, const std::vector<double>& parameters) {
  const auto stated = c.node().attributes.find("activation");
  const bool none = stated == c.node().attributes.end() || stated->second.texts.empty();
  const std::string op = none ? "" : stated->second.texts[0];
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

/// The attributes of the standard's operator.
Attributes without_activation(const Composition& c) {
  Attributes own = c.node().attributes;
  for (auto it = own.begin(); it != own.end();)
    it = it->first.starts_with("activation") ? own.erase(it) : std::next(it);
  return own;
}

/// activation(Conv(X, W, B) + Z)
void fused_conv(Composition& c) {
  const auto given = c.node().attributes.find("activation_params");
  std::vector<std::string> inputs{"x0", "x1"};
  if (c.has(2)) inputs.emplace_back("x2");
  const std::string sum = c.plus(c.say("Conv", inputs, without_activation(c)), 3);
  activated(c, sum, given == c.node().attributes.end() ? std::vector<double>{} : given->second.reals);
}

void fused_gemm(Composition& c) {
  std::vector<std::string> inputs{"x0", "x1"};
  if (c.has(2)) inputs.emplace_back("x2");
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"})
    if (const auto given = c.node().attributes.find(name); given != c.node().attributes.end())
      parameters.push_back(c.real(name, 0));
  activated(c, c.say("Gemm", inputs, without_activation(c)), parameters);
}

/// A, B, the scale and the zero point of B, bias.
void dynamic_matmul(Composition& c) {
  c.say("DynamicQuantizeLinear", {"x0"}, {}, 3);
  const Names a = c.function.nodes.back().outputs;
  c.result(0, scaled_product(c, {a[0], "x1", a[2], c.optional(3)}, a[1], "x2", 4));
}

/// A, B, their scales, their zero points, bias.
void matmul_to_float(Composition& c) {
  c.result(0, scaled_product(c, {"x0", "x1", c.optional(4), c.optional(5)}, "x2", "x3", 6));
}

/// The input i as reals: its scale and zero point follow it.
std::string dequantised(Composition& c, std::size_t i) {
  return c.say("DequantizeLinear", {c.input(i), c.input(i + 1), c.optional(i + 2)});
}

void quantise(Composition& c, const std::string& value, std::size_t scale) {
  c.result(0, c.say("QuantizeLinear", {value, c.input(scale), c.optional(scale + 1)}));
}

/// QLinearAdd, QLinearMul: A, B and the result, each with scale and zero point.
void quantised_binary(Composition& c) {
  quantise(c, c.say(c.node().op.substr(7), {dequantised(c, 0), dequantised(c, 3)}), 6);
}

/// [N,..,C] as [N,C,..], and back.
std::string channels_second(Composition& c, const std::string& x, std::size_t rank) {
  Sizes order(rank);
  std::iota(order.begin(), order.end(), -1);
  order[0] = 0, order[1] = static_cast<std::int64_t>(rank) - 1;
  for (std::size_t d = 2; d < rank; ++d) order[d] = static_cast<std::int64_t>(d) - 1;
  return c.permuted(x, order);
}
std::string channels_last(Composition& c, const std::string& x, std::size_t rank) {
  Sizes order(rank, 0);
  for (std::size_t d = 1; d < rank; ++d) order[d] = d + 1 < rank ? static_cast<std::int64_t>(d) + 1 : 1;
  return c.permuted(x, order);
}

/// As the standard had it in set `opset`: below 13 of all dimensions from `axis` on.
void quantised_softmax(Composition& c) {
  const Attributes axis{{"axis", integer_attribute(c.integer("axis", -1))}};
  const std::string y = c.say("Softmax", {dequantised(c, 0)}, axis);
  c.function.nodes.back().opset = c.integer("opset", composed_opset);
  quantise(c, y, 3);
}

/// Of a QLinearAveragePool that counts its padding: windows that `ceil_mode` lets end behind it are whole too, as ONNX
/// Runtime divides them (the standard leaves out what lies behind the padding).
void count_whole_windows(const Composition& c, Attributes& own, const Sizes& spatial) {
  const Attributes::const_iterator kernel = own.find("kernel_shape"), steps = own.find("strides"),
                                   given = own.find("pads"), padding = own.find("auto_pad");
  const std::size_t rank = spatial.size();
  const auto has_all = [&](Attributes::const_iterator it, std::size_t count) {
    return it == own.end() || it->second.ints.size() == count;
  };
  const bool stated = padding == own.end() || padding->second.texts == std::vector<std::string>{"NOTSET"};
  if (!c.flag("ceil_mode") || !c.flag("count_include_pad") || !stated || kernel == own.end() ||
      !has_all(kernel, rank) || !has_all(steps, rank) || !has_all(given, 2 * rank))
    return;
  Sizes pads = given == own.end() ? Sizes(2 * rank, 0) : given->second.ints;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t stride = steps == own.end() ? 1 : steps->second.ints[d], size = kernel->second.ints[d];
    const std::int64_t begun = spatial[d] + pads[d];  // windows begin before this
    if (stride < 1 || begun < 1) return;
    const std::int64_t steps_to_last =
        std::min(ceil_div(std::max<std::int64_t>(begun + pads[rank + d] - size, 0), stride), (begun - 1) / stride);
    pads[rank + d] = std::max(pads[rank + d], steps_to_last * stride + size - begun);
  }
  own["pads"].ints = std::move(pads);
}

/// QLinearSigmoid, QLinearLeakyRelu, QLinearGlobalAveragePool, QLinearAveragePool.
void quantised_unary(Composition& c) {
  if (c.flag("channels_last")) c.needs(0, 3);
  Attributes own = c.node().attributes;
  own.erase("channels_last");
  const std::size_t moved = c.flag("channels_last") ? c.shape(0).size() : 0;
  if (const Sizes& x = c.shape(0); c.node().op == "QLinearAveragePool" && x.size() > 2)
    count_whole_windows(c, own, moved > 0 ? Sizes(x.begin() + 1, x.end() - 1) : Sizes(x.begin() + 2, x.end()));
  const std::string x = dequantised(c, 0);
  const std::string y = c.say(c.node().op.substr(7), {moved == 0 ? x : channels_second(c, x, moved)}, own);
  quantise(c, moved == 0 ? y : channels_last(c, y, moved), 3);
}

/// Truths, two operands and the result, each of the three with scale and zero point.
void quantised_where(Composition& c) { quantise(c, c.say("Where", {"x0", dequantised(c, 1), dequantised(c, 4)}), 7); }

/// Conv, QLinearConv and MaxPool whose images have their channels last; filters have them second.
void convolve_images(Composition& c) {
  c.needs(0, 3);
  const std::size_t rank = c.shape(0).size();
  const bool moved = c.node().op != "QLinearConv" || c.flag("channels_last");
  std::vector<std::string> inputs = c.function.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = c.optional(i);
  if (moved) inputs[0] = channels_second(c, inputs[0], rank);
  Attributes own = c.node().attributes;
  own.erase("channels_last");
  const std::string y =
      c.say(c.node().op.starts_with("Nhwc") ? c.node().op.substr(4) : c.node().op, std::move(inputs), own);
  c.result(0, moved ? channels_last(c, y, rank) : y);
}

/// Bytes as their `bits` lowest bits, then the next ones, along the last dimension, of which `size` are taken.
std::string spread(Composition& c, const std::string& bytes, std::int64_t bits, std::int64_t size) {
  if (bits == 8) return bytes;
  Names parts;
  for (std::int64_t n = 0; n < 8; n += bits) {
    const auto constant = [&](std::int64_t value) { return c.cast(c.scalar(value), bytes); };
    const std::string low =
        n == 0 ? bytes : c.say("BitShift", {bytes, constant(n)}, {{"direction", text_attribute("RIGHT")}});
    parts.push_back(c.unsqueezed(c.say("BitwiseAnd", {low, constant((1 << bits) - 1)}), {-1}));
  }
  const std::string all = c.reshaped(c.say("Concat", parts, {{"axis", integer_attribute(-1)}}), {0, -1});
  return c.slice(all, 1, 0, size);
}

/// Rows of a table of integers in blocks, each with a scale: table, rows, scales, zero points. Bytes hold 8/bits
/// numbers, the lowest bits first.
void gather_blocks(Composition& c) {
  c.needs(2, 2);
  c.needs(3, 2);
  const Sizes& table = c.shape(0);
  const std::int64_t axis = c.integer("quantize_axis", 1), size = c.integer("block_size", 128);
  const bool is_packed = c.in(0).dtype == DType::u8 && c.in(0).narrow == 0;
  const std::int64_t bits = is_packed ? c.integer("bits", 4) : 8;
  if (table.size() != 2 || c.integer("gather_axis", 0) != 0 || (axis != 1 && axis != -1))
    throw Refused{fmt::format("a table of {} whose blocks are in dimension {}", sizes_text(table), axis),
                  "a table of rows with blocks in each"};
  if ((bits != 2 && bits != 4 && bits != 8) || size < 1)
    throw contradiction(fmt::format("{} bits in blocks of {}", bits, size));
  const std::int64_t count = table[1] * 8 / bits, blocks = (count + size - 1) / size;
  const auto rows = [&](std::size_t i, std::int64_t width) {
    const std::string taken =
        c.reshaped(c.say("Gather", {c.input(i), c.say("Reshape", {"x1", c.integers({-1})})}), {-1, c.shape(i).at(1)});
    return i == 2 ? taken : c.cast(spread(c, taken, bits, width), "x2");
  };
  Sizes block(static_cast<std::size_t>(count));
  for (std::size_t n = 0; n < block.size(); ++n) block[n] = static_cast<std::int64_t>(n) / size;
  const auto along = [&](const std::string& x) {
    return c.say("Gather", {x, c.integers(block)}, {{"axis", integer_attribute(1)}});
  };
  const std::string zero = c.has(3) ? along(rows(3, blocks)) : c.number(is_packed ? 1 << (bits - 1) : 0, "x2");
  const std::string y = c.say("Mul", {c.say("Sub", {rows(0, count), zero}), along(rows(2, blocks))});
  const std::string shape =
      c.say("Concat", {c.say("Shape", {"x1"}), c.integers({count})}, {{"axis", integer_attribute(0)}});
  c.result(0, c.say("Reshape", {y, shape}));
}

/// The scale and zero point of the result, then each operand with its own.
void quantised_concat(Composition& c) {
  std::vector<std::string> operands;
  for (std::size_t i = 2; i + 2 < c.node().inputs.size(); i += 3) operands.push_back(dequantised(c, i));
  quantise(c, c.say("Concat", operands, c.node().attributes), 0);
}

/// A and B, each with scale and zero point, integers C in the unit of the product, scale and zero point of the result.
void quantised_gemm(Composition& c) {
  Attribute columns;
  columns.ints = {c.flag("transB") ? 0 : 1};
  const std::string b = c.say("DequantizeLinear", {"x3", "x4", c.optional(5)}, {{"axis", columns}});
  std::string sum = c.say("Gemm", {dequantised(c, 0), b}, c.node().attributes);
  if (c.has(6)) {
    const std::string unit = c.say("Mul", {c.say("Mul", {"x1", "x4"}), c.number(c.real("alpha", 1), "x1")});
    sum = c.say("Add", {sum, c.say("Mul", {c.say("CastLike", {"x6", "x1"}), unit})});
  }
  if (c.has(7))
    quantise(c, sum, 7);
  else
    c.result(0, sum);
}

/// Of X0 with channels in the last dimension or the second one, after their norm.
std::string group_norm(Composition& c, const std::string& x) {
  const bool is_last = c.integer("channels_last", 1) != 0;
  const std::string y = c.say("GroupNormalization", {is_last ? c.permuted(x, {0, 3, 1, 2}) : x, "x1", "x2"},
                              {{"epsilon", real_attribute(c.real("epsilon", 1e-5))},
                               {"num_groups", integer_attribute(c.integer("groups", 1))}});
  const std::string active = c.flag("activation") ? c.say("Swish", {y}) : y;
  return is_last ? c.permuted(active, {0, 2, 3, 1}) : active;
}

void check_image(const Composition& c) {
  if (c.shape(0).size() != 4) throw contradiction("groups of channels of " + sizes_text(c.shape(0)));
}

void contributed_group_norm(Composition& c) {
  check_image(c);
  c.result(0, group_norm(c, "x0"));
}

/// input, scale, bias of the norm, skip [N,..] or [N,C], bias [C]. The second result is their sum.
void skip_group_norm(Composition& c) {
  check_image(c);
  const bool is_last = c.integer("channels_last", 1) != 0;
  const std::string skip = c.shape(3).size() == 2 ? c.unsqueezed("x3", is_last ? Sizes{1, 2} : Sizes{2, 3}) : "x3";
  std::string sum = c.say("Add", {"x0", skip});
  if (c.has(4)) sum = c.say("Add", {sum, is_last ? "x4" : c.unsqueezed("x4", {1, 2})});
  c.result(0, group_norm(c, sum));
  c.result(1, sum);
}

void bias_add(Composition& c) { c.result(0, c.plus(c.plus("x0", 1), 2)); }

/// The first half times Gelu of the second.
void bias_split_gelu(Composition& c) {
  c.needs(0, 1);
  const std::int64_t size = c.shape(0).back(), axis = static_cast<std::int64_t>(c.shape(0).size()) - 1;
  if (size % 2 != 0) throw contradiction(fmt::format("{} elements have no halves", size));
  const std::string sum = c.plus("x0", 1), second = c.say("Gelu", {c.slice(sum, axis, size / 2, size)});
  c.result(0, c.say("Mul", {c.slice(sum, axis, 0, size / 2), second}));
}

}  // namespace

const Compositions& compositions() {
  static const Compositions all = {{"Gelu", &gelu},
                                   {"BiasGelu", &gelu},
                                   {"FastGelu", &fast_gelu},
                                   {"QuickGelu", &quick_gelu},
                                   {"SkipLayerNormalization", &skip_norm},
                                   {"SkipSimplifiedLayerNormalization", &skip_norm},
                                   {"FusedMatMul", &fused_matmul},
                                   {"FusedConv", &fused_conv},
                                   {"FusedGemm", &fused_gemm},
                                   {"DynamicQuantizeMatMul", &dynamic_matmul},
                                   {"MatMulIntegerToFloat", &matmul_to_float},
                                   {"QLinearAdd", &quantised_binary},
                                   {"QLinearMul", &quantised_binary},
                                   {"QLinearSigmoid", &quantised_unary},
                                   {"QLinearLeakyRelu", &quantised_unary},
                                   {"QLinearSoftmax", &quantised_softmax},
                                   {"QLinearGlobalAveragePool", &quantised_unary},
                                   {"QLinearAveragePool", &quantised_unary},
                                   {"QLinearWhere", &quantised_where},
                                   {"QLinearConv", &convolve_images},
                                   {"NhwcConv", &convolve_images},
                                   {"NhwcMaxPool", &convolve_images},
                                   {"GatherBlockQuantized", &gather_blocks},
                                   {"QLinearConcat", &quantised_concat},
                                   {"QGemm", &quantised_gemm},
                                   {"GroupNorm", &contributed_group_norm},
                                   {"SkipGroupNorm", &skip_group_norm},
                                   {"BiasAdd", &bias_add},
                                   {"BiasSplitGelu", &bias_split_gelu}};
  return all;
}

std::optional<Function> composed_operator(const Node& node, const ValueOf& value_of) {
  if (node.domain != "com.microsoft") return std::nullopt;
  for (const Compositions* all : {&compositions(), &attention_compositions()}) {
    const auto found = all->find(node.op);
    if (found == all->end()) continue;
    Composition made(node, value_of);
    found->second(made);
    return std::move(made.function);
  }
  return std::nullopt;
}

}  // namespace isamap::importing
