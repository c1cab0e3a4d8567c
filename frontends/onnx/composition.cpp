// SPDX-License-Identifier: Apache-2.0

#include "frontends/onnx/composition.h"

namespace isamap::importing {

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

Composition::Composition(const Node& node, const ValueOf& value_of) : node_(node), value_of_(value_of) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) function.inputs.push_back(input(i));
  for (std::size_t k = 0; k < node.outputs.size(); ++k) function.outputs.push_back("");
}

const Value& Composition::in(std::size_t i) const {
  if (!has(i)) throw contradiction(fmt::format("input {} is missing", i), "the node needs it");
  return value_of_(node_.inputs[i]);
}

void Composition::needs(std::size_t i, std::size_t dims) const {
  if (has(i) && shape(i).size() < dims)
    throw contradiction(
        fmt::format("input {} is {}, which has less than {} dimensions", i, sizes_text(shape(i)), dims));
}

double Composition::real(const std::string& name, double otherwise) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() || found->second.reals.empty() ? otherwise : found->second.reals[0];
}

std::int64_t Composition::integer(const std::string& name, std::int64_t otherwise) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() || found->second.ints.empty() ? otherwise : found->second.ints[0];
}

std::string Composition::say(const std::string& op, std::vector<std::string> inputs, Attributes attributes,
                             std::size_t count) {
  Node made{"", node_.name, op, "", std::move(inputs), {}, std::move(attributes), composed_opset};
  for (std::size_t k = 0; k < count; ++k) made.outputs.push_back(fmt::format("{}.{}", function.nodes.size(), k));
  const std::string first = made.outputs[0];
  function.nodes.push_back(std::move(made));
  return first;
}

std::string Composition::number(double value, const std::string& like) {
  return cast(say("Constant", {}, {{"value_float", real_attribute(value)}}), like);
}

std::string Composition::integers(const Sizes& values) {
  Attribute made;
  made.ints = values;
  return say("Constant", {}, {{"value_ints", made}});
}

std::string Composition::scalar(std::int64_t value) {
  return say("Constant", {}, {{"value_int", integer_attribute(value)}});
}

std::string Composition::slice(const std::string& value, std::int64_t axis, std::int64_t first, std::int64_t last) {
  return say("Slice", {value, integers({first}), integers({last}), integers({axis})});
}

std::string Composition::permuted(const std::string& value, const Sizes& order) {
  Attribute made;
  made.ints = order;
  return say("Transpose", {value}, {{"perm", made}});
}

std::string Composition::taken(const std::string& value, std::int64_t axis, std::int64_t at) {
  return say("Gather", {value, scalar(at)}, {{"axis", integer_attribute(axis)}});
}

std::string scaled_product(Composition& c, std::vector<std::string> inputs, const std::string& a, const std::string& b,
                           std::size_t bias) {
  const std::string sum = c.say("CastLike", {c.say("MatMulInteger", std::move(inputs)), a});
  return c.plus(c.say("Mul", {sum, c.say("Mul", {a, b})}), bias);
}

}  // namespace isamap::importing
