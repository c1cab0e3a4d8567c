// SPDX-License-Identifier: Apache-2.0
#include "frontends/onnx/size_sums.h"

#include <algorithm>

namespace isamap::importing {

std::string size_name(const Declared& input, std::size_t axis) {
  const std::string symbol = axis < input.symbols.size() ? input.symbols[axis] : "";
  return symbol.empty() ? input.name + "." + std::to_string(axis) : symbol;
}

std::map<std::string, IntExpr> size_sums(const Graph& graph) {
  std::set<std::string> plain;
  std::map<std::string, IntExpr> sums;
  for (const Declared& input : graph.inputs)
    for (std::size_t d = 0; input.shape && d < input.shape->size(); ++d) {
      if ((*input.shape)[d] >= 0) continue;
      const std::string name = size_name(input, d);
      auto sum = parse_int_expr(name);
      if (sum && !sum->args.empty() && !references(*sum).empty())
        sums.emplace(name, std::move(*sum));
      else
        plain.insert(name);
    }
  // `seq-len` is a name of its own where `seq` and `len` are none.
  std::erase_if(sums, [&](const auto& sum) {
    const auto all = references(sum.second);
    return std::any_of(all.begin(), all.end(), [&](const Reference& reference) {
      return property_of(reference) != OperandProperty::none || !plain.contains(reference.object);
    });
  });
  return sums;
}

std::set<std::string> names_in(const IntExpr& sum) {
  std::set<std::string> names;
  for (const Reference& reference : references(sum)) names.insert(reference.object);
  return names;
}

}  // namespace isamap::importing
