// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model without some of its statements: what only they used goes with them.

#include <map>
#include <string>
#include <vector>

#include "frontends/model.h"

namespace isamap {

/// Drops the statements that are `gone`, and the tensors and weights that neither a remaining statement nor the caller
/// uses. No recurrence may lose some of its statements.
void drop_statements(Model& model, const std::vector<bool>& gone);

/// What refers to the tensors of a model.
struct TensorUses {
  std::vector<Weight>& weights;
  std::vector<TensorId>&inputs, &outputs;
  std::map<TensorId, std::string>& names;  ///< of the file
};

/// Drops the tensors that are not `used`, with their weights and names, and numbers the others again. Inputs, outputs
/// and what statements access must be used.
void keep_tensors(const std::vector<bool>& used, Kernel& kernel, const TensorUses& uses);

/// The nodes of `from` are also stood for by `into`, which took it in.
void take_origin(Model& model, std::size_t from, std::size_t into);

}  // namespace isamap
