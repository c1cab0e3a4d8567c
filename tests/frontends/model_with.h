// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model out of the text of a kernel, some of whose inputs are constants with values.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>

#include "frontends/model.h"
#include "ir/text/parse.h"

namespace isamap {

/// What an input holds if it is a constant; empty if the caller brings it.
using ConstantOf = std::function<std::optional<TensorData>(const Tensor&)>;

/// Outputs are the tensors that no statement reads; every statement came from a node of its own. Empty, with a failure,
/// where the text is no legal kernel.
inline Model model_with(const std::string& text, const ConstantOf& constant_of) {
  const auto kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << render(kernel.diagnostics());
  Model model;
  if (!kernel) return model;
  model.kernel = *kernel;
  EXPECT_EQ(render(verify(model.kernel)), "");
  const std::vector<Role> roles = roles_of(model.kernel);
  for (std::size_t t = 0; t < model.kernel.tensors.size(); ++t) {
    Tensor& tensor = model.kernel.tensors[t];
    const auto id = make_id<TensorId>(t);
    if (roles[t] == Role::output) model.outputs.push_back(id);
    if (roles[t] != Role::input) continue;
    auto values = constant_of(tensor);
    if (!values) {
      model.inputs.push_back(id);
      continue;
    }
    tensor.constant = true;
    Weight weight;
    weight.tensor = id;
    weight.values = std::make_shared<TensorData>(std::move(*values));
    model.weights.push_back(weight);
  }
  for (std::size_t s = 0; s < model.kernel.statements.size(); ++s)
    model.origins.push_back({{"node " + std::to_string(s)}, "", "", "", s});
  return model;
}

/// Inputs drawn by `seed`.
inline std::vector<TensorData> random_inputs(const Model& model, std::uint64_t seed) {
  Random random(seed);
  std::vector<TensorData> inputs;
  for (const TensorId id : model.inputs)
    inputs.push_back(random_data(model.kernel.tensors[id.index()], Fill::real, random));
  return inputs;
}

}  // namespace isamap
