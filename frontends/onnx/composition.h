// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes the function that a node of another domain calls: nodes of the standard, one after the other.
//
//   const std::string sum = c.say("Add", {"x0", "x1"});
//   c.result(0, c.say("Gelu", {sum}));

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "frontends/onnx/composed.h"

namespace isamap::importing {

using Attributes = std::map<std::string, Attribute>;

/// The set whose operators functions are written with, whatever the set of the file is.
constexpr std::int64_t composed_opset = 24;

Attribute real_attribute(double value);
Attribute text_attribute(const std::string& value);

class Composition {
 public:
  Composition(const Node& node, const ValueOf& value_of);

  Function function;

  const Node& node() const { return node_; }
  bool has(std::size_t i) const { return i < node_.inputs.size() && !node_.inputs[i].empty(); }
  std::string optional(std::size_t i) const { return has(i) ? input(i) : ""; }
  bool wants(std::size_t k) const { return k < node_.outputs.size() && !node_.outputs[k].empty(); }
  std::string input(std::size_t i) const { return fmt::format("x{}", i); }
  const Value& in(std::size_t i) const;
  const Sizes& shape(std::size_t i) const { return in(i).shape; }
  /// The input, if it is there, has so many dimensions or more.
  void needs(std::size_t i, std::size_t dims) const;
  double real(const std::string& name, double otherwise) const;
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const;
  bool flag(const std::string& name) const { return integer(name, 0) != 0; }

  /// The first of `count` results of a node of the standard.
  std::string say(const std::string& op, std::vector<std::string> inputs, Attributes attributes = {},
                  std::size_t count = 1);
  /// In the type of `like`.
  std::string number(double value, const std::string& like);
  std::string integers(const Sizes& values);
  std::string scalar(std::int64_t value);
  void result(std::size_t k, const std::string& value) {
    if (k < function.outputs.size()) function.outputs[k] = value;
  }
  /// The second operand is added if it is there.
  std::string plus(const std::string& value, std::size_t i) { return has(i) ? say("Add", {value, input(i)}) : value; }
  /// Elements `first` to `last` of an axis, without the last one.
  std::string slice(const std::string& value, std::int64_t axis, std::int64_t first, std::int64_t last);
  std::string reshaped(const std::string& value, const Sizes& shape) {
    return say("Reshape", {value, integers(shape)});
  }
  std::string permuted(const std::string& value, const Sizes& order);
  /// One element of an axis, which is left out.
  std::string taken(const std::string& value, std::int64_t axis, std::int64_t at);
  std::string unsqueezed(const std::string& value, const Sizes& axes) {
    return say("Unsqueeze", {value, integers(axes)});
  }
  std::string cast(const std::string& value, const std::string& like) { return say("CastLike", {value, like}); }
  /// The size of a dimension, as a scalar that is known only when sizes are.
  std::string size_of(const std::string& value, std::int64_t dim) { return taken(say("Shape", {value}), 0, dim); }

 private:
  const Node& node_;
  const ValueOf& value_of_;
};

/// The product of integers times both scales, plus the bias, which is an input.
std::string scaled_product(Composition& c, std::vector<std::string> inputs, const std::string& a, const std::string& b,
                           std::size_t bias);

using Compositions = std::map<std::string, void (*)(Composition&)>;
const Compositions& compositions();
/// Attention of transformers and what stands in front of it.
const Compositions& attention_compositions();

}  // namespace isamap::importing
