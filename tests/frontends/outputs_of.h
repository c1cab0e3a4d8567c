// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model executed by the interpreter.

#include <gtest/gtest.h>

#include <vector>

#include "frontends/model.h"

namespace isamap {

/// By output of the model; empty, with a failure, where it is no legal kernel or lacks values.
inline std::vector<TensorData> outputs_of(const Model& model, const std::vector<TensorData>& inputs) {
  EXPECT_EQ(render(verify(model.kernel)), "") << print(model.kernel);
  auto data = data_of(model, inputs);
  EXPECT_TRUE(data) << render(data.diagnostics());
  std::vector<TensorData> outputs;
  if (!data) return outputs;
  interpret(model.kernel, *data);
  for (const TensorId id : model.outputs) outputs.push_back((*data)[id.index()]);
  return outputs;
}

}  // namespace isamap
